/* SPDX-License-Identifier: MIT */
/* Origins of launches: a table by CUPTI's correlation ids, bounded.
 *
 * CUPTI numbers the calls of a process consecutively, so the low bits of a number are its index:
 * the table holds the last calls. Activities of calls that are no longer in it have no origin and
 * are counted. A launching thread writes a slot: number 0, time, number. The reader reads the
 * number before and after. */
#include "gpu_launches.h"

#include "gpu_settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Stacks of launches ---------------------------------------------------------------------- */

/* Choice of the launches with stacks, and the probe at which the collector takes them.
 *
 * A chosen launch calls annot_gpu_launched_v1, an empty function: an eBPF recorder has a probe
 * there, walks the caller's stack, and reads from the arguments the launch's time, which its spans
 * have as their origin, and how many launches of the thread it stands for. Other launches pay for a
 * decrement.
 *
 * Threads: any; all state is thread-local. A thread begins with each of its launches and approaches
 * one of SAMPLED_EVERY as it goes on, at random intervals, so that loops do not evade sampling. */

enum {
    SAMPLED_EVERY = 32,
    SLOWING = 4, /* stacks until the intervals grow by one */
};

/* Read by other programs: name, arguments and their order never change. */
__attribute__((visibility("default"))) void
annot_gpu_launched_v1(uint64_t time, uint64_t correlation, uint64_t launches);

/* The kernel emulates a nop at a probe; other instructions it executes by single-stepping, at ten
 * times the cost. One of five bytes would be a third cheaper on Linux 6.17 and later, which replace
 * it by a call of memory that a forked child does not have: the child would crash. */
#define ROOM_FOR_A_PROBE "nop"

__attribute__((noinline, noclone)) void annot_gpu_launched_v1(uint64_t time, uint64_t correlation,
                                                              uint64_t launches)
{
    __asm__ volatile(ROOM_FOR_A_PROBE : : "r"(time), "r"(correlation), "r"(launches) : "memory");
}

/* One word: `left` of the interval's `size` launches remain; it is the `number`th. */
static __thread struct {
    uint16_t left, size;
    uint32_t number;
} interval __attribute__((tls_model("initial-exec")));

/* Derives a random number from the time of the launch. */
static uint32_t draw(uint64_t time, uint32_t below)
{
    return (uint32_t)((time * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % below;
}

/* Draws a length from 1 to 2 N - 1, N being the current mean. */
static void begin_interval(uint64_t time)
{
    uint32_t mean = 1 + interval.number++ / SLOWING;
    if (mean > SAMPLED_EVERY)
        mean = SAMPLED_EVERY;
    if (gpu_settings.stacks == GPU_STACKS_EXACT)
        mean = 1;
    interval.left = interval.size = (uint16_t)(1 + draw(time, 2 * mean - 1));
}

/* Handles a launch of the calling thread. Cost: a decrement; for one of many a probed call. */
static void gpu_stack_launched(const struct gpu_origin *origin, uint32_t correlation)
{
    if (gpu_settings.stacks == GPU_STACKS_OFF)
        return;
    if (interval.left == 0)
        begin_interval(origin->time);
    if (--interval.left == 0)
        annot_gpu_launched_v1(origin->time, correlation, interval.size);
}

/* ---- Threads of the program ------------------------------------------------------------------ */

/* Maps the system's thread numbers, used in CUPTI's records of calls, to annot's.
 *
 * A thread enters itself when it launches work, or waits for it. Calls of other threads have an
 * unknown thread. An entry is taken by a swap; then only its thread writes it. If no entry is left,
 * a thread takes that of an ended one: of those, the one that entered first. Its calls were read
 * meanwhile, or have an unknown thread. */

enum { THREADS = 4096, THREAD_TRIES = 16 };

/* Marks an entry that is being written. */
#define BUSY UINT32_MAX

static struct entry {
    uint32_t system; /* 0: empty; W: release */
    uint32_t thread; /* annot's; 0: not set */
    uint64_t time;   /* when it had that number; W: release */
} threads[THREADS];

/* Start of the window: an older entry's number may belong to another thread now. */
static uint64_t threads_since;

static struct entry *place_of(uint32_t system, uint32_t turn)
{
    return &threads[(system * UINT32_C(0x9e3779b9) + turn) % THREADS];
}

/* Preserves errno, as it runs on a thread of the program. */
static bool has_ended(uint32_t system)
{
    int before = errno;
    bool ended = syscall(SYS_tgkill, getpid(), system, 0) != 0 && errno == ESRCH;
    errno = before;
    return ended;
}

/* Returns an entry for the calling thread; NULL: all near are of living threads. */
static struct entry *take_empty(uint32_t system)
{
    for (uint32_t i = 0; i < THREAD_TRIES; i++) {
        struct entry *entry = place_of(system, i);
        uint32_t now = __atomic_load_n(&entry->system, __ATOMIC_RELAXED);
        if (now == system ||
            (now == 0 && __atomic_compare_exchange_n(&entry->system, &now, BUSY, false,
                                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return entry;
    }
    return NULL;
}

static struct entry *take_ended(uint32_t system)
{
    struct entry *first = NULL;
    uint32_t whose = 0;
    for (uint32_t i = 0; i < THREAD_TRIES; i++) {
        struct entry *entry = place_of(system, i);
        uint32_t now = __atomic_load_n(&entry->system, __ATOMIC_RELAXED);
        if (now == BUSY || !has_ended(now) ||
            (first && __atomic_load_n(&entry->time, __ATOMIC_RELAXED) >
                          __atomic_load_n(&first->time, __ATOMIC_RELAXED)))
            continue;
        first = entry;
        whose = now;
    }
    return first && __atomic_compare_exchange_n(&first->system, &whose, BUSY, false,
                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
               ? first
               : NULL;
}

void gpu_thread_met(const struct gpu_origin *here)
{
    uint32_t system = (uint32_t)syscall(SYS_gettid);
    struct entry *entry = take_empty(system);
    entry = entry ? entry : take_ended(system);
    if (!entry)
        return;
    __atomic_store_n(&entry->thread, here->thread, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->time, here->time, __ATOMIC_RELEASE);
    __atomic_store_n(&entry->system, system, __ATOMIC_RELEASE);
}

int gpu_thread_find(uint32_t system, struct gpu_origin *ret_origin)
{
    for (uint32_t i = 0; system && i < THREAD_TRIES; i++) {
        const struct entry *entry = place_of(system, i);
        if (__atomic_load_n(&entry->system, __ATOMIC_ACQUIRE) != system)
            continue;
        ret_origin->time = __atomic_load_n(&entry->time, __ATOMIC_ACQUIRE);
        ret_origin->thread = __atomic_load_n(&entry->thread, __ATOMIC_ACQUIRE);
        return __atomic_load_n(&entry->system, __ATOMIC_RELAXED) == system &&
               ret_origin->time >= threads_since && ret_origin->thread != 0;
    }
    return 0;
}

void gpu_threads_begin(void)
{
    struct gpu_origin here;
    gpu_emit_here(&here);
    threads_since = here.time ? here.time : UINT64_MAX; /* no recording */
}

/* ---- Launches -------------------------------------------------------------------------------- */

enum { SLOTS = 1 << 18 };

struct slot {
    uint64_t time;
    uint64_t who; /* thread << 32 | correlation; W: release. 0: being written, or empty */
};

static struct slot *table;
/* For the reader only: launch time of the call last looked up at each slot. Numbers may restart,
 * if another tool ends CUPTI. */
static uint64_t *seen;
static uint64_t launched; /* W: launching threads, atomic */
static uint64_t answered; /* of these, looked up; W: the reader */
/* The calling thread's launch, until it returns; 0: none. */
static __thread uint32_t launching __attribute__((tls_model("initial-exec")));
/* The window and annot's number, stored by gpu_thread_met(): window << 32 | thread. */
static __thread uint64_t known __attribute__((tls_model("initial-exec")));
static uint32_t window; /* W: gpu_launches_begin */

int gpu_launches_open(void)
{
    if (table)
        return 0;
    size_t size = SLOTS * (sizeof(struct slot) + sizeof(uint64_t));
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    seen = (uint64_t *)((char *)memory + SLOTS * sizeof(struct slot));
    table = memory;
    return 0;
}

static void count(int by)
{
    __atomic_add_fetch(&launched, (uint64_t)(int64_t)by, __ATOMIC_RELAXED);
    gpu_emit_count(GPU_COUNT_LAUNCHED, (uint64_t)(int64_t)by);
}

/* Enters the calling thread, once per window. */
static void meet(const struct gpu_origin *here)
{
    uint64_t now = (uint64_t)__atomic_load_n(&window, __ATOMIC_RELAXED) << 32 | here->thread;
    if (__builtin_expect(known == now || here->time == 0, 1))
        return;
    known = now;
    gpu_thread_met(here);
}

void gpu_launch_begins(uint32_t correlation, bool launches)
{
    struct slot *slot = &table[correlation % SLOTS];
    struct gpu_origin origin;
    gpu_emit_here(&origin);
    __atomic_store_n(&slot->who, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->time, origin.time, __ATOMIC_RELEASE);
    __atomic_store_n(&slot->who, (uint64_t)origin.thread << 32 | correlation, __ATOMIC_RELEASE);
    meet(&origin);
    launching = launches && origin.time ? correlation : 0; /* else no recording */
    if (!launching)
        return;
    count(1);
    gpu_stack_launched(&origin, correlation);
}

void gpu_launch_returned(void)
{
    launching = 0;
}

void gpu_launch_failed(uint32_t correlation)
{
    if (launching == correlation)
        count(-1);
    launching = 0;
}

void gpu_launch_captured(void)
{
    if (launching == 0)
        return;
    launching = 0;
    count(-1);
}

void gpu_launches_begin(void)
{
    gpu_threads_begin();
    __atomic_add_fetch(&window, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&answered, __atomic_load_n(&launched, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

bool gpu_launches_pending(void)
{
    return __atomic_load_n(&launched, __ATOMIC_RELAXED) >
           __atomic_load_n(&answered, __ATOMIC_RELAXED);
}

uint64_t gpu_launches_counted(void)
{
    return __atomic_load_n(&launched, __ATOMIC_RELAXED);
}

void gpu_launch_answered(void)
{
    __atomic_add_fetch(&answered, 1, __ATOMIC_RELAXED);
}

int gpu_launch_find(uint32_t correlation, struct gpu_origin *ret_origin, bool *ret_first)
{
    struct slot *slot = &table[correlation % SLOTS];
    uint64_t who = __atomic_load_n(&slot->who, __ATOMIC_ACQUIRE);
    uint64_t time = __atomic_load_n(&slot->time, __ATOMIC_ACQUIRE);
    if ((uint32_t)who != correlation || correlation == 0 ||
        __atomic_load_n(&slot->who, __ATOMIC_RELAXED) != who)
        return 0;
    *ret_first = seen[correlation % SLOTS] != time;
    seen[correlation % SLOTS] = time;
    *ret_origin = (struct gpu_origin){time, (uint32_t)(who >> 32)};
    return 1;
}

/* ---- Nodes of graphs ------------------------------------------------------------------------- */

/* The ranges in which the nodes of graphs were captured. The origin of a graph's kernels is its
 * launch; these ranges are a key-value of the kernels.
 *
 * A graph's nodes are made while its work is captured, and cloned when it is instantiated; CUPTI
 * numbers both. Only in a window that records nodes. Threads: any; a lock that is held for a few
 * stores, and only where graphs are made. Nodes beyond the table have no such key-value. */

enum { NODES = 1 << 14, NODE_TRIES = 16, TEXTS = 1 << 10, TEXT_SIZE = 160 };

static struct node {
    uint64_t id; /* 0: empty */
    const char *captured_in;
} nodes[NODES];

/* Never freed, so that equal ones share one address. */
static char *texts[TEXTS];

static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns its entry, or an empty one; NULL: all nearby are taken. */
static struct node *find_node(uint64_t id)
{
    uint64_t place = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    for (uint32_t i = 0; i < NODE_TRIES; i++) {
        struct node *node = &nodes[(place + i) % NODES];
        if (node->id == id || node->id == 0)
            return node;
    }
    return NULL;
}

static void put_node(uint64_t id, const char *captured_in)
{
    struct node *node = captured_in ? find_node(id) : NULL;
    if (node)
        *node = (struct node){id, captured_in};
}

/* Returns NULL if there are too many, or without memory. */
static const char *keep_text(const char *text)
{
    uint32_t place = 0;
    for (const char *at = text; *at; at++)
        place = place * 31 + (uint8_t)*at;
    for (uint32_t i = 0; i < NODE_TRIES; i++) {
        char **kept = &texts[(place + i) % TEXTS];
        if (!*kept)
            *kept = strdup(text);
        if (!*kept || strcmp(*kept, text) == 0)
            return *kept;
    }
    return NULL;
}

void gpu_node_captured(uint64_t id)
{
    char text[TEXT_SIZE];
    gpu_emit_open(text, sizeof(text));
    pthread_mutex_lock(&nodes_lock);
    put_node(id, text[0] ? keep_text(text) : NULL);
    pthread_mutex_unlock(&nodes_lock);
}

void gpu_node_cloned(uint64_t id, uint64_t original)
{
    pthread_mutex_lock(&nodes_lock);
    const struct node *from = find_node(original);
    if (from && from->id == original)
        put_node(id, from->captured_in);
    pthread_mutex_unlock(&nodes_lock);
}

const char *gpu_node_ranges(uint64_t id)
{
    if (id == 0)
        return NULL;
    pthread_mutex_lock(&nodes_lock);
    const struct node *node = find_node(id);
    const char *captured_in = node && node->id == id ? node->captured_in : NULL;
    pthread_mutex_unlock(&nodes_lock);
    return captured_in;
}
