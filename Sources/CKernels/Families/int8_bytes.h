// Products of bytes by VNNI, which multiplies and adds four bytes at a time, the activations' unsigned. Zero points are taken from the sums: from those
// of a row the row's times the sum of each column of weights.

/// Rows of activations in one tile of two panels; in one of four panels.
#define CK_BYTE_ROWS 12
#define CK_BYTE_FEW_ROWS 4
#define CK_BYTE_PANELS 4

static void int8_row_of(ck_byte type, size_t k, const void *x, int32_t zero, float scale, void *row) {
    int8_row *out = row;
    const uint8_t *bytes = x;
    const uint8_t flip = type == ck_u8 ? 0 : 0x80;
    uint32_t sum = 0;
    size_t p = 0;
    for (; p < k; p++) {
        const uint8_t value = bytes[p] ^ flip;
        out->values[p] = value;
        sum += value;
    }
    for (; p % 4; p++) out->values[p] = 0;
    out->zero = zero + flip;
    out->sum = (int32_t)(sum - (uint32_t)k * (uint32_t)out->zero);
    out->scale = scale;
}

CK_INLINE vu add_byte_products(vu sum, vu x, vu w) { return (vu)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w); }

CK_INLINE vu load_bytes(const void *p) {
    vu v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/// The sum of each column of some panels.
static void byte_column_sums(size_t panels, size_t quads, const int8_t *w, uint32_t *sums) {
    const vu ones = (vu)all_int(0x01010101);
    for (size_t j = 0; j < panels; j++, w += quads * 4 * ck_gemm_panel) {
        vu sum[2] = {{0}, {0}};
        size_t q = 0;
        for (; q + 2 <= quads; q += 2)
            for (size_t i = 0; i < 2; i++) sum[i] = add_byte_products(sum[i], ones, load_bytes(w + (q + i) * 4 * ck_gemm_panel));
        if (q < quads) sum[0] = add_byte_products(sum[0], ones, load_bytes(w + q * 4 * ck_gemm_panel));
        sum[0] += sum[1];
        __builtin_memcpy(sums + j * ck_gemm_panel, &sum[0], sizeof(vu));
    }
}

/// Some rows times some panels; the sums side by side, CK_BYTE_PANELS panels a row.
CK_INLINE void byte_tile(const int rows, const int panels, size_t quads, const uint8_t *x, size_t row_bytes, const int8_t *w, uint32_t *sums) {
    const size_t panel_bytes = quads * 4 * ck_gemm_panel;
    vu sum[CK_BYTE_ROWS][CK_BYTE_PANELS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < panels; j++) sum[r][j] = (vu){0};
    const uint8_t *rows_of_x[(CK_BYTE_ROWS + 2) / 3];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r += 3) {
        rows_of_x[r / 3] = x + (size_t)r * row_bytes;
        __asm__("" : "+r"(rows_of_x[r / 3]));  // one or two strides more are addresses of their own
    }
#pragma clang loop unroll(disable)
    for (size_t q = 0; q < quads; q++) {
        vu column[CK_BYTE_PANELS];
#pragma clang loop unroll(full)
        for (int j = 0; j < panels; j++) column[j] = load_bytes(w + (size_t)j * panel_bytes + q * 4 * ck_gemm_panel);
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            int32_t four;
            __builtin_memcpy(&four, rows_of_x[r / 3] + (size_t)(r % 3) * row_bytes + 4 * q, sizeof four);
            const vu both = (vu)all_int(four);
#pragma clang loop unroll(full)
            for (int j = 0; j < panels; j++) sum[r][j] = add_byte_products(sum[r][j], both, column[j]);
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < panels; j++) __builtin_memcpy(sums + (r * CK_BYTE_PANELS + j) * ck_gemm_panel, &sum[r][j], sizeof(vu));
}

#define CK_BYTE_CASE(rows)                                                                                             \
    case rows:                                                                                                         \
        if (rows <= CK_BYTE_FEW_ROWS && panels == CK_BYTE_PANELS)                                                      \
            byte_tile(rows <= CK_BYTE_FEW_ROWS ? rows : 1, CK_BYTE_PANELS, quads, x, row_bytes, w, sums);              \
        else if (panels == 2)                                                                                          \
            byte_tile(rows, 2, quads, x, row_bytes, w, sums);                                                          \
        else                                                                                                           \
            byte_tile(rows, 1, quads, x, row_bytes, w, sums);                                                          \
        return;

/// One tile of 1, 2 or, with few rows, CK_BYTE_PANELS panels.
static void run_byte_tile(size_t rows, size_t panels, size_t quads, const uint8_t *x, size_t row_bytes, const int8_t *w, uint32_t *sums) {
    switch (rows) {
        CK_BYTE_CASE(1)
        CK_BYTE_CASE(2)
        CK_BYTE_CASE(3)
        CK_BYTE_CASE(4)
        CK_BYTE_CASE(5)
        CK_BYTE_CASE(6)
        CK_BYTE_CASE(7)
        CK_BYTE_CASE(8)
        CK_BYTE_CASE(9)
        CK_BYTE_CASE(10)
        CK_BYTE_CASE(11)
        CK_BYTE_CASE(12)
    }
}

#if defined(CK_AMX)
#include "int8_tiles.h"
#endif

static void int8_product(size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c, size_t ldc,
                         const ck_epilogue *epilogue) {
#if defined(CK_AMX)
    if (int8_tiles_fit(k, m)) {
        int8_tiles_product(n_begin, n_end, k, w, m, rows, c, ldc, epilogue);
        return;
    }
#endif
    const size_t row_bytes = ck_int8_row_size(k), quads = (k + 3) / 4, wide = m <= CK_BYTE_FEW_ROWS ? CK_BYTE_PANELS : 2;
    uint32_t sums[CK_BYTE_ROWS * CK_BYTE_PANELS * ck_gemm_panel], column_sums[CK_BYTE_PANELS * ck_gemm_panel];
    size_t panels;
    for (size_t j = n_begin; j < n_end; j += panels * ck_gemm_panel) {
        const size_t left = (n_end - j + ck_gemm_panel - 1) / ck_gemm_panel;
        panels = left >= wide ? wide : left >= 2 ? 2 : 1;
        const size_t columns = n_end - j < panels * ck_gemm_panel ? n_end - j : panels * ck_gemm_panel;
        const int8_t *panel = w->packed + j * 4 * quads;
        byte_column_sums(panels, quads, panel, column_sums);
        for (size_t i = 0; i < m;) {
            const size_t rest = m - i, height = rest <= CK_BYTE_ROWS ? rest : rest < 2 * CK_BYTE_ROWS ? (rest + 1) / 2 : CK_BYTE_ROWS;
            run_byte_tile(height, panels, quads, CK_INT8_ROW(rows, row_bytes, i)->values, row_bytes, panel, sums);
            finish_int8(w, j, columns, rows, row_bytes, i, height, column_sums, sums, CK_BYTE_PANELS * ck_gemm_panel, c, ldc, epilogue);
            i += height;
        }
    }
}
