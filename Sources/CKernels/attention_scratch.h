#ifndef ATTENTION_SCRATCH_H
#define ATTENTION_SCRATCH_H

#include "ck_attention.h"
#include "pack.h"

/// Queries whose score rows are held at once: a multiple of every version's tile height.
#define ck_attention_rows 12

/// Heads of one key head whose scores over the cache are held at once.
#define ck_cached_heads 4

#endif
