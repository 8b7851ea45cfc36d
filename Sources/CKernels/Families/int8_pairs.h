// Products of bytes by multiply-and-add-pairs: rows of activations, less their zero point, have 16 bits, and weights are widened to as many. Two 32-bit sums of an
// output grow at a time, which are added at the end.

/// Rows of activations in one tile, whose columns fill two vectors.
#if defined(CK_AVX512)
#define CK_QUAD_ROWS 12
#else
#define CK_QUAD_ROWS 6
#endif
/// Vectors of 16-bit weights in four numbers of k of a panel.
#define CK_QUAD_VECTORS (2 * CK_PANEL_VECTORS)
/// From so many rows on a panel is widened once for all of them, a part of k at a time that fits the first cache.
#define CK_QUAD_WIDE_ROWS 24
#define CK_QUAD_BLOCK 128

typedef int64_t vl __attribute__((vector_size(4 * CK_LANES), may_alias));

static void int8_row_of(ck_byte type, size_t k, const void *x, int32_t zero, float scale, void *row) {
    int8_row *out = row;
    const uint8_t *bytes = x;
    vi sums = {0};
    size_t p = 0;
    for (; p + CK_LANES <= k; p += CK_LANES) {
        vs8 v;
        __builtin_memcpy(&v, bytes + p, sizeof v);
        const vi wide = (type == ck_u8 ? __builtin_convertvector((vu8)v, vi) : __builtin_convertvector(v, vi)) - zero;
        typedef int16_t s16 __attribute__((vector_size(2 * CK_LANES)));
        const s16 narrow = __builtin_convertvector(wide, s16);
        __builtin_memcpy(out->values + p, &narrow, sizeof narrow);
        sums += wide;
    }
    int32_t sum = 0;
    for (int i = 0; i < CK_LANES; i++) sum += sums[i];
    for (; p < k; p++) {
        const int32_t value = (type == ck_u8 ? (int32_t)bytes[p] : (int32_t)(int8_t)bytes[p]) - zero;
        out->values[p] = (int16_t)value;
        sum += value;
    }
    for (; p % 4; p++) out->values[p] = 0;
    out->scale = scale;
    out->sum = sum;
    out->zero = 0;
}

/// `quads` fours of k: rows of activations (row_step apart, in numbers) times `vectors` vectors of weights, bytes or widened, 64 of them for each four.
CK_INLINE void quad_tile(const int rows, const int vectors, const bool is_wide, size_t quads, const int16_t *x, size_t row_step, const void *w,
                         uint32_t *sums) {
    const char *rows_of_x[(CK_QUAD_ROWS + 2) / 3];
    const size_t row_bytes = row_step * sizeof(int16_t);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r += 3) {
        rows_of_x[r / 3] = (const char *)(x + (size_t)r * row_step);
        __asm__("" : "+r"(rows_of_x[r / 3]));  // one or two strides more are addresses of their own
    }
    vu sum[CK_QUAD_ROWS][CK_QUAD_VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < vectors; j++) sum[r][j] = (vu){0};
#pragma clang loop unroll(disable)
    for (size_t q = 0; q < quads; q++) {
        vs column[CK_QUAD_VECTORS];
#pragma clang loop unroll(full)
        for (int j = 0; j < vectors; j++) {
            if (is_wide) {
                __builtin_memcpy(&column[j], (const int16_t *)w + q * 4 * ck_gemm_panel + (size_t)j * 2 * CK_LANES, sizeof column[j]);
            } else {
                vb bytes;
                __builtin_memcpy(&bytes, (const int8_t *)w + q * 4 * ck_gemm_panel + (size_t)j * 2 * CK_LANES, sizeof bytes);
                column[j] = __builtin_convertvector(bytes, vs);
            }
        }
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            int64_t four;
            __builtin_memcpy(&four, rows_of_x[r / 3] + (size_t)(r % 3) * row_bytes + 8 * q, sizeof four);
            const vs both = (vs)(four - (vl){0});
#pragma clang loop unroll(full)
            for (int j = 0; j < vectors; j++) sum[r][j] = add_multiplied_pairs(sum[r][j], both, column[j]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < vectors; j += 2) {
            uint32_t halves[2 * CK_LANES];
            __builtin_memcpy(halves, &sum[r][j], 2 * sizeof(vu));
            for (int i = 0; i < CK_LANES; i++) sums[r * ck_gemm_panel + j / 2 * CK_LANES + i] = halves[2 * i] + halves[2 * i + 1];
        }
}

/// One panel for some rows, all 16 columns.
CK_INLINE void quad_rows(const int rows, const bool is_wide, size_t quads, const int16_t *x, size_t row_step, const void *w, uint32_t *sums) {
    if (rows <= 2) {
        quad_tile(rows, CK_QUAD_VECTORS, is_wide, quads, x, row_step, w, sums);
        return;
    }
    for (int part = 0; part < CK_PANEL_VECTORS; part++) {
        const size_t first = (size_t)part * 4 * CK_LANES;
        quad_tile(rows, 2, is_wide, quads, x, row_step, is_wide ? (const void *)((const int16_t *)w + first) : (const void *)((const int8_t *)w + first),
                  sums + part * CK_LANES);
    }
}

#define CK_QUAD_CASE(rows)                                                                                             \
    case rows:                                                                                                         \
        if (is_wide)                                                                                                   \
            quad_rows(rows, true, quads, x, row_step, w, sums);                                                        \
        else                                                                                                           \
            quad_rows(rows, false, quads, x, row_step, w, sums);                                                       \
        return;

static void run_quad_tile(size_t rows, bool is_wide, size_t quads, const int16_t *x, size_t row_step, const void *w, uint32_t *sums) {
    switch (rows) {
        CK_QUAD_CASE(1)
        CK_QUAD_CASE(2)
        CK_QUAD_CASE(3)
        CK_QUAD_CASE(4)
        CK_QUAD_CASE(5)
        CK_QUAD_CASE(6)
#if CK_QUAD_ROWS >= 12
        CK_QUAD_CASE(7)
        CK_QUAD_CASE(8)
        CK_QUAD_CASE(9)
        CK_QUAD_CASE(10)
        CK_QUAD_CASE(11)
        CK_QUAD_CASE(12)
#endif
    }
}

static void int8_product(size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c, size_t ldc,
                        const ck_epilogue *epilogue) {
    const size_t row_bytes = ck_int8_row_size(k), row_step = row_bytes / sizeof(int16_t), quads = (k + 3) / 4;
    const bool is_wide = m >= CK_QUAD_WIDE_ROWS;
    const size_t block = is_wide ? CK_QUAD_BLOCK : quads;
    int16_t wide[CK_QUAD_BLOCK * 4 * ck_gemm_panel];
    uint32_t sums[CK_QUAD_ROWS * ck_gemm_panel];
    for (size_t j = n_begin; j < n_end; j += ck_gemm_panel) {
        const size_t columns = n_end - j < ck_gemm_panel ? n_end - j : ck_gemm_panel;
        const int8_t *panel = w->packed + j * 4 * quads;
        size_t q = 0;
        do {  // once even for k = 0
            const size_t count = quads - q < block ? quads - q : block;
            const void *part = panel + q * 4 * ck_gemm_panel;
            if (is_wide) {
                for (size_t i = 0; i < count * 4 * ck_gemm_panel; i += 2 * CK_LANES) {
                    vb bytes;
                    __builtin_memcpy(&bytes, (const int8_t *)part + i, sizeof bytes);
                    const vs both = __builtin_convertvector(bytes, vs);
                    __builtin_memcpy(wide + i, &both, sizeof both);
                }
                part = wide;
            }
            for (size_t i = 0; i < m;) {
                const size_t left = m - i, height = left <= CK_QUAD_ROWS ? left : left < 2 * CK_QUAD_ROWS ? (left + 1) / 2 : CK_QUAD_ROWS;
                run_quad_tile(height, is_wide, count, CK_INT8_ROW(rows, row_bytes, i)->values + 4 * q, row_step, part, sums);
                // C holds the integers of the parts before.
                for (size_t r = 0; r < height; r++) {
                    uint32_t *sum = sums + r * ck_gemm_panel;
                    float *out = c + (i + r) * ldc + j;
                    if (q) {
                        uint32_t before[ck_gemm_panel] = {0};
                        memcpy(before, out, columns * sizeof *before);
                        for (size_t p = 0; p < ck_gemm_panel; p++) sum[p] += before[p];
                    }
                    if (q + count < quads) memcpy(out, sum, columns * sizeof *sum);
                }
                if (q + count == quads) finish_int8(w, j, columns, rows, row_bytes, i, height, NULL, sums, ck_gemm_panel, c, ldc, epilogue);
                i += height;
            }
            q += count;
        } while (q < quads);
    }
}
