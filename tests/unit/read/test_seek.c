/* SPDX-License-Identifier: MIT */
/* Any part of the time reads as the cut of the whole, whether the reader begins at a checkpoint or
 * at the first event: items, their times, parents, paths and sums. Random recordings with
 * everything that can be open. */
#include "recording_source.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, STEPS = 3000, DEPTH = 9, WINDOWS = 12, LINE_SIZE = 320, LINES_MAX = 60000 };

static uint64_t state;

/* Those of all batches. */
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

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/seek.annot", test_directory());
    return path;
}

struct scene {
    struct trace *trace;
    uint32_t names[8];
    uint32_t depth[THREADS];
    int64_t now_ns[THREADS];
    bool tracks;
};

static struct event *add(struct event *event, uint32_t thread, uint8_t kind, int64_t time_ns)
{
    *event = (struct event){.time_ns = time_ns, .thread = thread, .kind = kind};
    return event;
}

/* One more of the thread; a push may have key-values behind it. Returns how many. */
static uint32_t step(struct scene *scene, uint32_t thread, struct event *events)
{
    uint32_t choice = draw(100), *depth = &scene->depth[thread];
    int64_t now_ns = scene->now_ns[thread] += draw(2000);
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
    } else if (choice < 90) {
        add(events, thread, EVENT_START, now_ns)->id = draw(30);
        events->name = scene->names[draw(8)];
    } else if (choice < 95) {
        add(events, thread, EVENT_END, now_ns)->id = draw(30);
    } else if (choice == 95) {
        *depth = draw(3);
        add(events, thread, EVENT_LOST, now_ns)->depth = *depth;
        events->end_ns = scene->now_ns[thread] = now_ns + draw(5000);
        events->level = (uint8_t)draw(LOSS_COUNT);
        events->value.uint64 = 3;
    } else if (choice == 96) {
        *depth = 0;
        add(events, thread, EVENT_EDGE, now_ns);
    } else if (choice == 97 && scene->tracks) {
        add(events, thread, draw(2) ? EVENT_TRACK_BEGIN : EVENT_TRACK_END, now_ns)->name =
            scene->names[1];
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
    return store_writer_add_samples(writer, samples, 2);
}

static int64_t write_recording(bool tracks)
{
    struct scene scene = {.trace = trace_create(), .tracks = tracks};
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true, .checkpoint_bytes = 4096};
    int64_t last_ns = 0;
    trace_process_add(scene.trace);
    for (uint32_t i = 0; i < THREADS; i++) {
        trace_thread_add(scene.trace, 0);
        scene.now_ns[i] = 1000000 + draw(2000);
    }
    if (tracks)
        trace_track_add(scene.trace, 7);
    for (uint32_t i = 0; i < 8; i++)
        scene.names[i] = (uint32_t)trace_string_add(scene.trace, &"abcdefgh"[i], 1);
    trace_session(scene.trace)->begin_ns = 1000000;
    CHECK_INT(store_writer_create(file_path(), scene.trace, &options, &writer), 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct event events[64];
        uint32_t thread = draw(THREADS), count = 0;
        for (uint32_t steps = 1 + draw(8); steps > 0; steps--)
            count += step(&scene, thread, &events[count]);
        const struct event_batch batch = {
            .thread = thread, .count = count, .events = events, .args = some_args};
        CHECK_INT(store_writer_add(writer, &batch), 0);
        if (draw(5) == 0)
            CHECK_INT(add_samples(&scene, writer, thread), 0);
        if (draw(20) == 0)
            CHECK_INT(store_writer_flush(writer), 0);
        last_ns = scene.now_ns[thread] > last_ns ? scene.now_ns[thread] : last_ns;
    }
    trace_session(scene.trace)->end_ns = last_ns + 1000;
    trace_session(scene.trace)->revision++;
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(scene.trace);
    return last_ns;
}

/* ---- Reading ---- */

struct told {
    char (*lines)[LINE_SIZE];
    size_t count;
    uint64_t read_count; /* events that came from the recording */
    struct pass_source source;
    bool ordered;
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

static int seek(void *context, int64_t from_ns)
{
    struct told *told = context;
    return told->source.seek(told->source.context, from_ns);
}

static int take(void *context, const struct item *item)
{
    struct told *told = context;
    CHECK(told->count < LINES_MAX);
    char *at = told->lines[told->count++], *end = at + LINE_SIZE;
    if (item->kind == ITEM_SAMPLE) {
        const struct sample *sample = item->sample;
        snprintf(at, LINE_SIZE, "sample %u %u %lld %lld %u %u", sample->thread, sample->set,
                 (long long)sample->time_ns, (long long)sample->end_ns, sample->path,
                 sample->flags);
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

/* Sorted: lanes may come in another order, and so does what is open at the first instant. */
static void read_part(struct told *told, const struct pass_selection *selection, bool seeks)
{
    struct store_reader *reader;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
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
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct pass_selection selection = PASS_SELECT_ALL;
        selection.from_ns = 1000000 + (int64_t)draw((uint32_t)(last_ns - 1000000));
        if (draw(2))
            selection.to_ns = selection.from_ns + draw(300000);
        whole->ordered = part->ordered = ordered;
        read_part(whole, &selection, false);
        read_part(part, &selection, true);
        for (size_t line = 0; line < whole->count && line < part->count; line++)
            CHECK_STR(part->lines[line], whole->lines[line]);
        CHECK_INT(part->count, whole->count);
        CHECK(part->read_count <= whole->read_count + THREADS * (DEPTH * 8 + 2) + 60);
    }
}

static void check_parts(uint64_t seed, bool tracks)
{
    struct told whole = {.lines = malloc(sizeof(*whole.lines) * LINES_MAX)};
    struct told part = {.lines = malloc(sizeof(*part.lines) * LINES_MAX)};
    state = seed;
    int64_t last_ns = write_recording(tracks);
    compare(&whole, &part, false, last_ns);
    compare(&whole, &part, true, last_ns);
    /* The end of it is read from near by. */
    struct pass_selection selection = PASS_SELECT_ALL;
    selection.from_ns = last_ns - 50000;
    whole.ordered = part.ordered = true;
    read_part(&whole, &selection, false);
    read_part(&part, &selection, true);
    CHECK(tracks || part.read_count < whole.read_count / 2);
    free(whole.lines);
    free(part.lines);
}

TEST_TIMEOUT(any_part_is_the_cut_of_the_whole, 120)
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        check_parts(seed, false);
}

TEST_TIMEOUT(with_tracks_too, 120)
{
    for (uint64_t seed = 1; seed <= 2; seed++)
        check_parts(seed, true);
}
