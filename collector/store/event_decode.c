/* SPDX-License-Identifier: MIT */
/* Columns to events. The payload is foreign: each section is read inside its bounds, counts are
 * limited before memory is taken, and nothing loops longer than the payload is. Thread-safety:
 * none. */
#include "event_code.h"
#include "format.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A dictionary entry: an event with all that its shape decides. */
struct shape {
    struct event event;
    uint64_t last_value;
    uint8_t fields;
    uint8_t stored_kind, stored_value_kind;
};

struct event_decoder {
    struct varint_reader batches, extras;
    const uint8_t *tokens, *tokens_end;
    const uint8_t *controls;
    const uint8_t *times, *times_end;
    uint64_t event_count, event_index;
    int64_t last_batch_ns;
    uint64_t last_id;
    uint64_t depth;
    uint32_t last_shape_name;
    uint32_t shape_count;
    struct event *events;
    size_t capacity;
    struct shape unlisted; /* of one event, when the dictionary is full */
    struct shape shapes[STORE_SHAPES_MAX];
};

struct event_decoder *event_decoder_create(void)
{
    return calloc(1, sizeof(struct event_decoder));
}

void event_decoder_destroy(struct event_decoder *decoder)
{
    if (!decoder)
        return;
    free(decoder->events);
    free(decoder);
}

int event_decoder_start(struct event_decoder *decoder, const uint8_t *payload, size_t size)
{
    struct store_events_header header;
    if (size < sizeof(header))
        return -EBADMSG;
    memcpy(&header, payload, sizeof(header));
    uint64_t sum = (uint64_t)sizeof(header) + header.batches_size + header.tokens_size +
                   header.controls_size + header.times_size + header.extras_size;
    if (sum != size || header.controls_size != ((uint64_t)header.event_count + 3) / 4)
        return -EBADMSG;
    const uint8_t *at = payload + sizeof(header);
    decoder->batches = (struct varint_reader){at, at + header.batches_size};
    decoder->tokens = decoder->batches.end;
    decoder->controls = decoder->tokens_end = decoder->tokens + header.tokens_size;
    decoder->times = decoder->controls + header.controls_size;
    decoder->times_end = decoder->times + header.times_size;
    decoder->extras =
        (struct varint_reader){decoder->times_end, decoder->times_end + header.extras_size};
    decoder->event_count = header.event_count;
    decoder->event_index = 0;
    decoder->last_batch_ns = 0;
    decoder->last_id = 0;
    decoder->last_shape_name = 0;
    decoder->shape_count = 1;
    return 0;
}

/* The next time difference. Reads 8 bytes: the slack behind the payload makes that safe. */
static int64_t next_time(struct event_decoder *decoder, int64_t last_ns)
{
    static const uint8_t lengths[4] = {1, 2, 3, 8};
    static const uint64_t masks[4] = {0xff, 0xffff, 0xffffff, UINT64_MAX};
    uint64_t index = decoder->event_index++;
    unsigned length_class = decoder->controls[index / 4] >> index % 4 * 2 & 3;
    uint64_t delta = 0;
    if (decoder->times <= decoder->times_end)
        memcpy(&delta, decoder->times, 8);
    decoder->times += lengths[length_class];
    return (int64_t)((uint64_t)last_ns + (delta & masks[length_class]));
}

/* NULL: malformed. */
static struct shape *new_shape(struct event_decoder *decoder)
{
    struct varint_reader *extras = &decoder->extras;
    bool full = decoder->shape_count == STORE_SHAPES_MAX;
    struct shape *shape = full ? &decoder->unlisted : &decoder->shapes[decoder->shape_count++];
    *shape = (struct shape){0};
    shape->stored_kind = varint_get_byte(extras);
    shape->event.level = varint_get_byte(extras);
    shape->stored_value_kind = varint_get_byte(extras);
    shape->fields = varint_get_byte(extras);
    shape->event.kind = shape->stored_kind < EVENT_KIND_COUNT ? shape->stored_kind : 0;
    bool known =
        shape->stored_value_kind <= VALUE_STRING && !event_is_flow_or_track(shape->event.kind);
    shape->event.value_kind = known ? shape->stored_value_kind : VALUE_NONE;
    decoder->last_shape_name += (uint32_t)varint_get_signed(extras);
    shape->event.name = decoder->last_shape_name;
    shape->event.scope = (uint32_t)varint_get(extras);
    if (shape->fields & STORE_FIELD_COLOR) {
        shape->event.has_color = 1;
        shape->event.color = (uint32_t)varint_get(extras);
    }
    return extras->at && !(shape->fields & ~STORE_FIELDS_KNOWN) ? shape : NULL;
}

static struct shape *next_shape(struct event_decoder *decoder)
{
    if (decoder->tokens == decoder->tokens_end)
        return NULL;
    uint32_t index = *decoder->tokens++;
    if (index == STORE_TOKEN_NEW)
        return new_shape(decoder);
    if (index >= STORE_TOKEN_WIDE) {
        if (decoder->tokens == decoder->tokens_end)
            return NULL;
        index = STORE_TOKEN_WIDE + ((index - STORE_TOKEN_WIDE) << 8 | *decoder->tokens++);
    }
    return index < decoder->shape_count ? &decoder->shapes[index] : NULL;
}

static uint64_t next_value(struct varint_reader *extras, struct shape *shape)
{
    uint64_t stored = varint_get(extras);
    shape->last_value = shape->stored_value_kind == VALUE_DOUBLE
                            ? shape->last_value ^ __builtin_bswap64(stored)
                            : shape->last_value + (uint64_t)unzigzag(stored);
    return shape->last_value;
}

static void take_extras(struct event_decoder *decoder, struct shape *shape, struct event *event)
{
    struct varint_reader *extras = &decoder->extras;
    if (shape->fields & STORE_FIELD_DEPTH)
        event->depth = varint_get(extras);
    if (shape->fields & STORE_FIELD_ID)
        event->id = decoder->last_id += (uint64_t)varint_get_signed(extras);
    if (shape->fields & STORE_FIELD_END)
        event->end_ns =
            store_time((int64_t)((uint64_t)event->time_ns + (uint64_t)varint_get_signed(extras)));
    if (shape->fields & STORE_FIELD_VALUE && event_is_flow_or_track(event->kind))
        event->id = next_value(extras, shape);
    else if (shape->fields & STORE_FIELD_VALUE)
        event->value.uint64 = next_value(extras, shape);
    if (shape->fields & STORE_FIELD_EXTENSION)
        varint_skip_sized(extras);
}

/* Whether the shape leaves nothing to read but the implied depth. */
static bool is_plain(const struct shape *shape)
{
    return !(shape->fields & ~(STORE_FIELD_COLOR | STORE_FIELD_DEPTH_IMPLIED));
}

static int take_events(struct event_decoder *decoder, struct event_batch *batch, uint64_t count)
{
    int64_t time_ns = decoder->last_batch_ns;
    uint64_t depth = decoder->depth;
    struct event *event = decoder->events;
    for (uint64_t i = 0; i < count; i++) {
        struct shape *shape = next_shape(decoder);
        if (!shape)
            return -EBADMSG;
        time_ns = next_time(decoder, time_ns);
        *event = shape->event;
        event->time_ns = store_time(time_ns);
        event->thread = batch->thread;
        if (shape->fields & STORE_FIELD_DEPTH_IMPLIED)
            event->depth = depth - 1;
        if (!is_plain(shape))
            take_extras(decoder, shape, event);
        depth = event_depth_after(event, depth);
        event += event->kind != 0; /* kinds we do not know are left out */
    }
    decoder->depth = depth;
    batch->events = decoder->events;
    batch->count = (uint32_t)(event - decoder->events);
    return decoder->extras.at && decoder->times <= decoder->times_end ? 1 : -EBADMSG;
}

static int take_batch(struct event_decoder *decoder, struct event_batch *batch,
                      struct batch_before *before)
{
    struct varint_reader *batches = &decoder->batches;
    uint64_t thread = varint_get(batches);
    before->stored_count = varint_get(batches);
    batch->thread = (uint32_t)thread;
    batch->source.sequence = (uint32_t)varint_get(batches);
    batch->source.begin_offset = (uint32_t)varint_get(batches);
    batch->source.end_offset = batch->source.begin_offset + (uint32_t)varint_get_signed(batches);
    before->first_index = varint_get(batches);
    before->depth = varint_get(batches);
    decoder->last_batch_ns =
        (int64_t)((uint64_t)decoder->last_batch_ns + (uint64_t)varint_get_signed(batches));
    if (!batches->at || thread > UINT32_MAX || before->stored_count > STORE_BATCH_MAX ||
        before->stored_count > decoder->event_count - decoder->event_index)
        return -EBADMSG;
    return 0;
}

int event_decoder_next(struct event_decoder *decoder, struct event_batch *ret_batch,
                       struct batch_before *ret_before)
{
    if (decoder->batches.at == decoder->batches.end)
        return decoder->event_index == decoder->event_count ? 0 : -EBADMSG;
    int error = take_batch(decoder, ret_batch, ret_before);
    if (error)
        return error;
    if (vec_grow((void **)&decoder->events, &decoder->capacity, ret_before->stored_count + 1,
                 sizeof(*decoder->events)) != 0)
        return -ENOMEM;
    decoder->depth = ret_before->depth;
    int status = take_events(decoder, ret_batch, ret_before->stored_count);
    ret_before->depth_after = decoder->depth;
    return status;
}
