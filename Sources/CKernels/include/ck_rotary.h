#ifndef CK_ROTARY_H
#define CK_ROTARY_H

// Rotary position embedding (Su et al. 2021).

#include <stdbool.h>
#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// cosines[i] = factor cos(a), sines[i] = factor sin(a) of the angle a = position * frequencies[i], rounded to float32 as models compute it.
/// Error at most 1e-7 factor for |a| < 2^30.
void ck_rotary_angles(size_t n, float position, const float *frequencies, float factor, float *cosines, float *sines);

/// Rotates the pairs (i, i + pairs), or (2i, 2i + 1) when interleaved, of `heads` rows of `width` floats by the angles; what lies beyond 2 pairs is copied.
/// In place allowed.
void ck_rotate_f32(bool interleaved, size_t heads, size_t width, size_t pairs, const float *cosines, const float *sines, const float *x,
                   float *y);

#if defined(__cplusplus)
}
#endif

#endif
