#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "CWorkerPool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif

enum {
    most_workers = 255,
    /// How often a thread that waits looks before it sleeps: some 20 microseconds, the gap between two nodes of a plan.
    spins = 1000,
};

/// Held by the call that has the workers.
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;

/// Guards what follows, up to `next`.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static size_t workers, sleeping;
static bool is_open;
static size_t job_threads, job_entered, job_count;
static pool_body job_body;
static void *job_context;

static atomic_size_t next;
/// Workers inside the job.
static atomic_size_t active;
/// Counts jobs; workers wait for it to change.
static atomic_size_t epoch;

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

static void *worker_main(void *unused) {
    (void)unused;
    size_t seen = 0;
    for (;;) {
        for (int i = 0; i < spins && atomic_load_explicit(&epoch, memory_order_relaxed) == seen; i++) relax();
        pthread_mutex_lock(&lock);
        while (atomic_load_explicit(&epoch, memory_order_relaxed) == seen) {
            sleeping++;
            pthread_cond_wait(&work_arrived, &lock);
            sleeping--;
        }
        seen = atomic_load_explicit(&epoch, memory_order_relaxed);
        if (!is_open || job_entered + 1 >= job_threads) {
            pthread_mutex_unlock(&lock);
            continue;
        }
        const size_t worker = ++job_entered, count = job_count;
        const pool_body body = job_body;
        void *const context = job_context;
        atomic_fetch_add_explicit(&active, 1, memory_order_relaxed);
        pthread_mutex_unlock(&lock);

        run_pieces(body, context, count, worker);

        pthread_mutex_lock(&lock);
        if (atomic_fetch_sub_explicit(&active, 1, memory_order_release) == 1) pthread_cond_signal(&worker_left);
        pthread_mutex_unlock(&lock);
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
    pthread_mutex_lock(&lock);
    start_workers(threads - 1);
    job_body = body;
    job_context = context;
    job_count = count;
    job_threads = threads;
    job_entered = 0;
    is_open = true;
    atomic_store_explicit(&next, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&epoch, 1, memory_order_relaxed);
    if (sleeping) pthread_cond_broadcast(&work_arrived);
    pthread_mutex_unlock(&lock);

    run_pieces(body, context, count, 0);

    pthread_mutex_lock(&lock);
    is_open = false;  // who comes late stays out
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < spins && atomic_load_explicit(&active, memory_order_acquire); i++) relax();
    pthread_mutex_lock(&lock);
    while (atomic_load_explicit(&active, memory_order_acquire)) pthread_cond_wait(&worker_left, &lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&owner);
}
