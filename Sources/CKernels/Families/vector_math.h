// Functions of a vector. The polynomials are minimax fits of this project (Lawson's iteration over 2000 Chebyshev
// nodes); the reductions are the textbook ones (Cody and Waite, "Software Manual for the Elementary Functions",
// 1980).

/// x = n ln 2 + r with |r| <= ln(2)/2: e^r, and n.
CK_INLINE vf reduced_exponential(vf x, vi *exponent) {
    const vf magic = all(12582912.0f);
    const vf shifted = x * all(1.44269504f) + magic;
    const vf n = shifted - magic;
    // ln 2 in two parts, the first of 10 bits: n times it is exact.
    vf r = x - n * all(0.693359375f);
    r = r - n * all(-2.12194440e-4f);
    vf q = all(0.0001979028165806085f);
    q = q * r + all(0.0013944720849394798f);
    q = q * r + all(0.008333497680723667f);
    q = q * r + all(0.04166629537940025f);
    q = q * r + all(0.1666666567325592f);
    q = q * r + all(0.5f);
    *exponent = bits(shifted) - bits(magic);
    return (q * (r * r) + r) + all(1.0f);
}

/// e^x = 2^n e^r. 2^n is applied in two steps so that results pass through the subnormals to 0 and to infinity where the true value does.
CK_INLINE vf exponential(vf x) {
    // Beyond these e^x is infinity or 0; a NaN fails both comparisons and stays.
    x = choose(x > all(89.0f), all(89.0f), x);
    x = choose(x < all(-104.0f), all(-104.0f), x);
    vi exponent;
    const vf p = reduced_exponential(x, &exponent);
    const vi half = exponent >> 1;
    return p * from_bits((half + 127) << 23) * from_bits((exponent - half + 127) << 23);
}

/// The same where e^x is a normal number: |x| <= 87.
CK_INLINE vf moderate_exponential(vf x) {
    vi exponent;
    const vf p = reduced_exponential(x, &exponent);
    return from_bits(bits(p) + (exponent << 23));
}

/// x = m 2^e with m in [sqrt(1/2), sqrt 2); log x = e ln 2 + log m.
CK_INLINE vf logarithm(vf x) {
    const vi subnormal = x < all(1.17549435e-38f);
    const vf scaled = choose(subnormal, x * all(8388608.0f), x);
    // Subtracting sqrt(1/2)'s bits makes the exponent field count from there.
    const vi offset = bits(scaled) - 0x3f3504f3;
    const vf e = to_float((offset >> 23) - (subnormal & 23));
    const vf f = from_bits((offset & 0x007fffff) + 0x3f3504f3) - all(1.0f);
    vf p = all(0.06746640056371689f);
    p = p * f + all(-0.11675652116537094f);
    p = p * f + all(0.11888162046670914f);
    p = p * f + all(-0.1240558922290802f);
    p = p * f + all(0.14219552278518677f);
    p = p * f + all(-0.1666799634695053f);
    p = p * f + all(0.2000211924314499f);
    p = p * f + all(-0.25000008940696716f);
    p = p * f + all(0.3333331346511841f);
    const vf f2 = f * f;
    vf tail = p * f * f2 + e * all(-2.12194440e-4f);
    tail = tail - all(0.5f) * f2;
    vf result = (f + tail) + e * all(0.693359375f);
    result = choose(x == all(INFINITY), x, result);
    result = choose(x == (vf){0}, all(-INFINITY), result);
    return choose((x < (vf){0}) | (x != x), all(NAN), result);
}

CK_INLINE vf hyperbolic_tangent(vf x) {
    const vf z = x * x;
    vf p = all(-0.005704986862838268f);
    p = p * z + all(0.02063908614218235f);
    p = p * z + all(-0.05373971536755562f);
    p = p * z + all(0.13331441581249237f);
    p = p * z + all(-0.3333328068256378f);
    const vf small = x + x * (z * p);
    const vf t = absolute(x);
    // Near 0 this loses digits; beyond 9 it is exactly 1.
    const vf large = all(1.0f) - all(2.0f) / (exponential(t + t) + all(1.0f));
    return with_sign_of(choose(t < all(0.625f), small, large), x);
}

/// A polynomial below 1, 1 - e^p(x) above. Beyond 4 the result is exactly 1 in float32.
CK_INLINE vf error_function(vf x) {
    const vf z = x * x;
    vf p = all(7.853861461626366e-05f);
    p = p * z + all(-0.0008010193705558777f);
    p = p * z + all(0.005188327748328447f);
    p = p * z + all(-0.026853812858462334f);
    p = p * z + all(0.1128358542919159f);
    p = p * z + all(-0.3761262595653534f);
    p = p * z + all(0.12837916612625122f);
    const vf small = x + x * p;
    vf t = absolute(x);
    t = choose(t > all(4.0f), all(4.0f), t);
    vf q = all(0.0001863792131189257f);
    q = q * t + all(-0.002947658533230424f);
    q = q * t + all(0.02183806523680687f);
    q = q * t + all(-0.10310675948858261f);
    q = q * t + all(-0.638144850730896f);
    q = q * t + all(-1.1270891427993774f);
    q = q * t + all(-0.00034152285661548376f);
    const vf large = all(1.0f) - exponential(q);
    return with_sign_of(choose(absolute(x) < all(1.0f), small, large), x);
}

/// x times the normal distribution's function: x h below 0 and x (1 - h) above, h = erfc(|x| / sqrt 2) / 2 = e^p(|x|) / 2. The error of h is at most 2e-8,
/// and smaller where h is small; beyond 7.9 h counts as 0.
CK_INLINE vf gaussian_error_linear(vf x) {
    const vf t = absolute(x) * all(0.70710678f);
    const vi is_far = t > all(5.6f);
    const vf near = choose(is_far, all(5.6f), t);
    vf q = all(-2.36243249673862e-05f);
    q = q * near + all(0.00024326094717253f);
    q = q * near + all(-0.0008144008461385965f);
    q = q * near + all(-0.000905849679838866f);
    q = q * near + all(0.0199225302785635f);
    q = q * near + all(-0.10308549553155899f);
    q = q * near + all(-0.6365581154823303f);
    q = q * near + all(-1.1283838748931885f);
    q = q * near + all(6.444630429314202e-08f);
    const vf part = choose(is_far, (vf){0}, x * (all(0.5f) * moderate_exponential(q)));
    return choose(x < (vf){0}, part, x - part);
}

CK_INLINE vf logistic(vf x) { return all(1.0f) / (all(1.0f) + exponential(-x)); }

CK_INLINE vf apply(ck_unary f, vf x) {
    switch (f) {
    case ck_identity: return x;
    case ck_relu: return choose(x < (vf){0}, (vf){0}, x);
    case ck_gelu: return gaussian_error_linear(x);
    // (1 + tanh u) / 2 is the logistic function of 2u, which loses no digits where the tangent is near -1.
    case ck_gelu_tanh: return x * logistic(all(1.59576912f) * (x + all(0.044715f) * (x * x * x)));
    case ck_tanh: return hyperbolic_tangent(x);
    case ck_sigmoid: return logistic(x);
    case ck_silu: return x * logistic(x);
    case ck_exp: return exponential(x);
    case ck_log: return logarithm(x);
    case ck_erf: return error_function(x);
    case ck_sqrt: return square_root(x);
    case ck_rsqrt: return all(1.0f) / square_root(x);
    case ck_reciprocal: return all(1.0f) / x;
    case ck_negate: return -x;
    case ck_absolute: return absolute(x);
    case ck_square: return x * x;
    }
    return x;
}
