# The two commands:  make demo   sets up and runs the main job
#                    make test   builds and passes the tests
# The others are parts of these.

SWIFT ?= swift
# C code is optimised in test builds too: tests run real models.
TEST_FLAGS = -Xcc -O2
PREFIX ?= /usr/local
FIXTURES = Tests/Fixtures/unpacked
RELEASE = .build/release
SHELL = /bin/bash

.PHONY: help demo test build models models-fetch fixtures install dependencies clean bench bench-quick bench-models

help:
	@echo "make demo     install missing Debian packages, build, fetch and convert three models, classify, embed, search, generate"
	@echo "make test     build and run all tests"
	@echo "make build    build the tools in release mode ($(RELEASE)/mlconv, $(RELEASE)/mlrun)"
	@echo "make models   fetch and convert the models of Models/catalogue.json"
	@echo "make bench    measure this project and its peers (Bench/README.md); make bench-quick a few cases"
	@echo "make install  copy tools and models to PREFIX ($(PREFIX))"
	@echo "make clean    remove everything that was built or unpacked; fetched models stay"

dependencies:
	@.ci/dependencies

build: dependencies
	@mkdir -p .build
	@set -o pipefail; $(SWIFT) build -c release --product mlconv 2>&1 | tee .build/release-mlconv.log | grep -vE '^\[|^Build(ing)?\b' || [ $${PIPESTATUS[0]} -eq 0 ]
	@set -o pipefail; $(SWIFT) build -c release --product mlrun 2>&1 | tee .build/release-mlrun.log | grep -vE '^\[|^Build(ing)?\b' || [ $${PIPESTATUS[0]} -eq 0 ]

models-fetch:
	@.ci/dependencies --fetch
	@python3 Models/fetch.py

models: build models-fetch
	@Models/convert.sh $(RELEASE)/mlconv

# The archives are unpacked again only when they change.
fixtures: $(FIXTURES)/.corpus $(FIXTURES)/.tokenizers $(FIXTURES)/.onnx-nodes $(FIXTURES)/.decoders

$(FIXTURES)/.%: Tests/Fixtures/%.tar.xz
	@mkdir -p $(FIXTURES) && rm -rf $(FIXTURES)/$*
	tar -xJf $< -C $(FIXTURES)
	@touch $@

test: dependencies fixtures
	@mkdir -p .build
	@set -o pipefail; $(SWIFT) build --build-tests $(TEST_FLAGS) 2>&1 | tee .build/test.log
	$(SWIFT) test $(TEST_FLAGS) --skip-build

demo: build
	@.ci/dependencies --fetch
	@Models/demo.sh $(RELEASE)

# Peers are optional: Bench/README.md says how to have them.
BENCH_PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
MLBENCH = $(RELEASE)/mlbench

bench: bench-models
	$(MLBENCH) run --python $(BENCH_PYTHON) -o Bench/results/results.json
	$(MLBENCH) table Bench/results/results.json > Bench/results/results.md
	$(MLBENCH) chart Bench/results/results.json -o Bench/results/results.svg

bench-quick: bench-models
	$(MLBENCH) run --quick --python $(BENCH_PYTHON) -o Bench/results/quick.json
	$(MLBENCH) table Bench/results/quick.json | tee Bench/results/quick.md
	$(MLBENCH) chart Bench/results/quick.json -o Bench/results/quick.svg

bench-models: models fixtures
	$(SWIFT) build -c release --product mlbench
	@mkdir -p Bench/results
	$(BENCH_PYTHON) Bench/make_models.py --mlconv $(RELEASE)/mlconv

install: build
	install -d $(PREFIX)/bin $(PREFIX)/share/mlgraph/models
	install -m 755 $(RELEASE)/mlconv $(RELEASE)/mlrun $(PREFIX)/bin
	install -m 644 Models/catalogue.json $(PREFIX)/share/mlgraph/models
	cd Models && for graph in */*.graph; do install -D -m 644 "$$graph" "$(PREFIX)/share/mlgraph/models/$$graph"; done

clean:
	rm -rf .build $(FIXTURES)
