/*
 * First pass over an ONNX file: checks its wire format and makes a small copy for protobuf-c.
 *
 * protobuf-c alone does not suit untrusted or very large files: it copies all tensor data, takes no message beyond 2 GiB, and follows
 * nested messages without a limit. The scan walks the file along protobuf-c's own message descriptors and copies what the
 * schema knows, except that raw_data of tensors becomes the pair raw_data_offset and raw_data_length. Fields that the schema
 * does not know are left out, so protobuf-c never meets them.
 */
#ifndef ONNX_SCAN_H
#define ONNX_SCAN_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    ONNX_SCAN_OK = 0,
    ONNX_SCAN_TRUNCATED,     /* a field goes beyond the end of its message */
    ONNX_SCAN_BAD_VARINT,    /* a number of more than ten bytes */
    ONNX_SCAN_BAD_TAG,       /* a field number or wire type that does not exist */
    ONNX_SCAN_BAD_STRING,    /* a string with a zero byte */
    ONNX_SCAN_REPEATED,      /* a message field that may stand once stands twice */
    ONNX_SCAN_TOO_DEEP,      /* messages nested beyond ONNX_SCAN_MAXIMUM_DEPTH */
    ONNX_SCAN_TOO_MANY,      /* more than ONNX_SCAN_MAXIMUM_FIELDS fields */
    ONNX_SCAN_TOO_LARGE,     /* what is left without raw_data exceeds 2 GiB */
    ONNX_SCAN_NO_MEMORY
} onnx_scan_status;

enum { ONNX_SCAN_MAXIMUM_DEPTH = 100, ONNX_SCAN_MAXIMUM_FIELDS = 1 << 24 };

typedef struct {
    uint8_t *bytes; /* a ModelProto for onnx__model_proto__unpack; release with free() */
    size_t count;
    size_t offset; /* of the failure in the file, when the status is not ONNX_SCAN_OK */
} onnx_scan_result;

/* Scans `count` bytes of a ModelProto. On failure `bytes` is NULL. */
onnx_scan_status onnx_scan_model(const uint8_t *bytes, size_t count, onnx_scan_result *result);

#endif
