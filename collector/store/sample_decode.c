/* SPDX-License-Identifier: MIT */
/* Columns to samples. The payload is foreign: each column is read inside its bounds, and a sample
 * takes at least a byte of it, so nothing loops longer than it is. Thread-safety: none. */
#include "format.h"
#include "sample_code.h"
#include "varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sample_shape {
    struct sample sample; /* with all that the shape decides */
    uint8_t fields;
};

struct sample_decoder {
    struct varint_reader columns[STORE_SAMPLE_COLUMNS];
    struct sample_threads threads;
    uint64_t count, index;
    struct sample last;
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
    decoder->shape_count = 1;
    return 0;
}

/* NULL: malformed. */
static const struct sample_shape *new_shape(struct sample_decoder *decoder)
{
    struct varint_reader *extras = &decoder->columns[STORE_SAMPLE_EXTRAS];
    bool full = decoder->shape_count == STORE_SAMPLE_SHAPES_MAX;
    struct sample_shape *shape =
        full ? &decoder->unlisted : &decoder->shapes[decoder->shape_count++];
    *shape = (struct sample_shape){0};
    shape->sample.kind = varint_get_byte(extras);
    shape->sample.reason = varint_get_byte(extras);
    shape->sample.flags = varint_get_byte(extras);
    shape->sample.native_end = varint_get_byte(extras);
    shape->sample.python_end = varint_get_byte(extras);
    shape->fields = varint_get_byte(extras);
    shape->sample.weight_ns = varint_get(extras);
    bool known = (shape->fields & ~(unsigned)STORE_SAMPLE_FIELDS_KNOWN) == 0;
    return extras->at && known ? shape : NULL;
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

static void read_times(struct sample_decoder *decoder, uint8_t fields, struct sample *sample,
                       struct sample_before *before)
{
    if (!(fields & STORE_SAMPLE_FIELD_END)) {
        uint64_t step = next_sum(decoder, STORE_SAMPLE_TIMES, (uint64_t)before->step_ns);
        before->step_ns = (int64_t)step;
        before->time_ns = sample->time_ns = (int64_t)((uint64_t)before->time_ns + step);
        return;
    }
    struct varint_reader *ends = &decoder->columns[STORE_SAMPLE_ENDS];
    uint64_t time = next_sum(decoder, STORE_SAMPLE_TIMES, (uint64_t)before->end_ns);
    uint64_t end = time + varint_get(ends), wake = varint_get(ends);
    sample->time_ns = (int64_t)time;
    before->end_ns = sample->end_ns = (int64_t)end;
    sample->wake_ns = wake ? (int64_t)(end - (wake - 1)) : 0;
}

static bool is_whole(const struct sample_decoder *decoder)
{
    for (int i = 0; i < STORE_SAMPLE_COLUMNS; i++)
        if (!decoder->columns[i].at)
            return false;
    return true;
}

/* As it is stored: 0, -EBADMSG, -ENOMEM. */
static int read_sample(struct sample_decoder *decoder, struct sample *sample)
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
    if (shape->fields & STORE_SAMPLE_FIELD_EXTENSION)
        varint_skip_sized(&decoder->columns[STORE_SAMPLE_EXTRAS]);
    decoder->last = *sample;
    return is_whole(decoder) ? 0 : -EBADMSG;
}

int sample_decoder_next(struct sample_decoder *decoder, struct sample *ret_sample)
{
    struct sample sample;
    while (decoder->index < decoder->count) {
        decoder->index++;
        int error = read_sample(decoder, &sample);
        if (error)
            return error;
        if (sample.kind == SAMPLE_CPU || sample.kind == SAMPLE_OFF_CPU) {
            *ret_sample = sample_normal(&sample);
            return 1;
        }
    }
    return 0;
}
