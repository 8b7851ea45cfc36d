"""What transformers computes with the weights of Models/fetched/smollm2 in float32.

    pip install gguf==0.19.0 accelerate torch transformers==5.24.0 safetensors
    python make_smollm2.py ../../../Models/fetched/smollm2

smollm2.safetensors: per text N.ids, N.logits (every 48th logit at each place) and N.best (the likeliest token at each place).
"""
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TEXTS = ["The capital of France is", "def fibonacci(n):\n    if n < 2:\n        return n\n", "Water boils at 100 degrees, and freezes at"]
folder, file = sys.argv[1], "SmolLM2-135M-Instruct.Q4_1.gguf"
tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()
references = {}
for number, text in enumerate(TEXTS):
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.no_grad():
        logits = model(ids).logits[0]
        answer = model.generate(ids, max_new_tokens=8, do_sample=False)
    print(repr(text), ids.tolist(), repr(tokenizer.decode(answer[0, ids.shape[1]:])))
    references[f"{number}.ids"] = ids
    references[f"{number}.logits"] = logits[:, ::48].contiguous()
    references[f"{number}.best"] = logits.argmax(-1)
save_file(references, "smollm2.safetensors")
