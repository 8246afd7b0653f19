/* SPDX-License-Identifier: MIT */
/* Samples to columns. The dictionary of shapes is searched from its end: a recording has few.
 * Thread-safety: none. */
#include "sample_encode.h"

#include "format.h"
#include "hash_map.h"
#include "sample.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct column {
    VEC(uint8_t) bytes;
};

struct sample_encoder {
    struct column columns[STORE_SAMPLE_COLUMNS];
    struct sample_threads threads;
    struct wide_map shapes; /* by all fields that a shape determines */
    struct sample last;
    uint64_t last_id;
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

/* A sample within the limits of the format, and its stored fields. */
struct normal {
    struct sample sample; /* its values are those below */
    int64_t values[SAMPLE_VALUES_MAX];
    uint8_t fields;
};

static int64_t between(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* From the set's flags; for an unknown set, from the sample itself. */
static uint8_t fields_of(const struct sample_set *set, const struct sample *sample)
{
    bool known = set->count > 0;
    bool parts = (set->flags & SAMPLE_SET_STRETCH) && sample->value_count > 0;
    bool end = set->flags & (SAMPLE_SET_STRETCH | SAMPLE_SET_INTERVAL) ||
               (!known && sample->end_ns > sample->time_ns);
    bool id = set->flags & SAMPLE_SET_HEAP || (!known && sample->id);
    return (uint8_t)((end ? STORE_SAMPLE_FIELD_END : 0) | (parts ? STORE_SAMPLE_FIELD_PARTS : 0) |
                     (id ? STORE_SAMPLE_FIELD_ID : 0));
}

/* The first part is the rest. */
static void limit_parts(struct normal *normal)
{
    int64_t left = normal->sample.end_ns - normal->sample.time_ns;
    for (unsigned i = 1; i < normal->sample.value_count; i++)
        left -= normal->values[i] = between(normal->values[i], 0, left);
    normal->values[0] = left;
}

static void make_normal(struct normal *normal, const struct sample_set *set,
                        const struct sample *sample)
{
    struct sample *to = &normal->sample;
    *to = *sample;
    to->values = normal->values;
    to->time_ns = store_time(sample->time_ns);
    if (to->value_count > SAMPLE_VALUES_MAX)
        to->value_count = SAMPLE_VALUES_MAX;
    normal->fields = fields_of(set, sample);
    bool end = normal->fields & STORE_SAMPLE_FIELD_END;
    to->end_ns = end ? between(sample->end_ns, to->time_ns, STORE_TIME_MAX) : 0;
    bool parts = normal->fields & STORE_SAMPLE_FIELD_PARTS;
    for (unsigned i = 0; i < to->value_count; i++)
        normal->values[i] =
            parts ? sample->values[i] : between(sample->values[i], 0, STORE_VALUE_MAX);
    if (parts)
        limit_parts(normal);
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
    struct column *to = &encoder->columns[column]; /* reserved by sample_encoder_add */
    to->bytes.count =
        (size_t)(varint_put(to->bytes.items + to->bytes.count, value) - to->bytes.items);
}

static void put_signed(struct sample_encoder *encoder, enum store_sample_column column,
                       uint64_t value, uint64_t before)
{
    put(encoder, column, zigzag((int64_t)(value - before)));
}

/* All fields that a shape determines. */
struct shape_key {
    uint16_t set;
    uint8_t reason, flags, native_end, python_end, fields, value_count;
    int64_t values[WIDE_KEY_WORDS - 1]; /* unless they are in their column */
};

enum {
    SHAPE_VALUES_MAX = WIDE_KEY_WORDS - 1,
    SHAPE_BYTES_MAX = 3 + 5 + 1 + SHAPE_VALUES_MAX * VARINT_MAX,
};

_Static_assert(sizeof(struct shape_key) == sizeof(struct wide_key), "the key is the shape");

static uint64_t find_shape(const struct sample_encoder *encoder, const struct shape_key *key)
{
    struct wide_key whole;
    memcpy(whole.words, key, sizeof(*key));
    const uint64_t *found = wide_map_find(&encoder->shapes, &whole);
    return found ? *found : 0;
}

/* After its token: the description, numbered if there is room. 0 or -ENOMEM. */
static int put_new_shape(struct sample_encoder *encoder, const struct shape_key *key)
{
    struct wide_key whole;
    memcpy(whole.words, key, sizeof(*key));
    if (encoder->shapes.count + 1 < STORE_SAMPLE_SHAPES_MAX &&
        wide_map_put(&encoder->shapes, &whole, encoder->shapes.count + 1) != 0)
        return -ENOMEM;
    put(encoder, STORE_SAMPLE_EXTRAS, key->set);
    struct column *extras = &encoder->columns[STORE_SAMPLE_EXTRAS];
    const uint8_t bytes[] = {key->reason, key->flags, key->native_end, key->python_end,
                             key->fields};
    memcpy(extras->bytes.items + extras->bytes.count, bytes, sizeof(bytes));
    extras->bytes.count += sizeof(bytes);
    put(encoder, STORE_SAMPLE_EXTRAS, key->value_count);
    bool here = !(key->fields & (STORE_SAMPLE_FIELD_VALUES | STORE_SAMPLE_FIELD_PARTS));
    for (unsigned i = 0; here && i < key->value_count; i++)
        put(encoder, STORE_SAMPLE_EXTRAS, (uint64_t)key->values[i]);
    return 0;
}

/* Repeated values are part of the shape; for sets with many values, and once there are many shapes,
 * they are in their column. */
static int put_shape(struct sample_encoder *encoder, struct normal *normal)
{
    const struct sample *sample = &normal->sample;
    struct shape_key key = {
        .set = sample->set,
        .reason = sample->reason,
        .flags = sample->flags,
        .native_end = sample->native_end,
        .python_end = sample->python_end,
        .fields = normal->fields,
        .value_count = sample->value_count,
    };
    bool parts = normal->fields & STORE_SAMPLE_FIELD_PARTS;
    bool here = !parts && sample->value_count <= SHAPE_VALUES_MAX;
    for (unsigned i = 0; here && i < sample->value_count; i++)
        key.values[i] = normal->values[i];
    uint64_t number = here || parts ? find_shape(encoder, &key) : 0;
    if (!parts && number == 0 &&
        (!here || encoder->shapes.count >= STORE_SAMPLE_SHAPES_OF_VALUES)) {
        normal->fields = key.fields |= STORE_SAMPLE_FIELD_VALUES;
        memset(key.values, 0, sizeof(key.values));
        number = find_shape(encoder, &key);
    }
    put(encoder, STORE_SAMPLE_TOKENS, number);
    return number ? 0 : put_new_shape(encoder, &key);
}

/* A preempted thread was runnable all the time: the whole rest has a separate code. */
static void put_parts(struct sample_encoder *encoder, const struct normal *normal)
{
    int64_t left = normal->sample.end_ns - normal->sample.time_ns;
    for (unsigned i = 1; i < normal->sample.value_count; i++) {
        int64_t value = normal->values[i];
        put(encoder, STORE_SAMPLE_VALUES,
            value == 0      ? STORE_PART_NONE
            : value == left ? STORE_PART_REST
                            : (uint64_t)value + STORE_PART_REST);
        left -= value;
    }
}

static void put_values(struct sample_encoder *encoder, const struct normal *normal)
{
    if (normal->fields & STORE_SAMPLE_FIELD_PARTS)
        put_parts(encoder, normal);
    else if (normal->fields & STORE_SAMPLE_FIELD_VALUES)
        for (unsigned i = 0; i < normal->sample.value_count; i++)
            put(encoder, STORE_SAMPLE_VALUES, (uint64_t)normal->values[i]);
    if (!(normal->fields & STORE_SAMPLE_FIELD_ID))
        return;
    put_signed(encoder, STORE_SAMPLE_IDS, normal->sample.id, encoder->last_id);
    encoder->last_id = normal->sample.id;
}

static void put_times(struct sample_encoder *encoder, const struct normal *normal,
                      struct sample_before *before)
{
    const struct sample *sample = &normal->sample;
    int64_t end_ns = sample->time_ns;
    if (normal->fields & STORE_SAMPLE_FIELD_END) {
        put_signed(encoder, STORE_SAMPLE_TIMES, (uint64_t)sample->time_ns,
                   (uint64_t)before->end_ns);
        put(encoder, STORE_SAMPLE_ENDS, (uint64_t)(sample->end_ns - sample->time_ns));
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
        if (vec_reserve(&encoder->columns[i].bytes,
                        SHAPE_BYTES_MAX + SAMPLE_VALUES_MAX * VARINT_MAX) != 0)
            return -ENOMEM;
    return 0;
}

int sample_encoder_add(struct sample_encoder *encoder, const struct sample_set *set,
                       const struct sample *sample)
{
    struct normal normal;
    make_normal(&normal, set, sample);
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
    put_values(encoder, &normal);
    encoder->last = normal.sample;
    encoder->last.values = NULL;
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
    encoder->last_id = 0;
    encoder->count = 0;
}
