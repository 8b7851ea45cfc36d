"""Measures a trained folder on the held-out passages, writes metrics.json beside this script and prints samples.

    python evaluate.py --packages downloads --model tiny-gpt2-hf
"""

import argparse
import json
import math
import pathlib
import platform

import tokenizers
import torch
import transformers

import dataset

PROMPTS = ["It is a truth universally acknowledged, that", "And the king said to", "The whale", "She was"]
SAMPLE_TOKENS = 80


@torch.no_grad()
def loss_of(model, ids: list[int]) -> float:
    """The sum of -ln p over all tokens but the first. Windows overlap by half: a token has at least half a window before it."""
    window = model.config.n_positions
    total, done = 0.0, 1
    for start in range(0, max(len(ids) - window // 2, 1), window // 2):
        part = torch.tensor([ids[start : start + window]])
        log_chances = model(input_ids=part).logits[0, :-1].log_softmax(-1)
        losses = -log_chances.gather(1, part[0, 1:, None])[:, 0]
        new = start + part.shape[1] - done
        total += losses[len(losses) - new :].sum().item() if new > 0 else 0.0
        done = max(done, start + part.shape[1])
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    tokenizer = tokenizers.Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    model = transformers.GPT2LMHeadModel.from_pretrained(arguments.model, dtype=torch.float32).eval()
    end = model.config.eos_token_id
    sums: dict[str, list[float]] = {}
    for passage in dataset.read(arguments.packages):
        if not passage.is_held_out:
            continue
        ids = [end, *tokenizer.encode(passage.text).ids]
        values = (loss_of(model, ids), len(ids) - 1, len(passage.text.encode()), 1)
        for part in (passage.source, "all"):
            sums[part] = [a + b for a, b in zip(sums.get(part, [0] * 4), values)]

    samples = {}
    for number, prompt in enumerate(PROMPTS):
        transformers.set_seed(number)
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        output = model.generate(ids, max_new_tokens=SAMPLE_TOKENS, pad_token_id=end)  # the folder's generation_config.json
        samples[prompt] = tokenizer.decode(output[0].tolist())

    metrics = {
        "held_out": {
            part: {
                "passages": passages, "tokens": tokens, "bytes": size, "loss": round(loss / tokens, 4),
                "perplexity": round(math.exp(loss / tokens), 2), "bits_per_byte": round(loss / math.log(2) / size, 4),
            }
            for part, (loss, tokens, size, passages) in sums.items()
        },
        "samples": samples,
        "training": json.loads((arguments.model / "training.json").read_text()),
        "versions": {
            "python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__,
            "tokenizers": tokenizers.__version__,
        },
    }
    (pathlib.Path(__file__).parent / "metrics.json").write_text(json.dumps(metrics, indent=1) + "\n")
    for part, values in metrics["held_out"].items():
        print(f"{part:9} loss {values['loss']:.4f} perplexity {values['perplexity']:.2f} bits per byte {values['bits_per_byte']:.4f}")
    for text in samples.values():
        print("---", text)


if __name__ == "__main__":
    main()
