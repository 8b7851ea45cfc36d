#ifndef CK_CACHED_ATTENTION_H
#define CK_CACHED_ATTENTION_H

// Causal attention of a few new queries over many cached keys: what one step of a generation does in each layer.

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// The query heads that share one key head. Strides are in floats.
typedef struct {
    /// New tokens; query i stands at position past + i of the cache.
    size_t queries;
    /// Query heads.
    size_t heads;
    /// Positions before query 0.
    size_t past;
    /// Width of a row of q and k.
    size_t head_size;
    /// Width of a row of v and out.
    size_t value_size;
    const float *q;
    size_t q_stride, q_head_stride;
    /// [past + queries, head_size]
    const float *k;
    size_t k_stride;
    /// [past + queries, value_size]
    const float *v;
    size_t v_stride;
    /// past + queries floats that are added to the scores, 0 or -inf; NULL for none.
    const float *mask;
    float scale;
    /// A score s becomes softcap * tanh(s / softcap); 0 for none.
    float softcap;
    /// A query sees that many positions, its own included; 0 for all before it.
    size_t window;
    float *out;
    size_t out_stride, out_head_stride;
} ck_cached_attention;

/// Floats of scratch that ck_cached_attention_f32 needs for so many positions; 0 when that does not fit in size_t.
size_t ck_cached_attention_scratch(size_t positions);

/// out[i, h] = sum over j <= past + i of softmax_j(softcap(scale * q[i, h].k[j]) + mask[j]) * v[j]; zeros for a query without any
/// key. A query's result does not depend on the other queries of the call. `scratch` is the caller's own while the call runs.
/// Relative error of the weights at most 1e-6 plus the scores' absolute error.
void ck_cached_attention_f32(const ck_cached_attention *attention, float *scratch);

#if defined(__cplusplus)
}
#endif

#endif
