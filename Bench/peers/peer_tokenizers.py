"""Hugging Face tokenizers; its batches are spread over the threads."""

import os

from common import existing, lines

WORK = {("tokenize", None)}


def load(task):
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if task["threads"] > 1 else "false"
    import tokenizers

    class Job:
        version = tokenizers.__version__

        def __init__(self):
            self.tokenizer = tokenizers.Tokenizer.from_file(existing(task["folder"], "tokenizer.json"))
            self.tokenizer.no_padding()
            self.tokenizer.no_truncation()
            self.lines = lines(task)

        def run(self):
            self.encodings = self.tokenizer.encode_batch(self.lines)

        def answer(self):
            self.run()
            return [[sum(len(line.encode()) for line in self.lines)]] + [e.ids for e in self.encodings]

    return Job()
