/* SPDX-License-Identifier: MIT */
/* Any part of a recording reads like the cut of the whole, whether the reader begins at a
 * checkpoint or at the first event, and also with a late source: items, their times, parents, paths
 * and sums. Random recordings with all kinds of open items. */
#include "pass.h"
#include "reader.h"
#include "stacks.h"
#include "test.h"
#include "trace_maker.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    THREADS = 4,
    LATE_THREADS = 2,
    LATE_BATCHES = 700,
    STEPS = 3000,
    STEP_NS = 40000, /* the recording is many times SEEK_MARGIN_NS long */
    DEPTH = 9,
    WINDOWS = 12,
    LINE_SIZE = 320,
    LINES_MAX = 60000
};

static uint64_t state;

/* Key-values of all batches. */
enum { ARGS = 4 };

static const struct arg some_args[2 * ARGS] = {
    {1, VALUE_INT64, {.int64 = 5}}, {2, VALUE_INT64, {.int64 = -7}}, {3, VALUE_INT64, {.int64 = 9}},
    {4, VALUE_INT64, {.int64 = 2}}, {5, VALUE_INT64, {.int64 = 5}},  {6, VALUE_INT64, {.int64 = 8}},
};

static uint32_t draw(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % limit;
}

static const char *file_path(bool late)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s.annot", test_directory(), late ? "late" : "seek");
    return path;
}

/* The content of the recording. */
struct shape {
    bool tracks;
    bool spans;   /* lasting into later checkpoints */
    bool probed;  /* spans on the threads' lanes, which cross other items */
    bool own_ids; /* starts and ends of an id are of one thread */
    bool late;    /* the first threads are a declared stream with a large delay */
    bool nests;   /* without starts and ends */
    bool forks;   /* the last thread belongs to a process that the first thread forked halfway */
};

/* Waiting batches, in the order of each thread. */
struct delayed {
    struct event events[64];
    uint32_t count;
};

struct scene {
    struct trace *trace;
    uint32_t names[8];
    uint32_t depth[THREADS];
    int64_t now_ns[THREADS];
    struct shape shape;
    struct delayed *delayed[LATE_THREADS];
    uint32_t delayed_count[LATE_THREADS], delayed_next[LATE_THREADS];
    uint64_t order; /* random order of the late threads */
};

static struct event *add(struct event *event, uint32_t thread, uint8_t kind, int64_t time_ns)
{
    *event = (struct event){.time_ns = time_ns, .thread = thread, .kind = kind};
    return event;
}

/* Makes the thread's next event; a push may be followed by key-values. Returns their number. */
static uint32_t step(struct scene *scene, uint32_t thread, struct event *events)
{
    uint32_t choice = draw(100), *depth = &scene->depth[thread];
    int64_t now_ns = scene->now_ns[thread] += draw(STEP_NS);
    uint32_t own = scene->shape.own_ids ? thread * 1000 : 0;
    if (choice < 45 && *depth < DEPTH) {
        add(events, thread, EVENT_PUSH, now_ns)->name = scene->names[draw(8)];
        ++*depth;
        events->arg_count = (uint16_t)(draw(6) == 0 ? draw(ARGS) : 0);
        events->args = draw(ARGS);
        return 1;
    }
    if (choice < 85 && *depth > 0) {
        *depth -= draw(30) == 0 && *depth > 1 ? 2 : 1;
        add(events, thread, EVENT_POP, now_ns)->depth = *depth;
    } else if (choice < 95 && scene->shape.nests) {
        add(events, thread, EVENT_COUNTER, now_ns)->name = scene->names[draw(8)];
    } else if (choice < 90) {
        add(events, thread, EVENT_START, now_ns)->id = draw(30) + own;
        events->name = scene->names[draw(8)];
    } else if (choice < 95) {
        add(events, thread, EVENT_END, now_ns)->id = draw(30) + own;
    } else if (choice == 95) {
        *depth = draw(3);
        add(events, thread, EVENT_LOST, now_ns)->depth = *depth;
        events->end_ns = scene->now_ns[thread] = now_ns + draw(5000);
        events->level = (uint8_t)draw(LOSS_COUNT);
        events->value.uint64 = 3;
    } else if (choice == 96) {
        *depth = 0;
        add(events, thread, EVENT_EDGE, now_ns);
    } else if (choice == 97 && scene->shape.tracks) {
        add(events, thread, draw(2) ? EVENT_TRACK_BEGIN : EVENT_TRACK_END, now_ns)->name =
            scene->names[1];
    } else if (choice == 98 && scene->shape.spans) {
        add(events, thread, EVENT_SPAN, now_ns - draw(5000))->name = scene->names[draw(8)];
        events->lane = scene->shape.probed ? EVENT_OWN_LANE : scene->shape.tracks;
        events->end_ns = now_ns + draw(scene->shape.probed && draw(3) ? 10000 : 3000000);
        events->origin_ns = EVENT_NO_ORIGIN;
    } else {
        add(events, thread, EVENT_MARK, now_ns)->name = scene->names[draw(8)];
    }
    return 1;
}

static int add_samples(struct scene *scene, struct store_writer *writer, uint32_t thread)
{
    int64_t values[2];
    struct sample samples[2] = {
        {.set = SAMPLE_SET_CPU, .thread = thread, SAMPLE_VALUES(100)},
        {.set = SAMPLE_SET_OFF_CPU, .thread = thread, .reason = WAIT_LOCK},
    };
    samples[0].time_ns = scene->now_ns[thread] + draw(3000);
    samples[1].time_ns = scene->now_ns[thread] + draw(3000);
    samples[1].end_ns = samples[1].time_ns + draw(20000);
    sample_set_wait(&samples[1], 0, values);
    /* Overlapping stretches, as here, count in order of arrival. */
    return store_writer_add_samples(writer, samples, scene->shape.own_ids ? 1 : 2);
}

static int tell_delayed(struct scene *scene, struct store_writer *writer, uint32_t thread)
{
    const struct delayed *delayed = &scene->delayed[thread][scene->delayed_next[thread]++];
    const struct event_batch batch = {
        .thread = thread, .count = delayed->count, .events = delayed->events, .args = some_args};
    return store_writer_add_late(writer, 0, &batch);
}

/* Writes batches of random late threads, so that they are out of order of time as well. */
static int tell_some(struct scene *scene, struct store_writer *writer, uint32_t keep)
{
    int error = 0;
    for (uint32_t tries = 0; tries < 3 && !error; tries++) {
        scene->order = scene->order * 6364136223846793005u + 1;
        uint32_t thread = (uint32_t)(scene->order >> 40) % LATE_THREADS;
        if (scene->delayed_count[thread] > scene->delayed_next[thread] + keep)
            error = tell_delayed(scene, writer, thread);
    }
    return error;
}

static int tell(struct scene *scene, struct store_writer *writer, const struct event_batch *batch)
{
    if (!scene->shape.late || batch->thread >= LATE_THREADS)
        return store_writer_add(writer, batch);
    struct delayed *delayed = &scene->delayed[batch->thread][scene->delayed_count[batch->thread]++];
    delayed->count = batch->count;
    memcpy(delayed->events, batch->events, batch->count * sizeof(*batch->events));
    return tell_some(scene, writer, LATE_BATCHES / LATE_THREADS);
}

static void tell_rest(struct scene *scene, struct store_writer *writer)
{
    for (uint32_t i = LATE_THREADS; i-- > 0;) {
        while (scene->delayed_next[i] < scene->delayed_count[i])
            CHECK_INT(tell_delayed(scene, writer, i), 0);
        free(scene->delayed[i]);
    }
}

/* Its samples are inside of the ranges that the first thread had open then. */
static void fork_last(struct scene *scene)
{
    int64_t ordinal = trace_process_add(scene->trace);
    struct trace_process *process = trace_process(scene->trace, (uint32_t)ordinal);
    process->forked = true;
    process->fork_ns = 1000000 + (int64_t)STEPS * STEP_NS / 4;
    process->fork_thread = 1;
    trace_thread(scene->trace, THREADS - 1)->process = (uint32_t)ordinal;
    scene->now_ns[THREADS - 1] = process->fork_ns + draw(2000);
}

static int64_t write_recording(struct shape shape)
{
    struct scene scene = {.trace = trace_create(), .shape = shape, .order = 5};
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true, .checkpoint_bytes = 4096};
    int64_t last_ns = 0;
    trace_process_add(scene.trace);
    for (uint32_t i = 0; i < THREADS; i++) {
        trace_thread_add(scene.trace, 0);
        trace_thread(scene.trace, i)->serial = i + 1; /* it has events */
        trace_thread(scene.trace, i)->probed = shape.probed;
        scene.now_ns[i] = 1000000 + draw(2000);
    }
    if (shape.forks)
        fork_last(&scene);
    if (shape.tracks)
        trace_lane_add(scene.trace, 7);
    trace_lane_of(scene.trace, LANE_QUEUE, 0, 5);
    for (uint32_t i = 0; i < LATE_THREADS; i++)
        scene.delayed[i] = malloc(sizeof(struct delayed) * STEPS);
    trace_stream_add(scene.trace, 0);
    for (uint32_t i = 0; i < 8; i++)
        scene.names[i] = (uint32_t)trace_string_add(scene.trace, &"abcdefgh"[i], 1);
    trace_session(scene.trace)->begin_ns = 1000000;
    CHECK_INT(store_writer_create(file_path(shape.late), scene.trace, &options, &writer), 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct event events[64];
        uint32_t thread = draw(THREADS), count = 0;
        for (uint32_t steps = 1 + draw(8); steps > 0; steps--)
            count += step(&scene, thread, &events[count]);
        const struct event_batch batch = {
            .thread = thread, .count = count, .events = events, .args = some_args};
        CHECK_INT(tell(&scene, writer, &batch), 0);
        if (draw(5) == 0)
            CHECK_INT(add_samples(&scene, writer, thread), 0);
        if (draw(20) == 0)
            CHECK_INT(store_writer_flush(writer), 0);
        last_ns = scene.now_ns[thread] > last_ns ? scene.now_ns[thread] : last_ns;
    }
    tell_rest(&scene, writer);
    trace_session(scene.trace)->end_ns = last_ns + 1000;
    trace_session(scene.trace)->revision++;
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(scene.trace);
    return last_ns;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct told {
    char (*lines)[LINE_SIZE];
    size_t count;
    uint64_t read_count; /* events read from the recording */
    struct pass_source source;
    bool ordered, late, probed;
    int64_t last_ns; /* checked in order of time */
    uint32_t disordered;
};

static int next_events(void *context, struct event_batch *ret_batch)
{
    struct told *told = context;
    int status = told->source.next_events(told->source.context, ret_batch);
    told->read_count += status == 1 ? ret_batch->count : 0;
    return status;
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    struct told *told = context;
    return told->source.next_samples(told->source.context, ret_batch);
}

static int seek(void *context, int64_t from_ns, bool nested, bool in_time)
{
    struct told *told = context;
    return told->source.seek(told->source.context, from_ns, nested, in_time);
}

static int take(void *context, const struct item *item)
{
    struct told *told = context;
    CHECK(told->count < LINES_MAX);
    char *at = told->lines[told->count++], *end = at + LINE_SIZE;
    if (item->kind == ITEM_SAMPLE) {
        const struct sample *sample = item->sample;
        const struct stacks *stacks = trace_stacks_get(told->source.trace);
        at += snprintf(at, LINE_SIZE, "sample %u %u %lld %lld %u", sample->thread, sample->set,
                       (long long)sample->time_ns, (long long)sample->end_ns, sample->flags);
        const struct range_path *node;
        for (uint32_t path = sample->path; path && at < end; path = node->parent) {
            node = stacks_get_path(stacks, path);
            at += snprintf(at, (size_t)(end - at), " %u:%u", node->kind, node->name);
        }
        return 0;
    }
    at += snprintf(at, (size_t)(end - at),
                   "%u lane %u flags %u depth %u thread %u kind %u name %u %lld-%lld child %lld "
                   "off %llu %llu number %llu end %u args %u",
                   item->kind, item->lane, item->flags, item->depth, item->event->thread,
                   item->event->kind, item->event->name, (long long)item->begin_ns,
                   (long long)item->end_ns, (long long)item->child_ns,
                   (unsigned long long)item->off.blocked_ns,
                   (unsigned long long)item->off.runnable_ns, (unsigned long long)item->number,
                   item->end_thread, item->args.count);
    for (uint32_t i = 0; i < item->args.count && at < end; i++)
        at += snprintf(at, (size_t)(end - at), " %u=%lld", item->args.items[i].key,
                       (long long)item->args.items[i].value.int64);
    for (uint32_t i = 0; item->parents && i < item->depth && at < end; i++)
        at += snprintf(at, (size_t)(end - at), " <%u", item->parents[i]->name);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorts the items: the order of lanes may differ, and so may that of items open at the first
 * instant. */
static void read_part(struct told *told, const struct pass_selection *selection, bool seeks)
{
    struct store_reader *reader;
    CHECK_INT(store_reader_open(file_path(told->late), &reader), 0);
    told->source = recording_pass_source(reader);
    told->count = told->read_count = 0;
    const struct pass_source source = {.trace = told->source.trace,
                                       .next_events = next_events,
                                       .next_samples = told->ordered ? NULL : next_samples,
                                       .context = told,
                                       .seek = seeks ? seek : NULL};
    uint32_t wants = WANT_EVENTS | WANT_NUMBERS |
                     (told->ordered ? WANT_TIME_ORDER : WANT_SAMPLES | WANT_PATHS | WANT_TIMES);
    const struct sink sink = {take, told, wants};
    CHECK_INT(pass_read(&source, selection, &sink, 1), 0);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
    qsort(told->lines, told->count, LINE_SIZE, by_text);
}

static void compare(struct told *whole, struct told *part, bool ordered, int64_t last_ns)
{
    static const char *const ranges[] = {"a", "[bc]", "h"};
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        selection.from_ns = 1000000 + (int64_t)draw((uint32_t)(last_ns - 1000000));
        if (draw(2))
            selection.to_ns = selection.from_ns + draw(3000000);
        if (draw(4) == 0)
            selection.range = ranges[draw(3)];
        whole->ordered = part->ordered = ordered;
        read_part(whole, &selection, false);
        read_part(part, &selection, true);
        for (size_t line = 0; line < whole->count && line < part->count; line++)
            CHECK_STR(part->lines[line], whole->lines[line]);
        CHECK_INT(part->count, whole->count);
        CHECK(part->late || part->probed ||
              part->read_count <= whole->read_count + THREADS * (DEPTH * 8 + 2) + 200);
    }
}

static void check_parts(uint64_t seed, struct shape shape)
{
    struct told whole = {.lines = malloc(sizeof(*whole.lines) * LINES_MAX)};
    struct told part = {.lines = malloc(sizeof(*part.lines) * LINES_MAX), .probed = shape.probed};
    state = seed;
    int64_t last_ns = write_recording(shape);
    compare(&whole, &part, false, last_ns);
    /* Of two starts with one id, the later one counts: by position in the file, or by time. */
    compare(&whole, &part, true, last_ns);
    shape.own_ids = true;
    last_ns = write_recording(shape);
    compare(&whole, &part, true, last_ns);
    /* The end is read from a nearby checkpoint. */
    struct pass_selection selection = PASS_SELECT_ALL;
    selection.from_ns = last_ns - 500000;
    whole.ordered = part.ordered = true;
    read_part(&whole, &selection, false);
    read_part(&part, &selection, true);
    CHECK(shape.tracks || shape.probed || part.read_count < whole.read_count / 2);
    free(whole.lines);
    free(part.lines);
}

TEST_TIMEOUT(any_part_is_the_cut_of_the_whole, 120)
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        check_parts(seed, (struct shape){.spans = true});
}

TEST_TIMEOUT(inside_of_a_range_it_is_near_where_all_nests, 120)
{
    struct told part = {.lines = malloc(sizeof(*part.lines) * LINES_MAX)};
    struct pass_selection selection = PASS_SELECT_ALL;
    for (uint64_t seed = 1; seed <= 4; seed++)
        check_parts(seed, (struct shape){.spans = true, .nests = true});
    state = 9;
    selection.from_ns = write_recording((struct shape){.nests = true}) - 500000;
    selection.range = "a";
    read_part(&part, &selection, true);
    CHECK(part.read_count < STEPS);
    free(part.lines);
}

TEST_TIMEOUT(with_tracks_too, 120)
{
    for (uint64_t seed = 1; seed <= 2; seed++)
        check_parts(seed, (struct shape){.spans = true, .tracks = true});
}

TEST_TIMEOUT(behind_a_fork_too, 120)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        check_parts(seed, (struct shape){.spans = true, .tracks = seed > 2, .forks = true});
}

TEST_TIMEOUT(with_spans_of_an_observer_too, 120)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        check_parts(seed, (struct shape){.spans = true, .probed = true, .own_ids = true});
}

static void check_late(bool probed, bool own_ids)
{
    struct shape shape = {.own_ids = own_ids, .spans = probed, .probed = probed};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct told whole = {.lines = malloc(sizeof(*whole.lines) * LINES_MAX)};
        struct told part = {.lines = malloc(sizeof(*part.lines) * LINES_MAX), .late = true};
        state = seed;
        shape.late = false;
        int64_t last_ns = write_recording(shape);
        state = seed;
        shape.late = true;
        CHECK_INT(write_recording(shape), last_ns);
        compare(&whole, &part, !shape.own_ids, last_ns);
        compare(&whole, &part, true, last_ns);
        free(whole.lines);
        free(part.lines);
    }
}

TEST_TIMEOUT(a_source_that_is_late_is_in_its_right_place, 120)
{
    check_late(false, true);
    check_late(false, false);
}

TEST_TIMEOUT(an_observer_that_is_late_is_in_its_right_place, 120)
{
    check_late(true, true);
}

static int take_in_order(void *context, const struct item *item)
{
    struct told *told = context;
    int64_t told_ns = item->kind == ITEM_SPAN ? item->end_ns : item->begin_ns;
    bool ends_with_all = item->flags & ITEM_UNFINISHED;
    told->disordered += !ends_with_all && item->kind != ITEM_LOST && told_ns < told->last_ns;
    told->last_ns = told_ns > told->last_ns && !ends_with_all ? told_ns : told->last_ns;
    told->count++;
    return 0;
}

TEST(a_source_that_is_late_is_told_in_order_of_time)
{
    struct told told = {.last_ns = INT64_MIN};
    struct store_reader *reader;
    state = 3;
    write_recording((struct shape){.own_ids = true, .late = true});
    CHECK_INT(store_reader_open(file_path(true), &reader), 0);
    CHECK_INT(trace_stream_count(store_reader_trace(reader)), 1);
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {take_in_order, &told, WANT_EVENTS | WANT_TIME_ORDER};
    struct pass *pass = pass_create(&source, &PASS_SELECT_ALL, &sink, 1);
    CHECK_INT(pass_run(pass), 0);
    CHECK_INT(pass_counts(pass)->late, 0);
    CHECK_INT(told.disordered, 0);
    CHECK(told.count > STEPS);
    pass_destroy(pass);
    store_reader_close(reader);
}
