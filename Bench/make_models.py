#!/usr/bin/env python3
"""Makes the models of the benchmark in the formats of all contestants.

    Bench/make_models.py [--mlconv PROGRAM] [--into FOLDER] [MODEL ...]

FOLDER (Models/fetched/bench) gets one folder a model:

    hf/            the checkpoint: random weights of a fixed seed in the shape of the named model, or a link to a fetched one
    *.graph        this project's, by mlconv, one for each precision
    *.onnx         exported by torch; int8 by onnxruntime's dynamic quantisation
    openvino/      int8 by nncf's static quantisation; for decoders weights only
    ctranslate2/   for all of its compute types
    *.gguf         for llama.cpp

and text.txt, what tokenizers read. What is there already is left alone; a format whose Python package is missing is left out, which is said.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FETCHED = ROOT / "Models" / "fetched"
SEED = 20


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() and target.exists():
        path.symlink_to(os.path.relpath(target, path.parent))


def checkpoint(folder, make):
    """Random weights; with a vocabulary of words t0, t1, ... where the peers' converters want one."""
    if (folder / "config.json").exists():
        return
    import torch
    torch.manual_seed(SEED)
    model = make().eval()
    model.save_pretrained(folder)
    if model.config.model_type == "gpt2":
        words = {f"t{i}": i for i in range(model.config.vocab_size - 1)} | {"<|endoftext|>": model.config.vocab_size - 1}
        (folder / "tokenizer.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": None, "decoder": None,
            "added_tokens": [{"id": model.config.vocab_size - 1, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True}],
            "model": {"type": "WordLevel", "vocab": words, "unk_token": "<|endoftext|>"}}))
        (folder / "tokenizer_config.json").write_text(json.dumps({
            "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}))


def bert_base():
    import transformers
    return transformers.BertModel(transformers.BertConfig(position_embedding_type="absolute"))  # CTranslate2 asks for it


def distilbert():
    import transformers
    return transformers.DistilBertModel(transformers.DistilBertConfig())


def gpt2():
    import transformers
    return transformers.GPT2LMHeadModel(transformers.GPT2Config())


def graph(folder, precision, source, options, mlconv):
    path = folder / f"{precision}.graph"
    if path.exists() or not source.exists():
        return
    subprocess.run([mlconv, str(source), "-o", str(path), *options], check=True, stdin=subprocess.DEVNULL)


def encoder_onnx(folder):
    """input_ids, attention_mask (and token_type_ids) to last_hidden_state."""
    path = folder / "f32.onnx"
    if path.exists():
        return
    import torch
    import transformers
    model = transformers.AutoModel.from_pretrained(folder / "hf", dtype=torch.float32, attn_implementation="eager").eval()
    names = ["input_ids", "attention_mask"] + ([] if model.config.model_type == "distilbert" else ["token_type_ids"])

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(**dict(zip(names, inputs))).last_hidden_state

    example = torch.ones(2, 8, dtype=torch.int64)
    torch.onnx.export(
        Encoder(), (example,) * len(names), str(path), input_names=names, output_names=["last_hidden_state"], opset_version=17, dynamo=False,
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in [*names, "last_hidden_state"]})


def decoder_onnx(folder):
    """input_ids, attention_mask, past_key_values.N.key and .value to logits and present.N.key and .value."""
    path = folder / "f32.onnx"
    if path.exists():
        return
    import torch
    import transformers
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / "hf", dtype=torch.float32, attn_implementation="eager").eval()
    layers, heads, width = model.config.n_layer, model.config.n_head, model.config.n_embd // model.config.n_head

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask, *past):
            cache = transformers.DynamicCache()
            for layer in range(layers):
                cache.update(past[2 * layer], past[2 * layer + 1], layer)
            output = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True)
            present = []
            for layer in output.past_key_values.layers:
                present += [layer.keys, layer.values]
            return (output.logits, *present)

    pairs = [f"{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
    inputs = ["input_ids", "attention_mask"] + [f"past_key_values.{p}" for p in pairs]
    outputs = ["logits"] + [f"present.{p}" for p in pairs]
    axes = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "total"}, "logits": {0: "batch", 1: "sequence"}}
    axes |= {f"past_key_values.{p}": {0: "batch", 2: "past"} for p in pairs} | {f"present.{p}": {0: "batch", 2: "total"} for p in pairs}
    past = [torch.zeros(1, heads, 3, width) for _ in pairs]
    torch.onnx.export(
        Decoder(), (torch.ones(1, 5, dtype=torch.int64), torch.ones(1, 8, dtype=torch.int64), *past), str(path), input_names=inputs,
        output_names=outputs, opset_version=17, dynamo=False, dynamic_axes=axes)


def int8_onnx(folder):
    if (folder / "int8.onnx").exists() or not (folder / "f32.onnx").exists():
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(folder / "f32.onnx", folder / "int8.onnx", weight_type=QuantType.QInt8, per_channel=True)


def openvino_int8(folder):
    path = folder / "openvino" / "int8.xml"
    if path.exists() or not (folder / "f32.onnx").exists():
        return
    import nncf
    import numpy
    import openvino
    model = openvino.Core().read_model(folder / "f32.onnx")
    generator = numpy.random.default_rng(SEED)
    names = [i.any_name for i in model.inputs]

    def sample(_):
        ids = generator.integers(2000, 28000, (1, 64))
        values = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
        return {n: values[n] for n in names}

    quantized = nncf.quantize(model, nncf.Dataset(range(8), sample), model_type=nncf.ModelType.TRANSFORMER, subset_size=8)
    path.parent.mkdir(exist_ok=True)
    openvino.save_model(quantized, path, compress_to_fp16=False)


def openvino_weights(folder, precision):
    """A decoder with weights of 8 or 4 bits, activations in f32."""
    path = folder / "openvino" / f"{precision}.xml"
    if path.exists() or not (folder / "f32.onnx").exists():
        return
    import nncf
    import openvino
    model = openvino.Core().read_model(folder / "f32.onnx")
    if precision == "int8":
        model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    else:
        model = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT4_SYM, group_size=32, all_layers=True)
    path.parent.mkdir(exist_ok=True)
    openvino.save_model(model, path, compress_to_fp16=False)


def gguf_model(folder, precision):
    """GPT-2 under llama.cpp's names, matrices in blocks, without a tokenizer."""
    path = folder / f"{precision}.gguf"
    if path.exists():
        return
    import gguf
    import numpy
    import safetensors.numpy
    config = json.loads((folder / "hf" / "config.json").read_text())
    kind, file_type = {
        "f32": (None, gguf.LlamaFileType.ALL_F32), "int8": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
        "int4": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0)}[precision]
    scratch = path.with_suffix(".part")
    writer = gguf.GGUFWriter(scratch, "gpt2")
    writer.add_context_length(config["n_positions"])
    writer.add_embedding_length(config["n_embd"])
    writer.add_feed_forward_length(4 * config["n_embd"])
    writer.add_block_count(config["n_layer"])
    writer.add_head_count(config["n_head"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("no_vocab")
    writer.add_file_type(file_type)
    names = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
             "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
    for name, tensor in safetensors.numpy.load_file(folder / "hf" / "model.safetensors").items():
        module, _, part = name.removeprefix("transformer.").rpartition(".")
        block = ""
        if module.startswith("h."):
            _, layer, module = module.split(".", 2)
            block = f"blk.{layer}."
        if module not in names:
            continue
        # Linear layers of GPT-2 are stored [in, out].
        if "c_" in module and part == "weight":
            tensor = numpy.ascontiguousarray(tensor.T)
        quantized = kind is not None and part == "weight" and tensor.ndim == 2 and module != "wpe"
        data = gguf.quants.quantize(tensor.astype(numpy.float32), kind) if quantized else tensor.astype(numpy.float32)
        writer.add_tensor(f"{block}{names[module]}.{part}", data, raw_dtype=kind if quantized else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    scratch.rename(path)


def ctranslate2_model(folder):
    if (folder / "ctranslate2").exists():
        return
    import ctranslate2
    ctranslate2.converters.TransformersConverter(str(folder / "hf")).convert(str(folder / "ctranslate2"))


def text(path, tokenizer):
    """Sentences of words of the tokenizer's vocabulary with Zipf's frequencies, about 1 MB; the same in every run."""
    if path.exists() or not tokenizer.exists():
        return
    words = [w for w in json.loads(tokenizer.read_text())["model"]["vocab"] if w.isalpha() and w.isascii() and len(w) > 1]
    generator = random.Random(SEED)
    weights = [1 / (rank + 1) for rank in range(len(words))]
    generator.shuffle(words)
    lines = []
    for _ in range(10_000):
        sentence = generator.choices(words, weights, k=generator.randint(5, 25))
        sentence[0] = sentence[0].capitalize()
        if len(sentence) > 9:
            sentence[5] += ","
        lines.append(" ".join(sentence) + generator.choice([".", ".", ".", "?", "!"]))
    path.write_text("\n".join(lines) + "\n")


def attempt(what, step, *arguments):
    """A format that cannot be made leaves its contestants out; the others go on."""
    try:
        step(*arguments)
    except ModuleNotFoundError as error:
        print(f"{what}: left out, there is no Python module {error.name}", file=sys.stderr)
    except Exception as error:
        print(f"{what}: left out, {type(error).__name__}: {str(error).splitlines()[0][:300] if str(error) else ''}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="minilm, bert-base, distilbert, gpt2, smollm2; all when none is named")
    parser.add_argument("--mlconv", default=str(ROOT / ".build" / "release" / "mlconv"))
    parser.add_argument("--into", type=pathlib.Path, default=FETCHED / "bench", metavar="FOLDER")
    arguments = parser.parse_args()
    into = arguments.into
    into.mkdir(parents=True, exist_ok=True)

    def wanted(name):
        return not arguments.models or name in arguments.models

    for name, make in {"minilm": None, "bert-base": bert_base, "distilbert": distilbert}.items():
        if not wanted(name):
            continue
        folder = into / name
        if make:
            attempt(f"{name} checkpoint", checkpoint, folder / "hf", make)
            # All three have the vocabulary of uncased BERT.
            for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
                link(folder / "hf" / file, FETCHED / "minilm" / file)
        else:
            link(folder / "hf", FETCHED / name)
            link(folder / "tokenizer.json", FETCHED / name / "tokenizer.json")
        attempt(f"{name} f32.graph", graph, folder, "f32", folder / "hf", [], arguments.mlconv)
        attempt(f"{name} int8.graph", graph, folder, "int8", folder / "hf", ["--quantize", "int8"], arguments.mlconv)
        attempt(f"{name} ONNX", encoder_onnx, folder)
        attempt(f"{name} ONNX int8", int8_onnx, folder)
        attempt(f"{name} OpenVINO int8", openvino_int8, folder)
        attempt(f"{name} CTranslate2", ctranslate2_model, folder)
    if wanted("gpt2"):
        folder = into / "gpt2"
        attempt("gpt2 checkpoint", checkpoint, folder / "hf", gpt2)
        attempt("gpt2 f32.graph", graph, folder, "f32", folder / "hf", [], arguments.mlconv)
        attempt("gpt2 int8.graph", graph, folder, "int8", folder / "hf", ["--quantize", "q8_0"], arguments.mlconv)
        attempt("gpt2 int4.graph", graph, folder, "int4", folder / "hf", ["--quantize", "q4_0"], arguments.mlconv)
        attempt("gpt2 ONNX", decoder_onnx, folder)
        attempt("gpt2 ONNX int8", int8_onnx, folder)
        attempt("gpt2 CTranslate2", ctranslate2_model, folder)
        for precision in ("int8", "int4"):
            attempt(f"gpt2 OpenVINO {precision}", openvino_weights, folder, precision)
        for precision in ("f32", "int8", "int4"):
            attempt(f"gpt2 GGUF {precision}", gguf_model, folder, precision)
    if wanted("smollm2"):
        # The catalogue's: a GGUF file and the graph that was made of it.
        link(into / "smollm2" / "int4.graph", FETCHED / "smollm2.graph")
        for source in (FETCHED / "smollm2").glob("*.Q4_1.gguf"):
            link(into / "smollm2" / "int4.gguf", source)
    link(into / "wordpiece" / "tokenizer.json", FETCHED / "minilm" / "tokenizer.json")
    link(into / "bpe" / "tokenizer.json", ROOT / "Tests" / "Fixtures" / "unpacked" / "tokenizers" / "smollm2_bpe" / "tokenizer.json")
    text(into / "text.txt", into / "wordpiece" / "tokenizer.json")


if __name__ == "__main__":
    main()
