/* SPDX-License-Identifier: MIT */
/* Compares events and samples merged by time with a plain stable sort. */
#include "merge.h"
#include "pass.h"
#include "pass_state.h"
#include "test.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

enum { LONG_ARGS = 300 }; /* more than a block of the merge has events */

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static uint32_t below(uint64_t *random, uint32_t limit)
{
    return (uint32_t)(next_random(random) % limit);
}

struct place {
    int64_t told_ns;
    size_t index; /* order of arrival */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    if (left->told_ns != right->told_ns)
        return left->told_ns < right->told_ns ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

/* ---- Events ---------------------------------------------------------------------------------- */

struct shape {
    uint64_t random;
    uint32_t threads, batches, batch_max;
    bool settles;  /* batches state what can follow */
    bool args;     /* key-values: mostly few, sometimes LONG_ARGS */
    bool gaps;     /* followed by events of the same thread that are reported earlier */
    bool disorder; /* within threads */
};

struct piece {
    size_t begin;
    uint32_t count, thread;
    int64_t settled_ns;
};

struct stream {
    struct event *events; /* all events; `name` is the index */
    struct piece *pieces;
    VEC(struct arg) args;
    struct place *order; /* expected order */
    size_t count, capacity, piece_count, order_count;
    size_t next, end;     /* pieces [next, end) can be read */
    size_t out;           /* of `order` */
    struct event *buffer; /* the memory of the last batch */
    struct arg *arg_buffer;
    size_t waiting, most;
};

static struct event *stream_add(struct stream *stream)
{
    if (stream->count == stream->capacity) {
        stream->capacity = stream->capacity ? 2 * stream->capacity : 1024;
        stream->events = realloc(stream->events, stream->capacity * sizeof(*stream->events));
    }
    CHECK(stream->events);
    struct event *event = &stream->events[stream->count];
    *event = (struct event){.name = (uint32_t)stream->count++};
    return event;
}

/* Each key-value has a distinct number. */
static void add_args(struct stream *stream, uint64_t *random, struct event *event)
{
    uint32_t count = below(random, 3);
    if (below(random, 500) == 0)
        count = LONG_ARGS;
    event->args = (uint32_t)stream->args.count;
    event->arg_count = (uint16_t)count;
    for (uint32_t i = 0; i < count; i++)
        CHECK_INT(vec_push(&stream->args, ((struct arg){.key = event->args + i})), 0);
}

static void add_piece(struct stream *stream, struct shape *shape, int64_t *thread_ns,
                      uint32_t thread)
{
    uint64_t *random = &shape->random;
    struct piece *piece = &stream->pieces[stream->piece_count++];
    *piece = (struct piece){.begin = stream->count, .thread = thread};
    for (uint32_t n = 1 + below(random, shape->batch_max); n; n--) {
        *thread_ns += 50 * below(random, 3); /* often equal times */
        struct event *event = stream_add(stream);
        event->kind = EVENT_MARK;
        event->thread = thread;
        event->time_ns = *thread_ns;
        if (shape->disorder && below(random, 20) == 0)
            event->time_ns -= 50 * below(random, 20);
        if (shape->gaps && below(random, 20) == 0) {
            event->kind = EVENT_LOST;
            event->end_ns = event->time_ns + 50 * below(random, 20);
        }
        if (shape->args)
            add_args(stream, random, event);
    }
    piece->count = (uint32_t)(stream->count - piece->begin);
}

/* Sets the settled time of each batch, and the expected order. */
static void finish_stream(struct stream *stream, bool settles)
{
    int64_t settled_ns = INT64_MAX;
    for (size_t i = stream->piece_count; i-- > 0;) {
        struct piece *piece = &stream->pieces[i];
        piece->settled_ns = settles ? settled_ns : 0;
        for (size_t e = piece->begin; e < piece->begin + piece->count; e++)
            if (stream->events[e].time_ns < settled_ns)
                settled_ns = stream->events[e].time_ns;
    }
    stream->order = calloc(stream->count, sizeof(*stream->order));
    for (size_t i = 0; i < stream->count; i++)
        stream->order[stream->order_count++] =
            (struct place){event_order_ns(&stream->events[i]), i};
    qsort(stream->order, stream->order_count, sizeof(*stream->order), compare_places);
    stream->end = stream->piece_count;
}

/* Threads are up to several batches apart. */
static struct stream stream_make(struct shape shape)
{
    struct stream stream = {.pieces = calloc(shape.batches, sizeof(struct piece))};
    int64_t *thread_ns = calloc(shape.threads, sizeof(*thread_ns));
    for (uint32_t i = 0; i < shape.threads; i++)
        thread_ns[i] = 100000 + below(&shape.random, 5000);
    for (uint32_t i = 0; i < shape.batches; i++) {
        uint32_t thread = below(&shape.random, shape.threads);
        uint32_t other = below(&shape.random, shape.threads);
        thread = thread_ns[other] < thread_ns[thread] ? other : thread;
        add_piece(&stream, &shape, &thread_ns[thread], thread);
    }
    free(thread_ns);
    finish_stream(&stream, shape.settles);
    return stream;
}

static void stream_free(struct stream *stream)
{
    free(stream->events);
    free(stream->pieces);
    free(stream->order);
    free(stream->buffer);
    free(stream->arg_buffer);
    vec_free(&stream->args);
}

/* Each batch has new memory, so that reads of the previous one are detected. */
static int next_piece(void *context, struct event_batch *ret_batch)
{
    struct stream *stream = context;
    if (stream->next == stream->end)
        return 0;
    const struct piece *piece = &stream->pieces[stream->next++];
    free(stream->buffer);
    size_t size = piece->count * sizeof(*stream->buffer);
    stream->buffer = malloc(size);
    memcpy(stream->buffer, stream->events + piece->begin, size);
    free(stream->arg_buffer);
    stream->arg_buffer = malloc(stream->args.count * sizeof(struct arg) + 1);
    if (stream->args.count)
        memcpy(stream->arg_buffer, stream->args.items, stream->args.count * sizeof(struct arg));
    *ret_batch = (struct event_batch){.thread = piece->thread,
                                      .count = piece->count,
                                      .events = stream->buffer,
                                      .settled_ns = piece->settled_ns,
                                      .args = stream->arg_buffer};
    stream->waiting += piece->count;
    stream->most = stream->waiting > stream->most ? stream->waiting : stream->most;
    return 1;
}

static struct merge *merge_of(struct stream *stream, bool live)
{
    const struct merge_source source = {.next = next_piece, .context = stream, .live = live};
    struct merge *merge = merge_create(&source);
    CHECK(merge);
    return merge;
}

/* Checks an event of the stream with all its parts. Returns its index. */
static size_t check_whole(struct stream *stream, const struct event_batch *batch)
{
    size_t index = batch->events->name;
    CHECK(index < stream->count && batch->count == 1);
    const struct event *expected = &stream->events[index];
    struct event told = *batch->events;
    const struct args args = event_args(batch, &told);
    CHECK_INT(batch->thread, expected->thread);
    for (uint32_t i = 0; i < args.count; i++)
        CHECK_INT(args.items[i].key, expected->args + i);
    told.args = expected->args;
    CHECK(memcmp(&told, expected, sizeof(told)) == 0);
    stream->waiting--;
    return index;
}

/* Compares the merged events with the expected ones; returns the last status. */
static int drain(struct merge *merge, struct stream *stream)
{
    struct event_batch batch;
    int64_t told_ns;
    int status;
    while ((status = merge_peek(merge, &told_ns)) == 1) {
        CHECK_INT(merge_next(merge, &batch), 1);
        CHECK(stream->out < stream->order_count);
        const struct place *place = &stream->order[stream->out++];
        CHECK_INT(check_whole(stream, &batch), place->index);
        CHECK_INT(told_ns, place->told_ns);
    }
    CHECK_INT(merge_next(merge, &batch), status);
    return status;
}

static void check_shape(struct shape shape)
{
    struct stream stream = stream_make(shape);
    struct merge *merge = merge_of(&stream, false);
    CHECK_INT(drain(merge, &stream), 0);
    CHECK_INT(stream.out, stream.order_count);
    CHECK_INT(merge_late_count(merge), 0);
    if (shape.settles) /* it reads no further than necessary */
        CHECK(stream.most < stream.count);
    merge_destroy(merge);
    stream_free(&stream);
}

TEST(events_of_many_threads_come_in_order_of_time)
{
    static const uint32_t threads[] = {1, 2, 3, 8, 64, 512};
    for (unsigned i = 0; i < 6; i++)
        for (unsigned random = 0; random < 4; random++)
            check_shape((struct shape){random, threads[i], 2000, 40, .settles = true});
}

TEST(what_nobody_settles_waits_for_the_end)
{
    check_shape((struct shape){1, 5, 4000, 50, .settles = false});
    check_shape((struct shape){2, 512, 4000, 50, .settles = false});
}

TEST(key_values_stay_with_their_event)
{
    for (unsigned random = 0; random < 10; random++)
        check_shape((struct shape){random, 7, 1000, 30, .settles = true, .args = true});
    check_shape((struct shape){11, 3, 100, 1000, .settles = true, .args = true});
}

TEST(gaps_come_when_they_end_also_before_what_their_thread_tells_behind_them)
{
    for (unsigned random = 0; random < 10; random++)
        check_shape((struct shape){random, 1 + random, 1000, 30, .settles = true,
                                   .args = random % 2, .gaps = true});
}

TEST(threads_that_are_not_in_order_are_put_in_order)
{
    for (unsigned random = 0; random < 10; random++)
        check_shape((struct shape){random, 1 + random, 1000, 30, .settles = random % 2,
                                   .args = true, .gaps = true, .disorder = true});
}

/* The time of the earliest event that is not readable yet. */
static int64_t earliest_to_come(const struct stream *stream)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = stream->end; i < stream->piece_count; i++) {
        const struct piece *piece = &stream->pieces[i];
        for (size_t e = piece->begin; e < piece->begin + piece->count; e++)
            if (stream->events[e].time_ns < first_ns)
                first_ns = stream->events[e].time_ns;
    }
    return first_ns;
}

TEST(a_live_source_tells_what_is_settled_and_all_of_it)
{
    struct shape shape = {
        5, 20, 600, 20, .settles = false, .args = true, .gaps = true, .disorder = true};
    struct stream stream = stream_make(shape);
    struct merge *merge = merge_of(&stream, true);
    uint64_t random = 7;
    stream.end = 0;
    CHECK_INT(drain(merge, &stream), 0);
    while (stream.end < stream.piece_count) {
        stream.end += 1 + below(&random, 20);
        if (stream.end > stream.piece_count)
            stream.end = stream.piece_count;
        if (below(&random, 3) == 0) {
            size_t out = stream.out;
            CHECK_INT(drain(merge, &stream), 0); /* the new events are not settled */
            CHECK_INT(stream.out, out);
        }
        int64_t settled_ns = earliest_to_come(&stream);
        merge_settle(merge, settled_ns);
        CHECK_INT(drain(merge, &stream), 0);
        CHECK(stream.out == stream.order_count || stream.order[stream.out].told_ns >= settled_ns);
    }
    CHECK_INT(stream.out, stream.order_count);
    CHECK_INT(merge_late_count(merge), 0);
    merge_destroy(merge);
    stream_free(&stream);
}

/* ---- Late events ----------------------------------------------------------------------------- */

enum { BATCH = 50 };

/* Thread 0 from `early_ns` on, then thread 1 from 0 on. */
struct two {
    struct event events[BATCH];
    uint32_t early, late; /* batches */
    int64_t early_ns, late_ns;
    int64_t settled_ns;
    size_t waiting, most;
};

static int next_of_two(void *context, struct event_batch *ret_batch)
{
    struct two *two = context;
    bool late = two->early == 0;
    uint32_t *left = late ? &two->late : &two->early;
    if (*left == 0)
        return 0;
    --*left;
    for (uint32_t i = 0; i < BATCH; i++)
        two->events[i] = (struct event){
            .kind = EVENT_MARK, .thread = late, .time_ns = late ? two->late_ns++ : two->early_ns++};
    *ret_batch = (struct event_batch){
        .thread = late, .count = BATCH, .events = two->events, .settled_ns = two->settled_ns};
    two->waiting += BATCH;
    two->most = two->waiting > two->most ? two->waiting : two->most;
    return 1;
}

/* Returns the number of events in order before the first late one; checks that all are merged. */
static uint64_t drain_two(struct two *two, uint64_t *ret_late)
{
    const struct merge_source source = {.next = next_of_two, .context = two};
    struct merge *merge = merge_create(&source);
    size_t expected = (size_t)(two->early + two->late) * BATCH, sum = 0, in_order = 0;
    struct event_batch batch;
    int64_t last_ns = INT64_MIN;
    for (; merge_next(merge, &batch) == 1; sum++) {
        if (in_order == sum && batch.events->time_ns >= last_ns)
            in_order++;
        last_ns = batch.events->time_ns;
        two->waiting--;
    }
    CHECK_INT(sum, expected);
    *ret_late = merge_late_count(merge);
    merge_destroy(merge);
    return in_order;
}

TEST(at_the_limit_the_earliest_goes_on_and_what_comes_later_still_is_counted)
{
    struct two two = {.early = 3 * MERGE_EVENTS_MAX / BATCH, .late = 10, .early_ns = 1000000};
    uint64_t late, all = (uint64_t)two.early * BATCH;
    uint64_t in_order = drain_two(&two, &late);
    CHECK_INT(late, 10 * BATCH);
    CHECK(in_order >= all - MERGE_EVENTS_MAX - BATCH && in_order <= all);
    CHECK(two.most < MERGE_EVENTS_MAX + BATCH);
}

TEST(what_fits_below_the_limit_is_in_order_however_late_it_comes)
{
    struct two two = {.early = MERGE_EVENTS_MAX / BATCH - 10, .late = 9, .early_ns = 1000000};
    uint64_t late, all = (uint64_t)(two.early + two.late) * BATCH;
    CHECK_INT(drain_two(&two, &late), all);
    CHECK_INT(late, 0);
}

TEST(what_comes_before_what_was_settled_is_counted)
{
    struct two two = {
        .early = 4, .late = 2, .early_ns = 1000000, .settled_ns = 1000000 + 2 * BATCH};
    uint64_t late;
    CHECK_INT(drain_two(&two, &late), 2 * BATCH);
    CHECK_INT(late, 2 * BATCH);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static int fail_events(void *context, struct event_batch *ret_batch)
{
    (void)ret_batch;
    return ++*(int *)context < 3 ? -EIO : 0;
}

TEST(what_the_source_returns_is_returned)
{
    int calls = 0;
    const struct merge_source source = {.next = fail_events, .context = &calls};
    struct merge *merge = merge_create(&source);
    struct event_batch batch;
    int64_t told_ns;
    CHECK_INT(merge_peek(merge, &told_ns), -EIO);
    CHECK_INT(merge_next(merge, &batch), -EIO);
    CHECK_INT(merge_next(merge, &batch), 0);
    merge_destroy(merge);
    merge_destroy(NULL);
    sample_merge_destroy(NULL);
}

/* Waiting events are freed when the merge is destroyed. */
TEST(a_merge_can_end_before_its_source)
{
    struct stream stream =
        stream_make((struct shape){3, 9, 200, 30, .args = true, .disorder = true});
    struct merge *merge = merge_of(&stream, false);
    struct event_batch batch;
    for (unsigned i = 0; i < 500; i++)
        CHECK_INT(merge_next(merge, &batch), 1);
    merge_destroy(merge);
    stream_free(&stream);
}

/* ---- Samples --------------------------------------------------------------------------------- */

struct sample_stream {
    struct sample *samples; /* `stack` is the index */
    struct place *order;
    size_t count, next, end, out;
    uint64_t random;
    uint32_t batch_max;
    bool settles;
    struct sample *buffer;
    size_t most; /* largest number of samples read and not yet returned */
    int error;   /* at the end */
};

/* Makes instants and ends of stretches up to `spread_ns` out of order. */
static struct sample_stream samples_make(size_t count, uint32_t spread_ns, uint64_t random)
{
    struct sample_stream stream = {.samples = calloc(count, sizeof(struct sample)),
                                   .order = calloc(count, sizeof(struct place)),
                                   .count = count,
                                   .end = count,
                                   .random = random,
                                   .batch_max = 100};
    for (size_t i = 0; i < count; i++) {
        int64_t at_ns = 1000000 + 10 * (int64_t)i + 10 * below(&stream.random, spread_ns / 10 + 1);
        struct sample *sample = &stream.samples[i];
        *sample = (struct sample){.set = SAMPLE_SET_CPU, .stack = (uint32_t)i, .time_ns = at_ns};
        if (below(&stream.random, 3) == 0) {
            sample->set = SAMPLE_SET_OFF_CPU;
            sample->time_ns = at_ns - below(&stream.random, 2 * spread_ns + 1);
            sample->end_ns = at_ns;
        }
        stream.order[i] = (struct place){at_ns, i};
    }
    qsort(stream.order, count, sizeof(*stream.order), compare_places);
    return stream;
}

static int64_t earliest_sample(const struct sample_stream *stream, size_t from)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = from; i < stream->count; i++)
        if (stream->samples[i].time_ns < first_ns)
            first_ns = stream->samples[i].time_ns;
    return first_ns;
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    struct sample_stream *stream = context;
    size_t count = 1 + below(&stream->random, stream->batch_max);
    if (count > stream->end - stream->next)
        count = stream->end - stream->next;
    if (!count)
        return stream->error;
    free(stream->buffer);
    stream->buffer = malloc(count * sizeof(*stream->buffer));
    memcpy(stream->buffer, stream->samples + stream->next, count * sizeof(*stream->buffer));
    stream->next += count;
    if (stream->next - stream->out > stream->most)
        stream->most = stream->next - stream->out;
    *ret_batch = (struct sample_batch){stream->buffer, (uint32_t)count, INT64_MIN};
    if (stream->settles)
        ret_batch->settled_ns = earliest_sample(stream, stream->next);
    return 1;
}

static struct sample_merge *merge_of_samples(struct sample_stream *stream, bool live)
{
    const struct sample_merge_source source = {next_samples, stream, live};
    struct sample_merge *merge = sample_merge_create(&source);
    CHECK(merge);
    return merge;
}

static void samples_free(struct sample_stream *stream)
{
    free(stream->samples);
    free(stream->order);
    free(stream->buffer);
}

static int drain_samples(struct sample_merge *merge, struct sample_stream *stream)
{
    struct sample sample;
    int64_t told_ns;
    int status;
    while ((status = sample_merge_peek(merge, &told_ns)) == 1) {
        CHECK_INT(sample_merge_next(merge, &sample), 1);
        CHECK(stream->out < stream->count);
        const struct place *place = &stream->order[stream->out++];
        CHECK_INT(sample.stack, place->index);
        CHECK_INT(told_ns, place->told_ns);
    }
    CHECK_INT(sample_merge_next(merge, &sample), status);
    return status;
}

static void check_samples(struct sample_stream stream)
{
    struct sample_merge *merge = merge_of_samples(&stream, false);
    CHECK_INT(drain_samples(merge, &stream), 0);
    CHECK_INT(stream.out, stream.count);
    CHECK_INT(sample_merge_late_count(merge), 0);
    CHECK(stream.most <= MERGE_SAMPLES_MAX + stream.batch_max);
    if (stream.settles)
        CHECK(stream.most < stream.count);
    sample_merge_destroy(merge);
    samples_free(&stream);
}

TEST(samples_come_in_order_stretches_by_their_end)
{
    for (uint32_t spread_ns = 0; spread_ns < 5000; spread_ns = 3 * spread_ns + 10) {
        struct sample_stream stream = samples_make(5000, spread_ns, spread_ns);
        stream.settles = true;
        check_samples(stream);
        check_samples(samples_make(20000, spread_ns, spread_ns));
    }
    check_samples(samples_make(3 * MERGE_SAMPLES_MAX, 9 * MERGE_SAMPLES_MAX, 1));
}

TEST(samples_that_come_later_than_so_many_are_counted)
{
    struct sample_stream stream = samples_make(2 * MERGE_SAMPLES_MAX, 0, 1);
    struct sample_merge *merge = merge_of_samples(&stream, false);
    stream.samples[stream.count - 1].set = SAMPLE_SET_CPU;
    stream.samples[stream.count - 1].end_ns = 0;
    stream.samples[stream.count - 1].time_ns = 1;
    struct sample sample;
    size_t count = 0, late = 0;
    while (sample_merge_next(merge, &sample) == 1) {
        count++;
        late = sample.time_ns == 1 ? count : late;
    }
    CHECK_INT(count, stream.count);
    CHECK(late > MERGE_SAMPLES_MAX - 200 && late < MERGE_SAMPLES_MAX + 200);
    CHECK_INT(sample_merge_late_count(merge), 1);
    sample_merge_destroy(merge);
    samples_free(&stream);
}

TEST(samples_of_a_live_source_wait_until_they_are_settled)
{
    struct sample_stream stream = samples_make(5000, 1000, 3);
    struct sample_merge *merge = merge_of_samples(&stream, true);
    stream.batch_max = 10;
    for (stream.end = 0; stream.end < stream.count;) {
        stream.end += 250;
        size_t out = stream.out;
        if (stream.end % 500 == 0)
            CHECK_INT(drain_samples(merge, &stream), 0);
        CHECK_INT(stream.out, out);
        int64_t settled_ns = earliest_sample(&stream, stream.end);
        sample_merge_settle(merge, settled_ns);
        CHECK_INT(drain_samples(merge, &stream), 0);
        CHECK(stream.out == stream.count || stream.order[stream.out].told_ns >= settled_ns);
    }
    CHECK_INT(stream.out, stream.count);
    CHECK_INT(sample_merge_late_count(merge), 0);
    stream.error = -EIO;
    CHECK_INT(drain_samples(merge, &stream), -EIO);
    sample_merge_destroy(merge);
    samples_free(&stream);
}
