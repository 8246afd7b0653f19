/* SPDX-License-Identifier: MIT */
/* Samples to columns. The dictionary of shapes is searched from its end: a recording has few.
 * Thread-safety: none. */
#include "format.h"
#include "sample_code.h"
#include "varint.h"
#include "wide_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct column {
    VEC(uint8_t) bytes;
};

struct sample_encoder {
    struct column columns[STORE_SAMPLE_COLUMNS];
    struct sample_threads threads;
    struct wide_map shapes; /* by all that a shape decides */
    struct sample last;
    uint64_t count;
    int64_t first_ns, last_ns;
};

struct sample_before *sample_thread(struct sample_threads *threads, uint32_t thread,
                                    const struct sample *before)
{
    uint64_t key = thread + UINT64_C(1);
    const uint64_t *found = map64_find(&threads->index, key);
    if (found)
        return &threads->items.items[*found];
    struct sample_before fresh = {.time_ns = before->time_ns,
                                  .end_ns = before->time_ns,
                                  .stack = before->stack,
                                  .path = before->path,
                                  .cpu = before->cpu};
    if (map64_put(&threads->index, key, threads->items.count) != 0 ||
        vec_push(&threads->items, fresh) != 0)
        return NULL;
    return &threads->items.items[threads->items.count - 1];
}

void sample_threads_reset(struct sample_threads *threads)
{
    map64_free(&threads->index);
    threads->items.count = 0;
}

void sample_threads_free(struct sample_threads *threads)
{
    map64_free(&threads->index);
    vec_free(&threads->items);
}

static int64_t between(int64_t time_ns, int64_t low_ns, int64_t high_ns)
{
    return time_ns < low_ns ? low_ns : time_ns > high_ns ? high_ns : time_ns;
}

struct sample sample_normal(const struct sample *sample)
{
    struct sample normal = *sample;
    normal.reserved = 0;
    normal.time_ns = store_time(sample->time_ns);
    if (sample->kind == SAMPLE_OFF_CPU) {
        normal.end_ns = between(sample->end_ns, normal.time_ns, STORE_TIME_MAX);
        if (sample->wake_ns != 0)
            normal.wake_ns = between(sample->wake_ns, normal.time_ns, normal.end_ns);
        normal.weight_ns = 0;
    } else {
        normal.wake_ns = normal.end_ns = 0;
        if (normal.weight_ns > STORE_WEIGHT_MAX)
            normal.weight_ns = STORE_WEIGHT_MAX;
    }
    return normal;
}

struct sample_encoder *sample_encoder_create(void)
{
    return calloc(1, sizeof(struct sample_encoder));
}

void sample_encoder_destroy(struct sample_encoder *encoder)
{
    if (!encoder)
        return;
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        vec_free(&encoder->columns[i].bytes);
    sample_threads_free(&encoder->threads);
    wide_map_free(&encoder->shapes);
    free(encoder);
}

static void put(struct sample_encoder *encoder, enum store_sample_column column, uint64_t value)
{
    struct column *to = &encoder->columns[column]; /* there is room: sample_encoder_add */
    to->bytes.count =
        (size_t)(varint_put(to->bytes.items + to->bytes.count, value) - to->bytes.items);
}

static void put_signed(struct sample_encoder *encoder, enum store_sample_column column,
                       uint64_t value, uint64_t before)
{
    put(encoder, column, zigzag((int64_t)(value - before)));
}

/* All that a shape decides, as bytes. */
struct shape_key {
    uint8_t kind, reason, flags, native_end, python_end, fields, zeros[2];
    uint64_t weight_ns;
};

_Static_assert(sizeof(struct shape_key) <= sizeof(struct wide_key), "the key is the shape");

/* The number of the sample's shape; 0: it was not there, and is if there was room. */
static int64_t shape_number(struct sample_encoder *encoder, const struct shape_key *key)
{
    struct wide_key whole = {0};
    memcpy(whole.words, key, sizeof(*key));
    const uint64_t *found = wide_map_find(&encoder->shapes, &whole);
    if (found)
        return (int64_t)*found;
    if (encoder->shapes.count + 1 >= STORE_SAMPLE_SHAPES_MAX)
        return 0;
    return wide_map_put(&encoder->shapes, &whole, encoder->shapes.count + 1);
}

static int put_shape(struct sample_encoder *encoder, const struct sample *sample)
{
    struct shape_key key = {
        .kind = sample->kind,
        .reason = sample->reason,
        .flags = sample->flags,
        .native_end = sample->native_end,
        .python_end = sample->python_end,
        .fields = sample->kind == SAMPLE_OFF_CPU ? STORE_SAMPLE_FIELD_END : 0,
        .weight_ns = sample->weight_ns,
    };
    int64_t number = shape_number(encoder, &key);
    if (number < 0)
        return -ENOMEM;
    put(encoder, STORE_SAMPLE_TOKENS, (uint64_t)number);
    if (number > 0)
        return 0;
    struct column *extras = &encoder->columns[STORE_SAMPLE_EXTRAS];
    memcpy(extras->bytes.items + extras->bytes.count, &key, STORE_SAMPLE_SHAPE_BYTES);
    extras->bytes.count += STORE_SAMPLE_SHAPE_BYTES;
    put(encoder, STORE_SAMPLE_EXTRAS, key.weight_ns);
    return 0;
}

static void put_times(struct sample_encoder *encoder, const struct sample *sample,
                      struct sample_before *before)
{
    int64_t end_ns = sample->time_ns;
    if (sample->kind == SAMPLE_OFF_CPU) {
        put_signed(encoder, STORE_SAMPLE_TIMES, (uint64_t)sample->time_ns,
                   (uint64_t)before->end_ns);
        put(encoder, STORE_SAMPLE_ENDS, (uint64_t)(sample->end_ns - sample->time_ns));
        put(encoder, STORE_SAMPLE_ENDS,
            sample->wake_ns ? (uint64_t)(sample->end_ns - sample->wake_ns) + 1 : 0);
        before->end_ns = end_ns = sample->end_ns;
    } else {
        int64_t step_ns = sample->time_ns - before->time_ns;
        put_signed(encoder, STORE_SAMPLE_TIMES, (uint64_t)step_ns, (uint64_t)before->step_ns);
        before->time_ns = sample->time_ns;
        before->step_ns = step_ns;
    }
    if (encoder->count == 0 || sample->time_ns < encoder->first_ns)
        encoder->first_ns = sample->time_ns;
    if (encoder->count == 0 || end_ns > encoder->last_ns)
        encoder->last_ns = end_ns;
}

static int make_room(struct sample_encoder *encoder)
{
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        if (vec_reserve(&encoder->columns[i].bytes, STORE_SAMPLE_SHAPE_BYTES + 2 * VARINT_MAX) != 0)
            return -ENOMEM;
    return 0;
}

int sample_encoder_add(struct sample_encoder *encoder, const struct sample *sample)
{
    struct sample normal = sample_normal(sample);
    struct sample_before *before = sample_thread(&encoder->threads, sample->thread, &encoder->last);
    if (!before || make_room(encoder) != 0 || put_shape(encoder, &normal) != 0)
        return -ENOMEM;
    put_signed(encoder, STORE_SAMPLE_THREADS, sample->thread, encoder->last.thread);
    put_times(encoder, &normal, before);
    put_signed(encoder, STORE_SAMPLE_CPUS, sample->cpu, before->cpu);
    put_signed(encoder, STORE_SAMPLE_STACKS, sample->stack, before->stack);
    put_signed(encoder, STORE_SAMPLE_PATHS, sample->path, before->path);
    before->cpu = sample->cpu;
    before->stack = sample->stack;
    before->path = sample->path;
    encoder->last = normal;
    encoder->count++;
    return 0;
}

size_t sample_encoder_size(const struct sample_encoder *encoder)
{
    size_t size = encoder->count ? sizeof(struct store_samples_header) : 0;
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        size += encoder->columns[i].bytes.count;
    return size;
}

uint64_t sample_encoder_count(const struct sample_encoder *encoder)
{
    return encoder->count;
}

void sample_encoder_span(const struct sample_encoder *encoder, int64_t *ret_first_ns,
                         int64_t *ret_last_ns)
{
    *ret_first_ns = encoder->first_ns;
    *ret_last_ns = encoder->last_ns;
}

void sample_encoder_take(struct sample_encoder *encoder, uint8_t *payload)
{
    struct store_samples_header header = {.sample_count = (uint32_t)encoder->count};
    uint8_t *at = payload + sizeof(header);
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++) {
        struct column *column = &encoder->columns[i];
        header.sizes[i] = (uint32_t)column->bytes.count;
        if (column->bytes.count)
            memcpy(at, column->bytes.items, column->bytes.count);
        at += column->bytes.count;
        column->bytes.count = 0;
    }
    memcpy(payload, &header, sizeof(header));
    sample_threads_reset(&encoder->threads);
    wide_map_free(&encoder->shapes);
    encoder->last = (struct sample){0};
    encoder->count = 0;
}
