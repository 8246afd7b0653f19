/* SPDX-License-Identifier: MIT */
/* Allocates and frees in a function that counts what it does, and prints the counts as JSON: a test
 * compares them with a recording.
 *
 *     target_heap churn THREADS TURNS | fork | hold SECONDS | brief THREADS
 *
 * hold -1: until it kills itself, at once. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A function of its own in every stack. */
#define NAMED __attribute__((noinline, noclone))

enum { OWN = 256, SHARED = 1024, THREADS_MAX = 16 };

struct block {
    void *address;
    size_t size;
};

static _Atomic uint64_t allocs, bytes, frees, freed;
static _Atomic int64_t live, peak;
static _Atomic(void *) shared[SHARED];
static uint64_t turns;

static void count(uint64_t size)
{
    allocs++;
    bytes += size;
    int64_t now = live += (int64_t)size;
    if (now > peak)
        peak = now;
}

static void uncount(uint64_t size)
{
    frees++;
    freed += size;
    live -= (int64_t)size;
}

static uint32_t random_next(uint32_t *state)
{
    return *state = *state * 1664525 + 1013904223;
}

/* ---- Churn ----------------------------------------------------------------------------------- */

static size_t size_of(uint32_t random)
{
    if (random % 64 == 0)
        return 4000 + random / 64 % 200; /* around the limit of what one word of the table holds */
    if (random % 97 == 0)
        return 1 << 17;
    return random / 64 % 300;
}

/* The compiler must not turn the calls into others. */
static void *(*volatile get)(size_t) = malloc;
static void *(*volatile get_zeroed)(size_t, size_t) = calloc;
static void *(*volatile get_aligned)(size_t, size_t) = aligned_alloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

static NAMED struct block allocate(uint32_t random)
{
    size_t size = size_of(random);
    struct block block = {NULL, size};
    switch (random >> 28) {
    case 0:
        block.address = get_zeroed(1, size);
        break;
    case 1:
        block.size = (size + 63) / 64 * 64;
        block.address = get_aligned(64, block.size);
        break;
    default:
        block.address = get(size);
    }
    count(block.size);
    return block;
}

static NAMED void change(struct block *block, uint32_t random)
{
    size_t size = 1 + size_of(random);
    void *moved = resize(block->address, size);
    if (!moved)
        abort();
    if (block->address)
        uncount(block->size);
    count(size);
    *block = (struct block){moved, size};
}

static void release(struct block *block)
{
    if (block->address)
        uncount(block->size);
    give(block->address);
    *block = (struct block){0};
}

/* Hands the block to another thread, and frees one of another's. */
static void pass(struct block *block, uint32_t random)
{
    if (block->size < sizeof(size_t))
        return;
    memcpy(block->address, &block->size, sizeof(block->size));
    struct block other = {atomic_exchange(&shared[random % SHARED], block->address), 0};
    *block = (struct block){0};
    if (other.address)
        memcpy(&other.size, other.address, sizeof(other.size));
    release(&other);
}

static void *work(void *context)
{
    struct block own[OWN] = {0};
    uint32_t state = (uint32_t)(uintptr_t)context * 7919 + 1;
    for (uint64_t i = 0; i < turns; i++) {
        uint32_t random = random_next(&state), slot = random_next(&state) >> 8;
        struct block *block = &own[slot % OWN];
        if (slot / OWN % 8 == 0) {
            change(block, random);
        } else {
            release(block);
            *block = allocate(random);
        }
        if (slot / OWN % 16 == 1)
            pass(block, random >> 4);
    }
    for (int i = 0; i < OWN; i++)
        release(&own[i]);
    return NULL;
}

static void churn(unsigned threads)
{
    pthread_t others[THREADS_MAX];
    for (unsigned i = 1; i < threads && i < THREADS_MAX; i++)
        pthread_create(&others[i], NULL, work, (void *)(uintptr_t)i);
    work(NULL);
    for (unsigned i = 1; i < threads && i < THREADS_MAX; i++)
        pthread_join(others[i], NULL);
}

/* ---- Forks ----------------------------------------------------------------------------------- */

enum { BLOCKS = 1000, CHILDREN = 3 };

static void *inherited[BLOCKS], *mine[2 * BLOCKS];

static NAMED void make_inherited(void)
{
    for (int i = 0; i < BLOCKS; i++)
        inherited[i] = get(1000);
}

static NAMED void make_own(void)
{
    for (int i = 0; i < 2 * BLOCKS; i++)
        mine[i] = get(500);
}

/* Frees half of what it inherited, and leaves without a destructor. */
static void be_child(void)
{
    for (int i = 0; i < BLOCKS / 2; i++)
        give(inherited[i]);
    make_own();
    _exit(0);
}

static void fork_some(void)
{
    make_inherited();
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            be_child();
    while (wait(NULL) > 0) {
    }
    for (int i = 0; i < BLOCKS; i++)
        give(inherited[i]);
}

static void hold(int seconds)
{
    make_inherited();
    puts("held");
    fflush(stdout);
    if (seconds < 0)
        raise(SIGKILL);
    sleep((unsigned)seconds);
}

/* ---- Short threads --------------------------------------------------------------------------- */

static NAMED void allocate_some(struct block *blocks, int amount)
{
    for (int i = 0; i < amount; i++) {
        blocks[i] = (struct block){get(1000), 1000};
        count(1000);
    }
}

static void *live_briefly(void *context)
{
    enum { AMOUNT = 20 };

    struct block blocks[AMOUNT];
    allocate_some(blocks, AMOUNT);
    for (int i = 0; i < AMOUNT; i++)
        release(&blocks[i]);
    return context;
}

static void run_briefly(int threads)
{
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, live_briefly, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int count_of, char **arguments)
{
    const char *what = count_of > 1 ? arguments[1] : "";
    if (strcmp(what, "churn") == 0 && count_of == 4) {
        turns = strtoull(arguments[3], NULL, 10);
        churn((unsigned)atoi(arguments[2]));
    } else if (strcmp(what, "fork") == 0) {
        fork_some();
    } else if (strcmp(what, "brief") == 0 && count_of == 3) {
        run_briefly(atoi(arguments[2]));
    } else if (strcmp(what, "hold") == 0 && count_of == 3) {
        hold(atoi(arguments[2]));
    }
    printf(
        "{\"allocs\": %llu, \"bytes\": %llu, \"frees\": %llu, \"freed\": %llu, \"peak\": %lld}\n",
        (unsigned long long)allocs, (unsigned long long)bytes, (unsigned long long)frees,
        (unsigned long long)freed, (long long)peak);
    return 0;
}
