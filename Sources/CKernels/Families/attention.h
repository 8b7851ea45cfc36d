// Attention of one head. Keys are packed once (a transposed weight, as it were); then some queries at a time: scores,
// softmax over the whole row, weights times values.

/// Turns a row of raw scores from `begin` on into e^(score - max); zeros before `first` and from `visible` to `end`. Returns what the weighted
/// sum of values is to be multiplied with.
static float attention_weights(const ck_attention *t, size_t query, size_t begin, size_t first, size_t visible, size_t end, float *row) {
    const size_t count = visible - first;
    float *seen = row + first;
    if (t->softcap > 0) {
        scale_row(count, t->scale / t->softcap, seen);
        unary_f32(ck_tanh, count, seen, seen);
    }
    // Without a mask the scale waits for the exponentials, if it leaves the largest score the largest.
    float factor = t->softcap > 0 ? t->softcap : t->scale, largest;
    if (t->mask) {
        const float *mask = t->mask + query * t->mask_stride + first;
        const vf scale = all(factor);
        vf most = all(-INFINITY);
        size_t j = 0;
        for (; j + CK_LANES <= count; j += CK_LANES) {
            const vf v = load(seen + j) * scale + load(mask + j);
            store(seen + j, v);
            most = maximum(most, v);
        }
        largest = max_lanes(most);
        for (; j < count; j++) {
            seen[j] = seen[j] * factor + mask[j];
            largest = max_number(largest, seen[j]);
        }
        factor = 1;
    } else {
        if (!(factor > 0)) {
            scale_row(count, factor, seen);
            factor = 1;
        }
        largest = max_f32(count, seen);
    }
    if (largest == -INFINITY && t->empty_rows_are_zero) {
        memset(row + begin, 0, (end - begin) * sizeof(float));
        return 0;
    }
    const float sum = exponentials(count, seen, factor, largest, seen);
    memset(row + begin, 0, (first - begin) * sizeof(float));
    memset(row + visible, 0, (end - visible) * sizeof(float));
    return count ? 1.0f / sum : NAN;
}

/// How many keys a query sees.
CK_INLINE size_t visible_keys(const ck_attention *t, size_t query) {
    if (!t->causal) return t->keys;
    const ptrdiff_t last = (ptrdiff_t)query + t->causal_offset;
    if (last < 0) return 0;
    return (size_t)last < t->keys ? (size_t)last + 1 : t->keys;
}

/// The first key that a query sees, of `visible` ones.
CK_INLINE size_t first_key(const ck_attention *t, size_t visible) { return t->window && visible > t->window ? visible - t->window : 0; }

/// Keys [keys, head_size] in panels, as ck_pack_b would, eight by eight.
static void pack_keys(size_t head_size, size_t keys, const float *k, size_t stride, float *packed) {
    const size_t whole = head_size % 8 == 0 ? keys / ck_gemm_panel * ck_gemm_panel : 0;
    for (size_t j = 0; j < whole; j += 8) {
        float *panel = packed + j / ck_gemm_panel * ck_gemm_panel * head_size + j % ck_gemm_panel;
        for (size_t p = 0; p < head_size; p += 8)
            transpose_eight((const int32_t *)(const void *)(k + j * stride + p), stride, (int32_t *)(void *)(panel + p * ck_gemm_panel), ck_gemm_panel);
    }
    ck_pack_b(true, head_size, keys - whole, k + whole * stride, stride, packed + whole * head_size);
}

static void attention_f32(const ck_attention *t, float *scratch) {
    const size_t padded = ck_round_to_panel(t->keys), tail = t->value_size % ck_gemm_panel;
    const size_t value_panels = t->value_size / ck_gemm_panel;
    float *packed_keys = scratch;
    float *scores = packed_keys + padded * t->head_size;
    float *packed_tail = scores + ck_attention_rows * padded;

    pack_keys(t->head_size, t->keys, t->k, t->k_stride, packed_keys);
    if (tail) ck_pack_panel(false, t->keys, tail, t->v + value_panels * ck_gemm_panel, t->v_stride, packed_tail);

    for (size_t q0 = 0; q0 < t->rows; q0 += ck_attention_rows) {
        const size_t count = t->rows - q0 < ck_attention_rows ? t->rows - q0 : ck_attention_rows;
        const size_t end = visible_keys(t, q0 + count - 1);  // the last query sees most
        // The first one's window starts earliest. Scores are made by the panel.
        const size_t begin = first_key(t, visible_keys(t, q0)) / ck_gemm_panel * ck_gemm_panel;
        float factor[ck_attention_rows];
        for (size_t i = 0; i < count;) {
            const size_t rows = tile_rows(count - i);
            run_tiles(rows, (ck_round_to_panel(end) - begin) / ck_gemm_panel,
                      (tile_work){.k = t->head_size, .a = t->q + (q0 + i) * t->q_stride, .a_row = t->q_stride,
                                  .a_step = 1, .b = packed_keys + begin * t->head_size, .b_panel = t->head_size * ck_gemm_panel,
                                  .b_step = ck_gemm_panel, .out = scores + i * padded + begin, .out_ld = padded});
            i += rows;
        }
        for (size_t i = 0; i < count; i++) {
            const size_t visible = visible_keys(t, q0 + i);
            factor[i] = attention_weights(t, q0 + i, begin, first_key(t, visible), visible, end, scores + i * padded);
        }

        for (size_t i = 0; i < count;) {
            const size_t rows = tile_rows(count - i);
            float *out = t->out + (q0 + i) * t->out_stride;
            tile_work w = {.k = end - begin, .a = scores + i * padded + begin, .a_row = padded, .a_step = 1, .b = t->v + begin * t->v_stride,
                           .b_panel = ck_gemm_panel, .b_step = t->v_stride, .out = out, .out_ld = t->out_stride};
            run_tiles(rows, value_panels, w);
            if (tail) {
                float sums[CK_TILE_ROWS * ck_gemm_panel];
                w.b = packed_tail + begin * ck_gemm_panel;
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
