"""CTranslate2, which skips padding by itself; int8 is its compute type."""

import time

from common import existing, log_probabilities, padded, pooled

WORK = {(kind, precision) for kind in ("encode", "prompt", "decode") for precision in ("f32", "int8")}


def load(task):
    folder = existing(task["folder"], "ctranslate2")
    import ctranslate2
    import numpy

    settings = {"compute_type": "int8" if task["precision"] == "int8" else "float32", "intra_threads": task["threads"], "inter_threads": 1}

    class Job:
        version = ctranslate2.__version__

    class Encode(Job):
        def __init__(self):
            self.encoder = ctranslate2.Encoder(folder, device="cpu", **settings)

        def run(self):
            self.hidden = self.encoder.forward_batch(task["rows"]).last_hidden_state

        def answer(self):
            self.run()
            return pooled(numpy.array(self.hidden), padded(task["rows"])["attention_mask"])

    class Prompt(Job):
        def __init__(self):
            self.generator = ctranslate2.Generator(folder, device="cpu", **settings)

        def run(self):
            self.generate(1)

        def generate(self, count):
            """Greedy tokens, and the seconds behind the first one."""
            times = []
            tokens = []

            def step(result):
                times.append(time.perf_counter())
                tokens.append(result.token_id)
                return False

            self.generator.generate_batch(
                [[f"t{i}" for i in task["prompt"]]], max_length=count, min_length=count, sampling_topk=1, include_prompt_in_result=False,
                end_token=[], callback=step)
            return tokens, times[-1] - times[0]

        def answer(self):
            logits = numpy.array(self.generator.forward_batch([task["prompt"]]))[0]
            return [log_probabilities(logits, task["prompt"])]

    class Decode(Prompt):
        def run(self):
            return self.generate(task["new_tokens"])[1]

        def answer(self):
            return [self.generate(task["new_tokens"])[0]]

    return {"encode": Encode, "prompt": Prompt, "decode": Decode}[task["kind"]]()
