// macOS: Accelerate is part of the system, so there is nothing to search for or to choose.

#if defined(__APPLE__)

#include "blas_library.h"

// Declared here rather than through <Accelerate/Accelerate.h>, whose CBLAS prototypes are marked deprecated in favour
// of a second set selected by macros; the symbols stay.
extern void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                        int lda, const float *b, int ldb, float beta, float *c, int ldc);
extern void cblas_sgemv(int order, int transpose, int rows, int columns, float alpha, const float *a, int lda,
                        const float *x, int x_step, float beta, float *y, int y_step);

void blas_open(blas_library *library) {
    library->sgemm = cblas_sgemm;
    library->sgemv = cblas_sgemv;
    library->info.available = true;
    library->info.name = "Accelerate";
    library->info.path = "/System/Library/Frameworks/Accelerate.framework";
}

#endif
