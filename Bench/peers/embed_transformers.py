"""Embeds the lines of standard input with transformers on PyTorch: FOLDER THREADS. Prints the vectors, one a line."""

import sys

import torch
import transformers

folder, threads = sys.argv[1:3]
torch.set_num_threads(int(threads))
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

lines = sys.stdin.read().splitlines()
order = sorted(range(len(lines)), key=lambda i: -len(lines[i]))
vectors = [None] * len(lines)
with torch.inference_mode():
    for start in range(0, len(order), 32):
        part = order[start:start + 32]
        batch = tokenizer([lines[i] for i in part], padding=True, truncation=True, max_length=256, return_tensors="pt")
        hidden = model(**batch).last_hidden_state
        mask = batch["attention_mask"][:, :, None]
        pooled = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1))
        for i, vector in zip(part, pooled):
            vectors[i] = vector.tolist()
for vector in vectors:
    print(" ".join(f"{x:.7g}" for x in vector))
