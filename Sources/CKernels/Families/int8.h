// Exact products of bytes. A's rows, less their zero points, are widened to 16 bits; a multiply-and-add-pairs
// instruction then sums two products in 32 bits (|a| and |b| are at most 255, so nothing saturates).

typedef int16_t vs __attribute__((vector_size(4 * CK_LANES), may_alias));
typedef int8_t vb __attribute__((vector_size(2 * CK_LANES), may_alias));

#define CK_INT8_ROWS 4
/// Even; a strip of CK_INT8_ROWS rows of it is 8 KiB.
#define CK_INT8_K_BLOCK 1024

/// Lane i: a[2i] * b[2i] + a[2i + 1] * b[2i + 1].
CK_INLINE vu multiply_pairs(vs a, vs b) {
#if defined(CK_AVX512)
    return (vu)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(CK_AVX2)
    return (vu)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__x86_64__)
    return (vu)_mm_madd_epi16((__m128i)a, (__m128i)b);
#elif defined(__aarch64__)
    const int32x4_t low = vmull_s16(vget_low_s16((int16x8_t)a), vget_low_s16((int16x8_t)b));
    return (vu)vpaddq_s32(low, vmull_high_s16((int16x8_t)a, (int16x8_t)b));
#else
    vu result;
    for (int i = 0; i < CK_LANES; i++)
        result[i] = (uint32_t)a[2 * i] * (uint32_t)b[2 * i] + (uint32_t)a[2 * i + 1] * (uint32_t)b[2 * i + 1];
    return result;
#endif
}

CK_INLINE vu add_multiplied_pairs(vu sum, vs a, vs b) {
#if defined(CK_VNNI)
    return (vu)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#else
    return sum + multiply_pairs(a, b);
#endif
}

/// `pairs` pairs of k: rows of A at a (CK_INT8_K_BLOCK apart) times one panel of B.
CK_INLINE void int8_tile(const int rows, size_t pairs, const int16_t *a, const int8_t *b,
                         uint32_t out[CK_INT8_ROWS][ck_gemm_panel]) {
    vu sum[CK_INT8_ROWS][CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < CK_PANEL_VECTORS; j++) sum[r][j] = (vu){0};
    for (size_t p = 0; p < pairs; p++) {
        vs column[CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
        for (int j = 0; j < CK_PANEL_VECTORS; j++) {
            vb bytes;
            __builtin_memcpy(&bytes, b + (p * ck_gemm_panel + (size_t)j * CK_LANES) * 2, sizeof bytes);
            column[j] = __builtin_convertvector(bytes, vs);
        }
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            int32_t pair;
            __builtin_memcpy(&pair, a + (size_t)r * CK_INT8_K_BLOCK + 2 * p, sizeof pair);
            const vs x = (vs)all_int(pair);
#pragma clang loop unroll(full)
            for (int j = 0; j < CK_PANEL_VECTORS; j++) sum[r][j] = add_multiplied_pairs(sum[r][j], x, column[j]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < CK_PANEL_VECTORS; j++) __builtin_memcpy(&out[r][j * CK_LANES], &sum[r][j], sizeof(vu));
}

/// Row `row` of A from column k0, less its zero point, in 16 bits; returns the sum.
static uint32_t widen_row(const ck_int8_rows *a, size_t row, size_t k0, size_t kc, int16_t *out) {
    const int32_t zero = a->zero ? a->zero[row * a->zero_step] : 0;
    const uint8_t *bytes = (const uint8_t *)a->data + row * a->ld + k0;
    int32_t sum = 0;  // at most 1024 * 255
    for (size_t p = 0; p < kc; p++) {
        const int32_t value = (a->type == ck_u8 ? (int32_t)bytes[p] : (int32_t)(int8_t)bytes[p]) - zero;
        out[p] = (int16_t)value;
        sum += value;
    }
    if (kc & 1) out[kc] = 0;
    return (uint32_t)sum;
}

static void gemm_int8(size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k,
                      const ck_int8_rows *a, const ck_int8_columns *b, int32_t *c, size_t ldc) {
    if (n_end > n) n_end = n;
    if (m_begin >= m_end || n_begin >= n_end) return;
    const size_t k_even = k + (k & 1);
    const int32_t flip = b->type == ck_u8 ? 128 : 0;  // what packing took from B
    int16_t rows_of_a[CK_INT8_ROWS * CK_INT8_K_BLOCK];
    uint32_t sums[CK_INT8_ROWS][ck_gemm_panel], row_sum[CK_INT8_ROWS];

    size_t k0 = 0;
    do {
        const size_t kc = k - k0 < CK_INT8_K_BLOCK ? k - k0 : CK_INT8_K_BLOCK, pairs = (kc + 1) / 2;
        for (size_t i = m_begin; i < m_end; i += CK_INT8_ROWS) {
            const size_t rows = m_end - i < CK_INT8_ROWS ? m_end - i : CK_INT8_ROWS;
            for (size_t r = 0; r < rows; r++)
                row_sum[r] = widen_row(a, i + r, k0, kc, rows_of_a + r * CK_INT8_K_BLOCK);
            for (size_t j = n_begin; j < n_end; j += ck_gemm_panel) {
                const int8_t *panel = b->packed + j * k_even + k0 * ck_gemm_panel;
                switch (rows) {
                case 1: int8_tile(1, pairs, rows_of_a, panel, sums); break;
                case 2: int8_tile(2, pairs, rows_of_a, panel, sums); break;
                case 3: int8_tile(3, pairs, rows_of_a, panel, sums); break;
                default: int8_tile(4, pairs, rows_of_a, panel, sums); break;
                }
                // a * (b - zero) = a * b - zero * sum of a
                const size_t columns = n_end - j < ck_gemm_panel ? n_end - j : ck_gemm_panel;
                for (size_t r = 0; r < rows; r++) {
                    int32_t *out = c + (i + r) * ldc + j;
                    for (size_t q = 0; q < columns; q++) {
                        const int32_t zero = (b->zero ? b->zero[(j + q) * b->zero_step] : 0) - flip;
                        const uint32_t value = sums[r][q] - (uint32_t)zero * row_sum[r];
                        out[q] = (int32_t)(k0 ? (uint32_t)out[q] + value : value);
                    }
                }
            }
        }
        k0 += kc;
    } while (k0 < k);
}

static void dequantize_sums(size_t n, const int32_t *c, float row_scale, const float *column_scale, size_t column_step,
                            const float *bias, ck_unary activation, float *y) {
    if (n == 0) return;
    const vf row = all(row_scale), one = all(column_scale[0]);
    for (size_t i = 0; i < n; i += CK_LANES) {
        const size_t count = n - i < CK_LANES ? n - i : CK_LANES;
        vi sums = {0};
        memcpy(&sums, c + i, count * sizeof(int32_t));
        const vf scale = row * (column_step ? load_first(column_scale + i, count) : one);
        vf v = to_float(sums) * scale;
        if (bias) v = v + load_first(bias + i, count);
        store_first(y + i, count, apply(activation, v));
    }
}

#define CK_REQUANTIZE(byte_vector, low, high)                                                                          \
    if (n == 0) return;                                                                                                \
    const vf one = all(multiplier[0]);                                                                                 \
    for (size_t i = 0; i < n; i += CK_LANES) {                                                                         \
        const size_t count = n - i < CK_LANES ? n - i : CK_LANES;                                                      \
        vi sums = {0};                                                                                                 \
        memcpy(&sums, c + i, count * sizeof(int32_t));                                                                 \
        const vf v = to_float(sums) * (multiplier_step ? load_first(multiplier + i, count) : one);                     \
        const byte_vector r = __builtin_convertvector(quantize(v, zero, low, high), byte_vector);                      \
        memcpy(y + i, &r, count);                                                                                      \
    }

static void requantize_s8(size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero,
                          int8_t *y) {
    CK_REQUANTIZE(vs8, -128, 127)
}
static void requantize_u8(size_t n, const int32_t *c, const float *multiplier, size_t multiplier_step, int32_t zero,
                          uint8_t *y) {
    CK_REQUANTIZE(vu8, 0, 255)
}
