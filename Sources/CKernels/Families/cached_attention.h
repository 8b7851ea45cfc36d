// Attention of few queries over a cache: each row of keys and values is read where it lies.

static void cached_attention_f32(const ck_cached_attention *t, float *scratch) {
    for (size_t i = 0; i < t->queries; i++) {
        const size_t end = t->past + i + 1;
        const size_t first = t->window && end > t->window ? end - t->window : 0;
        const size_t count = end - first;
        for (size_t h = 0; h < t->heads; h++) {
            const float *q = t->q + i * t->q_stride + h * t->q_head_stride;
            float *out = t->out + i * t->out_stride + h * t->out_head_stride;
            for (size_t j = 0; j < count; j++)
                scratch[j] = t->scale * dot_f32(t->head_size, q, t->k + (first + j) * t->k_stride);
            if (t->softcap > 0) {
                scale_row(count, 1.0f / t->softcap, scratch);
                unary_f32(ck_tanh, count, scratch, scratch);
                scale_row(count, t->softcap, scratch);
            }
            if (t->mask) binary_f32(ck_add, count, scratch, 1, t->mask + first, 1, scratch);
            const float largest = max_f32(count, scratch);
            memset(out, 0, t->value_size * sizeof(float));
            if (largest == -INFINITY) continue;
            const float sum = exponentials(count, scratch, largest, scratch);
            for (size_t j = 0; j < count; j++) axpy_f32(t->value_size, scratch[j], t->v + (first + j) * t->v_stride, out);
            scale_row(t->value_size, 1.0f / sum, out);
        }
    }
}
