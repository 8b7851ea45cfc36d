"""Compares SmolLM2 Q4_1 in mlrun with the same weights in float32 in transformers, teacher-forced on texts.txt.

    pip install torch transformers gguf safetensors
    python evaluate.py SmolLM2-135M-Instruct.Q4_1.gguf smollm2.graph --mlrun ../../.build/release/mlrun

Prints the mean Kullback-Leibler divergence of mlrun's distribution from the reference, in nats, and the share of positions with the same
likeliest token.
"""

import argparse
import pathlib
import subprocess
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def texts() -> list[str]:
    """One text a line; indented lines, blank ones and what follows `def` or `Q:` belong to the text before."""
    result: list[str] = []
    for line in (pathlib.Path(__file__).parent / "texts.txt").read_text(encoding="utf-8").split("\n"):
        continues = not line or line.startswith((" ", "print(", "A:"))
        if continues and result:
            result[-1] += "\n" + line
        else:
            result.append(line)
    return [text.rstrip("\n") for text in result]


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("graph", type=pathlib.Path)
    parser.add_argument("--mlrun", default="mlrun")
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.gguf.parent, gguf_file=arguments.gguf.name)
    model = AutoModelForCausalLM.from_pretrained(arguments.gguf.parent, gguf_file=arguments.gguf.name, dtype=torch.float32).eval()
    divergence, same, positions = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{name}.safetensors" for name in ("in", "out")]
        for text in texts():
            ids = tokenizer(text, return_tensors="pt").input_ids
            expected = torch.log_softmax(model(ids).logits[0].double(), -1)
            save_file({"input_ids": ids}, files[0])
            subprocess.run([arguments.mlrun, "run", arguments.graph, "--inputs", files[0], "--outputs", files[1]], check=True)
            actual = torch.log_softmax(load_file(files[1])["logits"][0].double(), -1)
            divergence += (expected.exp() * (expected - actual)).sum().item()
            same += (expected.argmax(-1) == actual.argmax(-1)).sum().item()
            positions += ids.shape[1]
    print(f"{len(texts())} texts, {positions} positions: mean KL divergence {divergence / positions:.6f}, same token {same / positions:.4%}")


if __name__ == "__main__":
    main()
