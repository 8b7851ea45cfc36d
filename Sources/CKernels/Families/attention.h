// Attention of one head. Keys are packed once (a transposed weight, as it were); then some queries at a time: scores,
// softmax over the whole row, weights times values.

/// Turns a row of raw scores into e^(score - max); zeros from `visible` to `end`. Returns what the weighted sum of
/// values is to be multiplied with.
static float attention_weights(const ck_attention *t, size_t query, size_t visible, size_t end, float *row) {
    if (t->mask) {
        const float *mask = t->mask + query * t->mask_stride;
        const vf scale = all(t->scale);
        size_t j = 0;
        for (; j + CK_LANES <= visible; j += CK_LANES) store(row + j, load(row + j) * scale + load(mask + j));
        if (j < visible)
            store_first(row + j, visible - j,
                        load_first(row + j, visible - j) * scale + load_first(mask + j, visible - j));
    } else {
        scale_row(visible, t->scale, row);
    }
    const float largest = max_f32(visible, row);
    if (largest == -INFINITY && t->empty_rows_are_zero) {
        memset(row, 0, end * sizeof(float));
        return 0;
    }
    const float sum = exponentials(visible, row, largest, row);
    memset(row + visible, 0, (end - visible) * sizeof(float));
    return visible ? 1.0f / sum : NAN;
}

/// How many keys a query sees.
CK_INLINE size_t visible_keys(const ck_attention *t, size_t query) {
    if (!t->causal) return t->keys;
    const ptrdiff_t last = (ptrdiff_t)query + t->causal_offset;
    if (last < 0) return 0;
    return (size_t)last < t->keys ? (size_t)last + 1 : t->keys;
}

static void attention_f32(const ck_attention *t, float *scratch) {
    const size_t padded = ck_round_to_panel(t->keys), tail = t->value_size % ck_gemm_panel;
    const size_t value_panels = t->value_size / ck_gemm_panel;
    float *packed_keys = scratch;
    float *scores = packed_keys + padded * t->head_size;
    float *packed_tail = scores + ck_attention_rows * padded;

    ck_pack_b(true, t->head_size, t->keys, t->k, t->k_stride, packed_keys);
    if (tail) ck_pack_panel(false, t->keys, tail, t->v + value_panels * ck_gemm_panel, t->v_stride, packed_tail);

    for (size_t q0 = 0; q0 < t->rows; q0 += ck_attention_rows) {
        const size_t count = t->rows - q0 < ck_attention_rows ? t->rows - q0 : ck_attention_rows;
        const size_t end = visible_keys(t, q0 + count - 1);  // the last query sees most
        float factor[ck_attention_rows];
        for (size_t i = 0; i < count;) {
            const size_t rows = tile_rows(count - i);
            run_tiles(rows, ck_round_to_panel(end) / ck_gemm_panel,
                      (tile_work){.k = t->head_size, .a = t->q + (q0 + i) * t->q_stride, .a_row = t->q_stride,
                                  .a_step = 1, .b = packed_keys, .b_panel = t->head_size * ck_gemm_panel,
                                  .b_step = ck_gemm_panel, .out = scores + i * padded, .out_ld = padded});
            i += rows;
        }
        for (size_t i = 0; i < count; i++)
            factor[i] = attention_weights(t, q0 + i, visible_keys(t, q0 + i), end, scores + i * padded);

        for (size_t i = 0; i < count;) {
            const size_t rows = tile_rows(count - i);
            float *out = t->out + (q0 + i) * t->out_stride;
            tile_work w = {.k = end, .a = scores + i * padded, .a_row = padded, .a_step = 1, .b = t->v,
                           .b_panel = ck_gemm_panel, .b_step = t->v_stride, .out = out, .out_ld = t->out_stride};
            run_tiles(rows, value_panels, w);
            if (tail) {
                float sums[CK_TILE_ROWS * ck_gemm_panel];
                w.b = packed_tail;
                w.b_step = ck_gemm_panel;
                w.out = sums;
                w.out_ld = ck_gemm_panel;
                run_tile(rows, 1, &w);
                for (size_t r = 0; r < rows; r++)
                    memcpy(out + r * t->out_stride + value_panels * ck_gemm_panel, sums + r * ck_gemm_panel,
                           tail * sizeof(float));
            }
            for (size_t r = 0; r < rows; r++) scale_row(t->value_size, factor[i + r], out + r * t->out_stride);
            i += rows;
        }
    }
}
