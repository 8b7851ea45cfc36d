#!/usr/bin/env python3
"""Writes onnx-nodes.tar.xz: the node tests of the ONNX project for the operators that ONNXConverter takes.

    pip install onnx==1.23.2
    python3 make_fixture.py OPERATOR_TABLE_FOLDER OUT.tar.xz

OPERATOR_TABLE_FOLDER is Converters/ONNXConverter/Lowering; its rule tables say which operators are taken. The archive holds
onnx-nodes/NAME.onnx for every test and one onnx-nodes/cases.safetensors with NAME.SET.in.INPUT and NAME.SET.out.OUTPUT.

Tests of later versions of the operator set are marked as version 24, the last one that the converter takes; earlier ones as 7.

The tests are part of the ONNX project (https://github.com/onnx/onnx), Copyright (c) ONNX Project Contributors, Apache License 2.0.
"""
import io
import json
import re
import sys
import tarfile
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

warnings.simplefilter("ignore")

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32", "int16": "I16",
    "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}


def give_constants(case):
    """Makes constants of inputs that decide about the rank or count of outputs, as every exporter does."""
    for position in reversed(range(len(case.model.graph.input))):
        name = case.model.graph.input[position].name
        if len(case.data_sets) == 1 and name in ("axes", "axis", "split", "pads"):
            inputs, outputs = case.data_sets[0]
            case.model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(inputs[position]), name))
            del case.model.graph.input[position]
            case.data_sets[0] = ([x for index, x in enumerate(inputs) if index != position], outputs)


def main(tables, target):
    taken = set()
    for path in Path(tables).glob("*.swift"):
        if path.name != "Microsoft.swift":
            taken |= set(re.findall(r'^    "(\w+)":', path.read_text(), re.M))
    models, tensors = {}, {}
    for case in collect_testcases():
        nodes = [n for n in case.model.graph.node if n.domain in ("", "ai.onnx")]
        if len(nodes) != len(case.model.graph.node) or not {n.op_type for n in nodes} <= taken:
            continue
        # Sets beyond the last version taken mostly add element types; what they change otherwise shows as an attribute.
        case.model.ir_version = min(case.model.ir_version, 13)
        for opset in case.model.opset_import:
            opset.version = max(7, min(opset.version, 24))
        give_constants(case)
        values = {}
        for index, (inputs, outputs) in enumerate(case.data_sets):
            for kind, infos, arrays in (("in", case.model.graph.input, inputs), ("out", case.model.graph.output, outputs)):
                for info, array in zip(infos, arrays):
                    values[f"{case.name}.{index}.{kind}.{info.name}"] = array
        if any(not isinstance(a, (np.ndarray, np.generic)) or np.asarray(a).dtype.name not in DTYPES for a in values.values()):
            continue
        if sum(np.asarray(a).nbytes for a in values.values()) > 65536:
            continue
        models[case.name] = case.model.SerializeToString()
        tensors.update(values)

    header, data = {}, b""
    for name, array in tensors.items():
        array = np.ascontiguousarray(array).reshape(np.asarray(array).shape)
        raw = array.tobytes()
        header[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    files = {f"{name}.onnx": content for name, content in sorted(models.items())}
    files["cases.safetensors"] = len(text).to_bytes(8, "little") + text + data
    with tarfile.open(target, "w:xz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"onnx-nodes/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    print(f"{len(models)} tests of onnx {onnx.__version__}")


main(*sys.argv[1:])
