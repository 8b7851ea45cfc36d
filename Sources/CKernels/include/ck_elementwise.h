#ifndef CK_ELEMENTWISE_H
#define CK_ELEMENTWISE_H

// Element by element: functions of one and of two vectors, and reductions of a vector to a number.

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// Functions of one value. Errors are bounds that the tests hold every version to, against double precision; 1 ULP is
/// the distance between neighbouring floats at the true result.
typedef enum {
    ck_identity,
    /// max(x, 0)
    ck_relu,
    /// x/2 (1 + erf(x / sqrt 2)); absolute error at most 2e-7 max(1, |x|)
    ck_gelu,
    /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); absolute error at most 2e-7 max(1, |x|)
    ck_gelu_tanh,
    /// 2 ULP
    ck_tanh,
    /// 1 / (1 + e^-x); 3 ULP for x > -87, beyond that absolute error below 1e-37
    ck_sigmoid,
    /// x sigmoid(x); 4 ULP for x > -87, beyond that absolute error below 1e-35
    ck_silu,
    /// 2 ULP; overflows to infinity and underflows through the subnormals to 0
    ck_exp,
    /// 2 ULP; log(0) = -inf, log(x < 0) = NaN; subnormals included
    ck_log,
    /// 2 ULP
    ck_erf,
    /// correctly rounded
    ck_sqrt,
    /// 1 / sqrt(x), each step rounded: 2 ULP
    ck_rsqrt,
    /// 1 / x, correctly rounded
    ck_reciprocal,
    ck_negate,
    ck_absolute,
    ck_square,
} ck_unary;

typedef enum {
    ck_add,
    ck_subtract,
    ck_multiply,
    ck_divide,
    /// A NaN on either side gives NaN.
    ck_minimum,
    /// A NaN on either side gives NaN.
    ck_maximum,
} ck_binary;

/// y[i] = f(x[i]) for i < n. In place allowed.
void ck_unary_f32(ck_unary f, size_t n, const float *x, float *y);

/// y[i] = op(a[i * a_step], b[i * b_step]) for i < n. A step is 1 (a vector) or 0 (one number for all). In place
/// allowed.
void ck_binary_f32(ck_binary op, size_t n, const float *a, size_t a_step, const float *b, size_t b_step, float *y);

/// y[i] += alpha * x[i].
void ck_axpy_f32(size_t n, float alpha, const float *x, float *y);

/// The sum; 0 for n = 0. Error at most 1e-7 * (8 + n / 64) times the sum of magnitudes (partial sums by lanes).
float ck_sum_f32(size_t n, const float *x);
/// The sum of products a[i] * b[i]; error as ck_sum_f32.
float ck_dot_f32(size_t n, const float *a, const float *b);
/// The square root of the sum of squares. Squares beyond float32's range overflow to infinity.
float ck_norm2_f32(size_t n, const float *x);
/// The largest element, NaN when there is one; -inf for n = 0.
float ck_max_f32(size_t n, const float *x);
/// The smallest element, NaN when there is one; +inf for n = 0.
float ck_min_f32(size_t n, const float *x);

#if defined(__cplusplus)
}
#endif

#endif
