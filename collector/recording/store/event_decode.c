/* SPDX-License-Identifier: MIT */
/* Columns to events. The payload is foreign: each section is read inside its bounds, counts are
 * limited before memory is allocated, and loops are bounded by the length of the payload.
 * Thread-safety: none. */
#include "event_decode.h"

#include "event.h"
#include "format.h"
#include "varint.h"
#include "vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct shape_arg {
    uint32_t key;
    uint32_t kind; /* as it is stored */
    uint64_t last_value;
};

/* A dictionary entry: an event with all fields that its shape determines. */
struct shape {
    struct event event; /* kind 0: to be dropped */
    uint64_t last_value, last_length;
    uint32_t last_lane;
    uint32_t fields;
    uint32_t first_arg, arg_count;
    uint8_t traits, value_kind; /* as they are stored */
};

struct event_decoder {
    bool is_checkpoint; /* EVENT_RESUME is allowed */
    bool has_causes;    /* of a declared stream */
    struct varint_reader batches, extras;
    const uint8_t *tokens, *tokens_end;
    const uint8_t *controls;
    const uint8_t *times, *times_end;
    uint64_t event_count, event_index;
    int64_t last_batch_ns;
    uint64_t last_id;
    uint64_t depth;      /* of the batch's thread */
    uint64_t told_depth; /* of the last event; 0 if it has no depth */
    uint32_t last_shape_name, last_arg_key;
    uint32_t shape_count;
    struct event *events;
    size_t capacity;
    VEC(struct arg) args;             /* of the batch */
    VEC(struct shape_arg) shape_args; /* after the last one: those of `unlisted` */
    struct shape unlisted;            /* of one event, when the dictionary is full */
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
    vec_free(&decoder->args);
    vec_free(&decoder->shape_args);
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
    decoder->last_shape_name = decoder->last_arg_key = 0;
    decoder->shape_args.count = 0;
    decoder->shape_count = 1;
    decoder->is_checkpoint = decoder->has_causes = false;
    return 0;
}

void event_decoder_take_causes(struct event_decoder *decoder)
{
    decoder->has_causes = true;
}

/* The next time difference. Reads 8 bytes, which the slack after the payload makes safe. */
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

static uint8_t known_value_kind(uint32_t kind)
{
    return kind <= VALUE_STRING ? (uint8_t)kind : VALUE_NONE;
}

/* The keys of a new shape's key-values, appended to those of all listed ones. 0, -EBADMSG,
 * -ENOMEM. */
static int read_shape_args(struct event_decoder *decoder, struct shape *shape)
{
    struct varint_reader *extras = &decoder->extras;
    uint64_t count = varint_get(extras);
    if (!extras->at || count > EVENT_ARGS_MAX || count > (uint64_t)(extras->end - extras->at))
        return -EBADMSG;
    if (vec_reserve(&decoder->shape_args, count) != 0)
        return -ENOMEM;
    shape->first_arg = (uint32_t)decoder->shape_args.count;
    shape->arg_count = (uint32_t)count;
    for (uint64_t i = 0; i < count; i++) {
        decoder->last_arg_key += (uint32_t)varint_get_signed(extras);
        decoder->shape_args.items[shape->first_arg + i] =
            (struct shape_arg){decoder->last_arg_key, varint_get_byte(extras), 0};
    }
    return 0;
}

/* Skips fields of later versions, and those of this one that have a length. */
static void skip_sized(struct varint_reader *extras, uint32_t fields)
{
    for (fields >>= STORE_FIELD_SIZED_SHIFT; fields; fields &= fields - 1)
        varint_skip_sized(extras);
}

/* 0, -EBADMSG, -ENOMEM. */
static int read_shape(struct event_decoder *decoder, struct shape *shape)
{
    struct varint_reader *extras = &decoder->extras;
    int error = 0;
    *shape = (struct shape){0};
    shape->event.kind = event_known_kind(varint_get_byte(extras));
    if (shape->event.kind == EVENT_RESUME && !decoder->is_checkpoint)
        shape->event.kind = 0;
    shape->traits = varint_get_byte(extras);
    if (shape->traits & EVENT_GOES_ON && event_can_continue(shape->event.kind))
        shape->event.flags |= EVENT_CONTINUES;
    shape->event.level = varint_get_byte(extras);
    shape->value_kind = varint_get_byte(extras);
    uint64_t fields = varint_get(extras);
    shape->fields = (uint32_t)fields;
    if (!(fields & STORE_FIELD_SHAPE_ID))
        shape->event.value_kind = known_value_kind(shape->value_kind);
    decoder->last_shape_name += (uint32_t)varint_get_signed(extras);
    shape->event.name = decoder->last_shape_name;
    shape->event.scope = (uint32_t)varint_get(extras);
    if (fields & STORE_FIELD_COLOR) {
        shape->event.flags |= EVENT_HAS_COLOR;
        shape->event.color = (uint32_t)varint_get(extras);
    }
    if (fields & STORE_FIELD_ARGS)
        error = read_shape_args(decoder, shape);
    skip_sized(extras, shape->fields);
    return error == 0 && (!extras->at || fields > UINT32_MAX) ? -EBADMSG : error;
}

/* 0, -EBADMSG, -ENOMEM. */
static int new_shape(struct event_decoder *decoder, struct shape **ret_shape)
{
    struct shape *shape = &decoder->unlisted;
    int error = read_shape(decoder, shape);
    *ret_shape = shape;
    if (error || decoder->shape_count == STORE_SHAPES_MAX ||
        shape->arg_count > STORE_SHAPE_ARGS_MAX - decoder->shape_args.count)
        return error;
    decoder->shape_args.count += shape->arg_count;
    *ret_shape = &decoder->shapes[decoder->shape_count++];
    **ret_shape = *shape;
    return 0;
}

/* 0, -EBADMSG, -ENOMEM. */
static inline int next_shape(struct event_decoder *decoder, struct shape **ret_shape)
{
    if (decoder->tokens == decoder->tokens_end)
        return -EBADMSG;
    uint32_t index = *decoder->tokens++;
    if (index == STORE_TOKEN_NEW)
        return new_shape(decoder, ret_shape);
    if (index >= STORE_TOKEN_WIDE) {
        if (decoder->tokens == decoder->tokens_end)
            return -EBADMSG;
        index = STORE_TOKEN_WIDE + ((index - STORE_TOKEN_WIDE) << 8 | *decoder->tokens++);
    }
    *ret_shape = &decoder->shapes[index];
    return index < decoder->shape_count ? 0 : -EBADMSG;
}

static uint64_t next_value(struct varint_reader *extras, uint32_t kind, uint64_t last)
{
    uint64_t stored = varint_get(extras);
    return kind == VALUE_DOUBLE ? last ^ __builtin_bswap64(stored)
                                : last + (uint64_t)unzigzag(stored);
}

/* 0, -EBADMSG, -ENOMEM. */
static int take_args(struct event_decoder *decoder, const struct shape *shape, struct event *event)
{
    struct shape_arg *own = decoder->shape_args.items + shape->first_arg;
    if (shape->arg_count > STORE_BATCH_ARGS_MAX - decoder->args.count)
        return -EBADMSG;
    if (vec_reserve(&decoder->args, shape->arg_count) != 0)
        return -ENOMEM;
    event->args = (uint32_t)decoder->args.count;
    event->arg_count = (uint16_t)shape->arg_count;
    for (uint32_t i = 0; i < shape->arg_count; i++) {
        struct arg *arg = &decoder->args.items[decoder->args.count++];
        *arg = (struct arg){.key = own[i].key, .kind = known_value_kind(own[i].kind)};
        if (own[i].kind == VALUE_NONE)
            continue;
        own[i].last_value = next_value(&decoder->extras, own[i].kind, own[i].last_value);
        if (arg->kind != VALUE_NONE)
            arg->value.uint64 = own[i].last_value;
    }
    if (event->kind == 0)
        decoder->args.count -= shape->arg_count;
    return 0;
}

static void take_lane(struct varint_reader *extras, struct shape *shape, struct event *event)
{
    if (shape->fields & STORE_FIELD_LANE)
        event->lane = shape->last_lane += (uint32_t)varint_get_signed(extras);
    if (shape->fields & STORE_FIELD_ORIGIN) {
        uint64_t before = varint_get(extras);
        int64_t origin_ns = (int64_t)((uint64_t)event->time_ns - (uint64_t)unzigzag(before - 1));
        event->origin_ns = before ? store_time(origin_ns) : EVENT_NO_ORIGIN;
    }
}

/* Only an EVENT_SPAN of a declared stream may have another thread than its batch; its reader checks
 * the thread. */
static void take_cause(struct event_decoder *decoder, struct event *event)
{
    struct varint_reader *extras = &decoder->extras, own = *extras;
    varint_skip_sized(extras);
    uint64_t size = varint_get(&own);
    if (!extras->at || size == 0 || event->kind != EVENT_SPAN || !decoder->has_causes)
        return;
    event->thread += (uint32_t)varint_get_signed(&own);
}

/* 0, -EBADMSG, -ENOMEM. */
static int take_extras(struct event_decoder *decoder, struct shape *shape, struct event *event)
{
    struct varint_reader *extras = &decoder->extras;
    int error = 0;
    if (shape->fields & (STORE_FIELD_LANE | STORE_FIELD_ORIGIN))
        take_lane(extras, shape, event);
    if (shape->fields & STORE_FIELD_DEPTH)
        event->depth = decoder->told_depth = varint_get(extras);
    if (shape->fields & STORE_FIELD_ID)
        event->id = decoder->last_id += (uint64_t)varint_get_signed(extras);
    if (shape->fields & STORE_FIELD_END) {
        shape->last_length += (uint64_t)varint_get_signed(extras);
        event->end_ns = store_time((int64_t)((uint64_t)event->time_ns + shape->last_length));
    }
    if (shape->fields & STORE_FIELD_SHAPE_ID)
        event->id = shape->last_value += (uint64_t)varint_get_signed(extras);
    if (shape->fields & STORE_FIELD_VALUE)
        event->value.uint64 = shape->last_value =
            next_value(extras, shape->value_kind, shape->last_value);
    if (shape->fields & STORE_FIELD_ARGS)
        error = take_args(decoder, shape, event);
    if (shape->fields & STORE_FIELD_CAUSE)
        take_cause(decoder, event);
    skip_sized(extras, shape->fields & ~(uint32_t)STORE_FIELDS_KNOWN);
    return error;
}

/* True if the shape has no fields to read other than the implied depth. */
static bool is_plain(const struct shape *shape)
{
    return !(shape->fields & ~(STORE_FIELD_COLOR | STORE_FIELD_DEPTH_IMPLIED));
}

static int take_events(struct event_decoder *decoder, struct event_batch *batch, uint64_t count)
{
    int64_t time_ns = decoder->last_batch_ns;
    uint64_t depth = decoder->depth;
    decoder->args.count = 0;
    struct event *event = decoder->events;
    for (uint64_t i = 0; i < count; i++) {
        struct shape *shape;
        int error = next_shape(decoder, &shape);
        if (error)
            return error;
        time_ns = next_time(decoder, time_ns);
        *event = shape->event;
        event->time_ns = store_time(time_ns);
        event->thread = batch->thread;
        decoder->told_depth = 0;
        if (shape->fields & STORE_FIELD_DEPTH_IMPLIED)
            event->depth = decoder->told_depth = depth - 1;
        if (!is_plain(shape) && (error = take_extras(decoder, shape, event)) != 0)
            return error;
        if (shape->traits & EVENT_OPENS)
            depth++;
        else if (shape->traits & EVENT_CLOSES)
            depth = decoder->told_depth;
        event += event->kind != 0; /* drops unknown kinds */
    }
    decoder->depth = depth;
    batch->events = decoder->events;
    batch->args = decoder->args.items;
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

int event_decoder_start_checkpoint(struct event_decoder *decoder, const uint8_t *payload,
                                   size_t size)
{
    int error = event_decoder_start(decoder, payload, size);
    decoder->is_checkpoint = true;
    return error;
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
