// The kernels for AVX-512: 16 lanes, 32 registers. Only the lane count, the tile and the instruction names differ
// from AVX2.

#if defined(__x86_64__)

#include "kernel_table.h"
#include "system_headers.h"

#define CK_LANES 16
#define CK_TILE_ROWS 12
#define CK_TILE_PANELS 2
#define CK_AVX512 1

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#include "Families/all_families.h"
#pragma clang attribute pop

const ck_kernel_table ck_kernels_avx512 = CK_TABLE;

#endif
