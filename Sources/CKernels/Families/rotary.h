// Rotary position embedding. The polynomials are minimax fits of this project, as those of vector_math.h.

typedef double f64x8 __attribute__((vector_size(64), may_alias));
typedef int64_t s64x8 __attribute__((vector_size(64), may_alias));

/// a = n pi/2 + r with |r| <= pi/4. The reduction is in double, so that large angles lose nothing.
CK_INLINE void sine_and_cosine(f32x8 a, f32x8 *sine, f32x8 *cosine) {
    const f64x8 x = __builtin_convertvector(a, f64x8);
    // Adding 1.5 * 2^52 leaves no fraction bits, and the integer in the lowest ones.
    const f64x8 shifted = x * 0.63661977236758134 + 6755399441055744.0;
    const f64x8 n = shifted - 6755399441055744.0;
    const f32x8 r = __builtin_convertvector((x - n * 1.5707963267948966) - n * 6.123233995736766e-17, f32x8);
    const s32x8 quadrant = __builtin_convertvector((s64x8)shifted, s32x8);
    const f32x8 z = r * r;
    const f32x8 s = ((-0.00019515218446031213f * z + 0.00833216030150652f) * z - 0.16666655242443085f) * (z * r) + r;
    const f32x8 c = ((2.4433082217001356e-05f * z - 0.0013887315290048718f) * z + 0.04166664555668831f) * (z * z) + (1.0f - 0.5f * z);
    const s32x8 swap = (quadrant & 1) != 0;
    *sine = (f32x8)(((swap & (s32x8)c) | (~swap & (s32x8)s)) ^ (quadrant & 2) << 30);
    *cosine = (f32x8)(((swap & (s32x8)s) | (~swap & (s32x8)c)) ^ ((quadrant + 1) & 2) << 30);
}

static void rotary_angles(size_t n, float position, const float *frequencies, float factor, float *cosines, float *sines) {
    for (size_t i = 0; i < n; i += 8) {
        const size_t count = n - i < 8 ? n - i : 8;
        f32x8 a = {0}, sine, cosine;
        memcpy(&a, frequencies + i, count * sizeof(float));
        sine_and_cosine(a * position, &sine, &cosine);
        sine *= factor;
        cosine *= factor;
        memcpy(sines + i, &sine, count * sizeof(float));
        memcpy(cosines + i, &cosine, count * sizeof(float));
    }
}

static void rotate_f32(bool interleaved, size_t heads, size_t width, size_t pairs, const float *cosines, const float *sines, const float *x,
                       float *y) {
    for (size_t h = 0; h < heads; h++, x += width, y += width) {
        size_t i = 0;
        if (interleaved) {
            for (; i < pairs; i++) {
                const float a = x[2 * i], b = x[2 * i + 1];
                y[2 * i] = a * cosines[i] - b * sines[i];
                y[2 * i + 1] = b * cosines[i] + a * sines[i];
            }
        } else {
            for (; i + CK_LANES <= pairs; i += CK_LANES) {
                const vf a = load(x + i), b = load(x + i + pairs), c = load(cosines + i), s = load(sines + i);
                store(y + i, a * c - b * s);
                store(y + i + pairs, b * c + a * s);
            }
            for (; i < pairs; i++) {
                const float a = x[i], b = x[i + pairs];
                y[i] = a * cosines[i] - b * sines[i];
                y[i + pairs] = b * cosines[i] + a * sines[i];
            }
        }
        if (x != y) memcpy(y + 2 * pairs, x + 2 * pairs, (width - 2 * pairs) * sizeof(float));
    }
}
