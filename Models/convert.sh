#!/usr/bin/env bash
# Converts fetched models to .graph files: Models/convert.sh MLCONV [NAME ...]. A graph newer than its source is left alone.
set -euo pipefail
mlconv=$(realpath "$1"); shift
cd "$(dirname "$0")"

# One line a model: name, graph, source and the options of the conversion, tab-separated.
python3 - "$@" <<'PYTHON' | while IFS=$'\t' read -r name graph source options; do
import json, sys
for entry in json.load(open("catalogue.json"))["models"]:
    if "source" in entry and (len(sys.argv) < 2 or entry["name"] in sys.argv[1:]):
        print(entry["name"], entry["graph"], entry["source"], " ".join(entry.get("options", [])), sep="\t")
PYTHON
    [ -e "$source" ] || continue
    if [ "$graph" -nt "$source" ]; then echo "$name: already converted"; continue; fi
    # Options of the catalogue hold no spaces.
    # shellcheck disable=SC2086
    "$mlconv" "$source" -o "$graph" $options </dev/null
done
