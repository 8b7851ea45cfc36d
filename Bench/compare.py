#!/usr/bin/env python3
"""Runs mlrun and its peers in turn as whole processes and prints a table; see README.md beside this file.

    Bench/compare.py [--rounds N] [--threads N]
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "Models" / "fetched"
SENTENCES = [
    "The committee will meet again on Thursday.", "Rain.", "She said that the shipment had been delayed twice, first by the storm and then by a strike, so nobody "
    "expected it before the end of the month.", "How do I change the battery?", "A dog ran across the field, chased a hare, lost it near the river and came back wet.",
    "No.", "Prices rose by three percent last year, mostly because of energy, while wages stood still in all but two sectors of the economy.",
    "The museum is closed on Mondays.",
]


def commands(threads):
    mlrun = str(ROOT / ".build" / "release" / "mlrun")
    peers = ROOT / "Bench" / "peers"
    common = ["embed", "--format", "text", "--threads", str(threads), "--quiet"]
    return {
        "f32": {
            "mlrun": [mlrun, *common, "-m", str(MODELS / "minilm.graph")],
            "transformers": [sys.executable, str(peers / "embed_transformers.py"), str(MODELS / "minilm"), str(threads)],
        },
        "int8 weights (ONNX)": {
            "mlrun": [mlrun, *common, "-m", str(MODELS / "minilm-int8.graph")],
            "onnxruntime": [sys.executable, str(peers / "embed_onnxruntime.py"), str(MODELS / "minilm-int8" / "model.onnx"),
                            str(MODELS / "minilm" / "tokenizer.json"), str(threads)],
        },
    }


def run(command, text):
    """Wall seconds, peak MiB and standard output of one process."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write(text.encode())
    process.stdin.close()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss / 1024, output.decode()


def vectors(output):
    return [[float(x) for x in line.split()] for line in output.splitlines()]


def cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b))
    return dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    cases = {"first": SENTENCES[0] + "\n", "lines": "".join(f"{SENTENCES[i % len(SENTENCES)]} {i}\n" for i in range(256))}
    print(f"Medians of {arguments.rounds} rounds, {arguments.threads} thread(s), in turn within each round.\n")
    print("| model | case | program | seconds | min to max | of mlrun's time | peak MiB |\n|---|---|---|---|---|---|---|")
    for model, programs in commands(arguments.threads).items():
        for case, text in cases.items():
            answers = {name: vectors(run(command, text)[2]) for name, command in programs.items()}  # also the warm-up
            worst = min(cosine(a, b) for name in answers for a, b in zip(answers[name], answers["mlrun"], strict=True))
            if worst < 0.9999:
                sys.exit(f"{model}, {case}: the answers differ, cosine {worst}")
            results = {name: [] for name in programs}
            for _ in range(arguments.rounds):
                for name, command in programs.items():
                    results[name].append(run(command, text)[:2])
            base = statistics.median(r[0] for r in results["mlrun"])
            for name, rounds in results.items():
                times = [r[0] for r in rounds]
                middle = statistics.median(times)
                print(f"| {model} | {case} | {name} | {middle:.2f} | {min(times):.2f} to {max(times):.2f} | {middle / base:.1f} | {max(r[1] for r in rounds):.0f} |", flush=True)


if __name__ == "__main__":
    main()
