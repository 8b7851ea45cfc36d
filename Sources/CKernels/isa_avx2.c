// The kernels for AVX2, FMA and F16C: 8 lanes, 16 registers.

#if defined(__x86_64__)

#include "kernel_table.h"
#include "system_headers.h"

#define CK_LANES 8
#define CK_TILE_ROWS 6
#define CK_TILE_PANELS 1
#define CK_AVX2 1

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#include "Families/all_families.h"
#pragma clang attribute pop

const ck_kernel_table ck_kernels_avx2 = CK_TABLE;

#endif
