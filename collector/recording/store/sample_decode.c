/* SPDX-License-Identifier: MIT */
/* Columns to samples. The payload is foreign: each column is read inside its bounds, and a sample
 * takes at least a byte of it, which bounds all loops. Thread-safety: none. */
#include "sample_decode.h"

#include "format.h"
#include "sample.h"
#include "sample_encode.h"
#include "varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sample_shape {
    struct sample sample; /* with all fields that the shape determines */
    uint8_t fields;
    bool listed; /* valid until the next chunk */
    int64_t values[SAMPLE_VALUES_MAX];
};

struct sample_decoder {
    struct varint_reader columns[STORE_SAMPLE_COLUMNS];
    struct sample_threads threads;
    uint64_t count, index;
    struct sample last;
    uint64_t last_id;
    uint32_t shape_count;
    struct sample_shape unlisted; /* of one sample, when the dictionary is full */
    struct sample_shape shapes[STORE_SAMPLE_SHAPES_MAX];
};

struct sample_decoder *sample_decoder_create(void)
{
    return calloc(1, sizeof(struct sample_decoder));
}

void sample_decoder_destroy(struct sample_decoder *decoder)
{
    if (!decoder)
        return;
    sample_threads_free(&decoder->threads);
    free(decoder);
}

int sample_decoder_start(struct sample_decoder *decoder, const uint8_t *payload, size_t size)
{
    struct store_samples_header header;
    if (size < sizeof(header))
        return -EBADMSG;
    memcpy(&header, payload, sizeof(header));
    uint64_t sum = sizeof(header);
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        sum += header.sizes[i];
    if (sum != size || header.sample_count > header.sizes[STORE_SAMPLE_TOKENS])
        return -EBADMSG;
    const uint8_t *at = payload + sizeof(header);
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++) {
        decoder->columns[i] = (struct varint_reader){at, at + header.sizes[i]};
        at += header.sizes[i];
    }
    sample_threads_reset(&decoder->threads);
    decoder->count = header.sample_count;
    decoder->index = 0;
    decoder->last = (struct sample){0};
    decoder->last_id = 0;
    decoder->shape_count = 1;
    return 0;
}

static bool fields_fit(unsigned fields, uint64_t value_count)
{
    bool parts = fields & STORE_SAMPLE_FIELD_PARTS;
    return (fields & ~(unsigned)STORE_SAMPLE_FIELDS_KNOWN) == 0 &&
           (!parts || (value_count > 0 && (fields & STORE_SAMPLE_FIELD_END) &&
                       !(fields & STORE_SAMPLE_FIELD_VALUES)));
}

static int64_t next_value(struct varint_reader *from)
{
    uint64_t value = varint_get(from);
    return value < STORE_VALUE_MAX ? (int64_t)value : STORE_VALUE_MAX;
}

/* NULL: malformed. */
static const struct sample_shape *new_shape(struct sample_decoder *decoder)
{
    struct varint_reader *extras = &decoder->columns[STORE_SAMPLE_EXTRAS];
    bool full = decoder->shape_count == STORE_SAMPLE_SHAPES_MAX;
    struct sample_shape *shape =
        full ? &decoder->unlisted : &decoder->shapes[decoder->shape_count++];
    *shape = (struct sample_shape){.listed = !full};
    uint64_t set = varint_get(extras);
    shape->sample.set = (uint16_t)set;
    shape->sample.reason = varint_get_byte(extras);
    shape->sample.flags = varint_get_byte(extras);
    shape->sample.native_end = varint_get_byte(extras);
    shape->sample.python_end = varint_get_byte(extras);
    shape->fields = varint_get_byte(extras);
    uint64_t count = varint_get(extras);
    shape->sample.value_count = (uint8_t)count;
    if (set > UINT16_MAX || count > SAMPLE_VALUES_MAX || !fields_fit(shape->fields, count))
        return NULL;
    if (!(shape->fields & (STORE_SAMPLE_FIELD_VALUES | STORE_SAMPLE_FIELD_PARTS)))
        for (unsigned i = 0; i < count; i++)
            shape->values[i] = next_value(extras);
    return extras->at ? shape : NULL;
}

static const struct sample_shape *next_shape(struct sample_decoder *decoder)
{
    struct varint_reader *tokens = &decoder->columns[STORE_SAMPLE_TOKENS];
    uint64_t token = varint_get(tokens);
    if (!tokens->at || token >= decoder->shape_count)
        return NULL;
    return token ? &decoder->shapes[token] : new_shape(decoder);
}

static uint64_t next_sum(struct sample_decoder *decoder, enum store_sample_column column,
                         uint64_t before)
{
    return before + (uint64_t)varint_get_signed(&decoder->columns[column]);
}

static int64_t between(int64_t time_ns, int64_t low_ns, int64_t high_ns)
{
    return time_ns < low_ns ? low_ns : time_ns > high_ns ? high_ns : time_ns;
}

/* Clamps times to their limits, in order. */
static void read_times(struct sample_decoder *decoder, uint8_t fields, struct sample *sample,
                       struct sample_before *before)
{
    if (!(fields & STORE_SAMPLE_FIELD_END)) {
        uint64_t step = next_sum(decoder, STORE_SAMPLE_TIMES, (uint64_t)before->step_ns);
        before->step_ns = (int64_t)step;
        before->time_ns = (int64_t)((uint64_t)before->time_ns + step);
        sample->time_ns = store_time(before->time_ns);
        return;
    }
    uint64_t time = next_sum(decoder, STORE_SAMPLE_TIMES, (uint64_t)before->end_ns);
    uint64_t end = time + varint_get(&decoder->columns[STORE_SAMPLE_ENDS]);
    before->end_ns = (int64_t)end;
    sample->time_ns = store_time((int64_t)time);
    sample->end_ns = between((int64_t)end, sample->time_ns, STORE_TIME_MAX);
}

static void read_values(struct sample_decoder *decoder, const struct sample_shape *shape,
                        struct sample *sample, int64_t values[SAMPLE_VALUES_MAX])
{
    struct varint_reader *column = &decoder->columns[STORE_SAMPLE_VALUES];
    sample->values = shape->listed ? shape->values : values;
    if (shape->fields & STORE_SAMPLE_FIELD_PARTS) {
        uint64_t left = (uint64_t)sample->end_ns - (uint64_t)sample->time_ns;
        for (unsigned i = 1; i < sample->value_count; i++) {
            uint64_t code = varint_get(column), value = code - STORE_PART_REST;
            bool part = code > STORE_PART_REST && value < left;
            values[i] = code == STORE_PART_NONE ? 0 : (int64_t)(part ? value : left);
            left -= (uint64_t)values[i];
        }
        values[0] = (int64_t)left;
        sample->values = values;
    } else if (shape->fields & STORE_SAMPLE_FIELD_VALUES) {
        for (unsigned i = 0; i < sample->value_count; i++)
            values[i] = next_value(column);
        sample->values = values;
    } else if (!shape->listed) {
        memcpy(values, shape->values, sizeof(shape->values));
    }
}

static bool is_whole(const struct sample_decoder *decoder)
{
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        if (!decoder->columns[i].at)
            return false;
    return true;
}

/* 0, -EBADMSG, -ENOMEM. */
static int read_sample(struct sample_decoder *decoder, struct sample *sample,
                       int64_t values[SAMPLE_VALUES_MAX])
{
    const struct sample_shape *shape = next_shape(decoder);
    if (!shape)
        return -EBADMSG;
    *sample = shape->sample;
    sample->thread = (uint32_t)next_sum(decoder, STORE_SAMPLE_THREADS, decoder->last.thread);
    struct sample_before *before = sample_thread(&decoder->threads, sample->thread, &decoder->last);
    if (!before)
        return -ENOMEM;
    read_times(decoder, shape->fields, sample, before);
    sample->cpu = before->cpu = (uint16_t)next_sum(decoder, STORE_SAMPLE_CPUS, before->cpu);
    sample->stack = before->stack = (uint32_t)next_sum(decoder, STORE_SAMPLE_STACKS, before->stack);
    sample->path = before->path = (uint32_t)next_sum(decoder, STORE_SAMPLE_PATHS, before->path);
    read_values(decoder, shape, sample, values);
    if (shape->fields & STORE_SAMPLE_FIELD_ID)
        decoder->last_id = sample->id = next_sum(decoder, STORE_SAMPLE_IDS, decoder->last_id);
    if (shape->fields & STORE_SAMPLE_FIELD_EXTENSION)
        varint_skip_sized(&decoder->columns[STORE_SAMPLE_EXTRAS]);
    decoder->last = *sample;
    return is_whole(decoder) ? 0 : -EBADMSG;
}

int sample_decoder_next(struct sample_decoder *decoder, struct sample *ret_sample,
                        int64_t values[SAMPLE_VALUES_MAX])
{
    if (decoder->index == decoder->count)
        return 0;
    decoder->index++;
    int error = read_sample(decoder, ret_sample, values);
    return error ? error : 1;
}
