// Linux: find OpenBLAS, name the core type it should use, open it with one thread.

#if !defined(__APPLE__)

#define _GNU_SOURCE  // dladdr

#include "blas_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/// The state that the operating system saves (XCR0): without it a CPU's wide registers cannot be used.
static unsigned saved_state(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/// OpenBLAS's name for the best kernel this CPU can run, from CPUID alone; empty below AVX2, where its own guess is
/// as good. (Cooperlake adds only bfloat16 to SkylakeX, so a newer core that has both is safe with it.)
static const char *core_from_cpuid(void) {
    unsigned eax, ebx, ecx, edx, ebx7, ecx7, edx7;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return "";
    const unsigned needed = bit_OSXSAVE | bit_AVX | bit_FMA;
    if ((ecx & needed) != needed || (saved_state() & 0x6) != 0x6) return "";
    if (!__get_cpuid_count(7, 0, &eax, &ebx7, &ecx7, &edx7) || !(ebx7 & bit_AVX2)) return "";

    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if ((ebx7 & avx512) == avx512 && (saved_state() & 0xe6) == 0xe6) {
        unsigned eax1, ebx1, ecx1, edx1;
        const bool bf16 = __get_cpuid_count(7, 1, &eax1, &ebx1, &ecx1, &edx1) && (eax1 & (1u << 5));
        return bf16 ? "Cooperlake" : "SkylakeX";
    }
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return "";
    return ebx == signature_AMD_ebx ? "Zen" : "Haswell";
}
#else
/// Outside x86-64 OpenBLAS reads the CPU's identity from the kernel and is not known to be wrong.
static const char *core_from_cpuid(void) { return ""; }
#endif

/// An environment variable given another value for a while.
typedef struct {
    const char *name;
    char *saved;
} borrowed_variable;

static borrowed_variable borrow(const char *name, const char *value) {
    const char *old = getenv(name);
    borrowed_variable variable = {name, old ? strdup(old) : NULL};
    setenv(name, value, 1);
    return variable;
}

static void give_back(borrowed_variable variable) {
    if (variable.saved) {
        setenv(variable.name, variable.saved, 1);
        free(variable.saved);
    } else {
        unsetenv(variable.name);
    }
}

/// The path of the file that holds `symbol`, or `fallback`.
static const char *path_of(void *symbol, const char *fallback) {
    Dl_info found;
    const char *path = dladdr(symbol, &found) && found.dli_fname ? found.dli_fname : fallback;
    const char *copy = strdup(path);
    return copy ? copy : "";
}

static void *open_first(const char *chosen, char *message, size_t size) {
    const char *names[] = {chosen, NULL, NULL};
    if (!chosen) {
        names[0] = "libopenblas.so.0";
        names[1] = "libopenblas.so";
    }
    for (int i = 0; names[i]; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) return handle;
        const char *why = dlerror();
        if (i == 0)
            snprintf(message, size, "%s (install libopenblas0, or set MLGRAPH_BLAS_LIBRARY to the file)",
                     why ? why : names[i]);
    }
    return NULL;
}

void blas_open(blas_library *library) {
    static char message[512];
    blas_info *info = &library->info;
    info->message = message;

    const char *chosen = getenv("MLGRAPH_BLAS_LIBRARY");
    if (chosen && !*chosen) chosen = NULL;

    const char *users_core = getenv("OPENBLAS_CORETYPE");
    if (users_core && *users_core) {
        const char *copy = strdup(users_core);
        info->requested_core = copy ? copy : "";
    } else {
        info->requested_core = core_from_cpuid();
        info->core_set_by_loader = *info->requested_core != 0;
    }

    // Without this OpenBLAS starts one thread per core while it loads; ours is the only pool.
    const borrowed_variable threads = borrow("OPENBLAS_NUM_THREADS", "1");
    void *handle;
    if (info->core_set_by_loader) {
        const borrowed_variable core = borrow("OPENBLAS_CORETYPE", info->requested_core);
        handle = open_first(chosen, message, sizeof message);
        give_back(core);
    } else {
        handle = open_first(chosen, message, sizeof message);
    }
    give_back(threads);
    if (!handle) return;

    library->sgemm = (cblas_sgemm_function)dlsym(handle, "cblas_sgemm");
    library->sgemv = (cblas_sgemv_function)dlsym(handle, "cblas_sgemv");
    if (!library->sgemm || !library->sgemv) {
        snprintf(message, sizeof message, "%.200s has no cblas_sgemm and cblas_sgemv; it is not used",
                 chosen ? chosen : "libopenblas.so.0");
        dlclose(handle);
        return;
    }
    info->path = path_of((void *)library->sgemm, chosen ? chosen : "libopenblas.so.0");

    char *(*get_config)(void) = (char *(*)(void))dlsym(handle, "openblas_get_config");
    char *(*get_core)(void) = (char *(*)(void))dlsym(handle, "openblas_get_corename");
    void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
    if (get_config) {
        const char *copy = strdup(get_config());
        info->config = copy ? copy : "";
    }
    if (get_core) {
        const char *copy = strdup(get_core());
        info->core = copy ? copy : "";
    }
    info->name = get_config ? "OpenBLAS" : "BLAS";
    // An ILP64 build takes 64-bit integers under the same names.
    if (strstr(info->config, "USE64BITINT")) {
        snprintf(message, sizeof message, "%.200s takes 64-bit integers; set MLGRAPH_BLAS_LIBRARY to a 32-bit-integer build",
                 info->path);
        dlclose(handle);
        return;
    }
    if (set_threads) set_threads(1);
    message[0] = 0;  // an earlier candidate may have failed
    info->available = true;
}

#endif
