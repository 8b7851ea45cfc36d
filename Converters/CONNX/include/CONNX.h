/* The ONNX file format in C: the messages that protobuf-c generates, and the scan that makes untrusted files safe for them. */
#include "onnx.pb-c.h"
#include "onnx_scan.h"
