#!/usr/bin/env python3
"""Operators that onnxruntime's tools write for encoders, one small model each, with inputs and onnxruntime's own outputs.

Needs onnx, onnxruntime, numpy and safetensors; writes NAME.onnx and NAME.safetensors (`in.*`, `out.*`) beside itself.
Made with onnxruntime 1.32.0.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

FOLDER = pathlib.Path(__file__).parent
rng = np.random.default_rng(9)
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.int32): TensorProto.INT32}
BATCH, LENGTH, HEADS, WIDTH = 2, 5, 2, 4
HIDDEN = HEADS * WIDTH


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*rows):
    return np.array(rows, np.int32)


def write(name, op, order, inputs, constants, outputs, output_kinds=None, same_as=None, **attributes):
    """order: the node's operands, '' for absent ones; outputs: names, '' for absent ones; same_as: operands and inputs of the same node in a form that
    onnxruntime runs on CPUs, for one that it does not."""
    node = helper.make_node(op, order, outputs, name=name, domain="com.microsoft", **attributes)
    kept = [o for o in outputs if o]
    kinds = output_kinds or {}
    graph = helper.make_graph(
        [node], name,
        [helper.make_tensor_value_info(k, KINDS[v.dtype], v.shape) for k, v in inputs.items()],
        [helper.make_tensor_value_info(o, kinds.get(o, TensorProto.FLOAT), None) for o in kept],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    onnx.save(model, FOLDER / f"{name}.onnx")
    if same_as:
        write(name, op, same_as[0], same_as[1], constants, outputs, output_kinds, **attributes)
        onnx.save(model, FOLDER / f"{name}.onnx")
        kept_tensors = load_file(FOLDER / f"{name}.safetensors")
        tensors = {f"in.{k}": np.ascontiguousarray(v) for k, v in inputs.items()}
        save_file(tensors | {k: v for k, v in kept_tensors.items() if k.startswith("out.")}, FOLDER / f"{name}.safetensors")
        return
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(kept, inputs)
    tensors = {f"in.{k}": np.ascontiguousarray(v) for k, v in inputs.items()}
    tensors |= {f"out.{k}": np.ascontiguousarray(v) for k, v in zip(kept, results)}
    save_file(tensors, FOLDER / f"{name}.safetensors")
    print(name, [r.shape for r in results], "nan" if any(np.isnan(r).any() for r in results if r.dtype.kind == "f") else "")


KEYS = ints([1, 1, 1, 1, 1], [1, 1, 1, 0, 0])
ENDS = np.array([5, 3], np.int32)
ENDS_STARTS = np.array([5, 4, 0, 1], np.int32)
QUERY_KEYS = (rng.random((BATCH, LENGTH, LENGTH)) > 0.4).astype(np.int32)
QUERY_KEYS[:, :, 0] = 1


def attention(name, mask=None, past=0, bias=None, no_bias=False, sizes=None, **attributes):
    total = sum(sizes) if sizes else 3 * HIDDEN
    inputs = {"x": floats(BATCH, LENGTH, HIDDEN)}
    constants = {"weight": floats(HIDDEN, total) / 2}
    if not no_bias:
        constants["bias"] = floats(total)
    order = ["x", "weight", "" if no_bias else "bias", "", "", ""]
    if mask is not None:
        inputs["mask"] = mask
        order[3] = "mask"
    outputs = ["y"]
    if past is not None and past > 0:
        inputs["past"] = floats(2, BATCH, HEADS, past, WIDTH)
        order[4] = "past"
        outputs.append("present")
    if bias is not None:
        inputs["score_bias"] = bias
        order[5] = "score_bias"
    while order[-1] == "":
        order.pop()
    if sizes:
        attributes["qkv_hidden_sizes"] = sizes
    write(name, "Attention", order, inputs, constants, outputs, num_heads=HEADS, **attributes)


attention("attention")
attention("attention-no-bias", no_bias=True)
attention("attention-keys", KEYS)
attention("attention-ends", ENDS)
attention("attention-ends-starts", ENDS_STARTS)
attention("attention-query-keys", QUERY_KEYS)
attention("attention-causal", unidirectional=1)
attention("attention-causal-keys", KEYS, unidirectional=1)
attention("attention-filter", KEYS, mask_filter_value=-100.0)
attention("attention-scale", KEYS, scale=0.3)
attention("attention-sizes", KEYS, sizes=[HIDDEN, HIDDEN, 2 * HIDDEN])
attention("attention-bias", KEYS, bias=floats(BATCH, HEADS, LENGTH, LENGTH))
attention("attention-bias-shared", bias=floats(1, HEADS, LENGTH, LENGTH))
attention("attention-past", past=3)
attention("attention-past-causal", past=3, unidirectional=1)
attention("attention-past-keys", np.concatenate([np.ones((BATCH, 3), np.int32), KEYS], 1), past=3)
attention("attention-present", None)


def multi(name, mask=None, packed=None, cross=False, bias=False, score_bias=None, past=0, keys=LENGTH, value_width=WIDTH, **attributes):
    inputs = {}
    order = ["query", "", "", "", "", "", "", ""]
    loose = {}
    if packed == "qkv":
        inputs["query"] = floats(BATCH, LENGTH, HEADS, 3, WIDTH)
        loose = {k: inputs["query"][:, :, :, i].reshape(BATCH, LENGTH, HIDDEN) for i, k in enumerate(["query", "key", "value"])}
    else:
        inputs["query"] = floats(BATCH, LENGTH, HIDDEN)
        if packed == "kv":
            inputs["key"] = floats(BATCH, keys, HEADS, 2, WIDTH)
            order[1] = "key"
            loose = {k: inputs["key"][:, :, :, i].reshape(BATCH, keys, HIDDEN) for i, k in enumerate(["key", "value"])}
        elif cross:
            inputs |= {"key": floats(BATCH, HEADS, keys, WIDTH), "value": floats(BATCH, HEADS, keys, WIDTH)}
            order[1:3] = ["key", "value"]
        else:
            inputs |= {"key": floats(BATCH, keys, HIDDEN), "value": floats(BATCH, keys, HEADS * value_width)}
            order[1:3] = ["key", "value"]
    constants = {}
    if bias:
        constants["bias"] = floats(2 * HIDDEN + HEADS * value_width)
        order[3] = "bias"
    if mask is not None:
        inputs["mask"] = mask
        order[4] = "mask"
    if score_bias is not None:
        inputs["score_bias"] = score_bias
        order[5] = "score_bias"
    outputs = ["y"]
    if past:
        inputs |= {"past_key": floats(BATCH, HEADS, past, WIDTH), "past_value": floats(BATCH, HEADS, past, WIDTH)}
        order[6:8] = ["past_key", "past_value"]
    if attributes.pop("present", past > 0):
        outputs += ["present_key", "present_value"]
    while order[-1] == "":
        order.pop()
    same_as = (["query", "key", "value"] + order[3:], inputs | loose) if packed else None
    write(name, "MultiHeadAttention", order, inputs, constants, outputs, same_as=same_as, num_heads=HEADS, **attributes)


multi("multi-head")
multi("multi-head-bias", bias=True)
multi("multi-head-keys", KEYS)
multi("multi-head-ends", ENDS)
multi("multi-head-query-keys", QUERY_KEYS)
multi("multi-head-other-keys", keys=7, bias=True)
multi("multi-head-wide-values", value_width=6, bias=True)
multi("multi-head-packed-qkv", packed="qkv")
multi("multi-head-packed-qkv-keys", KEYS, packed="qkv")
multi("multi-head-packed-kv", packed="kv", keys=7)
multi("multi-head-cross", cross=True, keys=7)
multi("multi-head-cross-bias", cross=True, keys=7, bias=True)
multi("multi-head-score-bias", score_bias=floats(1, HEADS, LENGTH, LENGTH))
multi("multi-head-score-bias-batch", KEYS, score_bias=floats(BATCH, 1, LENGTH, LENGTH))
multi("multi-head-past", past=3)
multi("multi-head-past-keys", np.concatenate([np.ones((BATCH, 3), np.int32), KEYS], 1), past=3, bias=True)
multi("multi-head-past-causal", past=3, unidirectional=1)
multi("multi-head-causal", unidirectional=1)
multi("multi-head-scale", scale=0.2)
multi("multi-head-filter", KEYS, mask_filter_value=-50.0)
multi("multi-head-present", present=True)


def skip(name, skip_shape, beta=True, bias=False, outputs=("y",), rank=3, **attributes):
    shape = (BATCH, LENGTH, HIDDEN) if rank == 3 else (LENGTH, HIDDEN)
    inputs = {"x": floats(*shape), "skip": floats(*skip_shape)}
    constants = {"gamma": floats(HIDDEN)}
    order = ["x", "skip", "gamma", "beta" if beta else "", "bias" if bias else ""]
    if beta:
        constants["beta"] = floats(HIDDEN)
    if bias:
        constants["bias"] = floats(HIDDEN)
    while order[-1] == "":
        order.pop()
    write(name, "SkipLayerNormalization", order, inputs, constants, list(outputs), **attributes)


skip("skip-norm", (BATCH, LENGTH, HIDDEN))
skip("skip-norm-bias", (BATCH, LENGTH, HIDDEN), bias=True, outputs=("y", "", "", "sum"))
skip("skip-norm-no-beta", (BATCH, LENGTH, HIDDEN), beta=False, epsilon=1e-3)
skip("skip-norm-one-batch", (1, LENGTH, HIDDEN))
skip("skip-norm-rows", (LENGTH, HIDDEN), bias=True)
skip("skip-norm-rank-2", (LENGTH, HIDDEN), rank=2)


def embed(name, segments=True, mask=None, positions=None, outputs=("y", "mask_index"), **attributes):
    inputs = {"ids": rng.integers(0, 11, (BATCH, LENGTH)).astype(np.int32)}
    constants = {"words": floats(11, HIDDEN), "places": floats(9, HIDDEN), "gamma": floats(HIDDEN), "beta": floats(HIDDEN)}
    order = ["ids", "segments" if segments else "", "words", "places", "types" if segments else "", "gamma", "beta", "", ""]
    if segments:
        inputs["segments"] = rng.integers(0, 3, (BATCH, LENGTH)).astype(np.int32)
        constants["types"] = floats(3, HIDDEN)
    if mask is not None:
        inputs["mask"] = mask
        order[7] = "mask"
    if positions is not None:
        inputs["positions"] = positions
        order[8] = "positions"
    while order[-1] == "":
        order.pop()
    write(name, "EmbedLayerNormalization", order, inputs, constants, list(outputs), {"mask_index": TensorProto.INT32}, **attributes)


embed("embed-norm")
embed("embed-norm-no-segments", segments=False)
embed("embed-norm-mask", mask=KEYS)
embed("embed-norm-sum", mask=KEYS, outputs=("y", "mask_index", "sum"))
embed("embed-norm-positions", positions=ints([0, 2, 4, 6, 8], [1, 3, 5, 7, 0]))
embed("embed-norm-shared-positions", positions=ints([4, 3, 2, 1, 0]), epsilon=1e-3)
embed("embed-norm-no-index", outputs=("y", "mask_index"), mask_index_type=0)

write("bias-gelu", "BiasGelu", ["x", "bias"], {"x": floats(BATCH, LENGTH, HIDDEN)}, {"bias": floats(HIDDEN)}, ["y"])
write("fast-gelu", "FastGelu", ["x"], {"x": floats(BATCH, LENGTH, HIDDEN)}, {}, ["y"])
write("fast-gelu-bias", "FastGelu", ["x", "bias"], {"x": floats(BATCH, LENGTH, HIDDEN)}, {"bias": floats(HIDDEN)}, ["y"])
write("quick-gelu", "QuickGelu", ["x"], {"x": floats(BATCH, LENGTH, HIDDEN)}, {}, ["y"], alpha=1.5)
write("gelu", "Gelu", ["x"], {"x": floats(BATCH, LENGTH, HIDDEN)}, {}, ["y"])
write("fused-matmul", "FusedMatMul", ["a", "b"], {"a": floats(2, 4, 3), "b": floats(2, 5, 4)}, {}, ["y"], alpha=0.5, transA=1, transB=1)
