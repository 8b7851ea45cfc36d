"""Writes Tests/Fixtures/references/tiny-gpt2.json and .safetensors: what transformers computes with a trained folder.

    python reference.py tiny-gpt2-hf

The JSON has, for each prompt, its ids and the ids that follow when always the likeliest token is taken; the tensor `logits`
[prompts, vocabulary] has the logits after each prompt, float32.
"""

import json
import pathlib
import sys

import tokenizers
import torch
import transformers
from safetensors.torch import save_file

PROMPTS = [
    "<|endoftext|>",
    "It is a truth universally acknowledged, that a single man",
    "And it came to pass in those days,",
    "The ship",
    "By what has been said of the colours of light, it is plain that",
    "\n\n\"My dear Mr. Bennet,\" said his lady",
]
LENGTH = 32
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Tests/Fixtures/references"


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows, logits = [], []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        greedy = list(ids)
        with torch.no_grad():
            logits.append(model(input_ids=torch.tensor([ids])).logits[0, -1])
            for _ in range(LENGTH):  # an end token is a token like any other here
                greedy.append(model(input_ids=torch.tensor([greedy])).logits[0, -1].argmax().item())
        rows.append({"prompt": prompt, "ids": ids, "greedy": greedy[len(ids) :]})
    (FOLDER / "tiny-gpt2.json").write_text(json.dumps({"prompts": rows}, indent=1) + "\n")
    save_file({"logits": torch.stack(logits).contiguous()}, FOLDER / "tiny-gpt2.safetensors")


if __name__ == "__main__":
    main()
