#include "onnx_scan.h"
#include "onnx.pb-c.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2, WIRE_GROUP_START = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

/* Fields of TensorProto; the schema's own two are the last. */
enum { RAW_DATA = 9, RAW_DATA_OFFSET = 1000, RAW_DATA_LENGTH = 1001 };

/* Message lengths are not known before their contents are written; they always take this many bytes (legal, if not minimal). */
enum { LENGTH_BYTES = 5 };

typedef struct {
    const uint8_t *bytes; /* the file */
    size_t position;
    size_t fields;
    uint8_t *out;
    size_t out_count;
    size_t out_capacity;
} scanner;

static onnx_scan_status reserve(scanner *s, size_t more) {
    if (more > (size_t)INT_MAX || s->out_count + more > (size_t)INT_MAX) return ONNX_SCAN_TOO_LARGE;
    if (s->out_count + more <= s->out_capacity) return ONNX_SCAN_OK;
    size_t capacity = s->out_capacity * 2 > s->out_count + more ? s->out_capacity * 2 : s->out_count + more + 4096;
    uint8_t *grown = realloc(s->out, capacity);
    if (!grown) return ONNX_SCAN_NO_MEMORY;
    s->out = grown;
    s->out_capacity = capacity;
    return ONNX_SCAN_OK;
}

static onnx_scan_status copy(scanner *s, size_t from, size_t count) {
    onnx_scan_status status = reserve(s, count);
    if (status) return status;
    if (count) memcpy(s->out + s->out_count, s->bytes + from, count);
    s->out_count += count;
    return ONNX_SCAN_OK;
}

static onnx_scan_status put_varint(scanner *s, uint64_t value) {
    onnx_scan_status status = reserve(s, 10);
    if (status) return status;
    while (value >= 0x80) {
        s->out[s->out_count++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    s->out[s->out_count++] = (uint8_t)value;
    return ONNX_SCAN_OK;
}

static onnx_scan_status get_varint(scanner *s, size_t end, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (s->position >= end) return ONNX_SCAN_TRUNCATED;
        uint8_t byte = s->bytes[s->position++];
        if (shift < 64) result |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) {
            *value = result;
            return ONNX_SCAN_OK;
        }
    }
    return ONNX_SCAN_BAD_VARINT;
}

static onnx_scan_status get_tag(scanner *s, size_t end, uint32_t *number, unsigned *wire) {
    uint64_t tag;
    onnx_scan_status status = get_varint(s, end, &tag);
    if (status) return status;
    if (tag > UINT32_MAX || tag >> 3 == 0) return ONNX_SCAN_BAD_TAG;
    *number = (uint32_t)(tag >> 3);
    *wire = (unsigned)(tag & 7);
    return ONNX_SCAN_OK;
}

/* Moves behind the contents of a field whose tag was read. `start` and `count` receive the payload of a length-delimited field. */
static onnx_scan_status skip(scanner *s, size_t end, uint32_t number, unsigned wire, unsigned depth, size_t *start, size_t *count) {
    onnx_scan_status status;
    uint64_t value;
    if (++s->fields > ONNX_SCAN_MAXIMUM_FIELDS) return ONNX_SCAN_TOO_MANY;
    switch (wire) {
    case WIRE_VARINT: return get_varint(s, end, &value);
    case WIRE_64:
    case WIRE_32: {
        size_t size = wire == WIRE_64 ? 8 : 4;
        if (size > end - s->position) return ONNX_SCAN_TRUNCATED;
        s->position += size;
        return ONNX_SCAN_OK;
    }
    case WIRE_LENGTH:
        status = get_varint(s, end, &value);
        if (status) return status;
        if (value > end - s->position) return ONNX_SCAN_TRUNCATED;
        *start = s->position;
        *count = (size_t)value;
        s->position += (size_t)value;
        return ONNX_SCAN_OK;
    case WIRE_GROUP_START:
        if (depth >= ONNX_SCAN_MAXIMUM_DEPTH) return ONNX_SCAN_TOO_DEEP;
        for (;;) {
            uint32_t inner;
            unsigned inner_wire;
            status = get_tag(s, end, &inner, &inner_wire);
            if (status) return status;
            if (inner_wire == WIRE_GROUP_END) return inner == number ? ONNX_SCAN_OK : ONNX_SCAN_BAD_TAG;
            status = skip(s, end, inner, inner_wire, depth + 1, start, count);
            if (status) return status;
        }
    default: return ONNX_SCAN_BAD_TAG;
    }
}

/* The wire type that a field's values have on their own. */
static unsigned wire_type(const ProtobufCFieldDescriptor *field) {
    switch (field->type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_LENGTH;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32: return WIRE_32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64: return WIRE_64;
    default: return WIRE_VARINT;
    }
}

static onnx_scan_status scan_message(scanner *s, size_t end, const ProtobufCMessageDescriptor *message, unsigned depth) {
    uint64_t seen = 0; /* by index of the field; the schema's messages have far fewer than 64 */
    if (depth >= ONNX_SCAN_MAXIMUM_DEPTH) return ONNX_SCAN_TOO_DEEP;
    while (s->position < end) {
        size_t field_start = s->position, start = 0, count = 0;
        uint32_t number;
        unsigned wire;
        onnx_scan_status status = get_tag(s, end, &number, &wire);
        if (status) return status;
        size_t tag_end = s->position;
        status = skip(s, end, number, wire, depth, &start, &count);
        if (status) return status;

        const ProtobufCFieldDescriptor *field =
            number <= INT_MAX ? protobuf_c_message_descriptor_get_field(message, number) : NULL;
        if (!field || number == RAW_DATA_OFFSET || number == RAW_DATA_LENGTH) continue;
        int is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
        int is_packed = is_repeated && wire == WIRE_LENGTH && wire_type(field) != WIRE_LENGTH;
        /* As protobuf has it, a known number with a foreign wire type is an unknown field. */
        if (wire != wire_type(field) && !is_packed) continue;

        if (message == &onnx__tensor_proto__descriptor && number == RAW_DATA) {
            if ((status = put_varint(s, (uint64_t)RAW_DATA_OFFSET << 3 | WIRE_VARINT))) return status;
            if ((status = put_varint(s, start))) return status;
            if ((status = put_varint(s, (uint64_t)RAW_DATA_LENGTH << 3 | WIRE_VARINT))) return status;
            if ((status = put_varint(s, count))) return status;
        } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            uint64_t bit = (uint64_t)1 << ((size_t)(field - message->fields) & 63);
            if (!is_repeated && seen & bit) {
                s->position = field_start;
                return ONNX_SCAN_REPEATED;
            }
            seen |= bit;
            if ((status = copy(s, field_start, tag_end - field_start))) return status;
            if ((status = reserve(s, LENGTH_BYTES))) return status;
            size_t length_at = s->out_count, message_end = s->position;
            s->out_count += LENGTH_BYTES;
            s->position = start;
            if ((status = scan_message(s, message_end, field->descriptor, depth + 1))) return status;
            size_t length = s->out_count - length_at - LENGTH_BYTES;
            for (int index = 0; index < LENGTH_BYTES; index++, length >>= 7) {
                s->out[length_at + index] = (uint8_t)((length & 0x7F) | (index + 1 < LENGTH_BYTES ? 0x80 : 0));
            }
        } else {
            /* A zero byte would end the C string early and make two names one. */
            if (field->type == PROTOBUF_C_TYPE_STRING && memchr(s->bytes + start, 0, count)) {
                s->position = start;
                return ONNX_SCAN_BAD_STRING;
            }
            if ((status = copy(s, field_start, s->position - field_start))) return status;
        }
    }
    return ONNX_SCAN_OK;
}

onnx_scan_status onnx_scan_model(const uint8_t *bytes, size_t count, onnx_scan_result *result) {
    scanner s = {.bytes = bytes};
    onnx_scan_status status = reserve(&s, 1);
    if (!status) status = scan_message(&s, count, &onnx__model_proto__descriptor, 0);
    if (status) {
        free(s.out);
        s.out = NULL;
        s.out_count = 0;
    }
    result->bytes = s.out;
    result->count = s.out_count;
    result->offset = s.position;
    return status;
}
