#ifndef CWORKERPOOL_H
#define CWORKERPOOL_H

// The one pool of worker threads of the process. (C, since Swift's atomics need a newer macOS than the package.)

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// One piece of work. `worker` is 0 for the caller, below `threads` for everyone: an index for scratch memory.
typedef void (*pool_body)(void *context, size_t piece, size_t worker);

/// The CPUs that this process may use; at least 1.
size_t pool_processor_count(void);

/// Calls body for every piece in 0..<count, on the calling thread and on up to `threads` - 1 workers, and returns when all
/// are done. Pieces are handed out in order, one at a time. While another call has the workers, and inside a
/// body, all pieces run on the calling thread. Workers start when first needed; a process that forks loses them and goes on alone.
void pool_parallel_for(size_t threads, size_t count, pool_body body, void *context);

#if defined(__cplusplus)
}
#endif

#endif
