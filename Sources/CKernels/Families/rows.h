// Softmax and normalisation of one row.

/// y = e^((x - shift) factor); returns the sum.
static float exponentials(size_t n, const float *x, float factor, float shift, float *y) {
    const vf s = all(shift), f = all(factor);
    vf total = {0};
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) {
        const vf e = exponential((load(x + i) - s) * f);
        store(y + i, e);
        total += e;
    }
    float rest = 0;
    if (i < n) {
        store_first(y + i, n - i, exponential((load_first(x + i, n - i) - s) * f));
        for (; i < n; i++) rest += y[i];
    }
    return sum_lanes(total) + rest;
}

static void scale_row(size_t n, float factor, float *y) {
    binary_f32(ck_multiply, n, y, 1, &factor, 0, y);
}

static void softmax_f32(size_t n, const float *x, float *y) {
    if (n == 0) return;
    const float sum = exponentials(n, x, 1, max_f32(n, x), y);
    scale_row(n, 1.0f / sum, y);
}

static void log_softmax_f32(size_t n, const float *x, float *y) {
    if (n == 0) return;
    const float largest = max_f32(n, x);
    const vf shift = all(largest);
    vf total = {0};
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) total += exponential(load(x + i) - shift);
    float sum = sum_lanes(total);
    for (; i < n; i++) sum += exponential(all(x[i] - largest))[0];
    // In this order, so that a result near 0 is not lost in a large maximum.
    const vf log_sum = all(logarithm(all(sum))[0]);
    for (i = 0; i + CK_LANES <= n; i += CK_LANES) store(y + i, (load(x + i) - shift) - log_sum);
    if (i < n) store_first(y + i, n - i, (load_first(x + i, n - i) - shift) - log_sum);
}

/// Where v = x + residual is held: written to `sum`, else to y; x itself when there is neither residual nor sum.
static const float *add_residual(size_t n, const float *x, const float *residual, float *y, float *sum) {
    float *v = sum ? sum : y;
    if (residual) {
        binary_f32(ck_add, n, x, 1, residual, 1, v);
        return v;
    }
    if (!sum) return x;
    if (sum != x) memcpy(sum, x, n * sizeof(float));
    return sum;
}

static float squared_deviations(size_t n, const float *v, float mean) {
    const vf m = all(mean);
    vf s0 = {0}, s1 = {0};
    size_t i = 0;
    for (; i + 2 * CK_LANES <= n; i += 2 * CK_LANES) {
        const vf d0 = load(v + i) - m, d1 = load(v + i + CK_LANES) - m;
        s0 += d0 * d0;
        s1 += d1 * d1;
    }
    float rest = 0;
    for (; i < n; i++) rest += (v[i] - mean) * (v[i] - mean);
    return sum_lanes(s0 + s1) + rest;
}

/// y = (v - mean) * factor * scale + bias.
static void normalize(size_t n, const float *v, float mean, float factor, const float *scale, const float *bias,
                      float *y) {
    const vf m = all(mean), f = all(factor);
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) {
        vf r = (load(v + i) - m) * f;
        if (scale) r = r * load(scale + i);
        if (bias) r = r + load(bias + i);
        store(y + i, r);
    }
    for (; i < n; i++) {
        float r = (v[i] - mean) * factor;
        if (scale) r = r * scale[i];
        if (bias) r = r + bias[i];
        y[i] = r;
    }
}

static void layer_norm_f32(size_t n, const float *x, const float *residual, const float *scale, const float *bias,
                           float epsilon, float *y, float *sum) {
    if (n == 0) return;
    const float *v = add_residual(n, x, residual, y, sum);
    const float mean = sum_f32(n, v) / (float)n;
    const float variance = squared_deviations(n, v, mean) / (float)n;
    normalize(n, v, mean, 1.0f / square_root_of(variance + epsilon), scale, bias, y);
}

static void rms_norm_f32(size_t n, const float *x, const float *residual, const float *scale, float epsilon, float *y,
                         float *sum) {
    if (n == 0) return;
    const float *v = add_residual(n, x, residual, y, sum);
    const float mean_square = dot_f32(n, v, v) / (float)n;
    normalize(n, v, 0, 1.0f / square_root_of(mean_square + epsilon), scale, NULL, y);
}
