// The scratch of ck_attention_f32, which Families/attention.h uses in this order, and of ck_cached_attention_f32.

#include "attention_scratch.h"

size_t ck_cached_attention_scratch(size_t positions) {
    if (positions > SIZE_MAX / sizeof(float) / ck_cached_heads) return 0;
    return positions ? positions * ck_cached_heads : 1;
}

size_t ck_attention_scratch(size_t keys, size_t head_size, size_t value_size) {
    if (keys > SIZE_MAX / sizeof(float) / (ck_attention_rows + ck_gemm_panel) - ck_gemm_panel) return 0;
    const size_t packed_keys = ck_packed_size(head_size, keys);
    if (packed_keys == 0 && head_size != 0 && keys != 0) return 0;
    const size_t tail = value_size % ck_gemm_panel ? keys * ck_gemm_panel : 0;
    const size_t scores = ck_attention_rows * ck_round_to_panel(keys);
    size_t total;
    if (__builtin_add_overflow(packed_keys, tail + scores, &total) || total > SIZE_MAX / sizeof(float)) return 0;
    return total ? total : 1;
}
