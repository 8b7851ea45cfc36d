// Element by element, and reductions.

static void unary_f32(ck_unary f, size_t n, const float *x, float *y) {
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) store(y + i, apply(f, load(x + i)));
    if (i < n) store_first(y + i, n - i, apply(f, load_first(x + i, n - i)));
}

CK_INLINE vf combine(ck_binary op, vf a, vf b) {
    switch (op) {
    case ck_add: return a + b;
    case ck_subtract: return a - b;
    case ck_multiply: return a * b;
    case ck_divide: return a / b;
    case ck_minimum: return minimum(a, b);
    case ck_maximum: return maximum(a, b);
    }
    return a;
}

static void binary_f32(ck_binary op, size_t n, const float *a, size_t a_step, const float *b, size_t b_step, float *y) {
    if (n == 0) return;
    // Read before y is written: y may be the vector that a single number lies in.
    const vf one_a = all(a[0]), one_b = all(b[0]);
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES)
        store(y + i, combine(op, a_step ? load(a + i) : one_a, b_step ? load(b + i) : one_b));
    if (i < n) {
        const vf va = a_step ? load_first(a + i, n - i) : one_a, vb = b_step ? load_first(b + i, n - i) : one_b;
        store_first(y + i, n - i, combine(op, va, vb));
    }
}

static void axpy_f32(size_t n, float alpha, const float *x, float *y) {
    const vf factor = all(alpha);
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) store(y + i, factor * load(x + i) + load(y + i));
    if (i < n) store_first(y + i, n - i, factor * load_first(x + i, n - i) + load_first(y + i, n - i));
}

// Four running vectors hide the latency of an addition. `term` is an expression in i (a full vector) and `last` one
// for the lanes that remain, 0 beyond them.
#define CK_SUM(term, last)                                                                                             \
    vf s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                                                         \
    size_t i = 0;                                                                                                      \
    for (; i + 4 * CK_LANES <= n;) {                                                                                   \
        s0 += (term), i += CK_LANES;                                                                                   \
        s1 += (term), i += CK_LANES;                                                                                   \
        s2 += (term), i += CK_LANES;                                                                                   \
        s3 += (term), i += CK_LANES;                                                                                   \
    }                                                                                                                  \
    for (; i + CK_LANES <= n; i += CK_LANES) s0 += (term);                                                             \
    if (i < n) s1 += (last);                                                                                           \
    return sum_lanes((s0 + s1) + (s2 + s3))

static float sum_f32(size_t n, const float *x) { CK_SUM(load(x + i), load_first(x + i, n - i)); }

static float dot_f32(size_t n, const float *a, const float *b) {
    CK_SUM(load(a + i) * load(b + i), load_first(a + i, n - i) * load_first(b + i, n - i));
}

static float norm2_f32(size_t n, const float *x) { return square_root_of(dot_f32(n, x, x)); }

static float max_f32(size_t n, const float *x) {
    vf best = all(-INFINITY);
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) best = maximum(best, load(x + i));
    float result = max_lanes(best);
    for (; i < n; i++) result = max_number(result, x[i]);
    return result;
}

static float min_f32(size_t n, const float *x) {
    vf best = all(INFINITY);
    size_t i = 0;
    for (; i + CK_LANES <= n; i += CK_LANES) best = minimum(best, load(x + i));
    float result = min_lanes(best);
    for (; i < n; i++) result = min_number(result, x[i]);
    return result;
}
