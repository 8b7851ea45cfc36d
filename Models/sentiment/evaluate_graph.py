"""Measures a .graph file on heldout.jsonl, as mlrun runs it; needs Python alone.

    python evaluate_graph.py sentiment.graph --mlrun ../../.build/release/mlrun
"""

import argparse
import json
import pathlib
import subprocess


def macro_f1(predicted: list[str], expected: list[str]) -> float:
    scores = []
    for label in sorted(set(expected)):
        hits = sum(p == e == label for p, e in zip(predicted, expected))
        scores.append(2 * hits / (predicted.count(label) + expected.count(label)))
    return sum(scores) / len(scores)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("--mlrun", default="mlrun")
    arguments = parser.parse_args()
    lines = (pathlib.Path(__file__).parent / "heldout.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    answer = subprocess.run(
        [arguments.mlrun, "classify", "--json", "--quiet", "-m", arguments.graph],
        input="\n".join(row["text"] for row in rows), capture_output=True, text=True, encoding="utf-8", check=True)
    predicted = [json.loads(line)["label"] for line in answer.stdout.splitlines()]
    assert len(predicted) == len(rows), "not one answer for each text"
    for domain in ["all", *dict.fromkeys(row["domain"] for row in rows)]:
        chosen = [i for i, row in enumerate(rows) if domain in ("all", row["domain"])]
        p, e = [predicted[i] for i in chosen], [rows[i]["label"] for i in chosen]
        accuracy = sum(a == b for a, b in zip(p, e)) / len(chosen)
        print(f"{domain:9} {len(chosen)} sentences, accuracy {accuracy:.4f}, macro-F1 {macro_f1(p, e):.4f}")


if __name__ == "__main__":
    main()
