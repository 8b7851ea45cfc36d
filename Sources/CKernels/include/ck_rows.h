#ifndef CK_ROWS_H
#define CK_ROWS_H

// One row at a time: softmax, normalisation; and moving rows about.

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// y = e^(x - max x) / sum; relative error at most 1e-6 + 1e-7 (max x - x): the subtraction rounds. A row that is all
/// -inf, or holds NaN or +inf, gives NaN, as the formula does. In place allowed.
void ck_softmax_f32(size_t n, const float *x, float *y);

/// y = x - max x - log(sum e^(x - max x)); error at most 1e-6 max(1, |y|). In place allowed.
void ck_log_softmax_f32(size_t n, const float *x, float *y);

/// Layer normalisation (Ba et al. 2016) of one row: v = x + residual; y = (v - mean v) / sqrt(var v + epsilon) *
/// scale + bias, with the variance over n, in two passes. `residual`, `scale`, `bias` may be NULL (0, 1, 0). When
/// `sum` is not NULL it receives v. In place allowed (y or sum may be x or residual; y and sum differ). Error at most
/// 2e-6 * |scale| * max(1, |normalised|) for rows whose mean is not large against their deviation.
void ck_layer_norm_f32(size_t n, const float *x, const float *residual, const float *scale, const float *bias,
                       float epsilon, float *y, float *sum);

/// RMS normalisation (Zhang and Sennrich 2019): v = x + residual; y = v / sqrt(mean v^2 + epsilon) * scale. NULLs as
/// above.
void ck_rms_norm_f32(size_t n, const float *x, const float *residual, const float *scale, float epsilon, float *y,
                     float *sum);

/// Copies rows of `row_bytes` bytes of a table to `out`: out row i = table row indices[i]. `table_stride` and
/// `out_stride` are in bytes. Stops at the first index outside 0..<table_rows and returns its position; returns
/// `count` when all were copied.
size_t ck_gather_rows(size_t count, size_t row_bytes, const void *table, size_t table_rows, size_t table_stride,
                      const int64_t *indices, void *out, size_t out_stride);

/// y[j, i] = x[i, j] for a [rows, columns] matrix of 4-byte elements.
void ck_transpose_f32(size_t rows, size_t columns, const float *x, size_t ldx, float *y, size_t ldy);

#if defined(__cplusplus)
}
#endif

#endif
