// Vectors of CK_LANES floats or 32-bit integers (the compiler's vector types: operators work lane by lane).

#define CK_INLINE static inline __attribute__((always_inline, unused))

typedef float vf __attribute__((vector_size(4 * CK_LANES), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * CK_LANES), may_alias));

CK_INLINE vf load(const float *p) {
    vf v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

CK_INLINE void store(float *p, vf v) { __builtin_memcpy(p, &v, sizeof v); }

/// The first n lanes from memory, n < CK_LANES; zeros after.
CK_INLINE vf load_first(const float *p, size_t n) {
    float lanes[CK_LANES] = {0};
    for (size_t i = 0; i < n; i++) lanes[i] = p[i];
    return load(lanes);
}

CK_INLINE void store_first(float *p, size_t n, vf v) {
    float lanes[CK_LANES];
    store(lanes, v);
    for (size_t i = 0; i < n; i++) p[i] = lanes[i];
}

/// All lanes equal. (s - 0 is s for every s; s + 0 would lose the sign of -0.)
CK_INLINE vf all(float s) { return s - (vf){0}; }
CK_INLINE vi all_int(int32_t s) { return s - (vi){0}; }

CK_INLINE vi bits(vf v) { return (vi)v; }
CK_INLINE vf from_bits(vi v) { return (vf)v; }

/// yes where mask is all ones, no where it is 0.
CK_INLINE vf choose(vi mask, vf yes, vf no) { return (vf)((mask & (vi)yes) | (~mask & (vi)no)); }

CK_INLINE vf absolute(vf x) { return from_bits(bits(x) & 0x7fffffff); }
CK_INLINE vf with_sign_of(vf magnitude, vf x) {
    return from_bits((bits(magnitude) & 0x7fffffff) | (bits(x) & (int32_t)0x80000000));
}

/// NaN where either is NaN.
CK_INLINE vf maximum(vf a, vf b) { return choose((a > b) | (a != a), a, b); }
CK_INLINE vf minimum(vf a, vf b) { return choose((a < b) | (a != a), a, b); }

CK_INLINE vf square_root(vf x) {
#if defined(CK_AVX512)
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(CK_AVX2)
    return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
    return (vf)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
    return (vf)vsqrtq_f32((float32x4_t)x);
#else
    return __builtin_elementwise_sqrt(x);
#endif
}

/// The same of one number, without the C library's function, which would need libm.
CK_INLINE float square_root_of(float x) { return square_root(all(x))[0]; }

CK_INLINE vf to_float(vi x) { return __builtin_convertvector(x, vf); }

/// The nearest integer, ties to even, of |x| <= 2^22: adding 1.5 * 2^23 leaves no fraction bits.
CK_INLINE vf round_small(vf x) {
    const vf magic = all(12582912.0f);
    return (x + magic) - magic;
}

// Lanes are folded in halves: pairwise, the same order in each version for a given width.
CK_INLINE float sum_lanes(vf v) {
    float lane[CK_LANES];
    store(lane, v);
    for (int half = CK_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

CK_INLINE float max_number(float a, float b) { return a > b || a != a ? a : b; }
CK_INLINE float min_number(float a, float b) { return a < b || a != a ? a : b; }

CK_INLINE float max_lanes(vf v) {
    float lane[CK_LANES];
    store(lane, v);
    for (int half = CK_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = max_number(lane[i], lane[i + half]);
    return lane[0];
}

CK_INLINE float min_lanes(vf v) {
    float lane[CK_LANES];
    store(lane, v);
    for (int half = CK_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = min_number(lane[i], lane[i + half]);
    return lane[0];
}

// Eight lanes in every version, whatever its registers hold: for loops whose order of sums is part of their layout.

typedef int32_t s32x8 __attribute__((vector_size(32), may_alias));
typedef float f32x8 __attribute__((vector_size(32), may_alias));
typedef float f32x4 __attribute__((vector_size(16), may_alias));

CK_INLINE f32x8 all_f32x8(float s) { return s - (f32x8){0}; }
CK_INLINE f32x8 to_f32x8(s32x8 x) { return __builtin_convertvector(x, f32x8); }

CK_INLINE f32x8 load_f32x8(const float *p) {
    f32x8 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

/// Eight rows of eight numbers become columns.
CK_INLINE void transpose_eight(const int32_t *from, size_t from_row, int32_t *to, size_t to_row) {
    s32x8 a[8], b[8];
    for (int i = 0; i < 8; i++) __builtin_memcpy(&a[i], from + (size_t)i * from_row, sizeof a[i]);
    for (int i = 0; i < 4; i++) {
        b[2 * i] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[2 * i + 1] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            a[4 * i + 2 * j] = __builtin_shufflevector(b[4 * i + j], b[4 * i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[4 * i + 2 * j + 1] = __builtin_shufflevector(b[4 * i + j], b[4 * i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (int i = 0; i < 8; i++) __builtin_memcpy(to + (size_t)i * to_row, &b[i], sizeof b[i]);
}
