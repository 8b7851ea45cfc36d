// Matrix products. A tile of C (some rows, some 16-column panels) stays in registers while k runs; its sums then go
// through a small buffer to C. B is read in panels that fit the first cache, A in blocks of rows that fit the second
// (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).

#define CK_PANEL_VECTORS (ck_gemm_panel / CK_LANES)
/// Rows of A that are worked on before the next panels: with ck_gemm_k_block columns, 144 KiB.
#define CK_ROW_BLOCK 96
/// The widest tile: enough panels for 8 accumulators in one row, which hide the latency of an FMA.
#define CK_WIDE_PANELS (8 / CK_PANEL_VECTORS)
/// How many numbers of k ahead of use a lone row asks for a panel.
#define CK_LONE_ROW_AHEAD 32

/// What a tile multiplies: row r of A at a + r * a_row, its elements a_step apart; panel p of B at b + p * b_panel,
/// its rows of 16 b_step apart; sums to out, rows out_ld apart, panels side by side, added to what is there or in its place.
typedef struct {
    size_t k;
    const float *a;
    size_t a_row, a_step;
    const float *b;
    size_t b_panel, b_step;
    float *out;
    size_t out_ld;
    bool accumulate;
    /// What is multiplied next, so many cache lines for every four numbers of k: they arrive meanwhile. NULL for none.
    const char *ahead;
    size_t ahead_lines;
} tile_work;

// Rows and panels are constants where this is inlined, so the accumulators become registers.
CK_INLINE void tile(const int rows, const int panels, const tile_work *w) {
    const size_t k = w->k, a_row = w->a_row, a_step = w->a_step, b_panel = w->b_panel, b_step = w->b_step;
    const float *a = w->a, *b = w->b;
    vf sum[CK_TILE_ROWS][CK_WIDE_PANELS * CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < panels * CK_PANEL_VECTORS; j++)
            sum[r][j] = (vf){0};
    const char *ahead = w->ahead;
    for (size_t p = 0; p < k; p++) {
        if (ahead && p % 4 == 0)
            for (size_t i = 0; i < w->ahead_lines; i++, ahead += 64) __builtin_prefetch(ahead, 0, 2);
        vf row[CK_WIDE_PANELS * CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
        for (int j = 0; j < panels * CK_PANEL_VECTORS; j++)
            row[j] = load(b + (size_t)(j / CK_PANEL_VECTORS) * b_panel + (size_t)(j % CK_PANEL_VECTORS) * CK_LANES);
        // A lone row waits for memory alone; asking ahead goes on beyond the end of a page, which the hardware does not.
        if (rows == 1) {
#pragma clang loop unroll(full)
            for (int j = 0; j < panels; j++) __builtin_prefetch(b + (size_t)j * b_panel + CK_LONE_ROW_AHEAD * ck_gemm_panel);
        }
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const vf x = all(a[(size_t)r * a_row]);
#pragma clang loop unroll(full)
            for (int j = 0; j < panels * CK_PANEL_VECTORS; j++) sum[r][j] = x * row[j] + sum[r][j];
        }
        a += a_step;
        b += b_step;
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < panels * CK_PANEL_VECTORS; j++) {
            float *out = w->out + (size_t)r * w->out_ld + (size_t)j * CK_LANES;
            store(out, w->accumulate ? sum[r][j] + load(out) : sum[r][j]);
        }
}

/// Panels in one tile of so many rows: few rows take more panels, so that there are always enough accumulators.
CK_INLINE size_t tile_panels(size_t rows) {
    return rows == 1 ? CK_WIDE_PANELS : rows == 2 ? (CK_WIDE_PANELS + 1) / 2 : CK_TILE_PANELS;
}

#define CK_TILE_CASE(rows, wide)                                                                                       \
    case rows:                                                                                                         \
        if (panels == 1)                                                                                               \
            tile(rows, 1, w);                                                                                          \
        else                                                                                                           \
            tile(rows, wide, w);                                                                                       \
        return;

/// One tile; `panels` is 1 or tile_panels(rows).
static void run_tile(size_t rows, size_t panels, const tile_work *w) {
    switch (rows) {
        CK_TILE_CASE(1, CK_WIDE_PANELS)
        CK_TILE_CASE(2, (CK_WIDE_PANELS + 1) / 2)
#if CK_TILE_ROWS >= 6
        CK_TILE_CASE(3, CK_TILE_PANELS)
        CK_TILE_CASE(4, CK_TILE_PANELS)
        CK_TILE_CASE(5, CK_TILE_PANELS)
        CK_TILE_CASE(6, CK_TILE_PANELS)
#endif
#if CK_TILE_ROWS >= 12
        CK_TILE_CASE(7, CK_TILE_PANELS)
        CK_TILE_CASE(8, CK_TILE_PANELS)
        CK_TILE_CASE(9, CK_TILE_PANELS)
        CK_TILE_CASE(10, CK_TILE_PANELS)
        CK_TILE_CASE(11, CK_TILE_PANELS)
        CK_TILE_CASE(12, CK_TILE_PANELS)
#endif
    }
}

/// Some rows against any number of panels.
static void run_tiles(size_t rows, size_t panels, tile_work w) {
    const size_t wide = tile_panels(rows);
    while (panels) {
        const size_t step = panels >= wide ? wide : 1;
        run_tile(rows, step, &w);
        w.b += step * w.b_panel;
        w.out += step * ck_gemm_panel;
        panels -= step;
    }
}

/// The height of the next tile when so many rows are left. Two tiles of middle height beat a full one and a sliver.
CK_INLINE size_t tile_rows(size_t left) {
    if (left <= CK_TILE_ROWS) return left;
    return left < 2 * CK_TILE_ROWS ? (left + 1) / 2 : CK_TILE_ROWS;
}

/// How a tile's sums become C: c = activation(alpha * sum + beta * c + bias) + residual. Pointers are at the tile's
/// first column; c and residual at its first row.
typedef struct {
    float alpha, beta;
    const float *bias;
    ck_unary activation;
    const float *residual;
    size_t residual_ld;
} tile_finish;

CK_INLINE vf finish_vector(const tile_finish *f, vf sum, vf c, vf bias, vf residual) {
    vf v = all(f->alpha) * sum;
    if (f->beta != 0) v = all(f->beta) * c + v;
    if (f->bias) v = v + bias;
    v = apply(f->activation, v);
    return f->residual ? v + residual : v;
}

static void finish_tile(const tile_finish *f, const float *sums, size_t sums_ld, size_t rows, size_t columns, float *c,
                        size_t ldc) {
    const vf none = {0};
    for (size_t r = 0; r < rows; r++) {
        const float *sum = sums + r * sums_ld, *residual = f->residual ? f->residual + r * f->residual_ld : NULL;
        float *out = c + r * ldc;
        size_t j = 0;
        for (; j + CK_LANES <= columns; j += CK_LANES)
            store(out + j, finish_vector(f, load(sum + j), f->beta != 0 ? load(out + j) : none,
                                         f->bias ? load(f->bias + j) : none, residual ? load(residual + j) : none));
        const size_t left = columns - j;
        if (left)
            store_first(out + j, left,
                        finish_vector(f, load_first(sum + j, left), f->beta != 0 ? load_first(out + j, left) : none,
                                      f->bias ? load_first(f->bias + j, left) : none,
                                      residual ? load_first(residual + j, left) : none));
    }
}

static void gemm_packed(size_t m_begin, size_t m_end, size_t n_begin, size_t n_end, size_t n, size_t k, const float *a,
                        size_t lda, const float *packed_b, float *c, size_t ldc, const ck_epilogue *epilogue) {
    const ck_epilogue none = {NULL, ck_identity, NULL, 0, false};
    const ck_epilogue e = epilogue ? *epilogue : none;
    if (n_end > n) n_end = n;
    if (m_begin >= m_end || n_begin >= n_end) return;
    const bool has_epilogue = e.bias || e.activation != ck_identity || e.residual;
    float sums[CK_TILE_ROWS * CK_WIDE_PANELS * ck_gemm_panel];

    size_t k0 = 0;
    do {  // once even for k = 0, where C is the epilogue of 0
        const size_t kc = k - k0 < ck_gemm_k_block ? k - k0 : ck_gemm_k_block;
        const bool first = k0 == 0, last = k0 + kc == k;
        for (size_t m0 = m_begin; m0 < m_end; m0 += CK_ROW_BLOCK) {
            const size_t m1 = m_end - m0 < CK_ROW_BLOCK ? m_end : m0 + CK_ROW_BLOCK;
            // A lone row or two take many panels at once; otherwise a panel stays in the cache for all rows.
            const size_t group = tile_panels(m1 - m0) * ck_gemm_panel;
            for (size_t j = n_begin; j < n_end; j += group) {
                const size_t columns = n_end - j < group ? n_end - j : group;
                const size_t panels = (columns + ck_gemm_panel - 1) / ck_gemm_panel;
                // The first rows ask for the panels that come next, a share each: of this part of k, or the first ones of the next part.
                const size_t tiles = (m1 - m0 + CK_TILE_ROWS - 1) / CK_TILE_ROWS, lines = panels * kc;
                const bool more = j + group < n_end;
                const float *next = m0 > m_begin || (last && !more) ? NULL
                                    : more                          ? packed_b + (j + group) * k + k0 * ck_gemm_panel
                                                                    : packed_b + n_begin * k + (k0 + kc) * ck_gemm_panel;
                size_t line = 0;
                // Sums go to C itself; a buffer stands in for columns that C does not have.
                const bool is_whole = columns % ck_gemm_panel == 0, accumulate = !first || e.accumulate;
                for (size_t i = m0; i < m1;) {
                    const size_t rows = tile_rows(m1 - i);
                    const char *ahead = next ? (const char *)(next + (line / kc * k + line % kc) * ck_gemm_panel) : NULL;
                    line += lines / tiles;
                    float *target = c + i * ldc + j;
                    // C's lines arrive while the tile is computed.
                    for (size_t r = 0; first && r < rows; r++) __builtin_prefetch(target + r * ldc, 1);
                    for (size_t r = 0; !is_whole && accumulate && r < rows; r++) memcpy(sums + r * group, target + r * ldc, columns * sizeof(float));
                    run_tiles(rows, panels,
                              (tile_work){.k = kc, .a = a + i * lda + k0, .a_row = lda, .a_step = 1,
                                          .b = packed_b + j * k + k0 * ck_gemm_panel, .b_panel = k * ck_gemm_panel,
                                          .b_step = ck_gemm_panel, .out = is_whole ? target : sums, .out_ld = is_whole ? ldc : group,
                                          .accumulate = accumulate,
                                          .ahead = ahead, .ahead_lines = (4 * panels + tiles - 1) / tiles});
                    for (size_t r = 0; !is_whole && r < rows; r++) memcpy(target + r * ldc, sums + r * group, columns * sizeof(float));
                    if (last && has_epilogue) {
                        const tile_finish finish = {
                            .alpha = 1, .bias = e.bias ? e.bias + j : NULL, .activation = e.activation,
                            .residual = e.residual ? e.residual + i * e.residual_ld + j : NULL, .residual_ld = e.residual_ld};
                        finish_tile(&finish, target, ldc, rows, columns, target, ldc);
                    }
                    i += rows;
                }
            }
        }
        k0 += kc;
    } while (k0 < k);
}

static void gemm_f32(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                     size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    const size_t a_row = transpose_a ? 1 : lda, a_step = transpose_a ? lda : 1;
    float sums[CK_TILE_ROWS * ck_gemm_panel];
    float panel[ck_gemm_k_block * ck_gemm_panel];
    size_t k0 = 0;
    do {
        const size_t kc = k - k0 < ck_gemm_k_block ? k - k0 : ck_gemm_k_block;
        const tile_finish finish = {.alpha = alpha, .beta = k0 == 0 ? beta : 1, .activation = ck_identity};
        for (size_t j = 0; j < n; j += ck_gemm_panel) {
            const size_t columns = n - j < ck_gemm_panel ? n - j : ck_gemm_panel;
            const float *b_panel = transpose_b ? b + j * ldb + k0 : b + k0 * ldb + j;
            size_t b_step = ldb;
            // With few rows a copy costs more than it saves.
            if (transpose_b || columns < ck_gemm_panel || m > 2 * CK_TILE_ROWS) {
                ck_pack_panel(transpose_b, kc, columns, b_panel, ldb, panel);
                b_panel = panel;
                b_step = ck_gemm_panel;
            }
            for (size_t i = 0; i < m;) {
                const size_t rows = tile_rows(m - i);
                run_tile(rows, 1, &(tile_work){.k = kc, .a = a + i * a_row + k0 * a_step, .a_row = a_row,
                                               .a_step = a_step, .b = b_panel, .b_step = b_step, .out = sums,
                                               .out_ld = ck_gemm_panel});
                finish_tile(&finish, sums, ck_gemm_panel, rows, columns, c + i * ldc + j, ldc);
                i += rows;
            }
        }
        k0 += kc;
    } while (k0 < k);
}

static void gemv_f32(bool transpose_a, size_t rows, size_t columns, float alpha, const float *a, size_t lda,
                     const float *x, float beta, float *y) {
    if (!transpose_a) {
        for (size_t i = 0; i < rows; i++) {
            const float sum = alpha * dot_f32(columns, a + i * lda, x);
            y[i] = beta != 0 ? beta * y[i] + sum : sum;
        }
        return;
    }
    if (beta == 0)
        memset(y, 0, columns * sizeof(float));
    else if (beta != 1)
        binary_f32(ck_multiply, columns, y, 1, &beta, 0, y);
    for (size_t i = 0; i < rows; i++) axpy_f32(columns, alpha * x[i], a + i * lda, y);
}
