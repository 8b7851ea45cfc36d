"""Writes sampling.json: distributions after the logits processors of transformers, for the sampler's tests.

    pip install torch transformers
    python make_sampling.py
"""

import json
import pathlib

import torch
from transformers.generation import logits_process as processors

VOCABULARY = 60


def processed(logits, history, penalty, temperature, top_k, top_p, min_p):
    """The order in which transformers' generate applies them."""
    scores, ids = logits[None].clone(), torch.tensor([history])
    steps = []
    if penalty != 1:
        steps.append(processors.RepetitionPenaltyLogitsProcessor(float(penalty)))
    if temperature != 1:
        steps.append(processors.TemperatureLogitsWarper(float(temperature)))
    if top_k:
        steps.append(processors.TopKLogitsWarper(top_k))
    if top_p < 1:
        steps.append(processors.TopPLogitsWarper(float(top_p)))
    if min_p:
        steps.append(processors.MinPLogitsWarper(float(min_p)))
    for step in steps:
        scores = step(ids, scores)
    return torch.softmax(scores[0].double(), 0)


def main():
    generator = torch.Generator().manual_seed(11)
    cases = []
    settings = [
        (1, 1, 0, 1, 0), (1.3, 1, 0, 1, 0), (1, 0.7, 0, 1, 0), (1, 1.8, 0, 1, 0), (1, 1, 1, 1, 0), (1, 1, 5, 1, 0), (1, 1, 1000, 1, 0),
        (1, 1, 0, 0.9, 0), (1, 1, 0, 0.1, 0), (1, 1, 0, 0.999, 0), (1, 1, 0, 1, 0.1), (1, 1, 0, 1, 1), (1.2, 0.8, 20, 0.8, 0.05),
        (0.8, 0.5, 40, 0.95, 0.02), (2, 3, 30, 0.6, 0),
    ]
    for penalty, temperature, top_k, top_p, min_p in settings:
        for spread in (0.5, 4):
            logits = torch.randn(VOCABULARY, generator=generator) * spread
            history = torch.randint(0, VOCABULARY, (12,), generator=generator).tolist()
            probabilities = processed(logits, history, penalty, temperature, top_k, top_p, min_p)
            kept = [[i, round(p, 9)] for i, p in enumerate(probabilities.tolist()) if p > 0]
            cases.append({
                "logits": [float(f"{x:.9g}") for x in logits.tolist()], "history": history, "repetition_penalty": penalty,
                "temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p, "probabilities": kept})
    path = pathlib.Path(__file__).parent / "sampling.json"
    path.write_text(json.dumps({"cases": cases}, separators=(",", ":")).replace('{"logits"', '\n{"logits"') + "\n")


if __name__ == "__main__":
    main()
