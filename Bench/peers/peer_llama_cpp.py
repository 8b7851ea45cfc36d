"""llama.cpp by llama-cpp-python's bindings to its C interface."""

import ctypes

from common import Greedy, existing, log_probabilities

WORK = {(kind, precision) for kind in ("prompt", "decode") for precision in ("f32", "int8", "int4")}
CONTEXT = 1024
BATCH = 512


def load(task):
    path = existing(task["folder"], task["precision"] + ".gguf")
    import llama_cpp
    import numpy

    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx, settings.n_batch, settings.n_ubatch = CONTEXT, BATCH, BATCH
    settings.n_threads = settings.n_threads_batch = task["threads"]
    context = llama_cpp.llama_init_from_model(model, settings) if model else None
    if not context:
        raise RuntimeError(f"llama.cpp cannot load {path}")
    batch = llama_cpp.llama_batch_init(BATCH, 0, 1)
    vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    description = ctypes.create_string_buffer(128)
    llama_cpp.llama_model_desc(model, description, len(description))

    class Job:
        version = llama_cpp.__version__
        # "gpt2 0.1B Q8_0"
        uses = " ".join(description.value.decode().split()[2:])

        def __init__(self):
            self.ids = task["prompt"]
            self.greedy = Greedy(self.first, self.next, self.ids, task["new_tokens"])

        def step(self, ids, all_logits=False):
            batch.n_tokens = len(ids)
            for i, token in enumerate(ids):
                batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, self.length + i, 1, 0
                batch.logits[i] = all_logits or i == len(ids) - 1
            self.length += len(ids)
            if llama_cpp.llama_decode(context, batch) != 0:
                raise RuntimeError("llama_decode failed")

        def logits(self, index):
            return numpy.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, index), shape=(vocabulary,))

        def start(self):
            self.length = 0
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)

        def first(self, ids):
            self.start()
            self.step(ids)
            return int(self.logits(-1).argmax())

        def next(self, token):
            self.step([token])
            return int(self.logits(-1).argmax())

    class Prompt(Job):
        def run(self):
            self.first(self.ids)

        def answer(self):
            self.start()
            self.step(self.ids, all_logits=True)
            return [log_probabilities([self.logits(i).copy() for i in range(len(self.ids))], self.ids)]

    class Decode(Job):
        def run(self):
            return self.greedy.tokens()[1]

        def answer(self):
            return [self.greedy.tokens()[0]]

    return {"prompt": Prompt, "decode": Decode}[task["kind"]]()
