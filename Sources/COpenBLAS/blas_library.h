#ifndef BLAS_LIBRARY_H
#define BLAS_LIBRARY_H

#include "COpenBLAS.h"

// CBLAS's constants (http://www.netlib.org/blas/blast-forum/cinterface.pdf, appendix B).
enum { cblas_row_major = 101, cblas_no_trans = 111, cblas_trans = 112 };

typedef void (*cblas_sgemm_function)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                                     const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*cblas_sgemv_function)(int order, int transpose, int rows, int columns, float alpha, const float *a,
                                     int lda, const float *x, int x_step, float beta, float *y, int y_step);

/// An opened library: its two products and what is known of it.
typedef struct {
    cblas_sgemm_function sgemm;
    cblas_sgemv_function sgemv;
    blas_info info;
} blas_library;

/// Fills `library`; on failure sets info.message and leaves info.available false. Called once.
void blas_open(blas_library *library);

#endif
