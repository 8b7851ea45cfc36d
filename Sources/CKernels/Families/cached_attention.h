// Attention of few queries over a cache: each row of keys and values is read from memory once for all heads that share it.

/// Keys whose scores, and then values, are worked on for one head after the other while they are in the first cache.
#define CK_CACHE_BLOCK 64

/// The sums of the lanes of four vectors.
CK_INLINE f32x4 sum_four(f32x8 a, f32x8 b, f32x8 c, f32x8 d) {
    const f32x8 ab = __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    const f32x8 cd = __builtin_shufflevector(c, d, 0, 8, 2, 10, 4, 12, 6, 14) + __builtin_shufflevector(c, d, 1, 9, 3, 11, 5, 13, 7, 15);
    const f32x8 all = __builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) + __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(all, all, 0, 1, 2, 3) + __builtin_shufflevector(all, all, 4, 5, 6, 7);
}

/// scores[j] = scale * q.k[j]
static void cached_scores(size_t count, size_t width, float scale, const float *q, const float *k, size_t stride, float *scores) {
    size_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const float *a = k + j * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        f32x8 sum[4] = {{0}};
        size_t p = 0;
        for (; p + 8 <= width; p += 8) {
            const f32x8 x = load_f32x8(q + p);
            sum[0] += x * load_f32x8(a + p);
            sum[1] += x * load_f32x8(b + p);
            sum[2] += x * load_f32x8(c + p);
            sum[3] += x * load_f32x8(d + p);
        }
        f32x4 total = sum_four(sum[0], sum[1], sum[2], sum[3]);
        for (; p < width; p++) total += (f32x4){a[p], b[p], c[p], d[p]} * q[p];
        total *= scale;
        __builtin_memcpy(scores + j, &total, sizeof total);
    }
    for (; j < count; j++) {
        const float *a = k + j * stride;
        f32x8 sum = {0};
        size_t p = 0;
        for (; p + 8 <= width; p += 8) sum += load_f32x8(q + p) * load_f32x8(a + p);
        float total = sum_four(sum, sum, sum, sum)[0];
        for (; p < width; p++) total += a[p] * q[p];
        scores[j] = total * scale;
    }
}

/// out += the sum over j of weights[j] * v[j], some vectors of it.
CK_INLINE void add_values(const int vectors, size_t count, const float *weights, const float *v, size_t stride, float *out) {
    vf sum[8];
#pragma clang loop unroll(full)
    for (int c = 0; c < vectors; c++) sum[c] = load(out + c * CK_LANES);
    for (size_t j = 0; j < count; j++) {
        const vf weight = all(weights[j]);
#pragma clang loop unroll(full)
        for (int c = 0; c < vectors; c++) sum[c] = weight * load(v + j * stride + (size_t)c * CK_LANES) + sum[c];
    }
#pragma clang loop unroll(full)
    for (int c = 0; c < vectors; c++) store(out + c * CK_LANES, sum[c]);
}

static void cached_values(size_t count, size_t width, const float *weights, const float *v, size_t stride, float *out) {
    size_t c = 0;
    for (; c + 8 * CK_LANES <= width; c += 8 * CK_LANES) add_values(8, count, weights, v + c, stride, out + c);
    for (; c + 4 * CK_LANES <= width; c += 4 * CK_LANES) add_values(4, count, weights, v + c, stride, out + c);
    for (; c + CK_LANES <= width; c += CK_LANES) add_values(1, count, weights, v + c, stride, out + c);
    if (c < width)
        for (size_t j = 0; j < count; j++)
            for (size_t p = c; p < width; p++) out[p] += weights[j] * v[j * stride + p];
}

/// Raw scores become e^(score - max); returns what the sum of values is to be multiplied with, 0 where no key is seen.
static float cached_weights(const ck_cached_attention *t, size_t first, size_t count, float *scores) {
    if (t->softcap > 0) {
        scale_row(count, 1.0f / t->softcap, scores);
        unary_f32(ck_tanh, count, scores, scores);
        scale_row(count, t->softcap, scores);
    }
    if (t->mask) binary_f32(ck_add, count, scores, 1, t->mask + first, 1, scores);
    const float largest = max_f32(count, scores);
    if (largest == -INFINITY) return 0;
    return 1.0f / exponentials(count, scores, 1, largest, scores);
}

static void cached_attention_f32(const ck_cached_attention *t, float *scratch) {
    for (size_t i = 0; i < t->queries; i++) {
        const size_t end = t->past + i + 1;
        const size_t first = t->window && end > t->window ? end - t->window : 0;
        const float *k = t->k + first * t->k_stride, *v = t->v + first * t->v_stride;
        const size_t count = end - first;
        for (size_t h0 = 0; h0 < t->heads; h0 += ck_cached_heads) {
            const size_t heads = t->heads - h0 < ck_cached_heads ? t->heads - h0 : ck_cached_heads;
            const float *q = t->q + i * t->q_stride + h0 * t->q_head_stride;
            float *out = t->out + i * t->out_stride + h0 * t->out_head_stride;
            float factor[ck_cached_heads];
            for (size_t j = 0; j < count; j += CK_CACHE_BLOCK)
                for (size_t h = 0; h < heads; h++)
                    cached_scores(count - j < CK_CACHE_BLOCK ? count - j : CK_CACHE_BLOCK, t->head_size, t->scale, q + h * t->q_head_stride,
                                  k + j * t->k_stride, t->k_stride, scratch + h * count + j);
            for (size_t h = 0; h < heads; h++) {
                factor[h] = cached_weights(t, first, count, scratch + h * count);
                memset(out + h * t->out_head_stride, 0, t->value_size * sizeof(float));
            }
            for (size_t j = 0; j < count; j += CK_CACHE_BLOCK)
                for (size_t h = 0; h < heads; h++)
                    if (factor[h] != 0)
                        cached_values(count - j < CK_CACHE_BLOCK ? count - j : CK_CACHE_BLOCK, t->value_size, scratch + h * count + j,
                                      v + j * t->v_stride, t->v_stride, out + h * t->out_head_stride);
            for (size_t h = 0; h < heads; h++)
                if (factor[h] != 0) scale_row(t->value_size, factor[h], out + h * t->out_head_stride);
        }
    }
}
