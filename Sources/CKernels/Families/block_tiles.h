// One panel of block-quantised weights times 16 rows of activations by AMX. A 16-bit activation is 256 times its high byte, which has the sign, plus its low one: with
// weights that fit in bytes two products of bytes give the same integer as one of 16 bits.

/// 32 rows of k and 16 columns, in place of their pairs: the weights against low bytes, zeros against high ones; and the other way round.
CK_INLINE void split_panel(block_panel *panel) {
    for (size_t i = 0; i < 16; i++) {
        vi pairs;
        __builtin_memcpy(&pairs, panel->pairs[i], sizeof pairs);
        pairs &= 0x00ff00ff;
        __builtin_memcpy(panel->pairs[i], &pairs, sizeof pairs);
        pairs <<= 8;
        __builtin_memcpy(panel->against_high[i], &pairs, sizeof pairs);
    }
}

/// Row r of 16: the two sums of its products become one number, scaled.
CK_INLINE vf panel_total(const bool with_offset, vf total, const uint32_t *low, const uint32_t *high, activation_group group, vf scale, vf offset) {
    vi sum, upper;
    __builtin_memcpy(&sum, low, sizeof sum);
    __builtin_memcpy(&upper, high, sizeof upper);
    total = to_float(sum + (upper << 8)) * (all(group.scale) * scale) + total;
    return with_offset ? all(group.sum) * offset + total : total;
}

/// Where the sums of two neighbouring 32s of k wait for their scales: while one is scaled the other is multiplied.
typedef struct {
    uint32_t low[CK_TILE_HEIGHT][ck_gemm_panel], high[CK_TILE_HEIGHT][ck_gemm_panel];
} tile_sums;

CK_INLINE void multiply_even_panel(const block_panel *panel, const int16_t *x, size_t x_row, tile_sums *sums) {
    _tile_loadd(4, x, x_row);
    _tile_loadd(6, panel->pairs, 64);
    _tile_zero(0);
    _tile_dpbusd(0, 4, 6);
    _tile_loadd(6, panel->against_high, 64);
    _tile_zero(1);
    _tile_dpbssd(1, 4, 6);
    _tile_stored(0, sums->low, 64);
    _tile_stored(1, sums->high, 64);
}

/// The same in other tiles.
CK_INLINE void multiply_odd_panel(const block_panel *panel, const int16_t *x, size_t x_row, tile_sums *sums) {
    _tile_loadd(5, x, x_row);
    _tile_loadd(7, panel->pairs, 64);
    _tile_zero(2);
    _tile_dpbusd(2, 5, 7);
    _tile_loadd(7, panel->against_high, 64);
    _tile_zero(3);
    _tile_dpbssd(3, 5, 7);
    _tile_stored(2, sums->low, 64);
    _tile_stored(3, sums->high, 64);
}

/// 16 rows; those before `first` are computed and dropped.
CK_INLINE void panel_tiles(const bool with_offset, const panel_work *t, size_t first) {
    const size_t scales_row = t->x_row / 4, x_row = t->x_row * sizeof(int16_t);
    tile_sums sums[2] __attribute__((aligned(64)));
    vf total[CK_TILE_HEIGHT];
    multiply_even_panel(t->panels, t->x, x_row, &sums[0]);
#pragma clang loop unroll(full)
    for (int r = 0; r < CK_TILE_HEIGHT; r++) total[r] = t->accumulate ? load(t->c + (size_t)r * t->ldc) : (vf){0};
    for (size_t g = 0; g < t->groups; g++) {
        if (g + 1 < t->groups) {
            if (g % 2)
                multiply_even_panel(t->panels + g + 1, t->x + 32 * (g + 1), x_row, &sums[0]);
            else
                multiply_odd_panel(t->panels + g + 1, t->x + 32 * (g + 1), x_row, &sums[1]);
        }
        const tile_sums *ready = &sums[g % 2];
        const vf scale = load(t->panels[g].scale), offset = load(t->panels[g].offset);
#pragma clang loop unroll(full)
        for (int r = 0; r < CK_TILE_HEIGHT; r++)
            total[r] = panel_total(with_offset, total[r], ready->low[r], ready->high[r], t->scales[(size_t)r * scales_row + g], scale, offset);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < CK_TILE_HEIGHT; r++)
        if ((size_t)r >= first) store(t->c + (size_t)r * t->ldc, total[r]);
}
