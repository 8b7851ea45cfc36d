"""Embeds the lines of standard input with onnxruntime: MODEL.onnx TOKENIZER.json THREADS. Prints the vectors, one a line."""

import sys

import numpy
import onnxruntime
import tokenizers

model, tokenizer_path, threads = sys.argv[1:4]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
tokenizer = tokenizers.Tokenizer.from_file(tokenizer_path)
tokenizer.enable_truncation(256)
tokenizer.enable_padding()
names = {i.name for i in session.get_inputs()}

lines = sys.stdin.read().splitlines()
order = sorted(range(len(lines)), key=lambda i: -len(lines[i]))
vectors = [None] * len(lines)
for start in range(0, len(order), 32):
    part = order[start:start + 32]
    encodings = tokenizer.encode_batch([lines[i] for i in part])
    feeds = {
        "input_ids": numpy.array([e.ids for e in encodings], dtype=numpy.int64),
        "attention_mask": numpy.array([e.attention_mask for e in encodings], dtype=numpy.int64),
        "token_type_ids": numpy.array([e.type_ids for e in encodings], dtype=numpy.int64),
    }
    hidden = session.run(["last_hidden_state"], {k: v for k, v in feeds.items() if k in names})[0]
    mask = feeds["attention_mask"][:, :, None]
    pooled = (hidden * mask).sum(1) / mask.sum(1)
    for i, vector in zip(part, pooled):
        vectors[i] = vector
for vector in vectors:
    print(" ".join(f"{x:.7g}" for x in vector))
