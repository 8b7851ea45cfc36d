// Moving rows about: the C library's copy is already the best loop for it.

#include "ck_rows.h"

#include <string.h>

size_t ck_gather_rows(size_t count, size_t row_bytes, const void *table, size_t table_rows, size_t table_stride,
                      const int64_t *indices, void *out, size_t out_stride) {
    for (size_t i = 0; i < count; i++) {
        if (indices[i] < 0 || (uint64_t)indices[i] >= table_rows) return i;
        memcpy((char *)out + i * out_stride, (const char *)table + (size_t)indices[i] * table_stride, row_bytes);
    }
    return count;
}

void ck_transpose_f32(size_t rows, size_t columns, const float *x, size_t ldx, float *y, size_t ldy) {
    // Square blocks, so that the lines touched on both sides stay in the cache.
    enum { block = 16 };
    for (size_t i0 = 0; i0 < rows; i0 += block)
        for (size_t j0 = 0; j0 < columns; j0 += block) {
            const size_t i1 = rows - i0 < block ? rows : i0 + block, j1 = columns - j0 < block ? columns : j0 + block;
            for (size_t j = j0; j < j1; j++)
                for (size_t i = i0; i < i1; i++) y[j * ldy + i] = x[i * ldx + j];
        }
}
