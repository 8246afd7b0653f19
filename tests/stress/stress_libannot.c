/* SPDX-License-Identifier: MIT */
/* Writers in many threads and forked processes, and a reader that empties their segments, at a
 * paced rate: no record may be lost or duplicated. Also writers at full speed that overwrite each
 * other's blocks: the remaining and the counted records must add up.
 *
 * The reader of the own segment uses the same mapping as the writers, so that ThreadSanitizer sees
 * both sides. Forks are left out under ThreadSanitizer, which does not support them with
 * threads. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WITH_FORKS (!UNDER_THREAD_SANITIZER)

enum { THREADS = 6, BURST = 30, PAUSE_US = 1000, CHILDREN = 40, CHILD_EVENTS = 3000 };

static uint32_t stop_writers, stop_reader;
static struct seen seen;

static struct annot_track track;

/* Names are sometimes new, to cover both the fast and the slow path. */
static uint64_t burst_of_values(unsigned *seed)
{
    char text[64];
    snprintf(text, sizeof(text), "value %d", rand_r(seed) % 500);
    const struct annot_value values[] = {annot_value_int64("number", 1),
                                         annot_value_string(text, text)};
    const struct annot_event event = {.text = text, .values = values, .value_count = 2};
    annot_flow flow = annot_flow_new();
    annot_mark_event(&event);
    annot_track_begin_event(&track, &event);
    annot_flow_begin(flow, text);
    annot_counters("group", values, 2);
    annot_flow_end(flow);
    annot_track_end(&track);
    return 6;
}

static uint64_t burst(unsigned *seed)
{
    uint64_t calls = burst_of_values(seed);
    for (int i = 0; i < BURST; i++) {
        int depth = rand_r(seed) % 6;
        for (int level = 0; level < depth; level++, calls++)
            ANNOT_PUSH("level");
        annot_mark("mark");
        annot_counter("counter", i);
        annot_range range = annot_start("range");
        annot_end(range);
        calls += 4;
        for (int level = 0; level < depth; level++, calls++)
            annot_pop();
    }
    return calls;
}

static void *write_paced(void *context)
{
    uint64_t *calls = context;
    unsigned seed = (unsigned)(uintptr_t)context;
    while (!annot_load_relaxed(&stop_writers)) {
        *calls += burst(&seed);
        usleep(PAUSE_US);
    }
    return NULL;
}

/* Short-lived threads: records and blocks change owners. */
static void *write_briefly(void *context)
{
    unsigned seed = 7;
    uint64_t calls = burst(&seed);
    annot_fetch_add_relaxed((uint64_t *)context, calls);
    return NULL;
}

static void *start_threads(void *context)
{
    while (!annot_load_relaxed(&stop_writers)) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, write_briefly, context), 0);
        pthread_join(thread, NULL);
        usleep(PAUSE_US);
    }
    return NULL;
}

/* The address at which this process has mapped the file. */
static uint8_t *own_base(const char *name)
{
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long long base = 0;
    CHECK(file != NULL);
    while (base == 0 && fgets(line, sizeof(line), file))
        if (strstr(line, name))
            base = strtoull(line, NULL, 16);
    fclose(file);
    return (uint8_t *)(uintptr_t)base;
}

static void map_own(struct mapped *own)
{
    char names[64][64], mine[32];
    int count = arena_list(names, 64);
    snprintf(mine, sizeof(mine), "%d-", getpid());
    for (int i = 0; i < count; i++) {
        uint8_t *base = strncmp(names[i], mine, strlen(mine)) == 0 ? own_base(names[i]) : NULL;
        if (!base || !arena_map(names[i], own))
            continue;
        ptrdiff_t shift = base - own->base;
        munmap(own->base, own->size);
        own->shared = (void *)((uint8_t *)own->shared + shift);
        own->control = (void *)((uint8_t *)own->control + shift);
        own->threads = (void *)((uint8_t *)own->threads + shift);
        own->strings += shift;
        own->states = (void *)((uint8_t *)own->states + shift);
        own->nexts = (void *)((uint8_t *)own->nexts + shift);
        own->blocks += shift;
        own->base = base;
        return;
    }
    test_fail(__FILE__, __LINE__, "no segment of this process");
}

static void *read_all(void *context)
{
    struct mapped *own = context;
    while (!annot_load_acquire(&stop_reader)) { /* partner: the test */
        annot_store_relaxed(&own->control->heartbeat, UINT64_C(1));
        arena_drain(own, false, &seen);
        usleep(500);
    }
    return NULL;
}

static void run_children(uint64_t *ret_calls)
{
    for (int i = 0; WITH_FORKS && i < CHILDREN; i++) {
        struct seen childs;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            const struct annot_value value = annot_value_int64("child", i);
            const struct annot_event event = {
                .text = "in a child", .values = &value, .value_count = 1};
            for (int k = 0; k < CHILD_EVENTS; k++)
                annot_mark_event(&event);
            if (i % 2)
                abort();
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        arena_read(pid, &childs, NULL, NULL);
        CHECK_INT(childs.records, CHILD_EVENTS);
        CHECK_INT(childs.kinds[ANNOT_REC_PAYLOAD], CHILD_EVENTS);
        CHECK_INT(childs.lost_total, 0);
        *ret_calls += CHILD_EVENTS;
    }
}

TEST_TIMEOUT(writers_beside_a_reader_lose_nothing, 240)
{
    static uint64_t calls[THREADS], brief_calls;
    const char *seconds = getenv("ANNOT_STRESS_SECONDS");
    pthread_t writers[THREADS], starter, reader;
    uint64_t child_calls = 0, total = 1;
    struct mapped own;
    track = annot_track_create("stress", NULL);
    arena_begin(NULL);
    annot_mark("first");
    map_own(&own);
    CHECK_INT(pthread_create(&reader, NULL, read_all, &own), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&writers[i], NULL, write_paced, &calls[i]), 0);
    CHECK_INT(pthread_create(&starter, NULL, start_threads, &brief_calls), 0);
    run_children(&child_calls);
    sleep(seconds ? (unsigned)atoi(seconds) : 2);
    annot_store_relaxed(&stop_writers, 1u);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(writers[i], NULL);
        total += calls[i];
    }
    pthread_join(starter, NULL);
    annot_store_release(&stop_reader, 1u); /* partner: read_all */
    pthread_join(reader, NULL);
    arena_drain(&own, true, &seen);
    total += annot_load_relaxed(&brief_calls);
    CHECK_INT(seen.records, total);
    CHECK_INT(seen.kinds[ANNOT_REC_PAYLOAD], 6 * seen.kinds[ANNOT_REC_COUNTER_GROUP]);
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        CHECK_INT(seen.lost[cause] + own.shared->lost[cause], 0);
    fprintf(stderr, "  %llu records, %llu in children\n", (unsigned long long)total,
            (unsigned long long)child_calls);
    arena_end();
    arena_clean();
}

/* ---- Without a reader: the oldest are overwritten -------------------------------------------- */

enum { POOL = 24 };

static void *write_fast(void *context)
{
    uint64_t *calls = context;
    unsigned seed = (unsigned)(uintptr_t)context;
    while (!annot_load_relaxed(&stop_writers))
        *calls += burst(&seed);
    return NULL;
}

TEST_TIMEOUT(writers_that_overwrite_each_other_lose_only_what_is_counted, 240)
{
    static uint64_t calls[THREADS], brief_calls;
    const char *seconds = getenv("ANNOT_STRESS_SECONDS");
    pthread_t writers[THREADS], starter;
    struct seen left;
    uint64_t total = 1;
    track = annot_track_create("stress", NULL);
    arena_begin(
        &(struct arena_options){.policy = ANNOT_POLICY_OVERWRITE_OLDEST, .block_count = POOL});
    annot_mark("first");
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&writers[i], NULL, write_fast, &calls[i]), 0);
    CHECK_INT(pthread_create(&starter, NULL, start_threads, &brief_calls), 0);
    sleep(seconds ? (unsigned)atoi(seconds) : 2);
    annot_store_relaxed(&stop_writers, 1u);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(writers[i], NULL);
        total += calls[i];
    }
    pthread_join(starter, NULL);
    total += annot_load_relaxed(&brief_calls);
    arena_read(getpid(), &left, NULL, NULL);
    CHECK_INT(left.records + left.lost_total, total);
    CHECK_INT(left.lost_total, left.lost[ANNOT_LOSS_OVERWRITTEN]);
    CHECK(left.records > POOL * 20);
    fprintf(stderr, "  %llu records, %llu of them left\n", (unsigned long long)total,
            (unsigned long long)left.records);
    arena_end();
    arena_clean();
}
