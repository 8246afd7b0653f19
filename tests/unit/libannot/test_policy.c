/* SPDX-License-Identifier: MIT */
/* Policies for a full pool: drop, overwrite, wait; and the choice among them. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct seen seen;

/* Counter values found for each thread. */
static struct {
    int32_t tid;
    uint64_t first, last, count;
} found[64];

static int found_count;

static void note_counter(const struct seen_record *record, void *context)
{
    int i = 0;
    double number;
    (void)context;
    if (record->kind != ANNOT_REC_COUNTER)
        return;
    memcpy(&number, &record->value, sizeof(number));
    uint64_t value = (uint64_t)number;
    while (i < found_count && found[i].tid != record->tid)
        i++;
    if (i == found_count) {
        CHECK(found_count < 64);
        found[found_count].tid = record->tid;
        found[found_count].first = value;
        found[found_count++].count = 0;
    }
    found[i].last = value;
    found[i].count++;
}

static void read_counters(void)
{
    found_count = 0;
    arena_read(0, &seen, note_counter, NULL);
}

static void count_up(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        ANNOT_COUNTER("counter", i);
}

static void begin(enum annot_policy policy, uint32_t block_count)
{
    arena_begin(&(struct arena_options){.block_count = block_count, .policy = policy});
}

static void end(void)
{
    arena_end();
    arena_clean();
}

/* ---- Overwrite ------------------------------------------------------------------------------- */

TEST(newest_events_stay_and_the_rest_is_counted)
{
    const uint64_t calls = 10000;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 4);
    count_up(calls);
    read_counters();
    CHECK_INT(found_count, 1);
    CHECK_INT(found[0].last, calls - 1);
    CHECK_INT(found[0].count, found[0].last - found[0].first + 1);
    CHECK(found[0].count > 300);
    CHECK_INT(seen.lost[ANNOT_LOSS_OVERWRITTEN], found[0].first);
    CHECK_INT(seen.records + seen.lost_total, calls);
    end();
}

TEST(range_that_is_open_is_told_by_any_block_that_is_left)
{
    char names[1][64];
    struct mapped mapped;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 3);
    annot_push("outer");
    annot_push("inner");
    count_up(5000);
    CHECK_INT(arena_list(names, 1), 1);
    CHECK(arena_map(names[0], &mapped));
    for (uint32_t i = 0; i < 3; i++) {
        const struct annot_block *block = (const void *)(mapped.blocks + i * ANNOT_BLOCK_SIZE);
        CHECK_INT(block->open_count, 2);
        CHECK_INT(block->open[0].instance, 1);
        CHECK_INT(block->open[1].instance, 2);
        CHECK(block->open[0].time <= block->open[1].time && block->open[1].time != 0);
    }
    arena_unmap(&mapped);
    annot_pop();
    annot_pop();
    end();
}

static void *count_in_thread(void *context)
{
    count_up((uint64_t)(uintptr_t)context);
    return NULL;
}

/* Their blocks are overwritten one after the other, the last ones after the threads have left. */
TEST(threads_that_left_are_counted_when_nothing_of_them_is_left)
{
    uint64_t calls = 0;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 3);
    for (uintptr_t count = 1; count < 1200; count += 97) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, count_in_thread, (void *)count), 0);
        pthread_join(thread, NULL);
        calls += count;
        read_counters();
        CHECK_INT(seen.records + seen.lost_total, calls);
        CHECK_INT(seen.lost_total, seen.lost[ANNOT_LOSS_OVERWRITTEN]);
    }
    CHECK(seen.lost_total > calls / 2);
    end();
}

static uint32_t go_on;

static void *fill_half_a_block(void *context)
{
    (void)context;
    count_up(20);
    annot_store_release(&go_on, 1u); /* partner: the test */
    while (annot_load_acquire(&go_on) != 2)
        usleep(1000);
    return NULL;
}

TEST(quiet_thread_keeps_its_last_events)
{
    pthread_t thread;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 4);
    CHECK_INT(pthread_create(&thread, NULL, fill_half_a_block, NULL), 0);
    while (annot_load_acquire(&go_on) != 1)
        usleep(1000);
    count_up(20000);
    read_counters();
    CHECK_INT(found_count, 2);
    for (int i = 0; i < 2; i++)
        CHECK_INT(found[i].last, found[i].tid == getpid() ? 19999 : 19);
    CHECK_INT(seen.records + seen.lost_total, 20020);
    annot_store_release(&go_on, 2u);
    pthread_join(thread, NULL);
    end();
}

/* Another thread fills the pool's only block: no block can be overwritten. */
TEST(newest_are_dropped_when_all_blocks_are_being_filled)
{
    pthread_t thread;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 1);
    go_on = 0;
    CHECK_INT(pthread_create(&thread, NULL, fill_half_a_block, NULL), 0);
    while (annot_load_acquire(&go_on) != 1)
        usleep(1000);
    count_up(100);
    read_counters();
    CHECK_INT(seen.records, 20);
    CHECK_INT(seen.lost[ANNOT_LOSS_POOL_FULL], 100);
    annot_store_release(&go_on, 2u);
    pthread_join(thread, NULL);
    count_up(1000);
    read_counters();
    CHECK_INT(seen.records + seen.lost_total, 1120);
    CHECK_INT(seen.lost[ANNOT_LOSS_POOL_FULL], 100);
    CHECK(seen.lost[ANNOT_LOSS_OVERWRITTEN] >= 20);
    end();
}

TEST(child_of_a_flight_recorder_is_one)
{
    int status;
    begin(ANNOT_POLICY_OVERWRITE_OLDEST, 3);
    count_up(3000);
    pid_t pid = fork();
    if (pid == 0) {
        count_up(5000);
        kill(getpid(), SIGKILL);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    arena_read(pid, &seen, NULL, NULL);
    CHECK(seen.records > 200);
    CHECK_INT(seen.records + seen.lost[ANNOT_LOSS_OVERWRITTEN], 5000);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost[ANNOT_LOSS_OVERWRITTEN], 3000);
    end();
}

/* ---- Wait ------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct {
    struct mapped mapped;
    struct seen seen;
    uint32_t stop;
} reader;

static void *read_slowly(void *context)
{
    const bool *others_record = context;
    while (!annot_load_acquire(&reader.stop)) { /* partner: the test */
        annot_fetch_add_relaxed(&reader.mapped.control->heartbeat, UINT64_C(1));
        arena_drain(&reader.mapped, false, &reader.seen);
        usleep(1500);
        if (*others_record)
            arena_bump();
        usleep(1500);
    }
    return NULL;
}

/* The reader runs every 3 ms: of a batch four times as large as the pool, a program that does not
 * wait would drop most. A waiting one drops only while the reader is kept from running for 100 ms,
 * which occasionally happens on a busy machine. */
static void check_waiting(bool others_record)
{
    enum { BATCH = 3000, BATCHES_MAX = 100 };

    uint64_t calls = 1, lost = 0, before = 1;
    char names[1][64];
    pthread_t thread;
    begin(ANNOT_POLICY_WAIT, 3);
    ANNOT_COUNTER("counter", 0);
    CHECK_INT(arena_list(names, 1), 1);
    CHECK(arena_map(names[0], &reader.mapped));
    CHECK_INT(pthread_create(&thread, NULL, read_slowly, &others_record), 0);
    for (int i = 0; i < BATCHES_MAX && before != lost; i++) {
        before = lost;
        count_up(BATCH);
        calls += BATCH;
        lost = annot_load_relaxed(&reader.mapped.threads[0].lost[ANNOT_LOSS_POOL_FULL]);
        usleep(lost != before ? 10000 : 0);
    }
    annot_store_release(&reader.stop, 1u);
    pthread_join(thread, NULL);
    CHECK_INT(lost, before);
    arena_drain(&reader.mapped, true, &reader.seen);
    CHECK_INT(reader.seen.records + lost, calls);
    arena_unmap(&reader.mapped);
    end();
}

TEST_TIMEOUT(waiting_program_loses_nothing_to_a_slow_reader, 120)
{
    check_waiting(false);
}

/* The gate changes with every recording of the user, also while a thread waits. */
TEST_TIMEOUT(waiting_goes_on_when_others_begin_to_record, 120)
{
    check_waiting(true);
}

/* Without a reader: one wait, then all events are dropped at once. */
TEST_TIMEOUT(wait_in_vain_is_bounded_and_not_repeated, 120)
{
    const uint64_t calls = 100000;
    begin(ANNOT_POLICY_WAIT, 2);
    uint64_t start = now_ns();
    count_up(calls);
    uint64_t waited = now_ns() - start;
    CHECK(waited >= ANNOT_WAIT_MAX_NS);
    CHECK(waited < 1000 * (uint64_t)ANNOT_WAIT_MAX_NS); /* if repeated, once per event */
    arena_read(0, &seen, NULL, NULL);
    CHECK(seen.lost[ANNOT_LOSS_POOL_FULL] > 0);
    CHECK_INT(seen.records + seen.lost_total, calls);
    end();
}

/* Holds the only block while the collector visits and finds no block to free. */
static void *hold_and_beat(void *context)
{
    char names[1][64];
    struct mapped mapped;
    annot_mark("held");
    CHECK_INT(arena_list(names, 1), 1);
    CHECK(arena_map(names[0], &mapped));
    annot_store_release(&go_on, 1u); /* partner: the test */
    while (annot_load_acquire(&go_on) != 2) {
        annot_fetch_add_relaxed(&mapped.control->heartbeat, UINT64_C(1));
        usleep(1000);
    }
    arena_unmap(&mapped);
    return context;
}

TEST_TIMEOUT(blocks_that_threads_hold_are_waited_for_once, 120)
{
    enum { CALLS = 400 };

    pthread_t thread;
    begin(ANNOT_POLICY_WAIT, 1);
    annot_store_release(&go_on, 0u);
    CHECK_INT(pthread_create(&thread, NULL, hold_and_beat, NULL), 0);
    while (annot_load_acquire(&go_on) != 1)
        usleep(1000);
    uint64_t start = now_ns();
    for (int i = 0; i < CALLS; i++) {
        annot_mark("no block for this");
        usleep(2000); /* a visit of the collector */
    }
    uint64_t waited = now_ns() - start;
    annot_store_release(&go_on, 2u); /* partner: hold_and_beat */
    pthread_join(thread, NULL);
    CHECK(waited < CALLS * (uint64_t)ANNOT_WAIT_MAX_NS / 2);
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 1 + CALLS);
    end();
}

static volatile sig_atomic_t handled;

static void mark_in_handler(int signal)
{
    (void)signal;
    handled++;
    annot_mark("in a handler");
}

/* The handler interrupts the waiting event, so its own event is counted without a wait. */
TEST_TIMEOUT(handler_in_a_wait_is_not_held_up, 120)
{
    const struct sigaction action = {.sa_handler = mark_in_handler};
    const struct timespec pause = {0, 20000000};
    sigset_t none;
    int status;
    sigemptyset(&none);
    sigaction(SIGUSR1, &action, NULL);
    begin(ANNOT_POLICY_WAIT, 1);
    annot_mark("first");
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 3; i++) {
            nanosleep(&pause, NULL);
            kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    uint64_t calls = 1;
    for (; handled < 3; calls++)
        annot_mark("more");
    while (waitpid(pid, &status, 0) != pid)
        ;
    arena_read(0, &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, calls + 3);
    end();
}

/* ---- Choice of the policy -------------------------------------------------------------------- */

/* A program reads its environment once, at its start: executes this one again. */
static void run_again(const char *policy, const char *test)
{
    char path[512];
    int status;
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    CHECK(size > 0);
    path[size] = 0;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("ANNOT_POLICY", policy, 1);
        execl(path, path, "-n", test, (char *)NULL);
        _exit(127);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

static uint32_t policy_in_force(void)
{
    char names[1][64];
    struct mapped mapped;
    annot_mark("first");
    CHECK_INT(arena_list(names, 1), 1);
    CHECK(arena_map(names[0], &mapped));
    uint32_t policy = mapped.header->info.policy;
    arena_unmap(&mapped);
    return policy;
}

static uint32_t expected_policy(uint32_t of_session)
{
    const char *text = getenv("ANNOT_POLICY");
    if (!text)
        return of_session;
    return strcmp(text, "overwrite") == 0 ? ANNOT_POLICY_OVERWRITE_OLDEST
           : strcmp(text, "wait") == 0    ? ANNOT_POLICY_WAIT
           : strcmp(text, "drop") == 0    ? ANNOT_POLICY_DROP_NEWEST
                                          : of_session;
}

TEST(environment_beats_the_session)
{
    begin(ANNOT_POLICY_WAIT, 3);
    CHECK_INT(policy_in_force(), expected_policy(ANNOT_POLICY_WAIT));
    end();
    if (getenv("ANNOT_POLICY"))
        return;
    run_again("overwrite", "environment_beats_the_session");
    run_again("drop", "environment_beats_the_session");
    run_again("wait", "environment_beats_the_session");
    run_again("nonsense", "environment_beats_the_session");
}

TEST(unknown_policy_of_a_later_collector_drops)
{
    begin((enum annot_policy)77, 3);
    CHECK_INT(policy_in_force(), ANNOT_POLICY_DROP_NEWEST);
    end();
}
