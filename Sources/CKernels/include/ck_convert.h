#ifndef CK_CONVERT_H
#define CK_CONVERT_H

// Number formats: IEEE 754 binary16, bfloat16, and 8-bit integers to and from float32. 16-bit floats travel as their
// bits. To 16 bits: round to nearest, ties to even, subnormals included, overflow to infinity; a NaN stays a (quiet)
// NaN with its sign and leading payload bits.

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

void ck_f16_to_f32(size_t n, const uint16_t *x, float *y);
void ck_f32_to_f16(size_t n, const float *x, uint16_t *y);
void ck_bf16_to_f32(size_t n, const uint16_t *x, float *y);
void ck_f32_to_bf16(size_t n, const float *x, uint16_t *y);

/// y = (x - zero) * scale, as ONNX DequantizeLinear. zero is in -255...255.
void ck_dequantize_s8(size_t n, const int8_t *x, float scale, int32_t zero, float *y);
void ck_dequantize_u8(size_t n, const uint8_t *x, float scale, int32_t zero, float *y);

/// y = saturate(round_half_even(x / scale) + zero), as ONNX QuantizeLinear. A NaN becomes `zero`.
void ck_quantize_s8(size_t n, const float *x, float scale, int32_t zero, int8_t *y);
void ck_quantize_u8(size_t n, const float *x, float scale, int32_t zero, uint8_t *y);

typedef struct {
    float scale;
    int32_t zero;
} ck_quantization;

/// Quantises to u8 over the values' own range, widened to hold 0, as ONNX DynamicQuantizeLinear: scale = (max - min)
/// / 255, zero = saturate(round_half_even(-min / scale)). All zeros (or n = 0) gives scale 0 (ONNX's formula) and
/// zero 0, bytes 0.
ck_quantization ck_dynamic_quantize_u8(size_t n, const float *x, uint8_t *y);
/// Quantises to s8 symmetrically: scale = max |x| / 127, zero = 0. All zeros gives scale 0 and bytes 0.
ck_quantization ck_dynamic_quantize_s8(size_t n, const float *x, int8_t *y);

#if defined(__cplusplus)
}
#endif

#endif
