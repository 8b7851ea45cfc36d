// Many rows of activations times block-quantised weights: some columns of C are unpacked once into panels of 16-bit pairs, 16 columns side by
// side, and multiplied with all rows as a matrix, 32 integers of k at a time.

/// Columns that are unpacked at once, and 32s of k.
#define CK_BLOCK_COLUMNS 64
#define CK_BLOCK_GROUPS 8

/// Rows of activations in one tile. Their sums stay in registers for 32s of k, the totals do not.
#if defined(CK_AVX512)
#define CK_BLOCK_ROWS 12
#elif defined(CK_AVX2) || defined(__aarch64__)
#define CK_BLOCK_ROWS 6
#else
#define CK_BLOCK_ROWS 2
#endif

/// 32 rows of k and 16 columns: for each pair of rows the two numbers of every column side by side, and how a column's sum becomes a float.
typedef struct {
    int32_t pairs[16][ck_gemm_panel];
#if defined(CK_AMX)
    int32_t against_high[16][ck_gemm_panel];
#endif
    float scale[ck_gemm_panel], offset[ck_gemm_panel];
} block_panel;

/// Unpacks `groups` 32s of k of up to 16 rows of W, which start at w.
CK_INLINE void fill_panels(ck_weight type, size_t groups, size_t columns, const uint8_t *w, size_t row_bytes, block_panel *panels) {
    int32_t rows[CK_BLOCK_GROUPS][ck_gemm_panel][16];
    if (columns < ck_gemm_panel) {
        memset(rows, 0, sizeof rows);
        for (size_t g = 0; g < groups; g++) {
            memset(panels[g].scale, 0, sizeof panels[g].scale);
            memset(panels[g].offset, 0, sizeof panels[g].offset);
        }
    }
    for (size_t j = 0; j < columns; j++) {
        const uint8_t *block = w + j * row_bytes;
        if (type >= ck_weight_q4_k) {
            const super_scales scales = super_block_scales(type, block);
#pragma clang loop unroll(full)
            for (int s = 0; s < 8; s++) {
                const weights32 q = unpack_sub_block(type, block, s);
                __builtin_memcpy(rows[s][j], &q, sizeof q);
                panels[s].scale[j] = scales.scale[s];
                panels[s].offset[j] = scales.offset[s];
            }
        } else {
            for (size_t g = 0; g < groups; g++, block += type_bytes(type)) {
                const weights32 q = unpack_block(type, block);
                const f32x4 scale = load_halves(block);  // d, and m where the type has it
                __builtin_memcpy(rows[g][j], &q, sizeof q);
                panels[g].scale[j] = scale[0];
                panels[g].offset[j] = scale[1];
            }
        }
    }
    for (size_t g = 0; g < groups; g++)
        for (size_t i = 0; i < 16; i += 8)
            for (size_t j = 0; j < ck_gemm_panel; j += 8) transpose_eight(&rows[g][j][i], 16, &panels[g].pairs[i][j], ck_gemm_panel);
}

/// One column of panels and some rows of activations; sums are added to C, or stored there.
typedef struct {
    size_t groups;
    const block_panel *panels;
    const int16_t *x;
    size_t x_row;
    /// Of the first row; those of the next are x_row further.
    const activation_group *scales;
    bool accumulate;
    float *c;
    size_t ldc;
} panel_work;

// All but t are constants where this is inlined, so that the sums become registers.
CK_INLINE void panel_tile(const int rows, const int parts, const bool with_offset, const panel_work *t) {
    const size_t scales_row = t->x_row / 4, x_row = t->x_row * sizeof(int16_t);  // in pairs of floats, in bytes
    const block_panel *panel = t->panels;
    // Of every third row: x86 adds one or two strides to a pointer for nothing, if the compiler does not see where the pointers come from.
    const char *x[(CK_BLOCK_ROWS + 2) / 3];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r += 3) {
        x[r / 3] = (const char *)(t->x + (size_t)r * t->x_row);
        __asm__("" : "+r"(x[r / 3]));
    }
    vf total[CK_BLOCK_ROWS][CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < CK_PANEL_VECTORS; j++)
            total[r][j] = t->accumulate ? load(t->c + (size_t)r * t->ldc + (size_t)j * CK_LANES) : (vf){0};
    for (size_t g = 0; g < t->groups; g++, panel++) {
#pragma clang loop unroll(full)
        for (int part = 0; part < parts; part++) {
            vu sum[CK_BLOCK_ROWS][CK_PANEL_VECTORS];
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
                for (int j = 0; j < CK_PANEL_VECTORS; j++) sum[r][j] = (vu){0};
#pragma clang loop unroll(disable)  // unrolled, the compiler loads ahead and runs out of registers
            for (int p = 16 / parts * part; p < 16 / parts * (part + 1); p++) {
                vs column[CK_PANEL_VECTORS];
                __builtin_memcpy(column, panel->pairs[p], sizeof column);
#pragma clang loop unroll(full)
                for (int r = 0; r < rows; r++) {
                    int32_t pair;
                    __builtin_memcpy(&pair, x[r / 3] + (size_t)(r % 3) * x_row + 4 * p, sizeof pair);
                    const vs both = (vs)all_int(pair);
#pragma clang loop unroll(full)
                    for (int j = 0; j < CK_PANEL_VECTORS; j++) sum[r][j] = add_multiplied_pairs(sum[r][j], both, column[j]);
                }
            }
#pragma clang loop unroll(full)
            for (int r = 0; r < rows; r++) {
                const activation_group group = t->scales[(size_t)r * scales_row + g];
#pragma clang loop unroll(full)
                for (int j = 0; j < CK_PANEL_VECTORS; j++) {
                    const vf scale = all(group.scale) * load(panel->scale + j * CK_LANES);
                    total[r][j] = to_float((vi)sum[r][j]) * scale + total[r][j];
                    if (with_offset) total[r][j] = all(group.sum) * load(panel->offset + j * CK_LANES) + total[r][j];
                }
            }
        }
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r += 3) x[r / 3] += 32 * sizeof(int16_t);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int j = 0; j < CK_PANEL_VECTORS; j++) store(t->c + (size_t)r * t->ldc + (size_t)j * CK_LANES, total[r][j]);
}

#define CK_PANEL_CASE(rows)                                                                                            \
    case rows: panel_tile(rows, parts, with_offset, t); return;

CK_INLINE void panel_rows(size_t rows, const int parts, const bool with_offset, const panel_work *t) {
    switch (rows) {
        CK_PANEL_CASE(1)
        CK_PANEL_CASE(2)
#if CK_BLOCK_ROWS >= 6
        CK_PANEL_CASE(3)
        CK_PANEL_CASE(4)
        CK_PANEL_CASE(5)
        CK_PANEL_CASE(6)
#endif
#if CK_BLOCK_ROWS >= 12
        CK_PANEL_CASE(7)
        CK_PANEL_CASE(8)
        CK_PANEL_CASE(9)
        CK_PANEL_CASE(10)
        CK_PANEL_CASE(11)
        CK_PANEL_CASE(12)
#endif
    }
}

/// The type has an offset besides its scale.
CK_INLINE bool has_offset(ck_weight type) { return has_minimum(type) || type == ck_weight_q4_k || type == ck_weight_q5_k; }

static void run_panel_tile(ck_weight type, size_t rows, const panel_work *t) {
    if (type == ck_weight_q6_k)
        panel_rows(rows, 2, false, t);  // the weights have their own scales in them: 16 products fit in 32 bits
    else if (has_offset(type))
        panel_rows(rows, 1, true, t);
    else
        panel_rows(rows, 1, false, t);
}

/// Rows of activations that the next tile takes, where so many are left of all m, and how many of those it starts with are done already.
typedef struct {
    size_t rows, done;
} panel_step;

#if defined(CK_AMX)
#include "block_tiles.h"
#define CK_STEP_ROWS CK_TILE_HEIGHT

/// The weights of the others fit in bytes.
CK_INLINE bool has_tiles(ck_weight type) { return type != ck_weight_q6_k; }
#else
#define CK_STEP_ROWS CK_BLOCK_ROWS

CK_INLINE bool has_tiles(ck_weight type) { return (void)type, false; }
#endif

CK_INLINE panel_step next_panel_step(ck_weight type, size_t left) {
    if (has_tiles(type)) return (panel_step){CK_STEP_ROWS, left < CK_STEP_ROWS ? CK_STEP_ROWS - left : 0};
    return (panel_step){left <= CK_BLOCK_ROWS ? left : left < 2 * CK_BLOCK_ROWS ? (left + 1) / 2 : CK_BLOCK_ROWS, 0};
}

CK_INLINE void run_panel_step(ck_weight type, panel_step step, const panel_work *t) {
#if defined(CK_AMX)
    if (has_tiles(type)) {
        if (has_offset(type))
            panel_tiles(true, t, step.done);
        else
            panel_tiles(false, t, step.done);
        return;
    }
#endif
    run_panel_tile(type, step.rows, t);
}

CK_INLINE void panel_product_of(ck_weight type, size_t columns, size_t m, const block_work *t) {
    // A panel stays in the first cache while all rows pass; a part of k of all rows stays in the second while all panels do.
    block_panel panels[CK_BLOCK_GROUPS];
    const size_t all_groups = t->k / 32, step = type >= ck_weight_q4_k ? 8 : 1;
    for (size_t g = 0; g < all_groups; g += CK_BLOCK_GROUPS) {
        const size_t groups = all_groups - g < CK_BLOCK_GROUPS ? all_groups - g : CK_BLOCK_GROUPS;
        const uint8_t *w = t->w + g / step * type_bytes(type);
        for (size_t j = 0; j < columns; j += ck_gemm_panel) {
            const size_t width = columns - j < ck_gemm_panel ? columns - j : ck_gemm_panel;
            fill_panels(type, groups, width, w + j * t->row_bytes, t->row_bytes, panels);
#if defined(CK_AMX)
            for (size_t i = 0; has_tiles(type) && i < groups; i++) split_panel(&panels[i]);
#endif
            for (size_t i = 0; i < m;) {
                const panel_step step = next_panel_step(type, m - i);
                const size_t start = i - step.done;
                const int16_t *x = t->x + start * t->x_row;
                float *c = t->c + start * t->ldc + j, edge[CK_STEP_ROWS * ck_gemm_panel];
                const bool is_whole = width == ck_gemm_panel;
                for (size_t r = 0; g && !is_whole && r < step.rows; r++) memcpy(edge + r * ck_gemm_panel, c + r * t->ldc, width * sizeof(float));
                run_panel_step(type, step,
                               &(panel_work){.groups = groups, .panels = panels, .x = x + 32 * g, .x_row = t->x_row,
                                             .scales = (const activation_group *)(const void *)(x + t->k) + g, .accumulate = g > 0,
                                             .c = is_whole ? c : edge, .ldc = is_whole ? t->ldc : ck_gemm_panel});
                for (size_t r = step.done; !is_whole && r < step.rows; r++) memcpy(c + r * t->ldc, edge + r * ck_gemm_panel, width * sizeof(float));
                i = start + step.rows;
            }
        }
    }
}

/// Sums that lie in C become its elements.
static void finish_rows(size_t m, size_t n_begin, size_t n_end, float *c, size_t ldc, const ck_epilogue *epilogue) {
    if (!epilogue) return;
    const tile_finish finish = {.alpha = 1, .bias = epilogue->bias ? epilogue->bias + n_begin : NULL,
                                .activation = epilogue->activation,
                                .residual = epilogue->residual ? epilogue->residual + n_begin : NULL,
                                .residual_ld = epilogue->residual_ld};
    finish_tile(&finish, c + n_begin, ldc, m, n_end - n_begin, c + n_begin, ldc);
}

CK_INLINE void all_rows(ck_weight type, size_t rows, size_t m, block_work t) {
    if (m < ck_block_many_rows) {
        block_product_of(type, rows, m, t);
        return;
    }
#if defined(CK_AMX)
    configure_tiles();
#endif
    while (rows) {
        const size_t columns = rows < CK_BLOCK_COLUMNS ? rows : CK_BLOCK_COLUMNS;
        panel_product_of(type, columns, m, &t);
        t.w += columns * t.row_bytes;
        t.c += columns;
        rows -= columns;
    }
#if defined(CK_AMX)
    _tile_release();
#endif
}

static void block_product(ck_weight type, size_t n_begin, size_t n_end, size_t k, const void *w, size_t m,
                          const void *activations, float *c, size_t ldc, const ck_epilogue *epilogue) {
    if (n_begin >= n_end || m == 0) return;
    block_work work = {.k = k, .x = activations, .x_row = ck_activations_size(k) / sizeof(int16_t), .c = c + n_begin, .ldc = ldc};
    work.row_bytes = k / ck_weight_block_elements(type) * ck_weight_block_bytes(type);
    work.w = (const uint8_t *)w + n_begin * work.row_bytes;
    const size_t rows = n_end - n_begin;
    switch (type) {
    case ck_weight_q8_0: all_rows(ck_weight_q8_0, rows, m, work); break;
    case ck_weight_q4_0: all_rows(ck_weight_q4_0, rows, m, work); break;
    case ck_weight_q4_1: all_rows(ck_weight_q4_1, rows, m, work); break;
    case ck_weight_q5_0: all_rows(ck_weight_q5_0, rows, m, work); break;
    case ck_weight_q5_1: all_rows(ck_weight_q5_1, rows, m, work); break;
    case ck_weight_q4_k: all_rows(ck_weight_q4_k, rows, m, work); break;
    case ck_weight_q5_k: all_rows(ck_weight_q5_k, rows, m, work); break;
    case ck_weight_q6_k: all_rows(ck_weight_q6_k, rows, m, work); break;
    default: return;
    }
    finish_rows(m, n_begin, n_end, c, ldc, epilogue);
}
