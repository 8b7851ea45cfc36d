#ifndef CK_ISA_H
#define CK_ISA_H

// Which instructions the kernels use.

#include <stdbool.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// The versions in which every kernel exists. All are compiled from the same source with another vector width.
typedef enum {
    /// What every CPU of the architecture has: SSE2 on x86-64, NEON on arm64, scalar code elsewhere.
    ck_isa_baseline = 0,
    /// x86-64 with AVX2, FMA and F16C (Haswell, Zen, and later).
    ck_isa_avx2 = 1,
    /// x86-64 with AVX-512 F, BW, DQ and VL (Skylake-X, Zen 4, and later).
    ck_isa_avx512 = 2,
    /// The same with VNNI (Cascade Lake, Ice Lake, Zen 4, and later).
    ck_isa_avx512_vnni = 3,
    /// The same with AMX for bytes (Sapphire Rapids and later), on Linux.
    ck_isa_amx = 4,
} ck_isa;

typedef struct {
    /// The version in use: the best that the CPU runs, or the one forced.
    ck_isa active;
    /// The best version that this CPU and operating system run.
    ck_isa best;
    bool avx2, fma, f16c, avx512, avx512_vnni, avx512_bf16, amx, neon;
} ck_cpu_features_t;

/// What was found on this CPU, for people to read.
ck_cpu_features_t ck_cpu_features(void);

/// "baseline (SSE2)", "AVX2", ...
const char *ck_isa_name(ck_isa isa);

/// True when this CPU runs that version and this build has it.
bool ck_isa_available(ck_isa isa);

/// Makes every kernel use one version from the next call on (tests, comparisons). False, and no change, when it is not
/// available. Kernels that run at the moment on other threads finish with the version they started with.
bool ck_force_isa(ck_isa isa);

#if defined(__cplusplus)
}
#endif

#endif
