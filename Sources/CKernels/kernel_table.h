#ifndef KERNEL_TABLE_H
#define KERNEL_TABLE_H

// Every kernel that exists once per instruction set: return type, name, parameters, arguments. The list makes the
// table of function pointers, each version's table, and the public functions that call through it.

#include "CKernels.h"
#include "attention_scratch.h"
#include "pack.h"

#define CK_KERNELS(KERNEL)                                                                                             \
    KERNEL(void, unary_f32, (ck_unary f, size_t n, const float *x, float *y), (f, n, x, y))                            \
    KERNEL(void, binary_f32,                                                                                           \
           (ck_binary op, size_t n, const float *a, size_t a_step, const float *b, size_t b_step, float *y),           \
           (op, n, a, a_step, b, b_step, y))                                                                           \
    KERNEL(void, axpy_f32, (size_t n, float alpha, const float *x, float *y), (n, alpha, x, y))                        \
    KERNEL(float, sum_f32, (size_t n, const float *x), (n, x))                                                         \
    KERNEL(float, dot_f32, (size_t n, const float *a, const float *b), (n, a, b))                                      \
    KERNEL(float, norm2_f32, (size_t n, const float *x), (n, x))                                                       \
    KERNEL(float, max_f32, (size_t n, const float *x), (n, x))                                                         \
    KERNEL(float, min_f32, (size_t n, const float *x), (n, x))                                                         \
    KERNEL(void, softmax_f32, (size_t n, const float *x, float *y), (n, x, y))                                         \
    KERNEL(void, log_softmax_f32, (size_t n, const float *x, float *y), (n, x, y))                                     \
    KERNEL(void, layer_norm_f32,                                                                                       \
           (size_t n, const float *x, const float *residual, const float *scale, const float *bias, float epsilon,     \
            float *y, float *sum),                                                                                     \
           (n, x, residual, scale, bias, epsilon, y, sum))                                                             \
    KERNEL(void, rms_norm_f32,                                                                                         \
           (size_t n, const float *x, const float *residual, const float *scale, float epsilon, float *y, float *sum), \
           (n, x, residual, scale, epsilon, y, sum))                                                                   \
    KERNEL(void, gemm_packed,                                                                                          \
           (size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k, const float *a,            \
            size_t lda, const float *packed_b, float *c, size_t ldc, const ck_epilogue *epilogue),                     \
           (m_begin, m_end, n_begin, n_end, n, k, a, lda, packed_b, c, ldc, epilogue))                                 \
    KERNEL(void, gemm_f32,                                                                                             \
           (bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda, \
            const float *b, size_t ldb, float beta, float *c, size_t ldc),                                             \
           (transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))                                   \
    KERNEL(void, gemv_f32,                                                                                             \
           (bool transpose_a, size_t rows, size_t columns, float alpha, const float *a, size_t lda, const float *x,    \
            float beta, float *y),                                                                                     \
           (transpose_a, rows, columns, alpha, a, lda, x, beta, y))                                                    \
    KERNEL(void, attention_f32, (const ck_attention *attention, float *scratch), (attention, scratch))                 \
    KERNEL(void, cached_attention_f32, (const ck_cached_attention *attention, float *scratch), (attention, scratch))    \
    KERNEL(void, f16_to_f32, (size_t n, const uint16_t *x, float *y), (n, x, y))                                       \
    KERNEL(void, f32_to_f16, (size_t n, const float *x, uint16_t *y), (n, x, y))                                       \
    KERNEL(void, bf16_to_f32, (size_t n, const uint16_t *x, float *y), (n, x, y))                                      \
    KERNEL(void, f32_to_bf16, (size_t n, const float *x, uint16_t *y), (n, x, y))                                      \
    KERNEL(void, dequantize_s8, (size_t n, const int8_t *x, float scale, int32_t zero, float *y),                      \
           (n, x, scale, zero, y))                                                                                     \
    KERNEL(void, dequantize_u8, (size_t n, const uint8_t *x, float scale, int32_t zero, float *y),                     \
           (n, x, scale, zero, y))                                                                                     \
    KERNEL(void, quantize_s8, (size_t n, const float *x, float scale, int32_t zero, int8_t *y),                        \
           (n, x, scale, zero, y))                                                                                     \
    KERNEL(void, quantize_u8, (size_t n, const float *x, float scale, int32_t zero, uint8_t *y),                       \
           (n, x, scale, zero, y))                                                                                     \
    KERNEL(ck_quantization, dynamic_quantize_s8, (size_t n, const float *x, int8_t *y), (n, x, y))                     \
    KERNEL(ck_quantization, dynamic_quantize_u8, (size_t n, const float *x, uint8_t *y), (n, x, y))                    \
    KERNEL(void, gemm_int8,                                                                                            \
           (size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k, const ck_int8_rows *a,     \
            const ck_int8_columns *b, int32_t *c, size_t ldc),                                                         \
           (m_begin, m_end, n_begin, n_end, n, k, a, b, c, ldc))                                                       \
    KERNEL(void, int8_row_of, (ck_byte type, size_t k, const void *x, int32_t zero, float scale, void *row),           \
           (type, k, x, zero, scale, row))                                                                             \
    KERNEL(void, int8_linear,                                                                                          \
           (size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c,     \
            size_t ldc, const ck_epilogue *epilogue),                                                                  \
           (n_begin, n_end, k, w, m, rows, c, ldc, epilogue))                                                          \
    KERNEL(void, dequantize_sums,                                                                                      \
           (size_t n, const int32_t *c, float row_scale, const float *column_scale, size_t column_step,                \
            const float *bias, ck_unary activation, float *y),                                                         \
           (n, c, row_scale, column_scale, column_step, bias, activation, y))                                          \
    KERNEL(void, requantize_s8,                                                                                        \
           (size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero, int8_t *y),     \
           (n, c, multiplier, multiplier_step, zero, y))                                                               \
    KERNEL(void, requantize_u8,                                                                                        \
           (size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero, uint8_t *y),    \
           (n, c, multiplier, multiplier_step, zero, y))                                                                        \
    KERNEL(void, rotary_angles,                                                                                        \
           (size_t n, float position, const float *frequencies, float factor, float *cosines, float *sines),           \
           (n, position, frequencies, factor, cosines, sines))                                                         \
    KERNEL(void, rotate_f32,                                                                                           \
           (bool interleaved, size_t heads, size_t width, size_t pairs, const float *cosines, const float *sines,      \
            const float *x, float *y),                                                                                 \
           (interleaved, heads, width, pairs, cosines, sines, x, y))                                                   \
    KERNEL(void, dequantize_weights, (ck_weight type, size_t n, const void *w, float *y), (type, n, w, y))             \
    KERNEL(void, quantize_activations, (size_t k, const float *x, void *activations), (k, x, activations))             \
    KERNEL(void, block_product,                                                                                        \
           (ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const void *activations,  \
            float *c, size_t ldc, const ck_epilogue *epilogue),                                                        \
           (type, n_begin, n_end, k, w, m, activations, c, ldc, epilogue))                                             \
    KERNEL(void, float_product,                                                                                        \
           (ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,\
            float *c, size_t ldc, const ck_epilogue *epilogue),                                                        \
           (type, n_begin, n_end, k, w, m, x, lda, c, ldc, epilogue))                                                  \
    KERNEL(void, column_product,                                                                                       \
           (size_t n_begin, size_t n_end, size_t n, size_t k, const float *w, size_t m, const float *x, size_t lda,    \
            float *c, size_t ldc, const ck_epilogue *epilogue),                                                        \
           (n_begin, n_end, n, k, w, m, x, lda, c, ldc, epilogue))                                                     \
    KERNEL(void, float_gemm,                                                                                           \
           (ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,\
            float *c, size_t ldc, const ck_epilogue *epilogue, float *scratch),                                        \
           (type, n_begin, n_end, k, w, m, x, lda, c, ldc, epilogue, scratch))

#define CK_POINTER(result, name, parameters, arguments) result(*name) parameters;
typedef struct {
    CK_KERNELS(CK_POINTER)
} ck_kernel_table;
#undef CK_POINTER

extern const ck_kernel_table ck_kernels_baseline;
#if defined(__x86_64__)
extern const ck_kernel_table ck_kernels_avx2;
extern const ck_kernel_table ck_kernels_avx512;
extern const ck_kernel_table ck_kernels_avx512_vnni;
extern const ck_kernel_table ck_kernels_amx;
#endif

#endif
