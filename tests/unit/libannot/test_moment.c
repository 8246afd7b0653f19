/* SPDX-License-Identifier: MIT */
/* Events in the middle of a step: a session ends while a segment is created for it; a fork occurs
 * while another thread adds a name, or in the middle of an event, as from a signal handler. The
 * test points define these steps. */
#include "arena.h"
#include "test.h"
#include "testpoint.h"

#include <annot/annot.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *moment;

static void end_session(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    arena_end();
}

static void first_event_while_the_session_ends_at(const char *name)
{
    char names[4][64];
    arena_begin(NULL);
    moment = name;
    annot_testpoint_hook = end_session;
    annot_push("late");
    annot_pop();
    annot_testpoint_hook = NULL;
    CHECK(moment == NULL);
    CHECK_INT(arena_list(names, 4), 0);
}

TEST(no_segment_stays_when_the_session_ends_before_it_is_whole)
{
    first_event_while_the_session_ends_at("create:mapped");
}

TEST(no_segment_stays_when_the_session_ends_before_it_is_in_use)
{
    first_event_while_the_session_ends_at("create:published");
}

/* A session of the same process continues when another one begins at that step. */
static void bump(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    arena_bump();
}

TEST(segment_stays_when_only_the_generation_moves)
{
    struct seen seen;
    arena_begin(NULL);
    moment = "create:published";
    annot_testpoint_hook = bump;
    annot_push("kept");
    annot_pop();
    annot_testpoint_hook = NULL;
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK_INT(seen.records + seen.lost_total, 2);
    arena_end();
    arena_clean();
}

/* The collector notifies all processes that it can find, and cannot find this one yet. */
static void change_rules(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    arena_set_filter("-*");
}

TEST(rules_that_change_while_a_segment_is_made_hold_for_its_first_event)
{
    static const char *const names[] = {"create:mapped", "create:filled"};
    struct seen seen;
    for (int i = 0; i < 2; i++) {
        arena_begin(&(struct arena_options){.filter = i ? "+*:7" : ""});
        moment = names[i];
        annot_testpoint_hook = change_rules;
        annot_mark("held back");
        annot_testpoint_hook = NULL;
        CHECK(moment == NULL);
        arena_read(getpid(), &seen, NULL, NULL);
        CHECK_INT(seen.segments, 1);
        CHECK_INT(seen.records + seen.lost_total, 0);
        arena_end();
        arena_clean();
    }
}

static __thread int stops_here;
static int reserved, forked; /* atomic */

static void stop_in_the_middle(const char *name)
{
    if (!stops_here || strcmp(name, "intern:reserved") != 0)
        return;
    __atomic_store_n(&reserved, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&forked, __ATOMIC_ACQUIRE))
        usleep(100);
}

static void *add_a_name(void *context)
{
    stops_here = 1;
    annot_name_intern("never ready in the child");
    return context;
}

static int has_text(const struct mapped *mapped, const char *text)
{
    return memmem(mapped->strings, 64 * 1024, text, strlen(text)) != NULL;
}

TEST(names_of_a_child_do_not_wait_for_a_thread_it_does_not_have)
{
    pthread_t thread;
    char names[4][64];
    struct mapped mapped;
    int status, found = 0;
    arena_begin(NULL);
    annot_testpoint_hook = stop_in_the_middle;
    CHECK_INT(pthread_create(&thread, NULL, add_a_name, NULL), 0);
    while (!__atomic_load_n(&reserved, __ATOMIC_ACQUIRE))
        usleep(100);
    pid_t pid = fork();
    if (pid == 0) {
        struct annot_event event = {.text = "mark", .domain = annot_domain_create("own domain")};
        annot_mark_event(&event);
        _exit(0);
    }
    __atomic_store_n(&forked, 1, __ATOMIC_RELEASE);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(pthread_join(thread, NULL), 0);
    annot_testpoint_hook = NULL;
    for (int i = arena_list(names, 4); i-- > 0;) {
        CHECK(arena_map(names[i], &mapped));
        found += mapped.header->info.pid == pid && has_text(&mapped, "own domain");
        arena_unmap(&mapped);
    }
    CHECK_INT(found, 1);
    arena_end();
    arena_clean();
}

static pid_t child;
static int emits; /* events emitted by the handler, in the child */

static void fork_here(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    child = fork();
    for (int i = 0; child == 0 && i < emits; i++)
        annot_mark("in the handler");
}

static uint64_t events_until_the_fork(void)
{
    static int number;
    uint64_t calls = 0;
    char text[32];
    for (int i = 0; moment && i < 2000; i++) {
        const struct annot_value value = annot_value_string("key", "text");
        snprintf(text, sizeof(text), "name %d", number++);
        annot_push_event(&(struct annot_event){.text = text, .values = &value, .value_count = 1});
        calls++;
        if (child == 0)
            break;
        annot_pop();
        calls++;
    }
    return calls;
}

/* The event of the fork may also be counted in the child, but need not. */
static void check_fork(uint64_t mine)
{
    struct seen seen;
    int status;
    CHECK(moment == NULL);
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, mine);
    CHECK_INT(seen.lost_total, 0);
    arena_read(child, &seen, NULL, NULL);
    CHECK_INT(seen.segments, 1);
    CHECK(seen.records == 2000 || seen.records == 2001);
    CHECK_INT(seen.lost_total, emits);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
}

static void fork_in_an_event_at(const char *name)
{
    struct mapped mapped;
    struct seen drained = {0};
    char names[4][64];
    arena_begin(NULL);
    child = -1;
    for (int i = 0; i < 2000; i++)
        ANNOT_MARK("fills blocks");
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], &mapped));
    arena_drain(&mapped, false, &drained); /* so that there are free blocks to pop */
    arena_unmap(&mapped);
    annot_push("outer");
    moment = name;
    annot_testpoint_hook = fork_here;
    uint64_t calls = events_until_the_fork();
    annot_testpoint_hook = NULL;
    for (int i = 0; child == 0 && i < 1000; i++) {
        annot_push("child");
        annot_pop();
    }
    if (child == 0)
        _exit(0);
    annot_pop();
    check_fork(calls + 2 + 2000 - drained.records);
    arena_end();
    arena_clean();
}

TEST(fork_in_the_middle_of_an_event)
{
    static const char *const points[] = {
        "commit:written",  "commit:before", "commit:done",         "claim:head-read",
        "claim:next-read", "claim:popped",  "claim:header-filled", "claim:published",
        "release:before",  "release:after", "intern:reserved",     "intern:filled",
    };
    for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++) {
        emits = 0;
        fork_in_an_event_at(points[i]);
        emits = 3;
        fork_in_an_event_at(points[i]);
    }
}

/* A thread that records, waits, and records again. */
struct worker {
    pthread_t thread;
    int step; /* atomic: 1: has recorded, 2: continues */
};

static void *record_twice(void *context)
{
    struct worker *worker = context;
    annot_mark("first");
    __atomic_store_n(&worker->step, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&worker->step, __ATOMIC_ACQUIRE) != 2)
        usleep(100);
    annot_mark("second");
    return NULL;
}

static struct worker late[2], preempted;

static void start_worker(struct worker *worker)
{
    worker->step = 0;
    CHECK_INT(pthread_create(&worker->thread, NULL, record_twice, worker), 0);
    while (__atomic_load_n(&worker->step, __ATOMIC_ACQUIRE) != 1)
        usleep(100);
}

static void end_worker(struct worker *worker)
{
    __atomic_store_n(&worker->step, 2, __ATOMIC_RELEASE);
    CHECK_INT(pthread_join(worker->thread, NULL), 0);
}

/* The first thread reclaims the dead thread's resources, the second takes its place. */
static void others_reclaim(const char *name)
{
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    usleep(400 * 1000);
    start_worker(&late[0]);
    start_worker(&late[1]);
}

static void *vanish(void *context)
{
    annot_mark("left behind");
    syscall(SYS_exit, 0);
    return context;
}

TEST(a_reclaimer_that_comes_late_takes_nothing_from_new_owners)
{
    struct seen seen;
    pthread_t thread;
#if defined(__SANITIZE_ADDRESS__)
    test_skip("AddressSanitizer keeps what a vanished thread leaves");
#endif
    if (UNDER_THREAD_SANITIZER)
        test_skip("ThreadSanitizer cannot follow this");
    arena_begin(&(struct arena_options){.thread_count = 3});
    annot_mark("main");
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pthread_create(&thread, NULL, vanish, NULL), 0);
        pthread_join(thread, NULL);
    }
    moment = "reclaim:dead";
    annot_testpoint_hook = others_reclaim;
    start_worker(&preempted);
    annot_testpoint_hook = NULL;
    CHECK(moment == NULL);
    end_worker(&late[0]);
    end_worker(&late[1]);
    end_worker(&preempted);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 3 + 4 + 2);
    /* The preempted thread found no record to take, perhaps twice: all three had living owners. */
    CHECK(seen.lost_total == 1 || seen.lost_total == 2);
    CHECK_INT(seen.lost[ANNOT_LOSS_THREAD_LIMIT], seen.lost_total);
    arena_end();
    arena_clean();
}

/* Reads the state that a collector would find at this step. */
static void read_the_record(const char *name)
{
    struct mapped mapped;
    char names[4][64];
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], &mapped));
    CHECK_INT(mapped.threads[0].tid, 0);
    CHECK(mapped.threads[0].lost[ANNOT_LOSS_POOL_FULL] > 0); /* of the previous thread */
    arena_unmap(&mapped);
}

static void *record_much(void *context)
{
    for (int i = 0; i < 2000; i++)
        annot_mark("much");
    return context;
}

TEST(record_of_a_thread_is_nobodys_while_it_is_filled)
{
    struct seen seen;
    pthread_t thread;
    arena_begin(&(struct arena_options){.thread_count = 1, .block_count = 2});
    for (int i = 0; i < 2; i++) {
        moment = i == 1 ? "thread:filling" : NULL;
        annot_testpoint_hook = read_the_record;
        CHECK_INT(pthread_create(&thread, NULL, record_much, NULL), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(moment == NULL);
    }
    annot_testpoint_hook = NULL;
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 4000);
    arena_end();
    arena_clean();
}

/* ---- A number that is judged late ---- */

/* Between the check of the rules and the change of the masks, 64 more numbers are created, and the
 * last one shares the bit: its setting must not be undone. */
static void make_numbers(const char *name)
{
    char text[32];
    if (!moment || strcmp(name, moment) != 0)
        return;
    moment = NULL;
    for (int i = 0; i < 63; i++) {
        snprintf(text, sizeof(text), "off %d", i);
        annot_domain_create(text);
    }
    annot_domain wanted = annot_domain_create("wanted");
    annot_mark_event(&(struct annot_event){.text = "before", .domain = wanted});
}

TEST(a_bit_that_another_number_shares_is_not_cleared_by_one_that_comes_late)
{
    struct seen seen;
    arena_begin(&(struct arena_options){.filter = "+wanted +default"});
    annot_mark("joined");
    moment = "filter:evaluated";
    annot_testpoint_hook = make_numbers;
    annot_domain first = annot_domain_create("off");
    annot_testpoint_hook = NULL;
    CHECK(moment == NULL);
    annot_domain wanted = annot_domain_create("wanted");
    CHECK_INT(wanted, first + 64);
    annot_mark_event(&(struct annot_event){.text = "after", .domain = wanted});
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records + seen.lost_total, 3);
    arena_end();
    arena_clean();
}
