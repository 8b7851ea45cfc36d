// The bridge's public functions: load once, prove one product, check arguments, call.

#include "blas_library.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>

static blas_library library;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static blas_status call_sgemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha,
                              const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                              size_t ldc) {
    const size_t a_row = transpose_a ? m : k, b_row = transpose_b ? k : n;
    if (m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX || ldb > INT_MAX || ldc > INT_MAX || lda < a_row ||
        ldb < b_row || ldc < n)
        return blas_bad_argument;
    if (m == 0 || n == 0) return blas_ok;
    // CBLAS wants strides of at least 1 even where there is nothing to read.
    library.sgemm(cblas_row_major, transpose_a ? cblas_trans : cblas_no_trans,
                  transpose_b ? cblas_trans : cblas_no_trans, (int)m, (int)n, (int)k, alpha, a, lda ? (int)lda : 1, b,
                  ldb ? (int)ldb : 1, beta, c, (int)ldc);
    return blas_ok;
}

enum { check_m = 37, check_n = 53, check_k = 29 };

/// Values in [-1, 1) that look random: a Weyl sequence of the golden ratio.
static void fill(float *values, size_t count, double start) {
    for (size_t i = 0; i < count; i++) {
        const double t = start + (double)i * 0.6180339887498949;
        values[i] = (float)(2 * (t - (double)(size_t)t) - 1);
    }
}

/// The largest error of op(A) * op(B) over the four transpositions, from a C that holds NaN (beta = 0 must not read
/// it).
static double self_check(void) {
    float a[check_m * check_k], b[check_k * check_n], c[check_m * check_n];
    fill(a, check_m * check_k, 0.25);
    fill(b, check_k * check_n, 0.75);
    double worst = 0;
    for (int form = 0; form < 4; form++) {
        const bool ta = form & 1, tb = form & 2;
        for (int i = 0; i < check_m * check_n; i++) c[i] = NAN;
        call_sgemm(ta, tb, check_m, check_n, check_k, 1, a, ta ? check_m : check_k, b, tb ? check_k : check_n, 0, c,
                   check_n);
        for (int i = 0; i < check_m; i++) {
            for (int j = 0; j < check_n; j++) {
                double sum = 0;
                for (int p = 0; p < check_k; p++) {
                    const double x = ta ? a[p * check_m + i] : a[i * check_k + p];
                    const double y = tb ? b[j * check_k + p] : b[p * check_n + j];
                    sum += x * y;
                }
                const double difference = sum - c[i * check_n + j], error = difference < 0 ? -difference : difference;
                if (!(error <= worst)) worst = error;  // a NaN is kept
                if (isnan(worst)) return worst;
            }
        }
    }
    return worst;
}

static void load_once(void) {
    library.info = (blas_info){false, "", "", "", "", "", false, 0, ""};
    blas_open(&library);
    if (!library.info.available) {
        library.info.core_set_by_loader = false;
        library.info.requested_core = "";
        return;
    }
    library.info.self_check_error = self_check();
    if (!(library.info.self_check_error <= blas_self_check_bound)) {
        library.info.available = false;
        library.info.message = "the library's product of two small matrices is wrong; it is not used";
    }
}

blas_status blas_load(void) {
    pthread_once(&once, load_once);
    return library.info.available ? blas_ok : blas_unavailable;
}

const blas_info *blas_get_info(void) {
    blas_load();
    return &library.info;
}

blas_status blas_sgemm(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, float alpha, const float *a,
                       size_t lda, const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    const blas_status status = blas_load();
    if (status != blas_ok) return status;
    return call_sgemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

blas_status blas_sgemv(bool transpose_a, size_t rows, size_t columns, float alpha, const float *a, size_t lda,
                       const float *x, float beta, float *y) {
    const blas_status status = blas_load();
    if (status != blas_ok) return status;
    if (rows > INT_MAX || columns > INT_MAX || lda > INT_MAX || lda < columns) return blas_bad_argument;
    const size_t outputs = transpose_a ? columns : rows, inputs = transpose_a ? rows : columns;
    if (outputs == 0) return blas_ok;
    if (inputs == 0) {  // CBLAS returns without applying beta here
        for (size_t i = 0; i < outputs; i++) y[i] = beta == 0 ? 0 : beta * y[i];
        return blas_ok;
    }
    library.sgemv(cblas_row_major, transpose_a ? cblas_trans : cblas_no_trans, (int)rows, (int)columns, alpha, a,
                  (int)lda, x, 1, beta, y, 1);
    return blas_ok;
}
