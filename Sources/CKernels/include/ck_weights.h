#ifndef CK_WEIGHTS_H
#define CK_WEIGHTS_H

// Products with weight matrices as model files store them: [out, in], row-major, in f32, in 16 bits, or in the blocks of
// GGUF ("GGUF", ggml project documentation), read in place. What decoding a language model spends its time on: with few
// rows of activations the time is that of reading the weights once.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ck_gemm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// How a row of weights is stored. In a block, d and m (16-bit floats) and 6-bit or 8-bit scales s belong to the small integers q.
typedef enum {
    ck_weight_f32,
    ck_weight_f16,
    ck_weight_bf16,
    /// 32 weights in 34 bytes: d q, q in -128...127.
    ck_weight_q8_0,
    /// 32 in 18 bytes: d (q - 8), q in 0...15.
    ck_weight_q4_0,
    /// 32 in 20 bytes: d q + m.
    ck_weight_q4_1,
    /// 32 in 22 bytes: d (q - 16), q in 0...31.
    ck_weight_q5_0,
    /// 32 in 24 bytes: d q + m.
    ck_weight_q5_1,
    /// 256 in 144 bytes, eight sub-blocks: d s q - m t, q in 0...15.
    ck_weight_q4_k,
    /// 256 in 176 bytes, eight sub-blocks: d s q - m t, q in 0...31.
    ck_weight_q5_k,
    /// 256 in 210 bytes, sixteen sub-blocks: d s (q - 32), q in 0...63.
    ck_weight_q6_k,
} ck_weight;

/// Weights in one block; 1 for the float types.
size_t ck_weight_block_elements(ck_weight type);
/// Bytes of one block.
size_t ck_weight_block_bytes(ck_weight type);

/// n weights, a multiple of the block, to f32.
void ck_dequantize_weights(ck_weight type, size_t n, const void *w, float *y);

/// Bytes of one row of k activations (a multiple of 32) as the products with block types take it: 16-bit integers, and for each 32
/// of them a scale and the sum. 0 when that does not fit in size_t.
size_t ck_activations_size(size_t k);

/// Quantises one row: 32 values share the scale (largest magnitude) / 32767. Values below 1e-30 become 0; a group that holds a NaN or an
/// infinity makes every sum NaN.
void ck_quantize_activations(size_t k, const float *x, void *activations);

/// C[i, j] = epilogue(sum over p of x[i, p] W[j, p]) for rows i of the m activations and rows j in n_begin..<n_end of W. W is of a block type,
/// [n, k] with k a multiple of the block; `activations` are m rows of ck_activations_size(k) bytes. Pointers are those of the whole matrices;
/// `epilogue` may be NULL. Few rows are multiplied with each row of W as it lies there; from ck_block_many_rows on, W is unpacked a part at a time and used
/// for all. An element does not depend on the split into columns, nor, on either side of that number, on the other rows. Products of integers
/// are exact within 32 weights; error at most 1.6e-5 |w| times the largest |x| of its 32, for each; in practice 1e-6 of the row's sum of |x| |w|.
void ck_block_product(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const void *activations,
                      float *c, size_t ldc, const ck_epilogue *epilogue);

/// From that many rows on.
#define ck_block_many_rows 16

/// The same in float32 for ck_weight_f32, _f16 and _bf16, with rows of x lda apart. Error at most 1e-7 * (8 + k / 8) times the sum of
/// |x| |w|.
void ck_float_product(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,
                      float *c, size_t ldc, const ck_epilogue *epilogue);

/// The same for few rows of x and f32 weights that lie as [k, n]: columns n_begin..<n_end.
void ck_column_product(size_t n_begin, size_t n_end, size_t n, size_t k, const float *w, size_t m, const float *x, size_t lda,
                       float *c, size_t ldc, const ck_epilogue *epilogue);

/// Columns that one call of ck_float_gemm takes at most.
#define ck_float_gemm_columns 64
/// Floats of scratch for it: 256 rows of that many columns.
#define ck_float_gemm_scratch 16384

/// As ck_float_product, for many rows of x and any type, k a multiple of its block: W is widened to float32 a part at a time, and multiplied as ck_gemm_packed does, with its error. At most
/// ck_float_gemm_columns columns.
void ck_float_gemm(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,
                   float *c, size_t ldc, const ck_epilogue *epilogue, float *scratch);

#if defined(__cplusplus)
}
#endif

#endif
