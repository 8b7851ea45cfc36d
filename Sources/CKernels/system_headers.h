#ifndef SYSTEM_HEADERS_H
#define SYSTEM_HEADERS_H

// Everything from outside that the families use, included before a version names its instruction set.

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#endif
