// The block types of GGUF, unpacked to 16-bit integers.

typedef int16_t s16x16 __attribute__((vector_size(32), may_alias));
typedef uint8_t u8x16 __attribute__((vector_size(16), may_alias));
typedef int8_t s8x16 __attribute__((vector_size(16), may_alias));
typedef uint8_t u8x8 __attribute__((vector_size(8), may_alias));

/// 32 weights in order.
typedef struct {
    s16x16 low, high;
} weights32;

CK_INLINE s16x16 all_s16(int16_t s) { return s - (s16x16){0}; }

CK_INLINE s16x16 widen_unsigned(const uint8_t *p) {
    u8x16 bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    s16x16 wide = __builtin_convertvector(bytes, s16x16);
#if defined(CK_AVX2) || defined(CK_AVX512)
    // One widening for both nibbles: the compiler would rather mask bytes and widen twice.
    __asm__("" : "+x"(wide));
#endif
    return wide;
}

CK_INLINE s16x16 widen_signed(const uint8_t *p) {
    s8x16 bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, s16x16);
}

/// Four 16-bit floats.
CK_INLINE f32x4 four_halves(uint64_t bits) {
#if defined(CK_AVX2) || defined(CK_AVX512)
    return (f32x4)_mm_cvtph_ps(_mm_cvtsi64_si128((long long)bits));
#elif defined(__aarch64__)
    return (f32x4)vcvt_f32_f16(vreinterpret_f16_u64(vcreate_u64(bits)));
#else
    return (f32x4)half_to_float((vh)bits);
#endif
}

/// Of 8 readable bytes; the start of a block is.
CK_INLINE f32x4 load_halves(const uint8_t *p) {
    uint64_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return four_halves(bits);
}

CK_INLINE float load_half(const uint8_t *p) {
    uint16_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    return four_halves(bits)[0];
}

/// Lane i: a[2i] b[2i] + a[2i + 1] b[2i + 1].
CK_INLINE s32x8 pair_sums(s16x16 a, s16x16 b) {
#if defined(CK_AVX2) || defined(CK_AVX512)
    return (s32x8)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#else
    s32x8 result;
#if defined(__x86_64__)
    __m128i x[2], y[2];
    __builtin_memcpy(x, &a, sizeof x);
    __builtin_memcpy(y, &b, sizeof y);
    for (int i = 0; i < 2; i++) x[i] = _mm_madd_epi16(x[i], y[i]);
    __builtin_memcpy(&result, x, sizeof x);
#elif defined(__aarch64__)
    int16x8_t x[2], y[2];
    int32x4_t sums[2];
    __builtin_memcpy(x, &a, sizeof x);
    __builtin_memcpy(y, &b, sizeof y);
    for (int i = 0; i < 2; i++)
        sums[i] = vpaddq_s32(vmull_s16(vget_low_s16(x[i]), vget_low_s16(y[i])), vmull_high_s16(x[i], y[i]));
    __builtin_memcpy(&result, sums, sizeof sums);
#else
    for (int i = 0; i < 8; i++) result[i] = (int32_t)a[2 * i] * b[2 * i] + (int32_t)a[2 * i + 1] * b[2 * i + 1];
#endif
    return result;
#endif
}

CK_INLINE weights32 unpack_nibbles(const uint8_t *p) {
    const s16x16 bytes = widen_unsigned(p);
    return (weights32){bytes & 15, (s16x16)((bytes >> 4))};
}

/// Bit i of `bits` as bit 4 of number i.
CK_INLINE weights32 with_fifth_bits(weights32 w, const uint8_t *p) {
    int16_t bits[2];
    __builtin_memcpy(bits, p, sizeof bits);
    const s16x16 each = {1,   2,   4,    8,    16,   32,   64,    128,
                         256, 512, 1024, 2048, 4096, 8192, 16384, INT16_MIN};
    w.low |= (s16x16)((all_s16(bits[0]) & each) == each) & 16;
    w.high |= (s16x16)((all_s16(bits[1]) & each) == each) & 16;
    return w;
}

CK_INLINE weights32 less(weights32 w, int16_t s) { return (weights32){w.low - s, w.high - s}; }

// Types of 32 weights.

CK_INLINE bool has_minimum(ck_weight type) { return type == ck_weight_q4_1 || type == ck_weight_q5_1; }

CK_INLINE weights32 unpack_block(ck_weight type, const uint8_t *block) {
    switch (type) {
    case ck_weight_q8_0: return (weights32){widen_signed(block + 2), widen_signed(block + 18)};
    case ck_weight_q4_0: return less(unpack_nibbles(block + 2), 8);
    case ck_weight_q4_1: return unpack_nibbles(block + 4);
    case ck_weight_q5_0: return less(with_fifth_bits(unpack_nibbles(block + 6), block + 2), 16);
    default: return with_fifth_bits(unpack_nibbles(block + 8), block + 4);  // q5_1
    }
}

// Types of 256 weights in sub-blocks of 32.

/// The factors and the constants of the eight sub-blocks. (Of q6_k's sixteen scales the weights themselves get theirs.)
typedef struct {
    f32x8 scale, offset;
} super_scales;

CK_INLINE f32x8 eight_bytes(uint64_t bits) {
    return __builtin_convertvector(__builtin_convertvector((u8x8)bits, s32x8), f32x8);
}

CK_INLINE super_scales super_block_scales(ck_weight type, const uint8_t *block) {
    if (type == ck_weight_q6_k) return (super_scales){all_f32x8(load_half(block + 208)), {0}};
    const f32x4 d = load_halves(block);
    uint32_t a, b, c;
    __builtin_memcpy(&a, block + 4, 4);
    __builtin_memcpy(&b, block + 8, 4);
    __builtin_memcpy(&c, block + 12, 4);
    const uint32_t low_bits = 0x3f3f3f3f, nibbles = 0x0f0f0f0f, high_bits = 0x30303030;
    const uint64_t scales = (a & low_bits) | (uint64_t)((c & nibbles) | (a >> 2 & high_bits)) << 32;
    const uint64_t minima = (b & low_bits) | (uint64_t)((c >> 4 & nibbles) | (b >> 2 & high_bits)) << 32;
    return (super_scales){eight_bytes(scales) * d[0], eight_bytes(minima) * -d[1]};
}

/// Sub-block s, 0..<8, a constant where this is inlined.
CK_INLINE weights32 unpack_sub_block(ck_weight type, const uint8_t *block, int s) {
    if (type == ck_weight_q6_k) {
        const int half = s / 4, quarter = s % 4;
        const uint8_t *low = block + 64 * half + 32 * (quarter & 1), *high = block + 128 + 32 * half;
        const int8_t *scale = (const int8_t *)block + 192 + 2 * s;
        s16x16 w[2];
        for (int i = 0; i < 2; i++) {
            const s16x16 nibbles = quarter < 2 ? widen_unsigned(low + 16 * i) & 15 : widen_unsigned(low + 16 * i) >> 4;
            const s16x16 bits = widen_unsigned(high + 16 * i) >> 2 * quarter & 3;
            w[i] = ((nibbles | bits << 4) - 32) * all_s16(scale[i]);
        }
        return (weights32){w[0], w[1]};
    }
    const uint8_t *low = block + (type == ck_weight_q5_k ? 48 : 16) + 32 * (s / 2);
    s16x16 w[2];
    for (int i = 0; i < 2; i++) {
        const s16x16 bytes = widen_unsigned(low + 16 * i);
        w[i] = s % 2 ? bytes >> 4 : bytes & 15;
        if (type == ck_weight_q5_k) {
            const s16x16 bits = widen_unsigned(block + 16 + 16 * i);
            w[i] |= (s < 4 ? bits << (4 - s) : bits >> (s - 4)) & 16;
        }
    }
    return (weights32){w[0], w[1]};
}

CK_INLINE f32x8 half_of(s16x16 w, int half) {
    typedef int16_t s16x8 __attribute__((vector_size(16)));
    s16x8 part[2];
    __builtin_memcpy(part, &w, sizeof part);
    return __builtin_convertvector(__builtin_convertvector(part[half], s32x8), f32x8);
}

/// y = scale * w + offset
CK_INLINE void store_weights(weights32 w, float scale, float offset, float *y) {
    for (int i = 0; i < 4; i++) {
        const f32x8 v = half_of(i < 2 ? w.low : w.high, i & 1) * scale + offset;
        __builtin_memcpy(y + 8 * i, &v, sizeof v);
    }
}

CK_INLINE void dequantize_blocks(ck_weight type, size_t blocks, const uint8_t *w, float *y) {
    for (size_t b = 0; b < blocks; b++) {
        if (type >= ck_weight_q4_k) {
            const super_scales scales = super_block_scales(type, w);
#pragma clang loop unroll(full)
            for (int s = 0; s < 8; s++)
                store_weights(unpack_sub_block(type, w, s), scales.scale[s], scales.offset[s], y + 32 * s);
        } else {
            const f32x4 scale = load_halves(w);  // d, and m where the type has it
            store_weights(unpack_block(type, w), scale[0], has_minimum(type) ? scale[1] : 0, y);
        }
        w += type == ck_weight_q8_0   ? 34
             : type == ck_weight_q4_0 ? 18
             : type == ck_weight_q4_1 ? 20
             : type == ck_weight_q5_0 ? 22
             : type == ck_weight_q5_1 ? 24
             : type == ck_weight_q4_k ? 144
             : type == ck_weight_q5_k ? 176
                                      : 210;
        y += type >= ck_weight_q4_k ? 256 : 32;
    }
}

static void dequantize_weights(ck_weight type, size_t n, const void *w, float *y) {
    switch (type) {
    case ck_weight_f32: memcpy(y, w, n * sizeof(float)); break;
    case ck_weight_f16: f16_to_f32(n, w, y); break;
    case ck_weight_bf16: bf16_to_f32(n, w, y); break;
    case ck_weight_q8_0: dequantize_blocks(ck_weight_q8_0, n / 32, w, y); break;
    case ck_weight_q4_0: dequantize_blocks(ck_weight_q4_0, n / 32, w, y); break;
    case ck_weight_q4_1: dequantize_blocks(ck_weight_q4_1, n / 32, w, y); break;
    case ck_weight_q5_0: dequantize_blocks(ck_weight_q5_0, n / 32, w, y); break;
    case ck_weight_q5_1: dequantize_blocks(ck_weight_q5_1, n / 32, w, y); break;
    case ck_weight_q4_k: dequantize_blocks(ck_weight_q4_k, n / 256, w, y); break;
    case ck_weight_q5_k: dequantize_blocks(ck_weight_q5_k, n / 256, w, y); break;
    case ck_weight_q6_k: dequantize_blocks(ck_weight_q6_k, n / 256, w, y); break;
    }
}
