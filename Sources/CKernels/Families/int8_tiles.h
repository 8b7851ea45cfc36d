// Products of bytes by AMX: 16 rows of activations times a panel, 64 numbers of k at a time. A panel as it lies in memory is a row of its tiles.

/// Rows of a tile, and numbers of k.
#define CK_TILE_HEIGHT 16
#define CK_TILE_DEPTH 64

/// Tiles 0 to 3 are sums, 4 and 5 rows, 6 and 7 panels; all are of full size.
static void configure_tiles(void) {
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } full = {.palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&full);
}

/// Whole tiles fill k, and few rows are computed twice.
static bool int8_tiles_fit(size_t k, size_t m) { return m >= CK_TILE_HEIGHT && k > 0 && k % CK_TILE_DEPTH == 0; }

/// 16 or 32 rows times one or two panels; sums of a row lie 2 panels apart.
CK_INLINE void int8_tiles(const bool two_rows, const bool two_panels, size_t k, const uint8_t *x, size_t row_bytes, const int8_t *w, uint32_t *sums) {
    const size_t panel_bytes = k * ck_gemm_panel, line = 2 * ck_gemm_panel * sizeof *sums;
    const uint8_t *second = x + CK_TILE_HEIGHT * row_bytes;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t p = 0; p < k; p += CK_TILE_DEPTH) {
        _tile_loadd(4, x + p, row_bytes);
        if (two_rows) _tile_loadd(5, second + p, row_bytes);
        _tile_loadd(6, w + p * ck_gemm_panel, 64);
        if (two_panels) _tile_loadd(7, w + panel_bytes + p * ck_gemm_panel, 64);
        _tile_dpbusd(0, 4, 6);
        if (two_panels) _tile_dpbusd(1, 4, 7);
        if (two_rows) _tile_dpbusd(2, 5, 6);
        if (two_rows && two_panels) _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, sums, line);
    if (two_panels) _tile_stored(1, sums + ck_gemm_panel, line);
    if (two_rows) _tile_stored(2, sums + 2 * CK_TILE_HEIGHT * ck_gemm_panel, line);
    if (two_rows && two_panels) _tile_stored(3, sums + (2 * CK_TILE_HEIGHT + 1) * ck_gemm_panel, line);
}

static void int8_tiles_product(size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c, size_t ldc,
                               const ck_epilogue *epilogue) {
    const size_t row_bytes = ck_int8_row_size(k), quads = k / 4;
    uint32_t sums[2 * CK_TILE_HEIGHT * 2 * ck_gemm_panel] __attribute__((aligned(64))), column_sums[2 * ck_gemm_panel];
    configure_tiles();
    for (size_t j = n_begin; j < n_end; j += 2 * ck_gemm_panel) {
        const size_t columns = n_end - j < 2 * ck_gemm_panel ? n_end - j : 2 * ck_gemm_panel;
        const bool two_panels = columns > ck_gemm_panel;
        const int8_t *panel = w->packed + j * k;
        byte_column_sums(two_panels ? 2 : 1, quads, panel, column_sums);
        size_t height;
        for (size_t i = 0; i < m; i += height) {
            // The last tile may begin among rows that are done: they are multiplied again, and dropped.
            const size_t left = m - i;
            const bool two_rows = left > CK_TILE_HEIGHT && m >= 2 * CK_TILE_HEIGHT;
            const size_t full = two_rows ? 2 * CK_TILE_HEIGHT : CK_TILE_HEIGHT, start = left < full ? m - full : i;
            height = left < full ? left : full;
            const uint8_t *x = CK_INT8_ROW(rows, row_bytes, start)->values;
            if (two_rows) {
                if (two_panels)
                    int8_tiles(true, true, k, x, row_bytes, panel, sums);
                else
                    int8_tiles(true, false, k, x, row_bytes, panel, sums);
            } else if (two_panels) {
                int8_tiles(false, true, k, x, row_bytes, panel, sums);
            } else {
                int8_tiles(false, false, k, x, row_bytes, panel, sums);
            }
            finish_int8(w, j, columns, rows, row_bytes, i, height, column_sums, sums + (i - start) * 2 * ck_gemm_panel, 2 * ck_gemm_panel, c, ldc, epilogue);
        }
    }
    _tile_release();
}
