"""ONNX Runtime on the CPU: exported graphs, their int8 form by its own dynamic quantisation."""

from common import Greedy, existing, lines, log_probabilities, padded, pooled

WORK = {(kind, precision) for kind in ("encode", "prompt", "decode") for precision in ("f32", "int8")} | {("embed", "f32")}


def load(task):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task["threads"]
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(existing(task["folder"], task["precision"] + ".onnx"), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]

    class Job:
        version = onnxruntime.__version__
        uses = "dynamic" if task["precision"] == "int8" else ""

    class Encode(Job):
        output = next((o.name for o in session.get_outputs() if o.name == "last_hidden_state"), session.get_outputs()[0].name)

        def __init__(self, rows):
            self.feeds = padded(rows)

        def run(self):
            self.hidden = session.run([self.output], {n: self.feeds[n] for n in names})[0]

        def answer(self):
            self.run()
            return pooled(self.hidden, self.feeds["attention_mask"])

    class Embed(Job):
        def __init__(self):
            import tokenizers
            self.tokenizer = tokenizers.Tokenizer.from_file(existing(task["folder"], "tokenizer.json"))
            self.tokenizer.enable_truncation(256)
            self.tokenizer.no_padding()
            self.lines = lines(task)

        def run(self):
            self.vectors = [None] * len(self.lines)
            encodings = [e.ids for e in self.tokenizer.encode_batch(self.lines)]
            order = sorted(range(len(encodings)), key=lambda i: -len(encodings[i]))
            for start in range(0, len(order), 32):
                part = order[start:start + 32]
                encode = Encode([encodings[i] for i in part])
                for i, vector in zip(part, encode.answer()):
                    vector = numpy.array(vector)
                    self.vectors[i] = (vector / numpy.linalg.norm(vector)).tolist()

        def answer(self):
            self.run()
            return self.vectors

    class Generate(Job):
        """A decoder whose inputs are input_ids, attention_mask and past_key_values.*, its outputs logits and present.*."""
        past = [i for i in session.get_inputs() if i.name.startswith("past")]
        present = [o.name for o in session.get_outputs() if o.name.startswith("present")]

        def __init__(self):
            self.ids = task["prompt"]
            self.greedy = Greedy(self.first, self.next, self.ids, task["new_tokens"])

        def step(self, ids):
            self.length += len(ids)
            feeds = {"input_ids": numpy.array([ids], dtype=numpy.int64), "attention_mask": numpy.ones((1, self.length), dtype=numpy.int64)} | self.cache
            logits, *present = session.run(["logits"] + self.present, feeds)
            self.cache = dict(zip([i.name for i in self.past], present))
            return logits

        def start(self):
            self.length = 0
            self.cache = {i.name: numpy.zeros((1, i.shape[1], 0, i.shape[3]), dtype=numpy.float32) for i in self.past}

        def first(self, ids):
            self.start()
            return int(self.step(ids)[0, -1].argmax())

        def next(self, token):
            return int(self.step([token])[0, -1].argmax())

    class Prompt(Generate):
        def run(self):
            self.first(self.ids)

        def answer(self):
            self.start()
            return [log_probabilities(self.step(self.ids)[0], self.ids)]

    class Decode(Generate):
        def run(self):
            return self.greedy.tokens()[1]

        def answer(self):
            return [self.greedy.tokens()[0]]

    if task["kind"] == "encode":
        return Encode(task["rows"])
    return {"embed": Embed, "prompt": Prompt, "decode": Decode}[task["kind"]]()
