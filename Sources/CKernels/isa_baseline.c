// The kernels for any CPU: 4 lanes, which the compiler turns into SSE2, NEON or scalar code.

#include "kernel_table.h"
#include "system_headers.h"

#define CK_LANES 4
#if defined(__aarch64__)  // 32 vector registers, and FMA
#define CK_TILE_ROWS 6
#else
#define CK_TILE_ROWS 2
#endif
#define CK_TILE_PANELS 1

#include "Families/all_families.h"

const ck_kernel_table ck_kernels_baseline = CK_TABLE;
