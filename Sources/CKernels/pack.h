#ifndef PACK_H
#define PACK_H

#include "ck_gemm.h"
#include "ck_int8.h"

#include <stdint.h>

static inline size_t ck_round_to_panel(size_t n) { return (n + ck_gemm_panel - 1) / ck_gemm_panel * ck_gemm_panel; }

/// One panel of ck_pack_b: k rows of 16 floats from `columns` (at most 16) columns that start at b.
void ck_pack_panel(bool transpose_b, size_t k, size_t columns, const float *b, size_t ldb, float *packed);

#endif
