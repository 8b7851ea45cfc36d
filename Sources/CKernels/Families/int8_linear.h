// Dense layers over bytes, with exact sums. Weights lie in panels of 16 outputs, for each of which four numbers of k stand side by side. How rows of
// activations are kept, and what multiplies them, depends on the instructions there are (int8_pairs.h, int8_bytes.h, int8_tiles.h).

/// A row that ck_int8_row made. Values start on a cache line of their own.
typedef struct {
    float scale;
    /// Of the values less their zero point.
    int32_t sum;
    /// What is still to be taken from each value.
    int32_t zero;
    int32_t unused[13];
#if defined(CK_VNNI)
    uint8_t values[];
#else
    int16_t values[];
#endif
} int8_row;

#define CK_INT8_ROW(rows, row_bytes, i) ((const int8_row *)(const void *)((const char *)(rows) + (i) * (row_bytes)))

/// What sums of a row stand for:
/// (sum - zero of the row * sum of the column - zero of the column * sum of the row) * scale of the row * scale of the column.
CK_INLINE vf scaled_sums(vu sum, int32_t row_zero, vu column_sum, vu column_zero, int32_t row_sum, vf scale) {
    if (row_zero) sum -= (vu)all_int(row_zero) * column_sum;
    return to_float((vi)(sum - column_zero * (vu)all_int(row_sum))) * scale;
}

/// Sums of `height` rows from row i on, `columns` columns from column j on, sums_ld apart, become C. Rows of sums, and column_sums, fill whole panels.
static void finish_int8(const ck_int8_weight *w, size_t j, size_t columns, const void *rows, size_t row_bytes, size_t i, size_t height,
                        const uint32_t *column_sums, const uint32_t *sums, size_t sums_ld, float *c, size_t ldc, const ck_epilogue *e) {
    const tile_finish finish = {.alpha = 1, .bias = e->bias, .activation = e->activation, .residual = e->residual};
    const vf none = {0};
    for (size_t q = 0; q < columns; q += CK_LANES) {
        const size_t count = columns - q < CK_LANES ? columns - q : CK_LANES;
        const bool is_whole = count == CK_LANES;
        vu column_sum = {0}, column_zero = {0};
        if (column_sums) __builtin_memcpy(&column_sum, column_sums + q, sizeof column_sum);
        if (w->zero)
            for (size_t p = 0; p < count; p++) column_zero[p] = (uint32_t)w->zero[j + q + p];
        const vf scale = is_whole ? load(w->scale + j + q) : load_first(w->scale + j + q, count);
        const vf bias = !e->bias ? none : is_whole ? load(e->bias + j + q) : load_first(e->bias + j + q, count);
        for (size_t r = 0; r < height; r++) {
            const int8_row *row = CK_INT8_ROW(rows, row_bytes, i + r);
            vu sum;
            __builtin_memcpy(&sum, sums + r * sums_ld + q, sizeof sum);
            const vf value = scaled_sums(sum, row->zero, column_sum, column_zero, w->zero ? row->sum : 0, all(row->scale) * scale);
            const float *residual = e->residual ? e->residual + (i + r) * e->residual_ld + j + q : NULL;
            float *out = c + (i + r) * ldc + j + q;
            if (is_whole)
                store(out, finish_vector(&finish, value, none, bias, residual ? load(residual) : none));
            else
                store_first(out, count, finish_vector(&finish, value, none, bias, residual ? load_first(residual, count) : none));
        }
    }
}

#if defined(CK_VNNI)
#include "int8_bytes.h"
#else
#include "int8_pairs.h"
#endif

static void int8_linear(size_t n_begin, size_t n_end, size_t k, const ck_int8_weight *w, size_t m, const void *rows, float *c, size_t ldc,
                        const ck_epilogue *epilogue) {
    const ck_epilogue none = {NULL, ck_identity, NULL, 0, false};
    int8_product(n_begin, n_end, k, w, m, rows, c, ldc, epilogue ? epilogue : &none);
}
