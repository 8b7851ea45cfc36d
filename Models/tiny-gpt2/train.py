"""Trains a small GPT-2 on public-domain English prose, on one thread.

    python train.py --packages downloads --output tiny-gpt2-hf

Writes a Hugging Face folder; evaluate.py measures it.
"""

import argparse
import json
import math
import pathlib
import random
import time

import tokenizers
import torch
import transformers

import dataset

SEED = 3
VOCABULARY = 4096
END = "<|endoftext|>"
CONTEXT = 256
HIDDEN, LAYERS, HEADS = 192, 5, 4
BATCH = 4  # sequences of CONTEXT tokens
STEPS = 4500
WARMUP = 150
PEAK_RATE, LAST_RATE = 3e-3, 1e-4
WEIGHT_DECAY = 0.1
CLIP = 1.0
THREADS = 1


def train_tokenizer(texts: list[str]) -> tokenizers.Tokenizer:
    """Byte-level BPE as in GPT-2."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class Stream:
    """Training sequences: the passages of every round over the text in a new order, each after an end token, cut every CONTEXT tokens."""

    def __init__(self, passages: list[list[int]], end: int):
        self.passages, self.end = passages, end
        self.order = random.Random(SEED)
        self.buffer: list[int] = []
        self.waiting: list[int] = []

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets, [BATCH, CONTEXT] each; the targets are the inputs moved by one."""
        count = BATCH * CONTEXT
        while len(self.buffer) < count + 1:
            if not self.waiting:
                self.waiting = list(range(len(self.passages)))
                self.order.shuffle(self.waiting)
            self.buffer += [self.end, *self.passages[self.waiting.pop()]]
        tokens = torch.tensor(self.buffer[: count + 1])
        self.buffer = self.buffer[count:]
        return tokens[:-1].view(BATCH, CONTEXT), tokens[1:].view(BATCH, CONTEXT)


def rate(step: int) -> float:
    """Linear warm-up, then half a cosine down to LAST_RATE."""
    if step < WARMUP:
        return PEAK_RATE * (step + 1) / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return LAST_RATE + (PEAK_RATE - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * progress))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=STEPS, help="stop earlier (for a trial)")
    arguments = parser.parse_args()

    torch.set_num_threads(THREADS)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)
    arguments.output.mkdir(parents=True, exist_ok=True)

    passages = dataset.read(arguments.packages)
    texts = [passage.text for passage in passages if not passage.is_held_out]
    tokenizer = train_tokenizer(texts)
    end = tokenizer.token_to_id(END)
    encoded = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    stream = Stream(encoded, end)

    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=HIDDEN, n_layer=LAYERS, n_head=HEADS,
        activation_function="gelu_pytorch_tanh",  # the same function as gelu_new, faster
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end, tie_word_embeddings=True,
    )
    model = transformers.GPT2LMHeadModel(config)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}], lr=PEAK_RATE, betas=(0.9, 0.98), fused=True,
    )
    print("parameters", sum(p.numel() for p in model.parameters()), "tokens", sum(map(len, encoded)), "a step", BATCH * CONTEXT, flush=True)

    model.train()
    started, running = time.time(), 0.0
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        inputs, targets = stream.batch()
        logits = model(input_ids=inputs, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, VOCABULARY), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        running += loss.item()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1}/{STEPS} loss {running / 100:.4f} {time.time() - started:.0f} s, of processor {time.process_time():.0f} s", flush=True)
            running = 0.0

    model.config.activation_function = "gelu_new"
    model.generation_config = transformers.GenerationConfig(
        bos_token_id=end, eos_token_id=end, do_sample=True, temperature=0.8, top_k=40, repetition_penalty=1.0,
    )
    model.to(torch.bfloat16).save_pretrained(arguments.output)  # half the size; the model is measured with these weights
    tokenizer.save(str(arguments.output / "tokenizer.json"))
    settings = {
        "tokenizer_class": "GPT2Tokenizer", "add_prefix_space": False, "model_max_length": CONTEXT,
        "bos_token": END, "eos_token": END, "unk_token": END,
    }
    (arguments.output / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
    training = {
        "seed": SEED, "steps": arguments.steps, "batch": BATCH, "context": CONTEXT, "tokens_seen": arguments.steps * BATCH * CONTEXT,
        "tokens_of_the_text": sum(map(len, encoded)), "processor_seconds": round(time.process_time()),
        "parameters": sum(p.numel() for p in model.parameters()),
        "bytes": {
            part: {source: sum(len(p.text.encode()) for p in passages if p.source == source and p.is_held_out == held) for source in dataset.PACKAGES}
            for part, held in (("training", False), ("held out", True))
        },
        "sources": {package: sha256 for package, sha256, _ in dataset.PACKAGES.values()},
    }
    (arguments.output / "training.json").write_text(json.dumps(training, indent=2) + "\n")


if __name__ == "__main__":
    main()
