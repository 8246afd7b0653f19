/* SPDX-License-Identifier: MIT */
/* Implements heap_exact.h. The sums of a place are written by its thread, those of frees by any;
 * the collector reads all of them while they change, and once more after the program's end. */
#include "heap_exact.h"

#include "heap_frames.h"
#include "heap_places.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL long syscall(long number, ...);
OPTIONAL void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
OPTIONAL int clock_gettime(clockid_t clock, struct timespec *time);
OPTIONAL int pthread_key_create(pthread_key_t *key, void (*destroy)(void *value));
OPTIONAL int pthread_setspecific(pthread_key_t key, const void *value);

enum { CALLERS = 256, FLUSH_BYTES = 1 << 16, BEAT_ALLOCATIONS = 256, WAITS_MAX = 1000 };

/* The place of a caller below a Python stack. */
struct caller {
    uintptr_t address;
    uint32_t parent, place;
};

struct heap_exact_state {
    struct heap_exact_state *next; /* of the unused ones */
    uint32_t epoch;                /* of the process that it was made for */
    uint32_t root;
    uint32_t allocations;
    int64_t unflushed; /* bytes */
    struct caller callers[CALLERS];
    struct heap_frames frames;
};

__thread struct heap_exact_thread heap_exact_thread;
bool heap_exact_is_on;
static _Atomic bool has_threads; /* more than one has allocated */
static bool has_barrier;         /* the kernel's, see begin_plain */
static pthread_key_t key;
static bool has_key;

#define LOAD(field)       __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, to)  __atomic_store_n(&(field), (to), __ATOMIC_RELAXED)
#define ADD(field, count) __atomic_add_fetch(&(field), (count), __ATOMIC_RELAXED)

/* ---- Threads --------------------------------------------------------------------------------- */

static _Atomic(struct heap_exact_state *) unused;

/* One at a time takes from the list, so that no other can return what is at its head meanwhile. */
static _Atomic bool is_taking;

static struct heap_exact_state *take_unused(void)
{
    if (atomic_exchange_explicit(&is_taking, true, memory_order_acquire))
        return NULL;
    struct heap_exact_state *first = atomic_load_explicit(&unused, memory_order_acquire);
    while (first && !atomic_compare_exchange_weak_explicit(
                        &unused, &first, first->next, memory_order_acquire, memory_order_acquire)) {
    }
    atomic_store_explicit(&is_taking, false, memory_order_release);
    return first;
}

static void flush(struct annot_heap *header, struct heap_exact_state *state);
static void begin_threads(void);
static _Atomic uint32_t in_plain;

static void return_state(void *value)
{
    struct heap_exact_state *state = value;
    if (heap_places_ready() && state->epoch == heap_process->epoch)
        flush(heap_header(), state);
    heap_exact_thread.state = NULL;
    state->next = atomic_load_explicit(&unused, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&unused, &state->next, state,
                                                  memory_order_release, memory_order_relaxed)) {
    }
}

static struct heap_exact_state *make_state(void)
{
    void *memory = mmap(NULL, sizeof(struct heap_exact_state), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t coarse_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void enter_process(struct heap_exact_state *state)
{
    struct annot_heap *header = heap_header();
    state->epoch = heap_process->epoch;
    state->unflushed = 0;
    state->frames.root = 0;
    memset(state->callers, 0, sizeof(state->callers));
    uint64_t now_ns = coarse_ns();
    uint64_t since_ms = now_ns > header->created_ns ? (now_ns - header->created_ns) / 1000000 : 0;
    state->root = heap_places_child(0, ANNOT_HEAP_THREAD << ANNOT_HEAP_KIND_SHIFT,
                                    (uint64_t)syscall(SYS_gettid) | since_ms << 32);
    if (__atomic_fetch_add(&header->thread_count, 1, __ATOMIC_RELAXED) > 0) {
        begin_threads();
        return;
    }
    atomic_store_explicit(&in_plain, 0, memory_order_relaxed); /* of the parent before a fork */
    atomic_store_explicit(&has_threads, !has_barrier, memory_order_relaxed);
}

/* NULL: no memory. Called with is_busy set: setting the key may allocate. */
static __attribute__((noinline)) struct heap_exact_state *enter_thread(void)
{
    struct heap_exact_state *state = heap_exact_thread.state;
    if (!state && !(state = take_unused()))
        state = make_state();
    if (!state)
        return NULL;
    if (!heap_exact_thread.state && has_key)
        pthread_setspecific(key, state);
    heap_exact_thread.state = state;
    enter_process(state);
    return state;
}

static inline struct heap_exact_state *thread_of(void)
{
    struct heap_exact_state *state = heap_exact_thread.state;
    if (__builtin_expect(state && state->epoch == heap_process->epoch, 1))
        return state;
    return enter_thread();
}

/* ---- Live bytes and their peak --------------------------------------------------------------- */

/* While one thread alone counts, it adds without a locked instruction, which would take most of the
 * time. It says so before it looks whether others came; the first other one sets has_threads, makes
 * every processor see that, and then waits until the first thread has finished its additions. */

static inline bool begin_plain(void)
{
    atomic_store_explicit(&in_plain, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!atomic_load_explicit(&has_threads, memory_order_relaxed), 1))
        return true;
    atomic_store_explicit(&in_plain, 0, memory_order_relaxed);
    return false;
}

static inline void end_plain(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&in_plain, 0, memory_order_relaxed);
}

static void begin_threads(void)
{
    atomic_store_explicit(&has_threads, true, memory_order_seq_cst);
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    for (int i = 0; i < WAITS_MAX && atomic_load_explicit(&in_plain, memory_order_acquire); i++)
        syscall(SYS_sched_yield);
}

static inline void note_peak(struct annot_heap *header, int64_t live)
{
    if (live <= LOAD(header->peak))
        return;
    STORE(header->peak, live);
    if (!LOAD(header->is_rising))
        STORE(header->is_rising, 1);
}

static __attribute__((noinline)) void flush(struct annot_heap *header,
                                            struct heap_exact_state *state)
{
    int64_t bytes = state->unflushed;
    state->unflushed = 0;
    note_peak(header, ADD(header->live, bytes));
}

/* `plain`: between begin_plain and end_plain. */
static inline void change_live(struct annot_heap *header, struct heap_exact_state *state,
                               int64_t bytes, bool plain)
{
    if (__builtin_expect(plain, 1)) {
        STORE(header->live, LOAD(header->live) + bytes);
        if (bytes > 0)
            note_peak(header, LOAD(header->live));
        return;
    }
    state->unflushed += bytes;
    if (__builtin_expect(state->unflushed > FLUSH_BYTES || state->unflushed < -FLUSH_BYTES, 0))
        flush(header, state);
}

/* The first free after a peak: from here on places differ from what they were. */
static __attribute__((noinline)) void end_peak(struct annot_heap *header)
{
    if (__atomic_exchange_n(&header->is_rising, 0, __ATOMIC_RELAXED) == 0)
        return;
    STORE(header->peak_ns, coarse_ns());
    ADD(header->generation, 1);
}

/* Keeps the values that a place had at the peak, before they change. */
static inline void keep_peak(struct annot_heap *header, struct annot_heap_place *place)
{
    uint32_t generation = LOAD(header->generation);
    if (LOAD(header->is_rising) || LOAD(place->generation) == generation)
        return;
    STORE(place->peak_bytes, (int64_t)(LOAD(place->alloc_bytes) - LOAD(place->free_bytes)));
    STORE(place->peak_blocks, (uint32_t)(LOAD(place->allocs) - LOAD(place->frees)));
    STORE(place->generation, generation);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static __attribute__((noinline)) uint32_t learn_caller(struct caller *known, uint32_t parent,
                                                       uintptr_t caller)
{
    uint32_t module = heap_places_module(caller - 1);
    known->place =
        heap_places_child(parent, ANNOT_HEAP_NATIVE << ANNOT_HEAP_KIND_SHIFT | module, caller);
    known->parent = parent;
    known->address = caller;
    return known->place;
}

static inline uint32_t caller_place(struct heap_exact_state *state, uint32_t parent,
                                    uintptr_t caller)
{
    struct caller *known =
        &state->callers[(caller * UINT64_C(0x9e3779b97f4a7c15) >> 40 ^ parent) % CALLERS];
    if (__builtin_expect(known->address == caller && known->parent == parent, 1))
        return known->place;
    return learn_caller(known, parent, caller);
}

static void count(struct heap_exact_state *state, const void *block, size_t size,
                  const void *caller)
{
    struct annot_heap *header = heap_header();
    uint32_t number = heap_frames_place(&state->frames, state->root);
    if (caller)
        number = caller_place(state, number, (uintptr_t)caller);
    const struct heap_block entry = {.place = number, .size = size};
    if (__builtin_expect(number == 0 || !heap_shadow_put(block, &entry), 0)) {
        ADD(header->lost_blocks, 1);
        return;
    }
    struct annot_heap_place *place = heap_place(number);
    keep_peak(header, place);
    STORE(place->allocs, LOAD(place->allocs) + 1);
    STORE(place->alloc_bytes, LOAD(place->alloc_bytes) + size);
    bool plain = begin_plain();
    change_live(header, state, (int64_t)size, plain);
    if (plain)
        end_plain();
    if (__builtin_expect(++state->allocations % BEAT_ALLOCATIONS == 0, 0))
        STORE(header->last_ns, coarse_ns());
}

void heap_exact_add(const void *block, size_t size, const void *caller)
{
    if (!block || heap_exact_thread.is_busy || !heap_places_ready())
        return;
    heap_exact_thread.is_busy = true;
    struct heap_exact_state *state = thread_of();
    if (state)
        count(state, block, size, caller);
    heap_exact_thread.is_busy = false;
}

/* ---- Frees ----------------------------------------------------------------------------------- */

static void report_inherited(struct annot_heap *header, const struct heap_block *entry)
{
    ADD(header->inherited_frees, 1);
    ADD(header->inherited_bytes, entry->size);
}

/* NULL: a thread at its end, or one that is being entered. A new thread enters, as the first one
 * may add without locked instructions until then. */
static inline struct heap_exact_state *freeing_thread(void)
{
    struct heap_exact_state *state = heap_exact_thread.state;
    if (__builtin_expect(state && state->epoch == heap_process->epoch, 1))
        return state;
    if (heap_exact_thread.is_busy || atomic_load_explicit(&has_threads, memory_order_relaxed))
        return NULL;
    heap_exact_thread.is_busy = true;
    state = enter_thread();
    heap_exact_thread.is_busy = false;
    return state;
}

static void add_free(struct annot_heap *header, struct annot_heap_place *place,
                     const struct heap_block *entry)
{
    struct heap_exact_state *state = freeing_thread();
    if (state && begin_plain()) {
        STORE(place->frees, LOAD(place->frees) + 1);
        STORE(place->free_bytes, LOAD(place->free_bytes) + entry->size);
        change_live(header, state, -(int64_t)entry->size, true);
        end_plain();
        return;
    }
    ADD(place->frees, 1);
    ADD(place->free_bytes, entry->size);
    if (state)
        change_live(header, state, -(int64_t)entry->size, false);
    else
        ADD(header->live, -(int64_t)entry->size);
}

void heap_exact_report(const struct heap_block *entry)
{
    if (entry->place == 0 || !heap_places_ready())
        return;
    struct annot_heap *header = heap_header();
    if (__builtin_expect(entry->is_code, 0))
        heap_frames_forget_code();
    if (__builtin_expect(entry->place < heap_process->first_place, 0)) {
        report_inherited(header, entry);
        return;
    }
    struct annot_heap_place *place = heap_place(entry->place);
    if (LOAD(header->is_rising))
        end_peak(header);
    keep_peak(header, place);
    add_free(header, place, entry);
}

struct heap_block heap_exact_forget(const void *block)
{
    return heap_shadow_take(block);
}

void heap_exact_free(const void *block)
{
    struct heap_block entry = heap_shadow_take(block);
    if (entry.place)
        heap_exact_report(&entry);
}

void heap_exact_put_back(const void *block, const struct heap_block *entry)
{
    if (entry->place)
        heap_shadow_put(block, entry);
}

/* ---- Start ----------------------------------------------------------------------------------- */

void heap_exact_begin(const char *text)
{
    size_t length = 0;
    while (text[length] && text[length] != ':')
        length++;
    if (text[length] != ':' || !syscall)
        return;
    if (!heap_places_begin(text, length, text + length + 1) || !heap_shadow_begin()) {
        heap_places_refuse();
        return;
    }
    has_key =
        pthread_key_create && pthread_setspecific && pthread_key_create(&key, return_state) == 0;
    has_barrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    heap_exact_is_on = true;
}
