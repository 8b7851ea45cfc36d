#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CWorkerPool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

enum {
    most_workers = 255,
    /// How long a thread that waits looks before it sleeps: more than the gaps between the nodes of a plan, of which a token of
    /// generated text has hundreds; waking a sleeper takes as long as such a node.
    spin_nanoseconds = 50000,
    /// Looks between two of the clock.
    spins = 32,
    /// In `state`: no more workers may enter the job, or the count of those that did; above them the job's number.
    closed = 1 << 15,
    entered_mask = closed - 1,
    job_step = 1 << 16,
};

/// Held by the call that has the workers.
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;

/// Guards sleeping and waking, and starting workers.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static size_t workers;
static atomic_size_t sleeping;
static atomic_bool is_caller_asleep;

/// The job: its number, whether it is closed, and how many workers have entered. A worker enters by counting itself; from then on the job
/// stays as it is until the worker has left.
static _Atomic(uint64_t) state = closed;
static atomic_size_t left;
static atomic_size_t job_threads, job_count;
static _Atomic(pool_body) job_body;
static _Atomic(void *) job_context;
/// The next piece.
static atomic_size_t next;

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

size_t pool_processor_count(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) return (size_t)count;
    }
#endif
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (size_t)count : 1;
}

static void run_pieces(pool_body body, void *context, size_t count, size_t worker) {
    for (;;) {
        const size_t piece = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
        if (piece >= count) return;
        body(context, piece, worker);
    }
}

static int64_t nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_new_job(uint64_t seen) { return atomic_load_explicit(&state, memory_order_relaxed) / job_step != seen / job_step; }

static bool have_all_left(size_t entered) { return atomic_load_explicit(&left, memory_order_acquire) == entered; }

/// Waits until there is another job than that of `seen`.
static void await_job(uint64_t seen) {
    const int64_t end = nanoseconds() + spin_nanoseconds;
    do {
        for (int i = 0; i < spins; i++) {
            if (is_new_job(seen)) return;
            relax();
        }
    } while (nanoseconds() < end);
    pthread_mutex_lock(&lock);
    // Either this thread sees the new job, or the caller sees this sleeper: both sides write before they read.
    atomic_fetch_add(&sleeping, 1);
    while (atomic_load(&state) / job_step == seen / job_step) pthread_cond_wait(&work_arrived, &lock);
    atomic_fetch_sub(&sleeping, 1);
    pthread_mutex_unlock(&lock);
}

static void await_workers(size_t entered) {
    const int64_t end = nanoseconds() + spin_nanoseconds;
    do {
        for (int i = 0; i < spins; i++) {
            if (have_all_left(entered)) return;
            relax();
        }
    } while (nanoseconds() < end);
    pthread_mutex_lock(&lock);
    atomic_store(&is_caller_asleep, true);
    while (atomic_load(&left) != entered) pthread_cond_wait(&worker_left, &lock);
    atomic_store(&is_caller_asleep, false);
    pthread_mutex_unlock(&lock);
}

static void *worker_main(void *unused) {
    (void)unused;
    uint64_t seen = 0;
    for (;;) {
        await_job(seen);
        seen = atomic_load_explicit(&state, memory_order_acquire);
        size_t worker = 0;
        while (!(seen & closed) && (seen & entered_mask) + 1 < atomic_load_explicit(&job_threads, memory_order_relaxed)) {
            if (!atomic_compare_exchange_weak_explicit(&state, &seen, seen + 1, memory_order_acquire, memory_order_acquire)) continue;
            worker = (seen & entered_mask) + 1;
            break;
        }
        if (worker == 0) continue;
        run_pieces(atomic_load_explicit(&job_body, memory_order_relaxed), atomic_load_explicit(&job_context, memory_order_relaxed),
                   atomic_load_explicit(&job_count, memory_order_relaxed), worker);
        atomic_fetch_add(&left, 1);
        if (atomic_load(&is_caller_asleep)) {
            pthread_mutex_lock(&lock);
            pthread_cond_signal(&worker_left);
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

/// Called with the lock held.
static void start_workers(size_t wanted) {
    if (wanted > most_workers) wanted = most_workers;
    while (workers < wanted) {
        pthread_t thread;
        pthread_attr_t attributes;
        if (pthread_attr_init(&attributes) != 0) return;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        const int failed = pthread_create(&thread, &attributes, worker_main, NULL);
        pthread_attr_destroy(&attributes);
        if (failed) return;  // fewer workers: slower, not wrong
        workers++;
    }
}

void pool_parallel_for(size_t threads, size_t count, pool_body body, void *context) {
    if (threads < 2 || count < 2 || pthread_mutex_trylock(&owner) != 0) {
        for (size_t piece = 0; piece < count; piece++) body(context, piece, 0);
        return;
    }
    if (workers < (threads - 1 < most_workers ? threads - 1 : most_workers)) {
        pthread_mutex_lock(&lock);
        start_workers(threads - 1);
        pthread_mutex_unlock(&lock);
    }
    // Nobody is inside a job here, so nobody reads these until the new number is seen.
    atomic_store_explicit(&job_body, body, memory_order_relaxed);
    atomic_store_explicit(&job_context, context, memory_order_relaxed);
    atomic_store_explicit(&job_count, count, memory_order_relaxed);
    atomic_store_explicit(&job_threads, threads, memory_order_relaxed);
    atomic_store_explicit(&next, 0, memory_order_relaxed);
    atomic_store_explicit(&left, 0, memory_order_relaxed);
    atomic_store(&state, (atomic_load_explicit(&state, memory_order_relaxed) / job_step + 1) * job_step);
    if (atomic_load(&sleeping)) {
        pthread_mutex_lock(&lock);
        pthread_cond_broadcast(&work_arrived);
        pthread_mutex_unlock(&lock);
    }

    run_pieces(body, context, count, 0);

    // Who comes late stays out.
    await_workers((size_t)(atomic_fetch_or(&state, closed) & entered_mask));
    pthread_mutex_unlock(&owner);
}
