// Chooses the version of the kernels once, and calls through it.

#include "kernel_table.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

/// Tiles need the system's consent, once for the process.
static bool may_use_tiles(unsigned saved_state) {
#if defined(__linux__)
    const unsigned tiles = (1u << 17) | (1u << 18);
    const long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return (saved_state & tiles) == tiles && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    (void)saved_state;
    return false;
#endif
}

static ck_cpu_features_t detect(void) {
    ck_cpu_features_t found = {0};
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE)) return found;
    // XCR0: the registers that the operating system saves, without which a CPU's wide ones cannot be used.
    unsigned state, state_high;
    __asm__ volatile("xgetbv" : "=a"(state), "=d"(state_high) : "c"(0));
    const bool saves_256 = (state & 0x6) == 0x6, saves_512 = (state & 0xe6) == 0xe6;
    if (!saves_256 || !(ecx & bit_AVX)) return found;
    found.fma = ecx & bit_FMA;
    found.f16c = ecx & bit_F16C;

    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return found;
    found.avx2 = ebx & bit_AVX2;
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    found.avx512 = saves_512 && (ebx & avx512) == avx512;
    found.avx512_vnni = found.avx512 && (ecx & bit_AVX512VNNI);
    // Of leaf 7: the tiles, and their products of bytes.
    const unsigned amx = (1u << 24) | (1u << 25);
    found.amx = found.avx512_vnni && (edx & amx) == amx && may_use_tiles(state);
    unsigned eax1, ebx1, ecx1, edx1;
    found.avx512_bf16 = found.avx512 && __get_cpuid_count(7, 1, &eax1, &ebx1, &ecx1, &edx1) && (eax1 & (1u << 5));

    if (found.avx2 && found.fma && found.f16c)
        found.best = found.amx ? ck_isa_amx : found.avx512_vnni ? ck_isa_avx512_vnni : found.avx512 ? ck_isa_avx512 : ck_isa_avx2;
    return found;
}
#else
static ck_cpu_features_t detect(void) {
    ck_cpu_features_t found = {0};
#if defined(__aarch64__)
    found.neon = true;
#endif
    return found;
}
#endif

static const ck_kernel_table *table_of(ck_isa isa) {
    switch (isa) {
#if defined(__x86_64__)
    case ck_isa_avx2: return &ck_kernels_avx2;
    case ck_isa_avx512: return &ck_kernels_avx512;
    case ck_isa_avx512_vnni: return &ck_kernels_avx512_vnni;
    case ck_isa_amx: return &ck_kernels_amx;
#endif
    default: return &ck_kernels_baseline;
    }
}

// NULL until the first use. Threads that race to fill it store the same pointer.
static _Atomic(const ck_kernel_table *) active;

static const ck_kernel_table *kernels(void) {
    const ck_kernel_table *table = atomic_load_explicit(&active, memory_order_acquire);
    if (!table) {
        const ck_kernel_table *expected = NULL;
        table = table_of(detect().best);
        // A version forced in the meantime stays.
        if (!atomic_compare_exchange_strong(&active, &expected, table)) table = expected;
    }
    return table;
}

ck_cpu_features_t ck_cpu_features(void) {
    ck_cpu_features_t found = detect();
    const ck_kernel_table *table = kernels();
    found.active = ck_isa_baseline;
    for (ck_isa isa = ck_isa_baseline; isa <= found.best; isa++)
        if (table_of(isa) == table) found.active = isa;
    return found;
}

const char *ck_isa_name(ck_isa isa) {
    switch (isa) {
    case ck_isa_avx2: return "AVX2";
    case ck_isa_avx512: return "AVX-512";
    case ck_isa_avx512_vnni: return "AVX-512 VNNI";
    case ck_isa_amx: return "AMX";
    default: break;
    }
#if defined(__x86_64__)
    return "baseline (SSE2)";
#elif defined(__aarch64__)
    return "baseline (NEON)";
#else
    return "baseline (scalar)";
#endif
}

bool ck_isa_available(ck_isa isa) { return isa >= ck_isa_baseline && isa <= detect().best; }

bool ck_force_isa(ck_isa isa) {
    if (!ck_isa_available(isa)) return false;
    atomic_store_explicit(&active, table_of(isa), memory_order_release);
    return true;
}

#define CK_PUBLIC(result, name, parameters, arguments)                                                                 \
    result ck_##name parameters { return kernels()->name arguments; }
CK_KERNELS(CK_PUBLIC)
