// The kernels for AVX-512 with VNNI, which multiplies and adds four bytes, or two 16-bit integers, in one instruction.

#if defined(__x86_64__)

#include "kernel_table.h"
#include "system_headers.h"

#define CK_LANES 16
#define CK_TILE_ROWS 12
#define CK_TILE_PANELS 2
#define CK_AVX512 1
#define CK_VNNI 1

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), apply_to = function)
#include "Families/all_families.h"
#pragma clang attribute pop

const ck_kernel_table ck_kernels_avx512_vnni = CK_TABLE;

#endif
