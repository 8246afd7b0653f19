/* SPDX-License-Identifier: MIT */
/* Watches: their callers, time, number of calls, and thread. The program counts its own ranges. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>
#include <annot/watch.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct called {
    uint32_t begun, ended; /* atomic */
    uint64_t last_begin, last_end;
    pthread_t thread;
    int events; /* emits marks itself */
};

static void note(void *context, int begins, uint64_t time)
{
    struct called *called = context;
    __atomic_fetch_add(begins ? &called->begun : &called->ended, 1, __ATOMIC_RELAXED);
    *(begins ? &called->last_begin : &called->last_end) = time;
    called->thread = pthread_self();
    if (called->events)
        annot_mark("from the watch");
}

static void check_called(const struct called *called, uint32_t begun, uint32_t ended)
{
    CHECK_INT(called->begun, begun);
    CHECK_INT(called->ended, ended);
}

static uint64_t push_time;

static void keep_push(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_PUSH)
        push_time = record->time;
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

TEST(ranges_of_that_name_are_told_after_they_are_recorded)
{
    struct called called = {0};
    struct seen seen;
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    annot_push("other");
    annot_push("step");
    check_called(&called, 1, 0);
    CHECK(pthread_equal(called.thread, pthread_self()));
    arena_read(getpid(), &seen, keep_push, NULL);
    CHECK_INT(called.last_begin, push_time);
    annot_push("inner");
    annot_pop();
    annot_mark("m");
    check_called(&called, 1, 0);
    annot_pop();
    check_called(&called, 1, 1);
    CHECK(called.last_end > called.last_begin);
    annot_pop();
    check_called(&called, 1, 1);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 3);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 3);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

/* The fast path was in use before. */
TEST(watch_that_is_set_late_misses_nothing_that_begins)
{
    struct called called = {0};
    const uint32_t pairs = 2000;
    arena_begin(NULL);
    annot_push("step");
    for (uint32_t i = 0; i < pairs; i++) {
        annot_push("step");
        annot_pop();
    }
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    for (uint32_t i = 0; i < pairs; i++) {
        annot_push("step");
        annot_pop();
    }
    check_called(&called, pairs, pairs);
    annot_pop(); /* began before the watch */
    check_called(&called, pairs, pairs);
    finish();
}

TEST(names_ids_events_and_ranges_with_ids_are_the_same_to_it)
{
    struct called called = {0};
    struct seen seen;
    arena_begin(NULL);
    annot_name name = annot_name_intern("step");
    annot_domain domain = annot_domain_create("lib");
    const struct annot_event event = {.text = "step", .domain = domain};
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    annot_emit_push_name(name);
    annot_pop();
    annot_push_event(&event);
    annot_pop();
    annot_emit_push_in(domain, name, "step");
    annot_pop();
    annot_push_format("st%s", "ep");
    annot_pop();
    check_called(&called, 4, 4);
    annot_range first = annot_start("step"), second = annot_start_event(&event);
    annot_range other = annot_start("other");
    check_called(&called, 6, 4);
    annot_end(other);
    annot_end(first);
    annot_end(second);
    check_called(&called, 6, 6);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 3);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 3);
    for (int i = 0; i < ANNOT_MISUSE_COUNT; i++)
        CHECK_INT(seen.misuse[i], 0);
    finish();
}

TEST(patterns_and_domains_select)
{
    struct called any = {0}, in_lib = {0}, in_default = {0}, pattern = {0};
    arena_begin(NULL);
    annot_domain lib = annot_domain_create("lib");
    annot_category category = annot_category_create(lib, "c");
    CHECK_INT(annot_watch_range("step", NULL, note, &any), 0);
    CHECK_INT(annot_watch_range("step", "lib", note, &in_lib), 0);
    CHECK_INT(annot_watch_range("step", "default", note, &in_default), 0);
    CHECK_INT(annot_watch_range("st?p*", "l*", note, &pattern), 0);
    CHECK_INT(annot_watch_range("step", NULL, note, &any), -ENOSPC);
    const struct annot_event events[] = {
        {.text = "step"},
        {.text = "step", .domain = lib},
        {.text = "step", .category = category},
        {.text = "stop 7", .domain = lib},
        {.text = "steps"},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        annot_push_event(&events[i]);
        annot_pop();
    }
    check_called(&any, 3, 3);
    check_called(&in_lib, 2, 2);
    check_called(&in_default, 1, 1);
    check_called(&pattern, 3, 3);
    finish();
}

TEST(what_makes_no_sense_is_refused)
{
    struct called called = {0};
    CHECK_INT(annot_watch_range(NULL, NULL, note, &called), -EINVAL);
    CHECK_INT(annot_watch_range("", NULL, note, &called), -EINVAL);
    CHECK_INT(annot_watch_range("step", NULL, NULL, &called), -EINVAL);
}

/* Excluded by the filter: it is not recorded, but the watch is called. */
TEST(filter_does_not_hide_a_range_from_its_watch)
{
    const struct arena_options options = {.filter = "-default"};
    struct called called = {0};
    struct seen seen;
    arena_begin(&options);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    for (int i = 0; i < 10; i++) {
        annot_push("step");
        annot_pop();
        annot_end(annot_start("step"));
    }
    check_called(&called, 20, 20);
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.records, 0);
    for (int i = 0; i < ANNOT_MISUSE_COUNT; i++)
        CHECK_INT(seen.misuse[i], 0);
    finish();
}

TEST(nested_ranges_and_what_is_shown_between_them_keep_their_pairs)
{
    struct called called = {0};
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    annot_push("step");
    annot_emit_show(annot_name_intern("task"), 0, 1);
    annot_push("step");
    annot_emit_hide(0, 1);
    annot_push("x");
    annot_pop();
    check_called(&called, 2, 0);
    annot_pop();
    check_called(&called, 2, 1);
    annot_pop();
    check_called(&called, 2, 2);
    annot_pop(); /* one too many */
    check_called(&called, 2, 2);
    finish();
}

TEST(watch_may_emit_events)
{
    struct called called = {.events = 1};
    struct seen seen;
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    for (int i = 0; i < 1000; i++) {
        annot_push("step");
        annot_pop();
    }
    arena_read(getpid(), &seen, NULL, NULL);
    CHECK_INT(seen.kinds[ANNOT_REC_MARK], 2000);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

/* Without a recording a watch is not called. */
TEST(nothing_is_told_while_nobody_records_and_pairs_survive_it)
{
    struct called called = {0};
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    annot_push("step");
    annot_pop();
    check_called(&called, 0, 0);
    arena_begin(NULL);
    annot_push("step");
    annot_range range = annot_start("step");
    check_called(&called, 2, 0);
    finish();
    annot_pop();
    arena_begin(NULL);
    annot_mark("in the next one");
    check_called(&called, 2, 1);
    annot_end(range);
    check_called(&called, 2, 2);
    annot_push("step");
    annot_pop();
    check_called(&called, 3, 3);
    finish();
}

enum { THREADS = 4, PAIRS = 5000 };

static void *run_pairs(void *context)
{
    (void)context;
    for (int i = 0; i < PAIRS; i++) {
        annot_push(i % 2 ? "step" : "other");
        annot_pop();
    }
    annot_push("step"); /* open when the thread ends */
    return NULL;
}

TEST(threads_that_run_before_and_after_are_all_seen)
{
    struct called called = {0};
    pthread_t threads[THREADS];
    arena_begin(NULL);
    annot_push("warm");
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_pairs, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    check_called(&called, THREADS * (PAIRS / 2 + 1), THREADS * (PAIRS / 2 + 1));
    finish();
}

static volatile int go_on;

static void *race(void *context)
{
    uint32_t *last = context; /* pairs after the watch was certainly set */
    while (go_on < 2) {
        int is_set = go_on == 1;
        annot_push("step");
        annot_pop();
        *last += (uint32_t)is_set;
    }
    return NULL;
}

/* Once the call returns, all threads have left the fast path. */
TEST(threads_in_the_middle_of_ranges_notice_the_watch)
{
    for (int round = 0; round < 2; round++) {
        struct called called = {0};
        pthread_t threads[THREADS];
        uint32_t certain[THREADS] = {0}, sum = 0;
        go_on = 0;
        arena_begin(NULL);
        for (int i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&threads[i], NULL, race, &certain[i]), 0);
        usleep(20000);
        CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
        go_on = 1;
        usleep(20000);
        go_on = 2;
        for (int i = 0; i < THREADS; i++)
            CHECK_INT(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < THREADS; i++)
            sum += certain[i];
        CHECK(called.begun >= sum);
        CHECK_INT(called.begun, called.ended);
        finish();
    }
}

TEST(child_goes_on_with_the_watch_and_without_its_parents_ranges)
{
    struct called called = {0};
    int status;
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    annot_push("step");
    pid_t pid = fork();
    if (pid == 0) {
        annot_pop(); /* opened by the parent */
        if (called.begun != 1 || called.ended != 0)
            _exit(1);
        annot_push("step");
        annot_pop();
        _exit(called.begun == 2 && called.ended == 1 ? 0 : 2);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    annot_pop();
    check_called(&called, 1, 1);
    finish();
}

static void handle(int signal)
{
    (void)signal;
    annot_push("step");
    annot_pop();
}

/* A handler's ranges are reported to the watch, or lost as an interruption of another event: always
 * as pairs. */
TEST(signal_handlers_are_told_in_pairs)
{
    struct called called = {0};
    struct sigaction action = {.sa_handler = handle};
    struct seen seen;
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &called), 0);
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        annot_push("other");
        raise(SIGUSR1);
        annot_pop();
    }
    arena_read(getpid(), &seen, NULL, NULL);
    check_called(&called, 2000, 2000);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

static struct called by_timer;

static void on_timer(int signal)
{
    (void)signal;
    annot_push("step");
    annot_pop();
}

TEST(handlers_that_interrupt_events_leave_no_half_pair)
{
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerspec period = {{0, 50000}, {0, 50000}};
    timer_t timer;
    arena_begin(NULL);
    CHECK_INT(annot_watch_range("step", NULL, note, &by_timer), 0);
    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_INT(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    CHECK_INT(timer_settime(timer, 0, &period, NULL), 0);
    for (int i = 0; i < 200000; i++) {
        annot_push(i % 3 ? "other" : "step");
        annot_pop();
    }
    CHECK_INT(timer_delete(timer), 0);
    CHECK_INT(by_timer.begun, by_timer.ended);
    CHECK(by_timer.begun >= 66667);
    finish();
}
