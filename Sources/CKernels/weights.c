// Sizes of the weight types.

#include "ck_weights.h"

size_t ck_weight_block_elements(ck_weight type) {
    switch (type) {
    case ck_weight_f32:
    case ck_weight_f16:
    case ck_weight_bf16: return 1;
    case ck_weight_q8_0:
    case ck_weight_q4_0:
    case ck_weight_q4_1:
    case ck_weight_q5_0:
    case ck_weight_q5_1: return 32;
    case ck_weight_q4_k:
    case ck_weight_q5_k:
    case ck_weight_q6_k: return 256;
    }
    return 1;
}

size_t ck_weight_block_bytes(ck_weight type) {
    switch (type) {
    case ck_weight_f32: return 4;
    case ck_weight_f16:
    case ck_weight_bf16: return 2;
    case ck_weight_q8_0: return 34;
    case ck_weight_q4_0: return 18;
    case ck_weight_q4_1: return 20;
    case ck_weight_q5_0: return 22;
    case ck_weight_q5_1: return 24;
    case ck_weight_q4_k: return 144;
    case ck_weight_q5_k: return 176;
    case ck_weight_q6_k: return 210;
    }
    return 4;
}

size_t ck_activations_size(size_t k) {
    // 2 bytes each, and two floats for 32; rows start on cache lines.
    if (k > SIZE_MAX / 4) return 0;
    return (k * 2 + k / 32 * 8 + 63) / 64 * 64;
}
