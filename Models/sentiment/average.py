"""Makes the default text classifier of several training runs: the mean of their weights, and the logit offsets that are best on the
validation part.

    python average.py run0 run1 run2 --data vaderSentiment-3.3.2.tar.gz --output sentiment-hf

All runs begin with the same weights, so that their mean is a model as good as any of them or better (Wortsman et al., "Model soups", 2022).
evaluate.py measures the folder.
"""

import argparse
import json
import pathlib
import shutil

import torch
import transformers
from tokenizers import Tokenizer

import dataset
from train import MAX_TOKENS, Encoded, logits_of, macro_f1


def best_offsets(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Per-label logit offsets with the best macro-F1, from a coarse grid smoothed over its neighbours."""
    steps = [i * 0.1 for i in range(-10, 11)]
    grid = torch.tensor([[macro_f1((logits + torch.tensor([n, 0.0, p])).argmax(1), labels) for p in steps] for n in steps])
    smooth = torch.nn.functional.avg_pool2d(grid[None, None], 5, 1, 2, count_include_pad=False)[0, 0]
    row, column = divmod(smooth.argmax().item(), len(steps))
    return torch.tensor([steps[row], 0.0, steps[column]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    torch.set_num_threads(2)
    sentences, _ = dataset.read(arguments.data)
    tokenizer = Tokenizer.from_file(str(arguments.runs[0] / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    validation = Encoded(tokenizer, [s for s in sentences if s.part == "validation"])

    models = [transformers.BertForSequenceClassification.from_pretrained(folder).state_dict() for folder in arguments.runs]
    mean = {
        name: sum(model[name] for model in models) / len(models) if value.is_floating_point() else value
        for name, value in models[0].items()
    }
    model = transformers.BertForSequenceClassification.from_pretrained(arguments.runs[0])
    model.load_state_dict(mean)
    logits = logits_of(model, validation)
    offsets = best_offsets(logits, validation.labels)
    with torch.no_grad():
        model.classifier.bias += offsets
    score = macro_f1((logits + offsets).argmax(1), validation.labels)
    print(f"validation macro-F1 {macro_f1(logits.argmax(1), validation.labels):.4f}, with offsets {offsets.tolist()} {score:.4f}")

    shutil.copytree(arguments.runs[0], arguments.output, dirs_exist_ok=True)
    model.save_pretrained(arguments.output)
    training = {
        "runs": [json.loads((folder / "training.json").read_text()) for folder in arguments.runs],
        "logit_offsets": dict(zip(dataset.LABELS, [round(offset, 1) for offset in offsets.tolist()])),
        "validation_macro_f1": round(score, 4),
    }
    (arguments.output / "training.json").write_text(json.dumps(training, indent=2) + "\n")


if __name__ == "__main__":
    main()
