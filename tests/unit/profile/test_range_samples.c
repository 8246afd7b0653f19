/* SPDX-License-Identifier: MIT */
/* Samples in the rows of ranges: CPU time by path, and exact running, runnable and blocked time. */
#include "range_stats.h"
#include "test.h"
#include "trace_maker.h"

#include <stdlib.h>

static struct maker *maker;

static uint32_t begin(void)
{
    maker = maker_create();
    return maker_thread(maker, maker_process(maker, 100, -1, "python a.py", 0), 100, "main");
}

static void cpu(uint32_t thread, int64_t time, uint64_t weight)
{
    maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                         .thread = thread,
                                         .time_ns = time,
                                         SAMPLE_VALUES(weight)});
}

static void off(uint32_t thread, int64_t from, int64_t wake, int64_t to)
{
    maker_wait(maker,
               &(struct sample){.thread = thread,
                                .time_ns = from,
                                .reason = wake ? WAIT_LOCK : WAIT_PREEMPTED,
                                .end_ns = to},
               wake);
}

static struct range_stats *collect(enum range_grouping grouping)
{
    const struct pass_source source = maker_pass_source(maker);
    struct range_stats *stats =
        range_stats_create(source.trace, &(struct range_stats_options){.grouping = grouping});
    const struct sink sink = range_stats_sink(stats);
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(range_stats_finish(stats, pass), 0);
    pass_destroy(pass);
    return stats;
}

static void release(struct range_stats *stats)
{
    range_stats_destroy(stats);
    maker_destroy(maker);
}

/* The row of that kind and label. */
static uint32_t row_of(const struct range_stats *stats, enum range_kind kind, const char *label)
{
    char text[256];
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        range_stats_label(stats, i, text, sizeof(text));
        if (row->kind == kind && (row->count || row->cpu_ns) && strcmp(text, label) == 0)
            return i;
    }
    test_fail(__FILE__, __LINE__, "no row %s", label);
}

static uint64_t value(const struct range_stats *stats, const char *label, enum range_column column)
{
    return range_stats_value(stats, row_of(stats, RANGE_PUSHED, label), column);
}

static uint64_t on_track(const struct range_stats *stats, const char *label,
                         enum range_column column)
{
    return range_stats_value(stats, row_of(stats, RANGE_TRACK, label), column);
}

static void check_adds_up(const struct range_stats *stats)
{
    uint64_t self = 0;
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        if (!range_kind_has_cpu(row->kind))
            continue;
        self += row->cpu_self_ns;
        if (row->count && row->kind == RANGE_PUSHED)
            CHECK_INT(range_stats_value(stats, i, RANGE_COLUMN_RUNNING) + row->runnable_ns +
                          row->blocked_ns,
                      range_stats_value(stats, i, RANGE_COLUMN_TOTAL));
    }
    const struct range_totals *totals = range_stats_totals(stats);
    CHECK_INT(self + totals->cpu_outside_ns, totals->cpu_ns);
}

TEST(stretches_are_split_where_ranges_begin_and_end)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 100, "load");
    maker_push(maker, thread, 200, "parse");
    maker_pop(maker, thread, 300);
    maker_pop(maker, thread, 400);
    off(thread, 50, 150, 250);  /* blocked to 150, then runnable to 250 */
    off(thread, 280, 320, 320); /* across the end of parse */
    off(thread, 390, 0, 500);   /* preempted across the end of load */
    maker_finish(maker, 600);
    struct range_stats *stats = collect(RANGE_BY_PATH);
    CHECK_INT(value(stats, "load", RANGE_COLUMN_BLOCKED), 50 + 40);
    CHECK_INT(value(stats, "load", RANGE_COLUMN_RUNNABLE), 100 + 10);
    CHECK_INT(value(stats, "load", RANGE_COLUMN_RUNNING), 100);
    CHECK_INT(value(stats, "load/parse", RANGE_COLUMN_BLOCKED), 20);
    CHECK_INT(value(stats, "load/parse", RANGE_COLUMN_RUNNABLE), 50);
    CHECK_INT(value(stats, "load/parse", RANGE_COLUMN_RUNNING), 30);
    check_adds_up(stats);
    release(stats);
}

TEST(cpu_time_goes_to_each_range_around_a_sample)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 100, "load");
    maker_push(maker, thread, 200, "parse");
    maker_pop(maker, thread, 300);
    maker_pop(maker, thread, 400);
    cpu(thread, 50, 1);
    cpu(thread, 150, 2);
    cpu(thread, 250, 4);
    cpu(thread, 350, 8);
    cpu(thread, 450, 16);
    maker_finish(maker, 600);
    struct range_stats *stats = collect(RANGE_BY_PATH);
    CHECK_INT(value(stats, "load", RANGE_COLUMN_CPU), 14);
    CHECK_INT(value(stats, "load", RANGE_COLUMN_CPU_SELF), 10);
    CHECK_INT(value(stats, "load/parse", RANGE_COLUMN_CPU), 4);
    CHECK_INT(range_stats_totals(stats)->cpu_outside_ns, 17);
    check_adds_up(stats);
    release(stats);
}

TEST(by_name_a_range_inside_itself_counts_once)
{
    uint32_t thread = begin();
    maker_push(maker, thread, 100, "walk");
    maker_push(maker, thread, 200, "walk");
    maker_push(maker, thread, 250, "read");
    maker_pop(maker, thread, 280);
    maker_pop(maker, thread, 300);
    maker_pop(maker, thread, 400);
    off(thread, 210, 220, 230);
    cpu(thread, 240, 5);
    cpu(thread, 260, 7);
    maker_finish(maker, 600);
    struct range_stats *stats = collect(RANGE_BY_NAME);
    CHECK_INT(value(stats, "walk", RANGE_COLUMN_CPU), 12);
    CHECK_INT(value(stats, "walk", RANGE_COLUMN_CPU_SELF), 5);
    CHECK_INT(value(stats, "read", RANGE_COLUMN_CPU_SELF), 7);
    CHECK_INT(value(stats, "walk", RANGE_COLUMN_TOTAL), 300);
    CHECK_INT(value(stats, "walk", RANGE_COLUMN_BLOCKED), 10);
    CHECK_INT(value(stats, "walk", RANGE_COLUMN_RUNNABLE), 10);
    check_adds_up(stats);
    release(stats);
}

TEST(owners_and_paths_without_events_get_rows)
{
    uint32_t thread = begin();
    uint32_t child =
        maker_thread(maker, maker_process(maker, 200, 0, "python a.py", 0), 200, "main");
    const uint32_t kind = RANGE_PATH_INHERITED;
    uint32_t load = maker_path_of_kind(maker, 0, "load", kind);
    maker_push(maker, thread, 100, "load");
    cpu(thread, 150, 2);
    maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                         .thread = child,
                                         .time_ns = 160,
                                         .path = maker_path_of_kind(maker, load, "x", kind),
                                         .flags = SAMPLE_PATH_KNOWN,
                                         SAMPLE_VALUES(30)});
    maker_finish(maker, 600);
    struct range_stats *stats = collect(RANGE_BY_PROCESS);
    uint64_t of_parent = 0, of_child = 0;
    for (uint32_t i = RANGE_KIND_COUNT; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        of_parent += row->owner == 0 ? row->cpu_self_ns : 0;
        of_child += row->owner == 1 ? row->cpu_self_ns : 0;
    }
    CHECK_INT(range_stats_totals(stats)->cpu_inherited_ns, 30); /* of the child only */
    CHECK_INT(of_parent, 2);
    CHECK_INT(of_child, 30);
    uint32_t *rows;
    CHECK_INT(range_stats_sort(stats, RANGE_PUSHED, RANGE_COLUMN_CPU, &rows), 1);
    CHECK_INT(range_stats_value(stats, rows[0], RANGE_COLUMN_CPU), 2);
    free(rows);
    CHECK_INT(range_stats_sort(stats, RANGE_INHERITED, RANGE_COLUMN_CPU, &rows), 2);
    CHECK_INT(range_stats_value(stats, rows[0], RANGE_COLUMN_CPU), 30);
    CHECK_INT(range_stats_value(stats, rows[1], RANGE_COLUMN_CPU), 30);
    free(rows);
    check_adds_up(stats);
    release(stats);
}

/* A worker's thread: "request" of another thread around "task", as on executors' threads. */
static void add_task(uint32_t thread, int64_t time_ns)
{
    const struct scope scope = {.observer = OBSERVER_INHERITED};
    int64_t inherited = trace_scope_add(maker_trace(maker), &scope);
    CHECK(inherited > 0);
    maker_event(maker, &(struct event){.kind = EVENT_PUSH,
                                       .thread = thread,
                                       .time_ns = time_ns,
                                       .name = maker_string(maker, "request"),
                                       .scope = (uint32_t)inherited});
    maker_push(maker, thread, time_ns + 1, "task");
    maker_pop(maker, thread, time_ns + 91);
    maker_pop(maker, thread, time_ns + 100);
}

static struct range_stats *collect_inherited(enum range_grouping grouping)
{
    uint32_t thread = begin(), worker = maker_thread(maker, 0, 101, "worker");
    maker_push(maker, thread, 100, "request");
    maker_pop(maker, thread, 400);
    add_task(worker, 110);
    add_task(worker, 310);
    cpu(thread, 150, 1);
    cpu(worker, 150, 20);
    cpu(worker, 205, 300); /* after the task, in the enclosing range */
    cpu(worker, 350, 4000);
    off(worker, 120, 130, 130);
    maker_finish(maker, 600);
    return collect(grouping);
}

TEST(what_is_inherited_leads_to_what_is_inside_and_counts_nowhere)
{
    struct range_stats *stats = collect_inherited(RANGE_BY_PATH);
    uint32_t request = row_of(stats, RANGE_INHERITED, "request");
    CHECK_INT(value(stats, "request", RANGE_COLUMN_COUNT), 1);
    CHECK_INT(value(stats, "request", RANGE_COLUMN_TOTAL), 300);
    CHECK_INT(value(stats, "request", RANGE_COLUMN_BLOCKED), 0);
    CHECK_INT(value(stats, "request", RANGE_COLUMN_CPU), 1);
    CHECK_INT(value(stats, "request/task", RANGE_COLUMN_COUNT), 2);
    CHECK_INT(value(stats, "request/task", RANGE_COLUMN_TOTAL), 180);
    CHECK_INT(value(stats, "request/task", RANGE_COLUMN_BLOCKED), 10);
    CHECK_INT(value(stats, "request/task", RANGE_COLUMN_CPU_SELF), 4020);
    CHECK_INT(range_stats_value(stats, request, RANGE_COLUMN_CPU), 4320);
    CHECK_INT(range_stats_value(stats, request, RANGE_COLUMN_CPU_SELF), 300);
    CHECK_INT(range_stats_totals(stats)->cpu_inherited_ns, 300);
    CHECK_INT(range_stats_totals(stats)->covered_ns, 300 + 180); /* the sum of all self times */
    CHECK_INT(range_stats_row(stats, row_of(stats, RANGE_PUSHED, "request"))->scope, 0);
    check_adds_up(stats);
    release(stats);
}

TEST(what_is_inherited_counts_nowhere_by_name_either)
{
    struct range_stats *stats = collect_inherited(RANGE_BY_NAME);
    CHECK_INT(value(stats, "request", RANGE_COLUMN_COUNT), 1);
    CHECK_INT(value(stats, "task", RANGE_COLUMN_TOTAL), 180);
    CHECK_INT(range_stats_totals(stats)->covered_ns, 300 + 180);
    check_adds_up(stats);
    release(stats);
}

TEST(names_of_domains_are_found_by_their_names)
{
    uint32_t thread = begin();
    maker_event(maker, &(struct event){.kind = EVENT_PUSH,
                                       .thread = thread,
                                       .time_ns = 100,
                                       .name = maker_string(maker, "step"),
                                       .scope = maker_scope(maker, "nvtx", NULL)});
    cpu(thread, 150, 2);
    maker_finish(maker, 600);
    struct range_stats *stats = collect(RANGE_BY_PATH);
    CHECK_INT(value(stats, "nvtx:step", RANGE_COLUMN_CPU), 2);
    check_adds_up(stats);
    release(stats);
}

/* A sample inside of "main", two nested tasks, and a range pushed by C there. */
static void add_tracks(uint32_t thread)
{
    uint32_t main = maker_path(maker, 0, "main");
    struct range_path in_python = {.parent = main,
                                   .name = maker_string(maker, "task"),
                                   .kind = RANGE_PATH_TRACK,
                                   .scope = maker_scope(maker, "python", NULL)};
    uint32_t task = (uint32_t)stacks_path_add(trace_stacks(maker_trace(maker)), &in_python);
    uint32_t fetch = maker_path_of_kind(maker, task, "fetch", RANGE_PATH_INSIDE);
    uint32_t eager = maker_path_of_kind(maker, fetch, "eager", RANGE_PATH_TRACK);
    uint32_t again = maker_path_of_kind(maker, eager, "fetch", RANGE_PATH_INSIDE);
    uint32_t parse = maker_path(maker, fetch, "parse");
    uint32_t cut = maker_path_of_kind(maker, 0, "fetch", RANGE_PATH_INSIDE);
    const uint32_t paths[] = {main, task, fetch, again, parse, cut};
    for (int i = 0; i < 6; i++)
        maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                             .thread = thread,
                                             .time_ns = 150 + i,
                                             SAMPLE_VALUES(1u << i),
                                             .path = paths[i],
                                             .flags = SAMPLE_PATH_KNOWN});
}

static struct range_stats *collect_tracks(enum range_grouping grouping)
{
    uint32_t thread = begin(), track = maker_track(maker, 0, 77, "task (1)", -1);
    maker_push(maker, thread, 100, "main");
    maker_event(maker, &(struct event){.kind = EVENT_TRACK_BEGIN,
                                       .thread = thread,
                                       .time_ns = 110,
                                       .lane = (uint32_t)track,
                                       .name = maker_string(maker, "task"),
                                       .scope = maker_scope(maker, "python", NULL)});
    maker_push(maker, thread, 154, "parse");
    maker_pop(maker, thread, 155);
    maker_pop(maker, thread, 155);
    add_tracks(thread);
    maker_finish(maker, 600);
    return collect(grouping);
}

TEST(ranges_of_tasks_have_their_samples_and_those_around_them_too)
{
    struct range_stats *stats = collect_tracks(RANGE_BY_PATH);
    CHECK_INT(value(stats, "main", RANGE_COLUMN_CPU), 31);
    CHECK_INT(value(stats, "main", RANGE_COLUMN_CPU_SELF), 1);
    CHECK_INT(value(stats, "main/parse", RANGE_COLUMN_CPU), 16);
    CHECK_INT(value(stats, "main/parse", RANGE_COLUMN_CPU_SELF), 16);
    CHECK_INT(on_track(stats, "python:task", RANGE_COLUMN_CPU), 2 + 4 + 8 + 16);
    CHECK_INT(on_track(stats, "python:task", RANGE_COLUMN_CPU_SELF), 2);
    CHECK_INT(on_track(stats, "python:task/fetch", RANGE_COLUMN_CPU), 4 + 8 + 16);
    CHECK_INT(on_track(stats, "python:task/fetch", RANGE_COLUMN_CPU_SELF), 4);
    CHECK_INT(on_track(stats, "eager/fetch", RANGE_COLUMN_CPU_SELF), 8);
    CHECK_INT(on_track(stats, "(other)", RANGE_COLUMN_CPU), 32);
    CHECK_INT(range_stats_totals(stats)->cpu_outside_ns, 0);
    uint32_t *rows; /* including those without a record */
    CHECK_INT(range_stats_sort(stats, RANGE_TRACK, RANGE_COLUMN_CPU, &rows), 5);
    free(rows);
    check_adds_up(stats);
    release(stats);
}

TEST(by_name_ranges_of_tasks_count_once)
{
    struct range_stats *stats = collect_tracks(RANGE_BY_NAME);
    CHECK_INT(on_track(stats, "fetch", RANGE_COLUMN_CPU), 4 + 8 + 16 + 32);
    CHECK_INT(on_track(stats, "fetch", RANGE_COLUMN_CPU_SELF), 4 + 8 + 32);
    CHECK_INT(on_track(stats, "python:task", RANGE_COLUMN_CPU), 2 + 4 + 8 + 16);
    CHECK_INT(value(stats, "main", RANGE_COLUMN_CPU), 31);
    check_adds_up(stats);
    release(stats);
}

/* ---- Random programs --------------------------------------------------------------------------
 */

enum { PERIOD_NS = 10000, THREADS = 3, NAMES = 4, STEPS = 3000, DEPTH = 6 };

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* A thread of a random program; `path` is its live stack. */
struct program {
    uint32_t thread;
    uint32_t path[DEPTH + 1];
    uint32_t depth;
    int64_t time_ns, sampled_ns;
    bool forked;
};

static const char *const names[NAMES] = {"a", "b", "c", "d"};
static const char *const domains[] = {NULL, "x", "y"};

/* Samples each period of CPU time, at any place of the program. Some samples are wrong. */
static void sample_until(struct program *program, int64_t time_ns)
{
    uint32_t inherited = maker_path_of_kind(maker, 0, "a", RANGE_PATH_INHERITED);
    for (; program->sampled_ns < time_ns; program->sampled_ns += PERIOD_NS) {
        uint32_t path = program->path[program->depth];
        if (program->forked && program->depth == 0)
            path = inherited;
        else if (next_random() % 50 == 0)
            path = maker_path(maker, 0, names[next_random() % NAMES]);
        maker_sample(maker, &(struct sample){.set = SAMPLE_SET_CPU,
                                             .thread = program->thread,
                                             .time_ns = program->sampled_ns,
                                             SAMPLE_VALUES(PERIOD_NS),
                                             .path = path,
                                             .flags = SAMPLE_PATH_KNOWN});
    }
}

static void step(struct program *program)
{
    program->time_ns += 1 + (int64_t)(next_random() % 40000);
    sample_until(program, program->time_ns);
    if (program->depth < DEPTH && next_random() % 2) {
        const char *name = names[next_random() % NAMES], *domain = domains[next_random() % 3];
        maker_event(maker, &(struct event){.kind = EVENT_PUSH,
                                           .thread = program->thread,
                                           .time_ns = program->time_ns,
                                           .name = maker_string(maker, name),
                                           .scope = maker_scope(maker, domain, NULL)});
        program->path[program->depth + 1] = maker_path(maker, program->path[program->depth], name);
        program->depth++;
    } else if (program->depth > 0) {
        maker_pop(maker, program->thread, program->time_ns);
        program->depth--;
    }
}

static void make_program(void)
{
    struct program programs[THREADS] = {{.thread = begin()}};
    maker_push(maker, programs[0].thread, 0, "a"); /* open when the others are forked */
    maker_pop(maker, programs[0].thread, 10);
    for (int i = 1; i < THREADS; i++) {
        uint32_t process = maker_process(maker, 100 + i, 0, "python a.py", 0);
        programs[i] = (struct program){.thread = maker_thread(maker, process, 100 + i, "main"),
                                       .forked = true};
    }
    for (int i = 0; i < STEPS; i++)
        step(&programs[next_random() % THREADS]);
    int64_t end_ns = 0;
    for (int i = 0; i < THREADS; i++) {
        for (; programs[i].depth > 0; programs[i].depth--)
            maker_pop(maker, programs[i].thread, programs[i].time_ns);
        end_ns = programs[i].time_ns > end_ns ? programs[i].time_ns : end_ns;
    }
    maker_finish(maker, end_ns);
}

static uint64_t square_root(uint64_t number)
{
    uint64_t root = 0;
    while (root * root < number)
        root++;
    return root;
}

TEST(no_row_has_more_cpu_than_time_beyond_the_error_of_sampling)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_state = seed * 88172645463325252u;
        make_program();
        struct range_stats *stats = collect((enum range_grouping)(seed % 4));
        for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
            const struct range_row *row = range_stats_row(stats, i);
            uint64_t total = range_stats_value(stats, i, RANGE_COLUMN_TOTAL);
            uint64_t error = PERIOD_NS + 4 * PERIOD_NS * square_root(row->sample_count);
            if (row->kind != RANGE_PUSHED)
                continue;
            CHECK(row->cpu_ns <= total + error);
            error = PERIOD_NS + 4 * PERIOD_NS * square_root(total / PERIOD_NS);
            CHECK(row->cpu_ns + error >= total); /* they are always on a CPU */
            CHECK(range_stats_value(stats, i, RANGE_COLUMN_RUNNING) <= total);
        }
        CHECK(range_stats_totals(stats)->cpu_inherited_ns > 0);
        check_adds_up(stats);
        release(stats);
    }
}
