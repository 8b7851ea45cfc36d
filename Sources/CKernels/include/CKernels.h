#ifndef CKERNELS_H
#define CKERNELS_H

// SIMD inner loops over float32, 8-bit integers and 16-bit floats.
//
// Rules of every kernel:
//  - Plain pointers, no alignment demands; a length may be 0. Matrices are row-major; a stride (ld...) is the distance
//    in elements between the starts of two rows.
//  - Input and output may be the same buffer where a comment says "in place"; otherwise they must not overlap.
//  - No kernel allocates, blocks, or keeps state; every one may run on several threads at once.
//  - NaN and infinities go through as IEEE 754 arithmetic has it; max, min and relu keep a NaN.
//  - The instruction set is chosen once, at run time (ck_isa.h). Float results may differ between instruction sets by
//    rounding, within the bound that a kernel states; integer results are the same everywhere.

#include "ck_attention.h"
#include "ck_cached_attention.h"
#include "ck_convert.h"
#include "ck_elementwise.h"
#include "ck_gemm.h"
#include "ck_int8.h"
#include "ck_isa.h"
#include "ck_rotary.h"
#include "ck_rows.h"
#include "ck_weights.h"

#endif
