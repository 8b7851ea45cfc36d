#!/bin/sh
# Writes onnx.pb-c.c and include/onnx.pb-c.h from onnx.proto. Needs protoc-c (Debian: protobuf-c-compiler).
set -eu
cd "$(dirname "$0")"
protoc-c --c_out=. onnx.proto
mv onnx.pb-c.h include/onnx.pb-c.h
