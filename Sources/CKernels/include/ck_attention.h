#ifndef CK_ATTENTION_H
#define CK_ATTENTION_H

// Scaled dot-product attention (Vaswani et al. 2017) for some query rows of one head.

#include <stdbool.h>
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// out[i] = sum over j of softmax_j(scale * q[i].k[j] + mask[i, j]) * v[j], for `rows` queries over `keys` keys.
/// Strides are in floats between consecutive rows, so heads may stay interleaved.
typedef struct {
    size_t rows, keys;
    /// Width of a row of q and k.
    size_t head_size;
    /// Width of a row of v and out.
    size_t value_size;
    const float *q;
    size_t q_stride;
    const float *k;
    size_t k_stride;
    const float *v;
    size_t v_stride;
    /// [rows, keys], added to the scaled scores; NULL for none. Stride 0 uses one row for all queries.
    const float *mask;
    size_t mask_stride;
    float scale;
    /// Query i sees only keys j <= i + causal_offset. (causal_offset = keys - rows when the last query sees every key.)
    bool causal;
    ptrdiff_t causal_offset;
    /// Of the keys that a causal query sees only the last so many; 0 for all.
    size_t window;
    /// Scaled scores become softcap * tanh(score / softcap) before the mask; 0 leaves them.
    float softcap;
    /// What a query gets that sees no key, or only keys masked by -inf: zeros when true (PyTorch's fused attention),
    /// NaN when false (the formula). A finite mask needs no such rule: equal large negative values give the mean of
    /// v.
    bool empty_rows_are_zero;
    float *out;
    size_t out_stride;
} ck_attention;

/// Floats of scratch that ck_attention_f32 needs; 0 when that does not fit in size_t. It grows with keys only, not
/// with rows.
size_t ck_attention_scratch(size_t keys, size_t head_size, size_t value_size);

/// Computes it. `scratch` holds ck_attention_scratch floats and is the caller's own while the call runs. A query's
/// result does not depend on the other rows of the call. Relative error of the weights at most 1e-6 plus the scores'
/// absolute error; out may not overlap q, k or v.
void ck_attention_f32(const ck_attention *attention, float *scratch);

#if defined(__cplusplus)
}
#endif

#endif
