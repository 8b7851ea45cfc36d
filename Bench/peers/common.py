"""What several peers need: padded inputs, pooled answers, log-probabilities, a greedy loop that counts as the suite does."""

import os
import time

import numpy


def existing(folder, name):
    """The path of a model's file."""
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "no such file", path)
    return path


def lines(task):
    with open(task["text_file"], encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line][:task["lines"]]


def padded(rows):
    """Token ids, mask and type ids of rows, padded to the longest."""
    width = max(map(len, rows))
    ids = numpy.array([row + [0] * (width - len(row)) for row in rows], dtype=numpy.int64)
    mask = numpy.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], dtype=numpy.int64)
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}


def pooled(hidden, mask):
    """The mean of the hidden states of each row's tokens."""
    mask = mask[:, :, None]
    return ((hidden * mask).sum(1) / mask.sum(1)).astype(float).tolist()


def log_probabilities(logits, ids):
    """The log-probability of each token of a prompt but the first, from the logits [tokens, vocabulary] behind each."""
    logits = numpy.asarray(logits, dtype=numpy.float64)[:len(ids) - 1]
    largest = logits.max(1)
    total = largest + numpy.log(numpy.exp(logits - largest[:, None]).sum(1))
    return (logits[numpy.arange(len(ids) - 1), ids[1:]] - total).tolist()


class Greedy:
    """Greedy tokens by `first(ids)`, which starts anew and gives the first token, and `next(id)`. The first one belongs to the prompt: not counted."""

    def __init__(self, first, next_, prompt, count):
        self.first, self.next, self.prompt, self.count = first, next_, prompt, count

    def tokens(self):
        result = [self.first(self.prompt)]
        started = time.perf_counter()
        while len(result) < self.count:
            result.append(self.next(result[-1]))
        return result, time.perf_counter() - started
