#!/usr/bin/env python3
"""Operators that onnxruntime's tools write for decoders, one small model each, with inputs and onnxruntime's own outputs.

Needs onnx, onnxruntime, numpy and safetensors; writes NAME.onnx and NAME.safetensors (`in.*`, `out.*`) beside itself.
Made with onnxruntime 1.32.0.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).parent
rng = np.random.default_rng(5)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def write(name, op, inputs, constants, outputs, domain="com.microsoft", **attributes):
    """inputs: {name: array} in the node's order with constants and '' between; outputs: names."""
    order = attributes.pop("order", list(inputs) + list(constants))
    node = helper.make_node(op, order, outputs, name=name, domain=domain, **attributes)
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32}
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(k, kinds[v.dtype], v.shape) for k, v in inputs.items()],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    path = FOLDER / f"{name}.onnx"
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    results = session.run(outputs, inputs)
    tensors = {f"in.{k}": np.ascontiguousarray(v) for k, v in inputs.items()}
    tensors |= {f"out.{k}": np.ascontiguousarray(v) for k, v in zip(outputs, results)}
    save_file(tensors, FOLDER / f"{name}.safetensors")
    print(name, [r.shape for r in results])


def caches(length, pairs):
    angles = np.arange(length)[:, None] * (10000.0 ** (-np.arange(pairs) / pairs))[None]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def grouped(name, batch, sequence, past, lengths, rotary=False, packed=False, window=-1, heads=4, shared=2, width=16, **attributes):
    inputs = {}
    if packed:
        inputs["query"] = floats(batch, sequence, (heads + 2 * shared) * width)
        order = ["query", "", ""]
    else:
        inputs |= {"query": floats(batch, sequence, heads * width), "key": floats(batch, sequence, shared * width), "value": floats(batch, sequence, shared * width)}
        order = ["query", "key", "value"]
    inputs |= {"past_key": floats(batch, shared, past, width), "past_value": floats(batch, shared, past, width)}
    inputs |= {"seqlens_k": np.array(lengths, np.int32) - 1, "total_sequence_length": np.array(past + sequence, np.int32)}
    order += ["past_key", "past_value", "seqlens_k", "total_sequence_length"]
    constants = {}
    if rotary:
        constants = dict(zip(["cos_cache", "sin_cache"], caches(32, width // 2)))
        order += ["cos_cache", "sin_cache"]
        attributes["do_rotary"] = 1
    write(name, "GroupQueryAttention", inputs, constants, ["output", "present_key", "present_value"], order=order,
          num_heads=heads, kv_num_heads=shared, local_window_size=window, **attributes)


grouped("gqa-prompt", 2, 5, 0, [5, 5])
grouped("gqa-prompt-rotary", 2, 5, 0, [5, 5], rotary=True)
grouped("gqa-step", 2, 1, 6, [7, 7], rotary=True)
grouped("gqa-packed", 1, 4, 0, [4], rotary=True, packed=True)
grouped("gqa-interleaved", 1, 4, 0, [4], rotary=True, rotary_interleaved=1)
grouped("gqa-chunk", 1, 3, 5, [8], rotary=True)
grouped("gqa-window", 1, 9, 0, [9], window=4)
grouped("gqa-window-step", 1, 1, 8, [9], window=4)
grouped("gqa-scale", 1, 4, 0, [4], scale=0.5)
grouped("gqa-softcap", 1, 4, 0, [4], softcap=2.0)

cos, sin = caches(20, 4)
write("rotary", "RotaryEmbedding", {"input": floats(2, 3, 16), "position_ids": np.array([[0, 1, 2], [7, 8, 9]])},
      {"cos_cache": cos, "sin_cache": sin}, ["output"])
write("rotary-offset", "RotaryEmbedding", {"input": floats(2, 3, 16), "position_ids": np.array([4])},
      {"cos_cache": cos, "sin_cache": sin}, ["output"], interleaved=1)
write("rotary-heads", "RotaryEmbedding", {"input": floats(2, 2, 3, 8), "position_ids": np.array([[0, 1, 2], [7, 8, 9]])},
      {"cos_cache": cos, "sin_cache": sin}, ["output"])
write("rotary-partial", "RotaryEmbedding", {"input": floats(2, 3, 24), "position_ids": np.array([[0, 1, 2], [7, 8, 9]])},
      {"cos_cache": cos, "sin_cache": sin}, ["output"], num_heads=2, rotary_embedding_dim=8)

write("simplified-norm", "SimplifiedLayerNormalization", {"x": floats(2, 3, 8)}, {"scale": floats(8)}, ["y"], domain="", epsilon=1e-6, axis=-1)
write("skip-simplified-norm", "SkipSimplifiedLayerNormalization", {"x": floats(2, 3, 8), "skip": floats(2, 3, 8)},
      {"gamma": floats(8)}, ["y", "", "", "sum"][:1], epsilon=1e-6)

for name, bits, block, width, zeros in [
        ("nbits-4", 4, 32, 64, None), ("nbits-4-zeros", 4, 16, 48, "packed"), ("nbits-4-rest", 4, 32, 40, "packed"), ("nbits-8", 8, 32, 64, "packed"),
        ("nbits-4-float-zeros", 4, 32, 64, "float")]:
    rows, blocks = 6, -(-width // block)
    constants = {"w": rng.integers(0, 256, (rows, blocks, block * bits // 8)).astype(np.uint8), "scales": np.abs(floats(rows * blocks)) * 0.1}
    if zeros == "packed":
        constants["zeros"] = rng.integers(0, 256, rows * -(-blocks * bits // 8)).astype(np.uint8)
    elif zeros == "float":
        constants["zeros"] = rng.integers(0, 16, (rows, blocks)).astype(np.float32)
    write(name, "MatMulNBits", {"a": floats(2, 3, width)}, constants, ["y"], N=rows, K=width, bits=bits, block_size=block)
