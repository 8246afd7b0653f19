/* SPDX-License-Identifier: MIT */
/* A session that records only inside of one range. Events inside are named "in", others "out". */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot/function_calls.h>
#include <annot/tracks.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t in, out, others;

static void sort(const struct seen_record *record, void *context)
{
    (void)context;
    if (strcmp(record->text, "in") == 0)
        in++;
    else if (strcmp(record->text, "out") == 0)
        out++;
    else if (record->text[0])
        others++;
}

static struct seen seen;

static void read_all(int pid)
{
    in = out = others = 0;
    arena_read(pid, &seen, sort, NULL);
    CHECK_INT(seen.lost_total, 0);
    for (int i = 0; i < ANNOT_MISUSE_COUNT; i++)
        CHECK_INT(seen.misuse[i], 0);
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

static void begin(const char *capture)
{
    const struct arena_options options = {.capture = capture};
    arena_begin(&options);
}

/* Emits each kind of record once: 4 records of that name. */
static void emit(const char *name)
{
    annot_push(name);
    annot_mark(name);
    annot_pop();
    annot_counter(name, 1);
    annot_end(annot_start(name));
}

enum { NAMED = 4 };

TEST(only_what_lies_inside_is_recorded)
{
    begin("step");
    for (int i = 0; i < 500; i++) {
        emit("out");
        annot_push("step");
        emit("in");
        annot_pop();
    }
    read_all(getpid());
    CHECK_INT(in, 500 * NAMED);
    CHECK_INT(out, 0);
    CHECK_INT(others, 500);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1000);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1000);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 500);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 500);
    finish();
}

TEST(nested_and_overlapping_ones_count)
{
    begin("st*");
    annot_push("step");
    annot_push("stop");
    annot_mark("in");
    annot_pop();
    annot_mark("in");
    annot_range range = annot_start("start");
    annot_pop();
    annot_mark("in");
    annot_end(range);
    annot_mark("out");
    annot_end(range); /* twice */
    annot_push("step");
    annot_mark("in");
    annot_pop();
    annot_mark("out");
    in = out = others = 0;
    arena_read(getpid(), &seen, sort, NULL);
    CHECK_INT(in, 4);
    CHECK_INT(out, 0);
    CHECK_INT(others, 4);
    finish();
}

TEST(domain_decides_as_well)
{
    begin("step\x1flib");
    const struct annot_event event = {.text = "step", .domain = annot_domain_create("lib")};
    annot_push("step");
    annot_mark("out");
    annot_push_event(&event);
    annot_mark("in");
    annot_pop();
    annot_mark("out");
    annot_pop();
    read_all(getpid());
    CHECK_INT(in, 1);
    CHECK_INT(out, 0);
    CHECK_INT(others, 1);
    finish();
}

/* Ranges open before the capture are not recorded; ranges that end later are recorded to their
 * end. */
TEST(ranges_across_the_edges_are_whole_or_absent)
{
    begin("step");
    annot_push("out");
    annot_range early = annot_start("out");
    annot_range step = annot_start("step");
    annot_range late = annot_start("in");
    annot_push("in");
    annot_end(early);
    annot_end(step);
    annot_pop();
    annot_end(late);
    annot_pop();
    annot_mark("out");
    read_all(getpid());
    CHECK_INT(in, 2);
    CHECK_INT(out, 0);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_POP], 1);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_START], 2);
    CHECK_INT(seen.kinds[ANNOT_REC_RANGE_END], 2);
    finish();
}

TEST(tracks_flows_and_calls_obey)
{
    begin("step");
    struct annot_track track = annot_track_create("t", NULL);
    const struct annot_call call = {.function = &track, .site = &call, .stack = &call};
    annot_name function = annot_function_name("/bin/sh", 64, 0);
    annot_track_begin(&track, "out");
    annot_flow_begin(1, "out");
    annot_emit_call(function, &call);
    annot_emit_return(&call, 0);
    annot_track_end(&track);
    annot_push("step");
    annot_track_begin(&track, "in");
    annot_flow_begin(2, "in");
    annot_emit_call(function, &call);
    annot_emit_return(&call, 0);
    annot_track_end(&track);
    annot_pop();
    read_all(getpid());
    CHECK_INT(in, 2);
    CHECK_INT(out, 0);
    CHECK_INT(seen.kinds[ANNOT_REC_PUSH], 2);
    finish();
}

static pthread_barrier_t barrier;

enum { THREADS = 4, ROUNDS = 200 };

/* The first thread opens and closes the range; all threads are inside or outside together. */
static void *run_thread(void *context)
{
    int is_first = context != NULL;
    for (int round = 0; round < ROUNDS; round++) {
        emit("out");
        pthread_barrier_wait(&barrier);
        if (is_first)
            annot_push("step");
        pthread_barrier_wait(&barrier);
        emit("in");
        pthread_barrier_wait(&barrier);
        if (is_first)
            annot_pop();
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

TEST(range_of_one_thread_is_for_all)
{
    pthread_t threads[THREADS];
    begin("step");
    CHECK_INT(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_thread, i == 0 ? threads : NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(threads[i], NULL), 0);
    read_all(getpid());
    CHECK_INT(in, THREADS * ROUNDS * NAMED);
    CHECK_INT(out, 0);
    CHECK_INT(others, ROUNDS);
    finish();
}

static void *leave_open(void *context)
{
    (void)context;
    annot_push("step");
    annot_mark("in");
    return NULL;
}

TEST(thread_that_ends_closes_its_range)
{
    pthread_t thread;
    begin("step");
    CHECK_INT(pthread_create(&thread, NULL, leave_open, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    emit("out");
    read_all(getpid());
    CHECK_INT(in, 1);
    CHECK_INT(out, 0);
    finish();
}

TEST(forked_child_inherits_the_range_and_closes_it_alone)
{
    int status;
    begin("step");
    annot_push("step");
    pid_t pid = fork();
    if (pid == 0) {
        emit("in");
        annot_pop();
        emit("out");
        annot_push("step");
        emit("in");
        _exit(0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    annot_mark("in");
    annot_pop();
    annot_mark("out");
    pid_t outside = fork();
    if (outside == 0) {
        emit("out");
        annot_push("step");
        emit("in");
        annot_pop();
        _exit(0);
    }
    CHECK_INT(waitpid(outside, &status, 0), outside);
    CHECK_INT(status, 0);
    read_all(pid);
    CHECK_INT(in, 2 * NAMED);
    CHECK_INT(out, 0);
    read_all(outside);
    CHECK_INT(in, NAMED);
    CHECK_INT(out, 0);
    read_all(getpid());
    CHECK_INT(in, 1);
    CHECK_INT(out, 0);
    finish();
}

TEST(next_session_records_everything_again)
{
    begin("step");
    annot_push("step");
    annot_range range = annot_start("step");
    annot_mark("in");
    finish();
    arena_begin(NULL);
    annot_end(range);
    emit("in");
    read_all(getpid());
    CHECK_INT(in, NAMED);
    finish();
    begin("step");
    emit("out");
    annot_push("step");
    emit("in");
    annot_pop();
    read_all(getpid());
    CHECK_INT(in, NAMED);
    CHECK_INT(out, 0);
    finish();
}
