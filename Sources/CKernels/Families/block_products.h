// Few rows of activations times block-quantised weights, read in place: integer products of 32 weights at a time, scaled into
// eight float32 lanes. Activations have 16 bits, which costs multiply-and-add-pairs nothing and leaves the weights' own error alone.

/// What the activations of 32 weights are multiplied with, and their sum.
typedef struct {
    float scale, sum;
} activation_group;

static void quantize_activations(size_t k, const float *x, void *activations) {
    int16_t *values = activations;
    activation_group *groups = (activation_group *)(values + k);
    for (size_t p = 0; p < k; p += 32) {
        f32x8 v[4];
        __builtin_memcpy(v, x + p, sizeof v);
        f32x8 largest = {0};
        s32x8 finite = {0};
        finite = ~finite;
        for (int i = 0; i < 4; i++) {
            const f32x8 magnitude = (f32x8)((s32x8)v[i] & 0x7fffffff);
            finite &= magnitude <= all_f32x8(3.40282347e38f);
            const s32x8 larger = magnitude > largest;
            largest = (f32x8)((larger & (s32x8)magnitude) | (~larger & (s32x8)largest));
        }
        float most = 0;
        int32_t all_finite = -1;
        for (int i = 0; i < 8; i++) {
            most = most > largest[i] ? most : largest[i];
            all_finite &= finite[i];
        }
        activation_group group = {0, 0};
        int16_t *out = values + p;
        if (!all_finite || most < 1e-30f) {
            memset(out, 0, 32 * sizeof(int16_t));
            if (!all_finite) group = (activation_group){NAN, NAN};
        } else {
            const f32x8 factor = all_f32x8(32767.0f / most), magic = all_f32x8(12582912.0f);
            s32x8 sum = {0};
            typedef int16_t s16x8 __attribute__((vector_size(16)));
            for (int i = 0; i < 4; i++) {
                const s32x8 q = __builtin_convertvector((v[i] * factor + magic) - magic, s32x8);
                const s16x8 narrow = __builtin_convertvector(q, s16x8);
                __builtin_memcpy(out + 8 * i, &narrow, sizeof narrow);
                sum += q;
            }
            int32_t total = 0;  // at most 2^20
            for (int i = 0; i < 8; i++) total += sum[i];
            group.scale = most / 32767.0f;
            group.sum = (float)total * group.scale;
        }
        *groups++ = group;
    }
}

typedef struct {
    const uint8_t *w;
    size_t row_bytes, k;
    /// From one row of W in a tile to the next: bytes, and elements of C.
    size_t tile_step, c_step;
    const int16_t *x;
    size_t x_row;  // in int16_t
    float *c;
    size_t ldc;
} block_work;

/// How far ahead of use weights are asked for.
#define CK_PREFETCH_BYTES 1024

CK_INLINE s16x16 load_s16(const int16_t *p) {
    s16x16 v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

CK_INLINE float sum_f32x8(f32x8 v) {
    float lane[8];
    __builtin_memcpy(lane, &v, sizeof lane);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

CK_INLINE size_t type_bytes(ck_weight type) {
    switch (type) {
    case ck_weight_q8_0: return 34;
    case ck_weight_q4_0: return 18;
    case ck_weight_q4_1: return 20;
    case ck_weight_q5_0: return 22;
    case ck_weight_q5_1: return 24;
    case ck_weight_q4_k: return 144;
    case ck_weight_q5_k: return 176;
    default: return 210;
    }
}


// `type`, rows (of W) and m (activations) are constants where these are inlined, so that the accumulators become registers.
CK_INLINE void block_tile(ck_weight type, const int rows, const int m, const block_work *t) {
    f32x8 sum[4][4];
    f32x4 minima[4][4];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) sum[r][i] = (f32x8){0}, minima[r][i] = (f32x4){0};
    const size_t blocks = t->k / 32;
    const uint8_t *w = t->w;
    for (size_t b = 0; b < blocks; b++) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const uint8_t *block = w + (size_t)r * t->tile_step;
            __builtin_prefetch(block + CK_PREFETCH_BYTES);
            const weights32 q = unpack_block(type, block);
            const f32x4 scale = load_halves(block);  // d, and m where the type has it
#pragma clang loop unroll(full)
            for (int i = 0; i < m; i++) {
                const int16_t *x = t->x + (size_t)i * t->x_row + 32 * b;
                uint64_t pair;
                __builtin_memcpy(&pair, t->x + (size_t)i * t->x_row + t->k + 4 * b, sizeof pair);
                typedef uint64_t u64x2 __attribute__((vector_size(16)));
                const f32x4 factor = scale * (f32x4)(u64x2){pair, 0};
                if (has_minimum(type)) minima[r][i] += factor;
                const s32x8 products = pair_sums(q.low, load_s16(x)) + pair_sums(q.high, load_s16(x + 16));
                sum[r][i] = __builtin_shufflevector(factor, factor, 0, 0, 0, 0, 0, 0, 0, 0) * to_f32x8(products) + sum[r][i];
            }
        }
        w += type_bytes(type);
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++)
            t->c[(size_t)i * t->ldc + (size_t)r * t->c_step] = sum_f32x8(sum[r][i]) + (has_minimum(type) ? minima[r][i][1] : 0);
}

CK_INLINE void super_block_tile(ck_weight type, const int rows, const int m, const block_work *t) {
    f32x8 sum[4][4];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) sum[r][i] = (f32x8){0};
    const size_t blocks = t->k / 256;
    for (size_t b = 0; b < blocks; b++) {
#pragma clang loop unroll(full)
        for (int r = 0; r < rows; r++) {
            const uint8_t *block = t->w + (size_t)r * t->tile_step + b * type_bytes(type);
            for (size_t line = 0; line < type_bytes(type); line += 64) __builtin_prefetch(block + CK_PREFETCH_BYTES + line);
            const super_scales scales = super_block_scales(type, block);
            float factors[4][8];
#pragma clang loop unroll(full)
            for (int i = 0; i < m; i++) {
                f32x8 pairs[2];
                __builtin_memcpy(pairs, t->x + (size_t)i * t->x_row + t->k + 32 * b, sizeof pairs);
                const f32x8 scale = __builtin_shufflevector(pairs[0], pairs[1], 0, 2, 4, 6, 8, 10, 12, 14) * scales.scale;
                __builtin_memcpy(factors[i], &scale, sizeof scale);
#if defined(__x86_64__)
                __asm__("" : : "r"(factors[i]) : "memory");  // a load spreads a lane for less than a shuffle
#endif
                if (type != ck_weight_q6_k)
                    sum[r][i] = __builtin_shufflevector(pairs[0], pairs[1], 1, 3, 5, 7, 9, 11, 13, 15) * scales.offset + sum[r][i];
            }
#pragma clang loop unroll(full)
            for (int s = 0; s < 8; s++) {
                const weights32 q = unpack_sub_block(type, block, s);
#pragma clang loop unroll(full)
                for (int i = 0; i < m; i++) {
                    const int16_t *x = t->x + (size_t)i * t->x_row + 256 * b + 32 * s;
                    const s32x8 products = pair_sums(q.low, load_s16(x)) + pair_sums(q.high, load_s16(x + 16));
                    sum[r][i] = all_f32x8(factors[i][s]) * to_f32x8(products) + sum[r][i];
                }
            }
        }
    }
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; r++)
#pragma clang loop unroll(full)
        for (int i = 0; i < m; i++) t->c[(size_t)i * t->ldc + (size_t)r * t->c_step] = sum_f32x8(sum[r][i]);
}

CK_INLINE void any_block_tile(ck_weight type, const int rows, const int m, const block_work *t) {
    if (type >= ck_weight_q4_k)
        super_block_tile(type, rows, m, t);
    else
        block_tile(type, rows, m, t);
}

/// One row of W against all activations.
CK_INLINE void block_row(ck_weight type, size_t m, block_work t) {
    for (; m >= 4; m -= 4, t.x += 4 * t.x_row, t.c += 4 * t.ldc) any_block_tile(type, 1, 4, &t);
    if (m >= 2) {
        any_block_tile(type, 1, 2, &t);
        m -= 2;
        t.x += 2 * t.x_row;
        t.c += 2 * t.ldc;
    }
    if (m) any_block_tile(type, 1, 1, &t);
}

CK_INLINE void block_product_of(ck_weight type, size_t rows, size_t m, block_work t) {
    // Four sums at a time hide the latency of an FMA: of four rows, or of four activations. The four rows lie far apart, so that each is a
    // stream of its own that goes on from row to row; memory serves several streams faster than one.
    if (m == 1) {
        const size_t quarter = rows / 4;
        t.tile_step = quarter * t.row_bytes;
        t.c_step = quarter;
        for (size_t r = 0; r < quarter; r++, t.w += t.row_bytes, t.c++) any_block_tile(type, 4, 1, &t);
        t.w += 3 * t.tile_step;
        t.c += 3 * t.c_step;
        rows -= 4 * quarter;
    }
    for (; rows; rows--, t.w += t.row_bytes, t.c++) block_row(type, m, t);
}
