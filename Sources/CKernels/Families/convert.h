// Number formats.

typedef uint16_t vh __attribute__((vector_size(2 * CK_LANES), may_alias));
typedef uint8_t vu8 __attribute__((vector_size(CK_LANES), may_alias));
typedef int8_t vs8 __attribute__((vector_size(CK_LANES), may_alias));
typedef uint32_t vu __attribute__((vector_size(4 * CK_LANES), may_alias));

CK_INLINE vu choose_bits(vi mask, vu yes, vu no) { return ((vu)mask & yes) | (~(vu)mask & no); }
CK_INLINE vu all_bits(uint32_t s) { return s - (vu){0}; }

CK_INLINE vf half_to_float(vh h) {
#if defined(CK_AVX512)
    return (vf)_mm512_cvtph_ps((__m256i)h);
#elif defined(CK_AVX2)
    return (vf)_mm256_cvtph_ps((__m128i)h);
#else
    const vu x = __builtin_convertvector(h, vu);
    const vu magnitude = x & 0x7fff, sign = (x & 0x8000) << 16;
    const vu normal = (magnitude << 13) + (112u << 23);
    // A subnormal is an integer count of 2^-24.
    const vu subnormal = (vu)(to_float((vi)magnitude) * all(5.9604645e-8f));
    const vu nan_or_infinity =
        (magnitude << 13) | 0x7f800000u | choose_bits(magnitude > 0x7c00, all_bits(0x00400000u), all_bits(0));
    vu result = choose_bits(magnitude < 0x0400, subnormal, normal);
    result = choose_bits(magnitude >= 0x7c00, nan_or_infinity, result);
    return (vf)(result | sign);
#endif
}

CK_INLINE vh float_to_half(vf f) {
#if defined(CK_AVX512)
    return (vh)_mm512_cvtps_ph((__m512)f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(CK_AVX2)
    return (vh)_mm256_cvtps_ph((__m256)f, _MM_FROUND_TO_NEAREST_INT);
#else
    const vu x = (vu)f;
    const vu magnitude = x & 0x7fffffff, sign = (x >> 16) & 0x8000;
    const vu normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // 0.5's last place is the half format's smallest step, so the addition rounds.
    const vu subnormal = (vu)((vf)magnitude + all(0.5f)) - 0x3f000000u;
    const vu nan = ((magnitude >> 13) & 0x3ff) | 0x7e00;
    vu result = choose_bits(magnitude < 0x38800000u, subnormal, normal);
    result = choose_bits(magnitude >= 0x477ff000u, all_bits(0x7c00), result);
    result = choose_bits(magnitude > 0x7f800000u, nan, result);
    return __builtin_convertvector(result | sign, vh);
#endif
}

CK_INLINE vf bfloat_to_float(vh h) { return (vf)(__builtin_convertvector(h, vu) << 16); }

CK_INLINE vh float_to_bfloat(vf f) {
    const vu x = (vu)f;
    const vu rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16, nan = (x >> 16) | 0x40;
    return __builtin_convertvector(choose_bits((x & 0x7fffffff) > 0x7f800000u, nan, rounded), vh);
}

// y[i] = convert(x[i]); the last few go through a whole vector of their own.
#define CK_CONVERT(in_vector, in_type, out_vector, out_type, convert)                                                  \
    size_t i = 0;                                                                                                      \
    for (; i + CK_LANES <= n; i += CK_LANES) {                                                                         \
        in_vector v;                                                                                                   \
        __builtin_memcpy(&v, x + i, sizeof v);                                                                         \
        const out_vector r = convert;                                                                                  \
        __builtin_memcpy(y + i, &r, sizeof r);                                                                         \
    }                                                                                                                  \
    if (i < n) {                                                                                                       \
        in_vector v = {0};                                                                                             \
        memcpy(&v, x + i, (n - i) * sizeof(in_type));                                                                  \
        const out_vector r = convert;                                                                                  \
        memcpy(y + i, &r, (n - i) * sizeof(out_type));                                                                 \
    }

static void f16_to_f32(size_t n, const uint16_t *x, float *y) { CK_CONVERT(vh, uint16_t, vf, float, half_to_float(v)) }
static void f32_to_f16(size_t n, const float *x, uint16_t *y) { CK_CONVERT(vf, float, vh, uint16_t, float_to_half(v)) }
static void bf16_to_f32(size_t n, const uint16_t *x, float *y) {
    CK_CONVERT(vh, uint16_t, vf, float, bfloat_to_float(v))
}
static void f32_to_bf16(size_t n, const float *x, uint16_t *y) {
    CK_CONVERT(vf, float, vh, uint16_t, float_to_bfloat(v))
}

static void dequantize_s8(size_t n, const int8_t *x, float scale, int32_t zero, float *y) {
    CK_CONVERT(vs8, int8_t, vf, float, to_float(__builtin_convertvector(v, vi) - zero) * all(scale))
}
static void dequantize_u8(size_t n, const uint8_t *x, float scale, int32_t zero, float *y) {
    CK_CONVERT(vu8, uint8_t, vf, float, to_float(__builtin_convertvector(v, vi) - zero) * all(scale))
}

/// Rounds half to even, adds zero, and clamps to low...high; a NaN counts as 0.
CK_INLINE vi quantize(vf x, int32_t zero, float low, float high) {
    x = choose(x != x, (vf){0}, x);
    // Far outside any byte and inside what round_small takes.
    x = choose(x > all(4096.0f), all(4096.0f), choose(x < all(-4096.0f), all(-4096.0f), x));
    x = round_small(x) + all((float)zero);
    x = choose(x > all(high), all(high), choose(x < all(low), all(low), x));
    return __builtin_convertvector(x, vi);
}

static void quantize_s8(size_t n, const float *x, float scale, int32_t zero, int8_t *y) {
    CK_CONVERT(vf, float, vs8, int8_t, __builtin_convertvector(quantize(v / all(scale), zero, -128, 127), vs8))
}
static void quantize_u8(size_t n, const float *x, float scale, int32_t zero, uint8_t *y) {
    CK_CONVERT(vf, float, vu8, uint8_t, __builtin_convertvector(quantize(v / all(scale), zero, 0, 255), vu8))
}

/// The least and the largest of some numbers and 0. False where one of them is no finite number.
CK_INLINE bool finite_range(size_t n, const float *x, float *low, float *high) {
    vf least[2] = {{0}}, most[2] = {{0}}, none[2] = {{0}};
    size_t i = 0;
    for (; i + 2 * CK_LANES <= n; i += 2 * CK_LANES)
        for (int u = 0; u < 2; u++) {
            const vf v = load(x + i + (size_t)u * CK_LANES);
            least[u] = choose(v < least[u], v, least[u]);
            most[u] = choose(v > most[u], v, most[u]);
            none[u] = v * (vf){0} + none[u];
        }
    *low = min_number(min_lanes(least[0]), min_lanes(least[1]));
    *high = max_number(max_lanes(most[0]), max_lanes(most[1]));
    float rest = sum_lanes(none[0]) + sum_lanes(none[1]);
    for (; i < n; i++) {
        *low = min_number(*low, x[i]);
        *high = max_number(*high, x[i]);
        rest += x[i] * 0;
    }
    return rest == 0;
}

/// v / scale to the nearest integer, ties to even, plus zero, within 0...255; all of it finite, and far from the ends of what floats can hold. The quotient is
/// that of a division, for less: a product with the rounded reciprocal, corrected by its remainder (Markstein, "Computation of elementary functions on the
/// IBM RISC System/6000 processor", 1990).
CK_INLINE vi moderate_byte(vf v, vf scale, vf reciprocal, int32_t zero) {
    const vf estimate = v * reciprocal, magic = all(12582912.0f);
    const vf quotient = (v - estimate * scale) * reciprocal + estimate;
    vi q = bits(quotient + magic) - (bits(magic) - zero);
    q &= q > 0;
    const vi over = q > 255;
    return (over & 255) | (~over & q);
}

static void quantize_moderate_u8(size_t n, const float *x, float scale, int32_t zero, uint8_t *y) {
    const vf divisor = all(scale), reciprocal = all(1.0f / scale);
    CK_CONVERT(vf, float, vu8, uint8_t, __builtin_convertvector(moderate_byte(v, divisor, reciprocal, zero), vu8))
}

static ck_quantization dynamic_quantize_u8(size_t n, const float *x, uint8_t *y) {
    float least, most;
    if (finite_range(n, x, &least, &most) && most - least > 1e-30f && most - least < 1e30f) {
        const float scale = (most - least) / 255.0f;
        const int32_t zero = quantize(all(-least / scale), 0, 0, 255)[0];
        quantize_moderate_u8(n, x, scale, zero, y);
        return (ck_quantization){scale, zero};
    }
    const float low = min_number(0, min_f32(n, x)), high = max_number(0, max_f32(n, x));
    const float scale = (high - low) / 255.0f;
    // 0 / 0 is a NaN, which counts as 0.
    const int32_t zero = quantize(all(-low / scale), 0, 0, 255)[0];
    quantize_u8(n, x, scale, zero, y);
    return (ck_quantization){scale, zero};
}

static ck_quantization dynamic_quantize_s8(size_t n, const float *x, int8_t *y) {
    const float low = min_number(0, min_f32(n, x)), high = max_number(0, max_f32(n, x));
    const float scale = max_number(-low, high) / 127.0f;
    quantize_s8(n, x, scale, 0, y);
    return (ck_quantization){scale, 0};
}
