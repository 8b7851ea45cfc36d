#ifndef COPENBLAS_H
#define COPENBLAS_H

// Matrix products from the system's BLAS: OpenBLAS on Linux (opened at run time, never linked, so the program also
// starts where it is missing), Accelerate on macOS.
//
// OpenBLAS picks its kernel while it loads, and builds older than a CPU take it for a very old one: Debian 12's
// 0.3.21 runs its SSE3 kernel on many AVX-512 Xeons, a quarter of the speed. So, unless the user has set
// OPENBLAS_CORETYPE, the loader names the core type that CPUID proves the CPU can run. OpenBLAS is told to use one
// thread; callers split work among their own threads and may call blas_sgemm from several of them at once.

#include <stdbool.h>
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef enum {
    blas_ok = 0,
    /// No library was found, or the one found was refused; blas_info.message says why. Use another implementation.
    blas_unavailable = 1,
    /// A dimension or stride is beyond the library's 32-bit integers, or a stride is shorter than its row.
    blas_bad_argument = 2,
} blas_status;

/// What the loader found and chose. Strings live as long as the process and are never NULL (empty when unknown).
typedef struct {
    bool available;
    /// "OpenBLAS", "Accelerate", or empty when none is in use.
    const char *name;
    /// The file that was opened.
    const char *path;
    /// The library's own description: version and build options.
    const char *config;
    /// The kernel family in use, as the library names it.
    const char *core;
    /// The core type that was asked for: by the user's OPENBLAS_CORETYPE or by the loader; empty when neither.
    const char *requested_core;
    /// True when the loader, not the user, asked for requested_core.
    bool core_set_by_loader;
    /// The largest absolute error of the product that the loader tried; the bound is blas_self_check_bound.
    double self_check_error;
    /// Why the library is not available; empty when it is.
    const char *message;
} blas_info;

/// The self-check multiplies values in [-1, 1] with inner dimension 29; float32 sums of that length stay far below
/// this.
#define blas_self_check_bound 1e-4

/// Opens the library once; later calls, from any thread, return the first call's result. It looks for the file named
/// by the environment variable MLGRAPH_BLAS_LIBRARY (and for nothing else when that is set), then libopenblas.so.0
/// and libopenblas.so on the loader's path. It changes environment variables while the library opens and puts them
/// back, so the first call belongs at start-up, before other threads read or write the environment.
blas_status blas_load(void);

/// What blas_load did (it is called if it has not been yet).
const blas_info *blas_get_info(void);

/// C = alpha * op(A) * op(B) + beta * C, row-major float32; op(A) is [m, k], op(B) is [k, n], C is [m, n].
/// lda, ldb, ldc are the distances in elements between rows as stored. With beta = 0, C is not read.
blas_status blas_sgemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                       size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc);

/// y = alpha * op(A) * x + beta * y, A row-major [rows, columns] as stored, vectors contiguous.
/// With beta = 0, y is not read.
blas_status blas_sgemv(bool transpose_a, size_t rows, size_t columns, float alpha, const float *a, size_t lda,
                       const float *x, float beta, float *y);

#if defined(__cplusplus)
}
#endif

#endif
