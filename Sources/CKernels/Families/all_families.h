// The kernels, written once for any vector width. A version (isa_*.c) defines CK_LANES, CK_TILE_ROWS and
// CK_TILE_PANELS and includes this; everything is static, so each version has its own copy.

// a * b + c becomes one FMA where the version has it.
#pragma STDC FP_CONTRACT ON
// Vectors wider than a register pass between functions that are always inlined, so that no calling convention matters.
#pragma clang diagnostic ignored "-Wpsabi"

#include "vector.h"
#include "vector_math.h"
#include "elementwise.h"
#include "rows.h"
#include "gemm.h"
#include "attention.h"
#include "cached_attention.h"
#include "rotary.h"
#include "convert.h"
#include "int8.h"
#include "int8_linear.h"
#include "block_types.h"
#include "block_products.h"
#include "block_panels.h"
#include "weight_products.h"

#define CK_ENTRY(result, name, parameters, arguments) .name = name,
#define CK_TABLE                                                                                                       \
    {                                                                                                                  \
        CK_KERNELS(CK_ENTRY)                                                                                           \
    }
