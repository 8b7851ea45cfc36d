"""Measures a trained folder on heldout.jsonl and writes metrics.json beside this script.

    python evaluate.py sentiment-hf

Scores the float32 model, and the same model with int8 weights (fake_quantize.py).
"""

import json
import pathlib
import platform
import sys

import safetensors
import tokenizers
import torch
import transformers

from fake_quantize import fake_quantize

BATCH = 32


@torch.no_grad()
def logits_of(model, tokenizer: tokenizers.Tokenizer, texts: list[str]) -> torch.Tensor:
    """Logits in the order of the texts; batches hold texts of similar length."""
    encodings = tokenizer.encode_batch(texts)
    order = sorted(range(len(texts)), key=lambda i: len(encodings[i].ids))
    result = torch.empty(len(texts), model.config.num_labels)
    for start in range(0, len(order), BATCH):
        indices = order[start : start + BATCH]
        length = max(len(encodings[i].ids) for i in indices)
        ids, mask = torch.zeros(len(indices), length, dtype=torch.long), torch.zeros(len(indices), length, dtype=torch.long)
        for row, i in enumerate(indices):
            ids[row, : len(encodings[i].ids)] = torch.tensor(encodings[i].ids)
            mask[row, : len(encodings[i].ids)] = 1
        result[indices] = model(input_ids=ids, attention_mask=mask).logits
    return result


def scores(predicted: list[int], expected: list[int], labels: list[str]) -> dict:
    confusion = [[0] * len(labels) for _ in labels]
    for p, e in zip(predicted, expected, strict=True):
        confusion[e][p] += 1
    f1 = {}
    for i, label in enumerate(labels):
        either = sum(confusion[i]) + sum(row[i] for row in confusion)
        f1[label] = 2 * confusion[i][i] / either if either else 0.0
    return {
        "sentences": len(expected),
        "accuracy": round(sum(confusion[i][i] for i in range(len(labels))) / len(expected), 4),
        "macro_f1": round(sum(f1.values()) / len(labels), 4),
        "f1": {label: round(value, 4) for label, value in f1.items()},
        "confusion_rows_expected_columns_predicted": confusion,
    }


def report(logits: torch.Tensor, rows: list[dict], labels: list[str]) -> dict:
    predicted, expected = logits.argmax(1).tolist(), [labels.index(row["label"]) for row in rows]
    result = {"all": scores(predicted, expected, labels)}
    for domain in dict.fromkeys(row["domain"] for row in rows):
        chosen = [i for i, row in enumerate(rows) if row["domain"] == domain]
        result[domain] = scores([predicted[i] for i in chosen], [expected[i] for i in chosen], labels)
    return result


def main() -> None:
    folder, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    torch.set_num_threads(2)
    rows = [json.loads(line) for line in (here / "heldout.jsonl").read_text(encoding="utf-8").splitlines()]
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = transformers.BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer.enable_truncation(model.config.max_position_embeddings)
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    texts = [row["text"] for row in rows]

    float32 = logits_of(model, tokenizer, texts)
    fake_quantize(model)
    int8 = logits_of(model, tokenizer, texts)
    metrics = {
        "float32": report(float32, rows, labels),
        "int8_weights": report(int8, rows, labels),
        "int8_against_float32": {
            "same_label": round((int8.argmax(1) == float32.argmax(1)).float().mean().item(), 4),
            "max_abs_logit_difference": round((int8 - float32).abs().max().item(), 4),
        },
        "longest_text_in_tokens": max(len(tokenizer.encode(text).ids) for text in texts),
        "training": json.loads((folder / "training.json").read_text()),
        "versions": {
            "python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__, "safetensors": safetensors.__version__,
        },
    }
    (here / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n")
    for name in ("float32", "int8_weights"):
        for part, values in metrics[name].items():
            print(f"{name:12} {part:9} accuracy {values['accuracy']:.4f} macro-F1 {values['macro_f1']:.4f}")


if __name__ == "__main__":
    main()
