// Products with float weights as they are stored.

CK_INLINE vf load_weights(ck_weight type, const uint8_t *p) {
    if (type == ck_weight_f32) return load((const float *)(const void *)p);
    vh half;
    __builtin_memcpy(&half, p, sizeof half);
    return type == ck_weight_f16 ? half_to_float(half) : bfloat_to_float(half);
}

/// `rows` rows of W, `apart` rows from each other, times `m` rows of x; the type and both counts are constants where this is inlined.
CK_INLINE void float_tile(ck_weight type, const int rows, const int m, size_t apart, size_t k, const uint8_t *w, const float *x, size_t lda,
                          float *c, size_t ldc) {
    const size_t size = type == ck_weight_f32 ? 4 : 2, step = apart * k * size;
    vf sum[4][4];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) sum[r][i] = (vf){0};
    size_t p = 0;
    for (; p + CK_LANES <= k; p += CK_LANES) {
        vf v[4];
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) v[i] = load(x + (size_t)i * lda + p);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const vf weight = load_weights(type, w + (size_t)r * step + p * size);
#pragma clang loop unroll(full)
            for (int i = 0; i < m; i++) sum[r][i] = weight * v[i] + sum[r][i];
        }
    }
    if (p < k) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            uint8_t last[4 * CK_LANES] = {0};
            memcpy(last, w + (size_t)r * step + p * size, (k - p) * size);
            const vf weight = load_weights(type, last);
#pragma clang loop unroll(full)
            for (int i = 0; i < m; i++) sum[r][i] = weight * load_first(x + (size_t)i * lda + p, k - p) + sum[r][i];
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) c[(size_t)i * ldc + (size_t)r * apart] = sum_lanes(sum[r][i]);
}

/// Four streams, as in block_product_of; one for many rows of x.
CK_INLINE void float_product_of(ck_weight type, size_t rows, size_t k, const uint8_t *w, size_t m, const float *x, size_t lda,
                                float *c, size_t ldc) {
    const size_t row_bytes = k * (type == ck_weight_f32 ? 4 : 2), quarter = rows / 4;
    for (; m >= 4; m -= 4, x += 4 * lda, c += 4 * ldc)
        for (size_t r = 0; r < rows; r++) float_tile(type, 1, 4, 1, k, w + r * row_bytes, x, lda, c + r, ldc);
    for (; m; m--, x += lda, c += ldc) {
        for (size_t r = 0; r < quarter; r++) float_tile(type, 4, 1, quarter, k, w + r * row_bytes, x, lda, c + r, ldc);
        for (size_t r = 4 * quarter; r < rows; r++) float_tile(type, 1, 1, 1, k, w + r * row_bytes, x, lda, c + r, ldc);
    }
}

static void float_product(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,
                          float *c, size_t ldc, const ck_epilogue *epilogue) {
    if (n_begin >= n_end || m == 0) return;
    const size_t rows = n_end - n_begin;
    const uint8_t *first = (const uint8_t *)w + n_begin * k * (type == ck_weight_f32 ? 4 : 2);
    switch (type) {
    case ck_weight_f32: float_product_of(ck_weight_f32, rows, k, first, m, x, lda, c + n_begin, ldc); break;
    case ck_weight_f16: float_product_of(ck_weight_f16, rows, k, first, m, x, lda, c + n_begin, ldc); break;
    case ck_weight_bf16: float_product_of(ck_weight_bf16, rows, k, first, m, x, lda, c + n_begin, ldc); break;
    default: return;
    }
    finish_rows(m, n_begin, n_end, c, ldc, epilogue);
}

static void column_product(size_t n_begin, size_t n_end, size_t n, size_t k, const float *w, size_t m, const float *x, size_t lda,
                           float *c, size_t ldc, const ck_epilogue *epilogue) {
    if (n_begin >= n_end) return;
    const size_t columns = n_end - n_begin;
    for (size_t i = 0; i < m; i++) memset(c + i * ldc + n_begin, 0, columns * sizeof(float));
    // Four rows of W at a time, along C, which stays in the first cache.
    for (size_t p = 0; p < k; p += 4) {
        const size_t count = k - p < 4 ? k - p : 4;
        const float *row = w + p * n + n_begin;
        for (size_t i = 0; i < m; i++) {
            float *out = c + i * ldc + n_begin;
            const float *v = x + i * lda + p;
            if (count < 4) {
                for (size_t q = 0; q < count; q++) axpy_f32(columns, v[q], row + q * n, out);
                continue;
            }
            const vf a = all(v[0]), b = all(v[1]), d = all(v[2]), e = all(v[3]);
            size_t j = 0;
            for (; j + CK_LANES <= columns; j += CK_LANES) {
                __builtin_prefetch(row + 4 * n + j);
                __builtin_prefetch(row + 5 * n + j);
                __builtin_prefetch(row + 6 * n + j);
                __builtin_prefetch(row + 7 * n + j);
                vf sum = a * load(row + j) + load(out + j);
                sum = b * load(row + n + j) + sum;
                sum = d * load(row + 2 * n + j) + sum;
                store(out + j, e * load(row + 3 * n + j) + sum);
            }
            if (j < columns) {
                const size_t left = columns - j;
                vf sum = a * load_first(row + j, left) + load_first(out + j, left);
                sum = b * load_first(row + n + j, left) + sum;
                sum = d * load_first(row + 2 * n + j, left) + sum;
                store_first(out + j, left, e * load_first(row + 3 * n + j, left) + sum);
            }
        }
    }
    finish_rows(m, n_begin, n_end, c, ldc, epilogue);
}

/// k in one block of a widened matrix, whole blocks of weights, not above what gemm_packed sums in one go.
#define CK_WEIGHT_K_BLOCK 256

/// One panel of ck_pack_b from rows of W, `kc` of their elements.
static void widen_panel(ck_weight type, size_t kc, size_t columns, const uint8_t *w, size_t row_bytes, float *packed) {
    float rows[ck_gemm_panel][CK_WEIGHT_K_BLOCK];
    for (size_t j = 0; j < columns; j++) dequantize_weights(type, kc, w + j * row_bytes, rows[j]);
    ck_pack_panel(true, kc, columns, rows[0], CK_WEIGHT_K_BLOCK, packed);
}

static void float_gemm(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m, const float *x, size_t lda,
                        float *c, size_t ldc, const ck_epilogue *epilogue, float *scratch) {
    const ck_epilogue none = {NULL, ck_identity, NULL, 0, false};
    const ck_epilogue whole = epilogue ? *epilogue : none;
    if (n_begin >= n_end) return;
    const size_t columns = n_end - n_begin, elements = ck_weight_block_elements(type), bytes = ck_weight_block_bytes(type), row_bytes = k / elements * bytes;
    size_t k0 = 0;
    do {
        const size_t kc = k - k0 < CK_WEIGHT_K_BLOCK ? k - k0 : CK_WEIGHT_K_BLOCK;
        const uint8_t *first = (const uint8_t *)w + n_begin * row_bytes + k0 / elements * bytes;
        for (size_t j = 0; j < columns; j += ck_gemm_panel) {
            const size_t count = columns - j < ck_gemm_panel ? columns - j : ck_gemm_panel;
            widen_panel(type, kc, count, first + j * row_bytes, row_bytes, scratch + j * kc);
        }
        const bool last = k0 + kc == k;
        const ck_epilogue part = {.bias = last && whole.bias ? whole.bias + n_begin : NULL,
                                  .activation = last ? whole.activation : ck_identity,
                                  .residual = last && whole.residual ? whole.residual + n_begin : NULL,
                                  .residual_ld = whole.residual_ld, .accumulate = k0 > 0 || whole.accumulate};
        gemm_packed(0, m, 0, columns, columns, kc, x + k0, lda, scratch, c + n_begin, ldc, &part);
        k0 += kc;
    } while (k0 < k);
}
