"""transformers on PyTorch."""

from common import Greedy, existing, lines, log_probabilities, padded, pooled

WORK = {(kind, "f32") for kind in ("encode", "embed", "prompt", "decode")}


def load(task):
    folder = existing(task["folder"], "hf")
    import torch
    import transformers

    torch.set_num_threads(task["threads"])
    torch.set_grad_enabled(False)
    kind = transformers.AutoModelForCausalLM if task["kind"] in ("prompt", "decode") else transformers.AutoModel
    model = kind.from_pretrained(folder, dtype=torch.float32).eval()

    class Job:
        version = f"{torch.__version__.split('+')[0]} (transformers {transformers.__version__})"

    class Encode(Job):
        def __init__(self):
            feeds = {n: torch.from_numpy(v) for n, v in padded(task["rows"]).items()}
            if model.config.model_type == "distilbert":
                del feeds["token_type_ids"]
            self.feeds = feeds

        def run(self):
            self.hidden = model(**self.feeds).last_hidden_state

        def answer(self):
            self.run()
            return pooled(self.hidden.numpy(), self.feeds["attention_mask"].numpy())

    class Embed(Job):
        def __init__(self):
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            self.lines = lines(task)

        def run(self):
            self.vectors = [None] * len(self.lines)
            order = sorted(range(len(self.lines)), key=lambda i: -len(self.lines[i]))
            for start in range(0, len(order), 32):
                part = order[start:start + 32]
                batch = self.tokenizer([self.lines[i] for i in part], padding=True, truncation=True, max_length=256, return_tensors="pt")
                hidden = model(**batch).last_hidden_state
                mask = batch["attention_mask"][:, :, None]
                for i, vector in zip(part, torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1))):
                    self.vectors[i] = vector.tolist()

        def answer(self):
            self.run()
            return self.vectors

    class Generate(Job):
        def __init__(self):
            self.ids = task["prompt"]
            self.greedy = Greedy(self.first, self.next, self.ids, task["new_tokens"])

        def step(self, ids):
            output = model(torch.tensor([ids]), past_key_values=self.cache, use_cache=True, logits_to_keep=1)
            return int(output.logits[0, -1].argmax())

        def first(self, ids):
            self.cache = transformers.DynamicCache()
            return self.step(ids)

        def next(self, token):
            return self.step([token])

    class Prompt(Generate):
        def run(self):
            self.first(self.ids)

        def answer(self):
            return [log_probabilities(model(torch.tensor([self.ids])).logits[0].numpy(), self.ids)]

    class Decode(Generate):
        def run(self):
            return self.greedy.tokens()[1]

        def answer(self):
            return [self.greedy.tokens()[0]]

    return {"encode": Encode, "embed": Embed, "prompt": Prompt, "decode": Decode}[task["kind"]]()
