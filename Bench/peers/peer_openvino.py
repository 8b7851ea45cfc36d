"""OpenVINO on the CPU: the exported graphs, int8 and int4 by nncf; a decoder keeps its keys and values as state."""

import os

from common import Greedy, existing, log_probabilities, padded, pooled

WORK = {("encode", "f32"), ("encode", "int8")} | {(kind, precision) for kind in ("prompt", "decode") for precision in ("f32", "int8", "int4")}


def load(task):
    path = existing(task["folder"], "f32.onnx" if task["precision"] == "f32" else os.path.join("openvino", task["precision"] + ".xml"))
    import numpy
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    is_decoder = task["kind"] != "encode"
    if is_decoder:
        keep_state(model)
    settings = {"INFERENCE_NUM_THREADS": task["threads"], "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}
    compiled = core.compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()

    class Job:
        version = openvino.__version__.split("-")[0]
        uses = "" if task["precision"] == "f32" else "weights only" if is_decoder else "static"

    class Encode(Job):
        output = next((o for o in compiled.outputs if "last_hidden_state" in o.names), compiled.outputs[0])

        def __init__(self):
            self.values = padded(task["rows"])
            self.feeds = {n: self.values[n] for i in compiled.inputs for n in i.names if n in self.values}

        def run(self):
            self.hidden = request.infer(self.feeds, share_inputs=True, share_outputs=True)[self.output]

        def answer(self):
            self.run()
            return pooled(self.hidden, self.values["attention_mask"])

    class Generate(Job):
        def __init__(self):
            self.ids = task["prompt"]
            self.greedy = Greedy(self.first, self.next, self.ids, task["new_tokens"])

        def step(self, ids):
            self.length += len(ids)
            feeds = {"input_ids": numpy.array([ids], dtype=numpy.int64), "attention_mask": numpy.ones((1, self.length), dtype=numpy.int64)}
            return request.infer(feeds, share_inputs=True, share_outputs=True)["logits"][0]

        def start(self):
            self.length = 0
            request.reset_state()

        def first(self, ids):
            self.start()
            return int(self.step(ids)[-1].argmax())

        def next(self, token):
            return int(self.step([token])[-1].argmax())

    class Prompt(Generate):
        def run(self):
            self.first(self.ids)

        def answer(self):
            self.start()
            return [log_probabilities(self.step(self.ids), self.ids)]

    class Decode(Generate):
        def run(self):
            return self.greedy.tokens()[1]

        def answer(self):
            return [self.greedy.tokens()[0]]

    return {"encode": Encode, "prompt": Prompt, "decode": Decode}[task["kind"]]()


def keep_state(model):
    """Turns past_key_values.* and present.* into state of the model, for a batch of one."""
    from openvino._offline_transformations import apply_make_stateful_transformation

    pairs = {}
    shapes = {}
    for value in model.inputs:
        name = value.any_name
        if name.startswith("past_key_values."):
            pairs[name] = "present." + name.removeprefix("past_key_values.")
            shapes[name] = [1, value.partial_shape[1], -1, value.partial_shape[3]]
        else:
            shapes[name] = [1, -1]
    model.reshape(shapes)
    apply_make_stateful_transformation(model, pairs)
