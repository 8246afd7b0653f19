/* SPDX-License-Identifier: MIT */
/* A process's handling of its session's filter: when it joins, for names that it creates later, and
 * while the collector changes its masks. The test acts as the collector. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <annot_barrier.h>
#include <annot_filter.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MARKS_MAX = 4096 };

static struct seen seen;
static char marks[MARKS_MAX][64];
static int mark_count;

static void keep_mark(const struct seen_record *record, void *context)
{
    (void)context;
    if (record->kind == ANNOT_REC_MARK && mark_count < MARKS_MAX)
        snprintf(marks[mark_count++], sizeof(marks[0]), "%.63s", record->text);
}

static void read_all(int pid)
{
    mark_count = 0;
    arena_read(pid, &seen, keep_mark, NULL);
    CHECK_INT(seen.lost_total, 0);
}

static bool has_mark(const char *text)
{
    for (int i = 0; i < mark_count; i++)
        if (strcmp(marks[i], text) == 0)
            return true;
    return false;
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

static void mark(const char *text, annot_domain domain, annot_category category, int level)
{
    annot_mark_event(&(struct annot_event){
        .text = text, .domain = domain, .category = category, .level = (uint8_t)level});
}

static void begin(const char *filter)
{
    arena_begin(&(struct arena_options){.filter = filter});
}

static void map_own(struct mapped *mapped)
{
    char names[4][64];
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], mapped));
}

TEST(a_process_joins_with_the_rules_in_force)
{
    annot_domain io = annot_domain_create("io"), db = annot_domain_create("db");
    annot_category noise = annot_category_create(io, "noise");
    annot_category plain = annot_category_create(0, "plain");
    begin("+io -io/noise +db:2 +default/plain");
    mark("io", io, 0, 7);
    mark("io/noise", io, noise, 0);
    mark("db:2", db, 0, 2);
    mark("db:3", db, 0, 3);
    mark("default/plain", 0, plain, 0);
    annot_mark("default");
    ANNOT_COUNTER("default counter", 1);
    annot_counters("group", (struct annot_value[]){annot_value_int64("a", 1)}, 1);
    annot_flow_begin(5, "flow");
    annot_log(ANNOT_SEVERITY_INFO, "log");
    CHECK_INT(annot_start("range"), 0);
    read_all(getpid());
    CHECK(has_mark("io") && has_mark("db:2") && has_mark("default/plain"));
    CHECK_INT(mark_count, 3);
    CHECK_INT(seen.records, 3);
    finish();
}

TEST(names_that_are_made_while_recording_are_judged_before_their_first_event)
{
    begin("-noise* -io/noise");
    annot_mark("joined");
    errno = ENOTTY;
    annot_domain noise = annot_domain_create("noise1"), io = annot_domain_create("io");
    annot_category in_io = annot_category_create(io, "noise");
    CHECK_INT(errno, ENOTTY);
    mark("noise1", noise, 0, 0);
    mark("io", io, 0, 0);
    mark("io/noise", io, in_io, 0);
    mark("of nobody", 0, annot_category_create(4711, "category"), 0);
    read_all(getpid());
    CHECK(has_mark("joined") && has_mark("io") && has_mark("of nobody"));
    CHECK_INT(mark_count, 3);
    finish();
}

TEST(rules_that_change_meanwhile_are_those_that_count)
{
    struct mapped mapped;
    begin("-noise");
    annot_mark("joined");
    map_own(&mapped);
    CHECK_INT(mapped.control->is_filtered, 1);
    arena_set_filter("+late");
    mark("late", annot_domain_create("late"), 0, 0);
    mark("other", annot_domain_create("other"), 0, 0);
    read_all(getpid());
    CHECK(has_mark("joined") && has_mark("late"));
    CHECK_INT(mark_count, 2);
    arena_unmap(&mapped);
    finish();
}

/* Without a filter the file is not read for a name, but the collector is notified of each new
 * one. */
TEST(names_stand_in_the_table_as_soon_as_they_are_made)
{
    struct mapped mapped;
    begin(NULL);
    annot_mark("joined");
    map_own(&mapped);
    CHECK_INT(mapped.control->is_filtered, 0);
    uint32_t before = mapped.shared->string_used;
    annot_domain_create("a name that no event has");
    CHECK(mapped.shared->string_used > before);
    CHECK(mapped.control->category_mask[0] == UINT64_MAX);
    arena_unmap(&mapped);
    finish();
}

TEST(a_writer_that_died_in_the_middle_holds_nothing_back)
{
    begin("-io");
    arena_tear_filter();
    mark("io", annot_domain_create("io"), 0, 0);
    annot_mark("default");
    read_all(getpid());
    CHECK_INT(mark_count, 2);
    finish();
}

/* 300 names on 64 bits. */
TEST(of_many_names_those_that_are_wanted_all_arrive)
{
    annot_domain domains[300];
    char text[32];
    begin("+wanted*");
    annot_mark("default");
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof(text), i % 10 == 0 ? "wanted%d" : "other%d", i);
        if (i == 150) /* half of them after the process has joined */
            annot_mark("default");
        domains[i] = annot_domain_create(text);
    }
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof(text), i % 10 == 0 ? "wanted%d" : "other%d", i);
        mark(text, domains[i], 0, 0);
    }
    read_all(getpid());
    uint64_t wanted_bits = 0;
    for (int i = 0; i < 300; i += 10)
        wanted_bits |= UINT64_C(1) << (domains[i] & 63);
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof(text), i % 10 == 0 ? "wanted%d" : "other%d", i);
        CHECK_INT(has_mark(text), (wanted_bits >> (domains[i] & 63) & 1) != 0);
    }
    CHECK(!(wanted_bits >> 63 & 1) || !(wanted_bits & 1)); /* some bits are off */
    finish();
}

/* ---- Many threads that create names ---- */

enum { THREADS = 6, NAMES = 8, ROUNDS = 40 };

static annot_domain made[THREADS][NAMES];
static pthread_barrier_t barrier;

static void *make_names(void *context)
{
    int thread = (int)(intptr_t)context;
    char text[32];
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < NAMES; i++) {
        snprintf(text, sizeof(text), i % 2 ? "on-%d-%d" : "off-%d-%d", thread, i);
        made[thread][i] = annot_domain_create(text);
        mark(text, made[thread][i], 0, 0);
    }
    return NULL;
}

static void make_at_once(void)
{
    pthread_t threads[THREADS];
    CHECK_INT(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, make_names, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

/* Fewer names than bits, so each must have been judged separately. Each round has its own
 * process. */
TEST_TIMEOUT(names_of_threads_that_come_at_once_are_judged_each, 120)
{
    for (int round = 0; round < ROUNDS; round++) {
        begin("-off*");
        pid_t pid = fork();
        if (pid == 0) {
            make_at_once();
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
        read_all(pid);
        CHECK_INT(mark_count, THREADS * NAMES / 2);
        for (int i = 0; i < mark_count; i++)
            CHECK_INT(strncmp(marks[i], "on-", 3), 0);
        finish();
    }
}

TEST(a_forked_child_has_its_parents_names_and_the_rules_of_now)
{
    annot_domain io = annot_domain_create("io"), db = annot_domain_create("db");
    begin("+io");
    mark("parent io", io, 0, 0);
    arena_set_filter("+db");
    pid_t pid = fork();
    if (pid == 0) {
        mark("child io", io, 0, 0);
        mark("child db", db, 0, 0);
        mark("child new", annot_domain_create("new"), 0, 0);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    read_all(0);
    CHECK(has_mark("parent io") && has_mark("child db"));
    CHECK_INT(mark_count, 2);
    finish();
}

/* ---- Balance while the masks change ---- */

enum { FLIPS = 100, NEST_ROUNDS = 2000 };

static struct mapped flipped;
static uint32_t stop, flip_count;

static void *flip(void *context)
{
    (void)context;
    while (!annot_load_relaxed(&stop)) {
        uint64_t *mask = flipped.control->category_mask;
        annot_store_relaxed(&mask[0], annot_load_relaxed(&mask[0]) ? 0 : UINT64_MAX);
        annot_fetch_add_relaxed(&flip_count, 1u);
        usleep(1);
    }
    return NULL;
}

static void nest(annot_name name, annot_range *ranges, int depth)
{
    static int64_t payload;
    if (depth == 0)
        return;
    struct annot_event event = {.name = name, .payload_kind = ANNOT_PAYLOAD_INT64};
    event.payload.int64 = payload++;
    ranges[depth] = annot_start("range");
    if (depth % 3 == 0)
        annot_push_event(&event);
    else
        ANNOT_PUSH("push");
    nest(name, ranges, depth - 1);
    annot_pop();
    annot_end(ranges[depth]);
}

struct balance {
    uint64_t pushes, pops, wrong, starts, ends;
};

/* A POP carries the depth after it, in recorded ranges, which shows mismatched pairs. */
static void follow(const struct seen_record *record, void *context)
{
    struct balance *balance = context;
    balance->pushes += record->kind == ANNOT_REC_PUSH;
    balance->pops += record->kind == ANNOT_REC_POP;
    balance->starts += record->kind == ANNOT_REC_RANGE_START;
    balance->ends += record->kind == ANNOT_REC_RANGE_END;
    if (record->kind == ANNOT_REC_POP)
        balance->wrong += record->name != balance->pushes - balance->pops;
}

/* Deeper than the live stack, so that both paths of an event are used. */
TEST_TIMEOUT(ranges_stay_balanced_while_the_filter_flips, 120)
{
    annot_range ranges[50];
    struct balance balance = {0};
    pthread_t thread;
    annot_name name = annot_name_intern("with payload");
    arena_begin(&(struct arena_options){.block_count = 8192});
    annot_mark("joined");
    map_own(&flipped);
    CHECK_INT(pthread_create(&thread, NULL, flip, NULL), 0);
    for (int i = 0; i < NEST_ROUNDS || annot_load_relaxed(&flip_count) < FLIPS; i++) {
        nest(name, ranges, 1 + i % 49);
        if (i >= NEST_ROUNDS) /* a busy machine, where the other thread needs more time */
            usleep(1000);
    }
    annot_store_relaxed(&stop, 1);
    pthread_join(thread, NULL);
    annot_store_relaxed(&flipped.control->category_mask[0], UINT64_MAX);
    annot_pop(); /* without an open range */
    arena_read(getpid(), &seen, follow, &balance);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
    CHECK(balance.pushes == balance.pops && balance.starts == balance.ends);
    CHECK_INT(balance.wrong, 0);
    CHECK(balance.pushes > 0);
    arena_unmap(&flipped);
    finish();
}

/* ---- A thread without events to write ---- */

static void *hold_everything(void *context)
{
    struct annot_event event = {.text = "event", .level = 2};
    (void)context;
    annot_mark("first"); /* the thread joins */
    for (int i = 0; i < 1000; i++) {
        ANNOT_PUSH("push");
        annot_push_event(&event);
        ANNOT_MARK("mark");
        ANNOT_COUNTER("counter", i);
        annot_pop();
        annot_pop();
    }
    for (int i = 0; i < 40; i++)
        ANNOT_PUSH("deep");
    /* Partner: the loads of this thread's own events. */
    annot_store_relaxed(&flipped.control->category_mask[0], UINT64_MAX);
    ANNOT_PUSH("wanted");
    for (int i = 0; i < 41; i++)
        annot_pop();
    annot_mark("last");
    return NULL;
}

TEST(a_thread_that_has_nothing_to_write_takes_no_block_and_stays_balanced)
{
    pthread_t thread;
    struct balance balance = {0};
    begin("+io +main");
    mark("main", annot_domain_create("main"), 0, 0);
    map_own(&flipped);
    uint32_t before = flipped.shared->high_water;
    CHECK_INT(pthread_create(&thread, NULL, hold_everything, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_INT(flipped.shared->high_water, before + 1); /* for the events after the flip */
    arena_read(getpid(), &seen, follow, &balance);
    CHECK_INT(seen.lost_total, 0);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 0);
    CHECK_INT(seen.records, 4); /* main; wanted and its end; last */
    CHECK(balance.pushes == 1 && balance.pops == 1);
    arena_unmap(&flipped);
    finish();
}
