#ifndef CK_INT8_H
#define CK_INT8_H

// Matrix products of 8-bit integers with exact 32-bit sums. The same result on every CPU. Sums wrap beyond int32, which
// no k below 33025 can reach.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ck_gemm.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum { ck_s8, ck_u8 } ck_byte;

/// Bytes that ck_pack_b_int8 writes; 0 when that does not fit in size_t.
size_t ck_packed_size_int8(size_t k, size_t n);

/// Packs op(B), a [k, n] matrix of bytes: B is [k, n], or [n, k] with transpose_b.
void ck_pack_b_int8(ck_byte type, bool transpose_b, size_t k, size_t n, const void *b, size_t ldb, int8_t *packed);

/// The left matrix of a product: bytes and what they stand for.
typedef struct {
    const void *data;
    size_t ld;
    ck_byte type;
    /// One zero point per row, [m]; or one for all with zero_step 0; NULL for 0. Each is in the range of `type`.
    const int32_t *zero;
    size_t zero_step;
} ck_int8_rows;

/// The right matrix of a product, packed.
typedef struct {
    const int8_t *packed;
    /// The type it was packed from.
    ck_byte type;
    /// One zero point per column, [n]; or one for all with zero_step 0; NULL for 0. Each is in the range of `type`.
    const int32_t *zero;
    size_t zero_step;
} ck_int8_columns;

/// C[m, n] = (A - zero_a) * (B - zero_b) in int32, for rows m_begin..<m_end and columns n_begin..<n_end of C; n_begin
/// is a multiple of ck_gemm_panel, n_end too, or n. Pointers are those of the whole matrices.
void ck_gemm_int8(size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k,
                  const ck_int8_rows *a, const ck_int8_columns *b, int32_t *c, size_t ldc);

/// One row of int32 sums to float: y[j] = activation(c[j] * row_scale * column_scale[j * column_step] + bias[j]);
/// bias may be NULL. column_step is 1, or 0 for one scale.
void ck_dequantize_sums(size_t n, const int32_t *c, float row_scale, const float *column_scale, size_t column_step,
                        const float *bias, ck_unary activation, float *y);

/// One row of int32 sums to bytes: y[j] = saturate(round_half_even(c[j] * multiplier[j * multiplier_step]) + zero).
void ck_requantize_s8(size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero,
                      int8_t *y);
void ck_requantize_u8(size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero,
                      uint8_t *y);

// Dense layers: rows of bytes times weights in panels, scaled to floats.

/// Weights [n, k] of a dense layer in panels of ck_gemm_panel outputs: for each four numbers of k those of all 16 outputs, zeros beyond n and k.
typedef struct {
    const int8_t *packed;
    /// What a step of each output's weights stands for, [n].
    const float *scale;
    /// The bytes that stand for 0, [n]; NULL where all are 0.
    const int8_t *zero;
} ck_int8_weight;

/// The largest k whose sums fit in 32 bits.
#define ck_int8_linear_max_k 65536

/// Bytes of packed weights: n rounded up to whole panels times k rounded up to a multiple of 4; 0 when that does not fit in size_t.
size_t ck_int8_linear_size(size_t k, size_t n);

/// Packs weights [n, k].
void ck_pack_int8_linear(size_t k, size_t n, const int8_t *w, int8_t *packed);

/// Bytes of one row of k activations as ck_int8_linear takes it; rows start on cache lines. 0 when that does not fit in size_t.
size_t ck_int8_row_size(size_t k);

/// Makes a row of bytes, which stand for (byte - zero) * scale. zero is in the range of `type`.
void ck_int8_row_of(ck_byte type, size_t k, const void *x, int32_t zero, float scale, void *row);

/// C[i, j] = epilogue(sum over p of x[i, p] W[j, p]) for m rows, which ck_int8_row_of made, and outputs n_begin..<n_end; n_begin is a multiple of
/// ck_gemm_panel. Pointers are those of the whole matrices. The sum is exact, up to k = ck_int8_linear_max_k, and then rounded to a
/// float and scaled: the same on every CPU but for the rounding of the epilogue. `epilogue` may be NULL, and does not accumulate.
void ck_int8_linear(size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c, size_t ldc,
                    const ck_epilogue *epilogue);

#if defined(__cplusplus)
}
#endif

#endif
