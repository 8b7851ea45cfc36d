// Packing for the matrix products: panels of ck_gemm_panel columns. The layouts are those that ck_gemm.h and
// ck_int8.h describe.

#include "pack.h"

#include <string.h>

/// a * b, or 0 when it does not fit.
static size_t product(size_t a, size_t b) {
    size_t result;
    return __builtin_mul_overflow(a, b, &result) ? 0 : result;
}

size_t ck_packed_size(size_t k, size_t n) {
    if (n > SIZE_MAX - ck_gemm_panel) return 0;
    const size_t count = product(k, ck_round_to_panel(n));
    return count > SIZE_MAX / sizeof(float) ? 0 : count;
}

void ck_pack_panel(bool transpose_b, size_t k, size_t columns, const float *b, size_t ldb, float *packed) {
    if (columns < ck_gemm_panel) memset(packed, 0, k * ck_gemm_panel * sizeof(float));
    if (!transpose_b) {
        for (size_t p = 0; p < k; p++) memcpy(packed + p * ck_gemm_panel, b + p * ldb, columns * sizeof(float));
    } else if (columns == ck_gemm_panel) {
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < ck_gemm_panel; j++) packed[p * ck_gemm_panel + j] = b[j * ldb + p];
    } else {
        for (size_t j = 0; j < columns; j++)
            for (size_t p = 0; p < k; p++) packed[p * ck_gemm_panel + j] = b[j * ldb + p];
    }
}

void ck_pack_b(bool transpose_b, size_t k, size_t n, const float *b, size_t ldb, float *packed) {
    for (size_t j = 0; j < n; j += ck_gemm_panel) {
        const size_t columns = n - j < ck_gemm_panel ? n - j : ck_gemm_panel;
        ck_pack_panel(transpose_b, k, columns, b + (transpose_b ? j * ldb : j), ldb, packed + j * k);
    }
}

size_t ck_packed_size_int8(size_t k, size_t n) {
    if (n > SIZE_MAX - ck_gemm_panel || k == SIZE_MAX) return 0;
    return product(k + (k & 1), ck_round_to_panel(n));
}

// Within a panel: pairs of rows, and for each of the 16 columns the pair's two bytes side by side, which is what a
// multiply-and-add-pairs instruction takes. u8 is stored as s8, less 128.
void ck_pack_b_int8(ck_byte type, bool transpose_b, size_t k, size_t n, const void *b, size_t ldb, int8_t *packed) {
    const uint8_t *bytes = b;
    const uint8_t flip = type == ck_u8 ? 0x80 : 0;
    const size_t k_even = k + (k & 1);
    memset(packed, 0, ck_packed_size_int8(k, n));
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++) {
            const uint8_t byte = transpose_b ? bytes[j * ldb + p] : bytes[p * ldb + j];
            const size_t panel = j / ck_gemm_panel * ck_gemm_panel * k_even;
            packed[panel + (p / 2 * ck_gemm_panel + j % ck_gemm_panel) * 2 + p % 2] = (int8_t)(byte ^ flip);
        }
}

size_t ck_int8_linear_size(size_t k, size_t n) {
    if (n > SIZE_MAX - ck_gemm_panel || k > SIZE_MAX - 4) return 0;
    return product((k + 3) / 4 * 4, ck_round_to_panel(n));
}

void ck_pack_int8_linear(size_t k, size_t n, const int8_t *w, int8_t *packed) {
    const size_t k_round = (k + 3) / 4 * 4;
    memset(packed, 0, ck_int8_linear_size(k, n));
    for (size_t j = 0; j < n; j++) {
        int8_t *panel = packed + j / ck_gemm_panel * ck_gemm_panel * k_round + j % ck_gemm_panel * 4;
        for (size_t p = 0; p < k; p++) panel[p / 4 * 4 * ck_gemm_panel + p % 4] = w[j * k + p];
    }
}

size_t ck_int8_row_size(size_t k) {
    // A line of its own for the head, then 2 bytes each, up to a multiple of 4 of k.
    return k > SIZE_MAX / 4 ? 0 : 64 + ((k + 3) / 4 * 8 + 63) / 64 * 64;
}
