#!/usr/bin/env python3
"""Dense layers with weights in 8 and 4 bits in the forms that exporters write, one small model each, with inputs and onnxruntime's own outputs.

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
ROWS, WIDTH, OUTPUTS = 5, 64, 48
rng = np.random.default_rng(11)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def scales(*shape, half=True):
    """Of about the size that weights of 4 bits have; `half`: numbers that are f16 numbers too."""
    numbers = rng.uniform(0.01, 0.03, shape).astype(np.float32)
    return numbers.astype(np.float16).astype(np.float32) if half else numbers


def integers(low, high, shape, dtype):
    return rng.integers(low, high, shape, endpoint=True).astype(dtype)


def write(name, nodes, constants, inputs=None):
    inputs = inputs or {"x": floats(2, ROWS, WIDTH)}
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int32): TensorProto.INT32}
    tensors = [v if isinstance(v, onnx.TensorProto) else numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(k, kinds[v.dtype], v.shape) for k, v in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    path = FOLDER / f"{name}.onnx"
    onnx.save(model, path)
    # As the file says: onnxruntime's own fusions would round activations.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    y = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(["y"], inputs)[0]
    save_file({f"in.{k}": np.ascontiguousarray(v) for k, v in inputs.items()} | {"out.y": np.ascontiguousarray(y)}, FOLDER / f"{name}.safetensors")
    print(name, y.shape)


def node(op, inputs, output, domain="", **attributes):
    return helper.make_node(op, inputs, [output] if isinstance(output, str) else output, name=op.lower(), domain=domain, **attributes)


def nbits(name, bits, block=32, half=True, zeros=False, bias=False):
    blocks = WIDTH // block
    constants = {"w": integers(0, 255, (OUTPUTS, blocks, block * bits // 8), np.uint8), "s": scales(OUTPUTS, blocks, half=half)}
    order = ["x", "w", "s"]
    if zeros:
        constants["z"] = integers(0, 255, (OUTPUTS, (blocks * bits + 7) // 8), np.uint8)
        order.append("z")
    if bias:
        constants["b"] = floats(OUTPUTS)
        order += ["" for _ in range(5 - len(order))] + ["b"]
    write(name, [node("MatMulNBits", order, "y", "com.microsoft", N=OUTPUTS, K=WIDTH, bits=bits, block_size=block)], constants)


nbits("nbits-4", 4)
nbits("nbits-4-bias", 4, block=64, bias=True)
nbits("nbits-4-zeros", 4, zeros=True)
nbits("nbits-8", 8)
nbits("nbits-8-zeros", 8, zeros=True)
nbits("nbits-4-f32-scales", 4, half=False)
nbits("nbits-4-blocks-of-16", 4, block=16)


def weight_only(name, dtype, scale, zero=None, axis=1, shape=(WIDTH, OUTPUTS), transposed=False):
    low, high = (-128, 127) if dtype == np.int8 else (0, 255)
    constants = {"q": integers(low, high, shape, dtype), "s": scale, "b": floats(OUTPUTS)}
    order = ["q", "s"]
    if zero is not None:
        constants["z"] = np.asarray(zero, dtype)
        order.append("z")
    nodes = [node("DequantizeLinear", order, "w", axis=axis)]
    if transposed:
        nodes.append(node("Transpose", ["w"], "t", perm=[1, 0]))
    write(name, nodes + [node("MatMul", ["x", "t" if transposed else "w"], "p"), node("Add", ["p", "b"], "y")], constants)


weight_only("weights-int8", np.int8, scales(OUTPUTS))
weight_only("weights-int8-tensor", np.int8, np.float32(0.015625))
weight_only("weights-uint8", np.uint8, scales(OUTPUTS), zero=np.full(OUTPUTS, 128))
weight_only("weights-int8-transposed", np.int8, scales(OUTPUTS), axis=0, shape=(OUTPUTS, WIDTH), transposed=True)
weight_only("weights-int8-f32-scales", np.int8, scales(OUTPUTS, half=False))
weight_only("weights-uint8-zeros", np.uint8, scales(OUTPUTS), zero=integers(100, 150, OUTPUTS, np.uint8))
weight_only("weights-int8-along-inputs", np.int8, scales(WIDTH), axis=0)


def blocked(name, kind, axis, half=True, zeros=False):
    low, high = (-8, 7) if kind == TensorProto.INT4 else (0, 15)
    shape = (WIDTH, OUTPUTS) if axis == 0 else (OUTPUTS, WIDTH)
    groups = (WIDTH // 32, OUTPUTS) if axis == 0 else (OUTPUTS, WIDTH // 32)
    constants = {"q": helper.make_tensor("q", kind, shape, integers(low, high, shape, np.int8).flatten()), "s": scales(*groups, half=half)}
    order = ["q", "s"]
    if zeros:
        constants["z"] = helper.make_tensor("z", kind, groups, integers(low, high, groups, np.int8).flatten())
        order.append("z")
    nodes = [node("DequantizeLinear", order, "w", axis=axis, block_size=32)]
    if axis == 1:
        nodes.append(node("Transpose", ["w"], "t", perm=[1, 0]))
    write(name, nodes + [node("MatMul", ["x", "t" if axis == 1 else "w"], "y")], constants)


blocked("blocks-int4", TensorProto.INT4, 0)
blocked("blocks-int4-transposed", TensorProto.INT4, 1)
blocked("blocks-uint4-zeros", TensorProto.UINT4, 0, zeros=True)
blocked("blocks-int4-f32-scales", TensorProto.INT4, 0, half=False)

WEIGHT = {"w": integers(-128, 127, (WIDTH, OUTPUTS), np.int8), "s": scales(OUTPUTS, half=False)}
ZERO = {"z": integers(-20, 20, OUTPUTS, np.int8)}
BIAS = {"b": floats(OUTPUTS)}
write("dynamic-matmul", [node("DynamicQuantizeMatMul", ["x", "w", "s"], "y", "com.microsoft")], WEIGHT)
write("dynamic-matmul-tensor", [node("DynamicQuantizeMatMul", ["x", "w", "s"], "y", "com.microsoft")], WEIGHT | {"s": np.float32([0.02])})
write("dynamic-matmul-bias", [node("DynamicQuantizeMatMul", ["x", "w", "s", "z", "b"], "y", "com.microsoft")], WEIGHT | ZERO | BIAS)
DYNAMIC = node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"])
write("integer-to-float", [DYNAMIC, node("MatMulIntegerToFloat", ["xq", "w", "xs", "s", "xz"], "y", "com.microsoft")], WEIGHT)
write("integer-to-float-bias", [DYNAMIC, node("MatMulIntegerToFloat", ["xq", "w", "xs", "s", "xz", "z", "b"], "y", "com.microsoft")], WEIGHT | ZERO | BIAS)


def attention(name, tensor_scale=True, zero=False, mask=False):
    constants = {
        "w": integers(-128, 127, (WIDTH, 3 * 32), np.int8), "b": floats(3 * 32), "ws": np.float32(0.003) if tensor_scale else scales(3 * 32) / 8}
    inputs = {"x": floats(2, ROWS, WIDTH)}
    if mask:
        inputs["mask"] = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    order = ["xq", "w", "b", "xs", "ws", "mask" if mask else "", "xz"]
    if zero:
        constants["wz"] = np.int8(3)
        order.append("wz")
    write(name, [DYNAMIC, node("QAttention", order, "y", "com.microsoft", num_heads=4)], constants, inputs)


attention("attention")
attention("attention-channels", tensor_scale=False)
attention("attention-zero-mask", zero=True, mask=True)
