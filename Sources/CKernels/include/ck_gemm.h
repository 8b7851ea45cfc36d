#ifndef CK_GEMM_H
#define CK_GEMM_H

// Matrix products in float32.
//
// Every element of C is the sum over k in ascending order within blocks of ck_gemm_k_block, the blocks added in
// order. So, for one instruction set, a result does not depend on how a caller splits rows and columns among threads,
// nor on which other rows are in the batch. Error at most 1e-7 * (8 + k / 8) times the sum of |a| |b|; in practice
// far less.

#include <stdbool.h>
#include <stddef.h>

#include "ck_elementwise.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// Columns in one panel of a packed matrix. Split work at multiples of it.
#define ck_gemm_panel 16
/// The block of k that is summed in registers before it is added to C.
#define ck_gemm_k_block 384

/// Floats that ck_pack_b writes: k times n rounded up to whole panels.
/// 0 when that count does not fit in size_t.
size_t ck_packed_size(size_t k, size_t n);

/// Packs op(B), a [k, n] matrix, for ck_gemm_packed: panels of 16 columns, each k rows of 16 floats, zeros beyond n.
/// B is [k, n], or [n, k] with transpose_b (a linear layer's weight as PyTorch stores it). The layout is the same on
/// every CPU.
void ck_pack_b(bool transpose_b, size_t k, size_t n, const float *b, size_t ldb, float *packed);

/// What happens to each element of A * B before it is stored:
/// c = activation(a*b + bias[column] + (accumulate ? c : 0)) + residual[row, column].
typedef struct {
    /// n floats, or NULL for none.
    const float *bias;
    /// ck_identity for none.
    ck_unary activation;
    /// [m, n] with row stride residual_ld, or NULL for none. It may not overlap C (accumulate adds to C).
    const float *residual;
    size_t residual_ld;
    /// Adds to what C holds; otherwise C is not read.
    bool accumulate;
} ck_epilogue;

/// C[m, n] = epilogue(A[m, k] * B), for rows m_begin..<m_end and columns n_begin..<n_end of C. B was packed by
/// ck_pack_b with the same k and n. n_begin is a multiple of ck_gemm_panel; n_end is one too, or n. Pointers are
/// those of the whole matrices. `epilogue` may be NULL: a plain product.
void ck_gemm_packed(size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k, const float *a,
                    size_t lda, const float *packed_b, float *c, size_t ldc, const ck_epilogue *epilogue);

/// C = alpha * op(A) * op(B) + beta * C, nothing packed beforehand; op(A) is [m, k], op(B) is [k, n]. With beta = 0,
/// C is not read.
void ck_gemm_f32(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                 size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

/// y = alpha * op(A) * x + beta * y, A [rows, columns] as stored. With beta = 0, y is not read.
void ck_gemv_f32(bool transpose_a, size_t rows, size_t columns, float alpha, const float *a, size_t lda, const float *x,
                 float beta, float *y);

#if defined(__cplusplus)
}
#endif

#endif
