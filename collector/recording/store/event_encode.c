/* SPDX-License-Identifier: MIT */
/* Events to columns. Invariant: every section has room for a whole batch of the widest events
 * before its first event is written, so the inner loop needs no checks. Thread-safety: none. */
#include "event_encode.h"

#include "event.h"
#include "format.h"
#include "varint.h"
#include "vec.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOT_COUNT = STORE_SHAPES_MAX * 2,
    TOKEN_MAX = 2,
    TIME_MAX = 8,
    SHAPE_SIZE_MAX = 4 + 5 * VARINT_MAX,
    CAUSE_MAX = 1 + VARINT_MAX,
    EXTRAS_MAX = SHAPE_SIZE_MAX + 7 * VARINT_MAX + 1 + CAUSE_MAX,
    ARG_MAX = 1 + 2 * VARINT_MAX, /* of a new shape: key, kind, value */
    BATCH_SIZE_MAX = 8 * VARINT_MAX,
};

/* All fields that a shape determines except its key-values, as words: the bytes of struct event
 * from `kind` to `name`, with the fields mask in place of flags; scope and colour. */
struct shape_key {
    uint64_t kind_name, scope_color;
};

struct shape_arg {
    uint32_t key, kind;
    uint64_t last_value;
};

/* Reference for the differences of the shape's next event. */
struct shape_last {
    uint64_t value; /* or the id, if the shape has an id */
    uint64_t length;
    uint32_t lane;
};

struct shape {
    struct shape_key key;
    uint32_t slot; /* in `slots` */
    uint32_t first_arg, arg_count;
    struct shape_last last;
};

struct section {
    uint8_t *bytes;
    size_t size, capacity;
};

struct event_encoder {
    struct section batches, tokens, controls, times, extras;
    uint64_t event_count;
    int64_t first_ns, last_ns;
    int64_t last_batch_ns;
    uint64_t last_id;
    uint32_t last_shape_name, last_arg_key;
    uint32_t shape_count;       /* index 0 is unused: token 0 means a new one */
    VEC(struct shape_arg) args; /* of the shapes */
    struct shape shapes[STORE_SHAPES_MAX];
    uint16_t slots[SLOT_COUNT]; /* index of a shape; 0 = free */
};

static void restart(struct event_encoder *encoder)
{
    for (uint32_t i = 1; i < encoder->shape_count; i++)
        encoder->slots[encoder->shapes[i].slot] = 0;
    encoder->batches.size = encoder->tokens.size = encoder->controls.size = 0;
    encoder->times.size = encoder->extras.size = 0;
    encoder->event_count = 0;
    encoder->first_ns = INT64_MAX;
    encoder->last_ns = INT64_MIN;
    encoder->last_batch_ns = 0;
    encoder->last_id = 0;
    encoder->last_shape_name = encoder->last_arg_key = 0;
    encoder->args.count = 0;
    encoder->shape_count = 1;
}

struct event_encoder *event_encoder_create(void)
{
    struct event_encoder *encoder = calloc(1, sizeof(*encoder));
    if (encoder)
        restart(encoder);
    return encoder;
}

void event_encoder_destroy(struct event_encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->batches.bytes);
    free(encoder->tokens.bytes);
    free(encoder->controls.bytes);
    free(encoder->times.bytes);
    free(encoder->extras.bytes);
    vec_free(&encoder->args);
    free(encoder);
}

static int reserve(struct section *section, size_t extra)
{
    return vec_grow((void **)&section->bytes, &section->capacity, section->size + extra, 1);
}

static int reserve_batch(struct event_encoder *encoder, size_t count, size_t arg_count)
{
    size_t shape_args = STORE_SHAPE_ARGS_MAX - encoder->args.count;
    shape_args = arg_count < shape_args ? arg_count : shape_args;
    if (reserve(&encoder->batches, BATCH_SIZE_MAX) != 0 ||
        reserve(&encoder->tokens, count * TOKEN_MAX) != 0 ||
        reserve(&encoder->controls, count / 4 + 1) != 0 ||
        reserve(&encoder->times, (count + 1) * TIME_MAX) != 0 ||
        reserve(&encoder->extras, count * EXTRAS_MAX + arg_count * ARG_MAX) != 0 ||
        vec_reserve(&encoder->args, shape_args) != 0)
        return -ENOMEM;
    return 0;
}

static const uint16_t kind_fields[256] = {
    [EVENT_START] = STORE_FIELD_ID,
    [EVENT_END] = STORE_FIELD_ID,
    [EVENT_LOST] = STORE_FIELD_DEPTH | STORE_FIELD_END | STORE_FIELD_VALUE,
    [EVENT_FLOW_BEGIN] = STORE_FIELD_SHAPE_ID,
    [EVENT_FLOW_STEP] = STORE_FIELD_SHAPE_ID,
    [EVENT_FLOW_END] = STORE_FIELD_SHAPE_ID,
    [EVENT_TRACK_BEGIN] = STORE_FIELD_LANE,
    [EVENT_TRACK_END] = STORE_FIELD_LANE,
    [EVENT_TRACK_MARK] = STORE_FIELD_LANE,
    [EVENT_TRACK_HIDDEN] = STORE_FIELD_LANE,
    [EVENT_SPAN] = STORE_FIELD_LANE | STORE_FIELD_END | STORE_FIELD_ORIGIN,
    [EVENT_RESUME] = STORE_FIELD_DEPTH,
};

/* A key has the lowest eight bits; the others follow from the kind. */
enum { FIELDS_IN_KEY = 0xff };

/* In the key of an EVENT_SPAN, which has no id: STORE_FIELD_CAUSE. In that of a begin, which has no
 * end: EVENT_CONTINUES. */
enum { CAUSE_IN_KEY = STORE_FIELD_ID, CONTINUES_IN_KEY = STORE_FIELD_END };

static inline uint32_t continues_in_key(const struct event *event)
{
    return event->flags & EVENT_CONTINUES ? CONTINUES_IN_KEY : 0;
}

static inline uint32_t fields_of_key(const struct shape_key *key)
{
    uint8_t kind = (uint8_t)key->kind_name;
    uint32_t of_kind = kind_fields[kind] & ~(uint32_t)FIELDS_IN_KEY;
    uint32_t fields = (uint32_t)(key->kind_name >> 24 & FIELDS_IN_KEY) | of_kind;
    if (kind == EVENT_SPAN && fields & CAUSE_IN_KEY)
        fields ^= CAUSE_IN_KEY ^ STORE_FIELD_CAUSE;
    return event_can_continue(kind) ? fields & ~(uint32_t)CONTINUES_IN_KEY : fields;
}

/* The fields as in the key. */
static inline uint32_t fields_of(const struct event *event, uint64_t depth, uint32_t thread)
{
    uint32_t fields = kind_fields[event->kind];
    if (event->kind == EVENT_SPAN && event->thread != thread)
        fields |= CAUSE_IN_KEY;
    if (event->flags & EVENT_HAS_COLOR)
        fields |= STORE_FIELD_COLOR;
    if (event_can_continue(event->kind))
        fields |= continues_in_key(event);
    if (event->value_kind != VALUE_NONE && !(fields & STORE_FIELD_SHAPE_ID))
        fields |= STORE_FIELD_VALUE;
    if (event->arg_count)
        fields |= STORE_FIELD_ARGS;
    if (event->kind == EVENT_POP)
        fields |= event->depth + 1 == depth ? STORE_FIELD_DEPTH_IMPLIED : STORE_FIELD_DEPTH;
    return fields;
}

/* Made in registers: storing single bytes and loading the word again would stall. */
static inline struct shape_key key_of(const struct event *event, uint32_t fields)
{
    struct shape_key key;
    memcpy(&key.kind_name, &event->kind, 8);
    key.scope_color =
        event->scope | (event->flags & EVENT_HAS_COLOR ? (uint64_t)event->color << 32 : 0);
    key.kind_name = (key.kind_name & ~UINT64_C(0xff000000)) | (uint64_t)(fields & FIELDS_IN_KEY)
                                                                  << 24;
    return key;
}

_Static_assert(offsetof(struct event, flags) == offsetof(struct event, kind) + 3 &&
                   offsetof(struct event, name) == offsetof(struct event, kind) + 4,
               "the first word of a key");

static inline bool is_equal(const struct shape_key *a, const struct shape_key *b)
{
    return a->kind_name == b->kind_name && a->scope_color == b->scope_color;
}

/* True if the shape has the keys and kinds of `args`, which may be NULL. */
static inline bool has_args(const struct event_encoder *encoder, const struct shape *shape,
                            const struct args *args)
{
    if (!args)
        return true;
    const struct shape_arg *own = encoder->args.items + shape->first_arg;
    bool same = shape->arg_count == args->count;
    for (uint32_t i = 0; same && i < args->count; i++)
        same = own[i].key == args->items[i].key && own[i].kind == args->items[i].kind;
    return same;
}

static inline uint32_t hash_key(const struct shape_key *key, const struct args *args)
{
    uint64_t hash = key->kind_name * UINT64_C(0x9e3779b97f4a7c15) ^
                    (key->scope_color + 1) * UINT64_C(0xff51afd7ed558ccd);
    for (uint32_t i = 0; args && i < args->count; i++)
        hash = (hash ^ (uint64_t)args->items[i].kind << 32 ^ args->items[i].key) *
               UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 40);
}

static uint8_t traits_of(const struct event *event)
{
    bool goes_on = event->flags & EVENT_CONTINUES && event_can_continue(event->kind);
    return event_traits[event->kind] | (goes_on ? EVENT_GOES_ON : 0);
}

static uint8_t *put_shape(struct event_encoder *encoder, uint8_t *at, const struct event *event,
                          uint32_t fields, const struct args *args)
{
    *at++ = event->kind;
    *at++ = traits_of(event);
    *at++ = event->level;
    *at++ = event->value_kind;
    at = varint_put(at, fields);
    at = varint_put(at, zigzag((int64_t)event->name - encoder->last_shape_name));
    at = varint_put(at, event->scope);
    if (fields & STORE_FIELD_COLOR)
        at = varint_put(at, event->color);
    if (args)
        at = varint_put(at, args->count);
    for (uint32_t i = 0; args && i < args->count; i++) {
        at = varint_put(at, zigzag((int64_t)args->items[i].key - encoder->last_arg_key));
        *at++ = (uint8_t)args->items[i].kind;
        encoder->last_arg_key = args->items[i].key;
    }
    if (fields & STORE_FIELD_CAUSE)
        *at++ = 0; /* length of its description */
    encoder->last_shape_name = event->name;
    return at;
}

/* The slot of a shape that is in this chunk's dictionary, or the free slot for it. */
static inline uint32_t find_shape(const struct event_encoder *encoder, const struct shape_key *key,
                                  const struct args *args)
{
    uint32_t slot = hash_key(key, args) % SLOT_COUNT;
    for (; encoder->slots[slot] != 0; slot = (slot + 1) % SLOT_COUNT) {
        const struct shape *shape = &encoder->shapes[encoder->slots[slot]];
        if (is_equal(&shape->key, key) && has_args(encoder, shape, args))
            break;
    }
    return slot;
}

/* Its index, or 0 if the dictionary is full. */
static uint32_t learn_shape(struct event_encoder *encoder, const struct shape_key *key,
                            uint32_t slot, const struct args *args)
{
    uint32_t arg_count = args ? args->count : 0;
    if (encoder->shape_count == STORE_SHAPES_MAX ||
        arg_count > STORE_SHAPE_ARGS_MAX - encoder->args.count)
        return 0;
    encoder->slots[slot] = (uint16_t)encoder->shape_count;
    encoder->shapes[encoder->shape_count] =
        (struct shape){.key = *key,
                       .slot = slot,
                       .first_arg = (uint32_t)encoder->args.count,
                       .arg_count = arg_count};
    for (uint32_t i = 0; i < arg_count; i++)
        encoder->args.items[encoder->args.count++] =
            (struct shape_arg){args->items[i].key, args->items[i].kind, 0};
    return encoder->shape_count++;
}

static inline uint8_t *put_token(uint8_t *at, uint32_t index)
{
    if (index < STORE_TOKEN_WIDE) {
        *at++ = (uint8_t)index;
        return at;
    }
    index -= STORE_TOKEN_WIDE;
    *at++ = (uint8_t)(STORE_TOKEN_WIDE + (index >> 8));
    *at++ = (uint8_t)index;
    return at;
}

static uint8_t *put_value(uint8_t *at, uint8_t kind, uint64_t value, uint64_t last)
{
    if (kind == VALUE_DOUBLE)
        return varint_put(at, __builtin_bswap64(value ^ last));
    return varint_put(at, zigzag((int64_t)(value - last)));
}

/* Preceded by its length, so that readers that do not know it can skip it. */
static uint8_t *put_cause(uint8_t *at, uint32_t thread, const struct event *event)
{
    uint8_t *end = varint_put(at + 1, zigzag((int64_t)event->thread - thread));
    *at = (uint8_t)(end - at - 1);
    return end;
}

static uint8_t *put_lane(uint8_t *at, const struct event *event, uint32_t fields,
                         struct shape_last *last)
{
    if (fields & STORE_FIELD_LANE) {
        at = varint_put(at, zigzag((int64_t)event->lane - last->lane));
        last->lane = event->lane;
    }
    if (fields & STORE_FIELD_ORIGIN) {
        int64_t before_ns = store_time(event->time_ns) - store_time(event->origin_ns);
        at = varint_put(at, event->origin_ns == EVENT_NO_ORIGIN ? 0 : 1 + zigzag(before_ns));
    }
    return at;
}

/* A new shape is written before the extras of its first event; its values start from 0. */
static uint8_t *put_extras(struct event_encoder *encoder, uint8_t *at, const struct event *event,
                           uint32_t fields, struct shape_last *last)
{
    if (fields & (STORE_FIELD_LANE | STORE_FIELD_ORIGIN))
        at = put_lane(at, event, fields, last);
    if (fields & STORE_FIELD_DEPTH)
        at = varint_put(at, event->depth);
    if (fields & STORE_FIELD_ID) {
        at = varint_put(at, zigzag((int64_t)(event->id - encoder->last_id)));
        encoder->last_id = event->id;
    }
    if (fields & STORE_FIELD_END) {
        uint64_t length = (uint64_t)event->end_ns - (uint64_t)event->time_ns;
        at = varint_put(at, zigzag((int64_t)(length - last->length)));
        last->length = length;
        encoder->last_ns = event->end_ns > encoder->last_ns ? event->end_ns : encoder->last_ns;
    }
    if (fields & STORE_FIELD_SHAPE_ID) {
        at = varint_put(at, zigzag((int64_t)(event->id - last->value)));
        last->value = event->id;
    }
    if (fields & STORE_FIELD_VALUE) {
        at = put_value(at, event->value_kind, event->value.uint64, last->value);
        last->value = event->value.uint64;
    }
    return at;
}

/* `own`: of a shape in the dictionary; NULL: of an unlisted one. */
static uint8_t *put_args(uint8_t *at, const struct args *args, struct shape_arg *own)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        if (arg->kind == VALUE_NONE)
            continue;
        at = put_value(at, (uint8_t)arg->kind, arg->value.uint64, own ? own[i].last_value : 0);
        if (own)
            own[i].last_value = arg->value.uint64;
    }
    return at;
}

/* Place of the next event: copies of the sections' ends, which a store of a byte into a section
 * cannot change, so they stay in registers. */
struct cursor {
    uint8_t *token, *extras;
};

/* An event with extras or a new shape. */
static uint8_t *put_details(struct event_encoder *encoder, uint8_t *at, const struct event *event,
                            const struct shape_key *key, uint32_t slot)
{
    uint32_t fields = fields_of_key(key), index = encoder->slots[slot];
    struct shape_last unlisted = {0};
    if (index == 0) {
        at = put_shape(encoder, at, event, fields, NULL);
        index = learn_shape(encoder, key, slot, NULL);
    }
    struct shape_last *last = index ? &encoder->shapes[index].last : &unlisted;
    return put_extras(encoder, at, event, fields, last);
}

static void put_event_with_args(struct event_encoder *encoder, struct cursor *cursor,
                                const struct event *event, const struct shape_key *key,
                                const struct args *args)
{
    uint32_t fields = fields_of_key(key), slot = find_shape(encoder, key, args);
    uint32_t index = encoder->slots[slot];
    struct shape_last unlisted = {0};
    uint8_t *at = cursor->extras;
    cursor->token = put_token(cursor->token, index);
    if (index == 0) {
        at = put_shape(encoder, at, event, fields, args);
        index = learn_shape(encoder, key, slot, args);
    }
    struct shape *shape = index ? &encoder->shapes[index] : NULL;
    at = put_extras(encoder, at, event, fields, shape ? &shape->last : &unlisted);
    cursor->extras = put_args(at, args, shape ? encoder->args.items + shape->first_arg : NULL);
}

/* Separate from the loop over plain ranges, which keeps all its state in registers. */
__attribute__((noinline)) static void put_event(struct event_encoder *encoder,
                                                struct cursor *cursor,
                                                const struct event_batch *batch,
                                                const struct event *event, uint64_t depth)
{
    uint32_t fields = fields_of(event, depth, batch->thread);
    struct shape_key key = key_of(event, fields);
    if (fields & STORE_FIELD_ARGS) {
        const struct args args = event_args(batch, event);
        put_event_with_args(encoder, cursor, event, &key, &args);
    } else {
        uint32_t slot = find_shape(encoder, &key, NULL);
        uint32_t index = encoder->slots[slot];
        cursor->token = put_token(cursor->token, index);
        if (index == 0 || fields & ~(STORE_FIELD_COLOR | STORE_FIELD_DEPTH_IMPLIED))
            cursor->extras = put_details(encoder, cursor->extras, event, &key, slot);
    }
    if (fields_of_key(&key) & STORE_FIELD_CAUSE)
        cursor->extras = put_cause(cursor->extras, batch->thread, event);
}

static void put_batch(struct event_encoder *encoder, const struct event_batch *batch,
                      const struct thread_state *state)
{
    int64_t first_ns = batch->count ? batch->events[0].time_ns : encoder->last_batch_ns;
    uint8_t *at = encoder->batches.bytes + encoder->batches.size;
    at = varint_put(at, batch->thread);
    at = varint_put(at, batch->count);
    at = varint_put(at, batch->source.sequence);
    at = varint_put(at, batch->source.begin_offset);
    at = varint_put(at, zigzag((int64_t)batch->source.end_offset - batch->source.begin_offset));
    at = varint_put(at, state->next_index);
    at = varint_put(at, state->depth);
    at = varint_put(at, zigzag((int64_t)((uint64_t)first_ns - (uint64_t)encoder->last_batch_ns)));
    encoder->batches.size = (size_t)(at - encoder->batches.bytes);
    encoder->last_batch_ns = first_ns;
}

/* True for events other than opening a range, closing the innermost, or lying in it. */
static bool is_rare(const struct event *event, uint64_t depth)
{
    switch (event->kind) {
    case EVENT_PUSH:
    case EVENT_MARK:
    case EVENT_COUNTER:
        return false;
    default:
        return event->kind != EVENT_POP || event->depth + 1 != depth;
    }
}

/* Differences of times: four length classes in a byte, then the bytes. */
static void put_times(struct event_encoder *encoder, const struct event_batch *batch)
{
    uint8_t *at = encoder->times.bytes + encoder->times.size;
    uint8_t *control = encoder->controls.bytes + encoder->event_count / 4;
    unsigned shift = encoder->event_count % 4 * 2, classes = shift ? *control : 0;
    int64_t last_ns = encoder->last_batch_ns, first_ns = encoder->first_ns;
    int64_t latest_ns = encoder->last_ns;
    for (uint32_t i = 0; i < batch->count; i++) {
        int64_t time_ns = batch->events[i].time_ns;
        uint64_t delta = (uint64_t)time_ns - (uint64_t)last_ns;
        unsigned top_byte = (63u - (unsigned)__builtin_clzll(delta | 1)) / 8;
        unsigned length_class = top_byte < 3 ? top_byte : 3;
        memcpy(at, &delta, 8);
        at += length_class == 3 ? 8 : length_class + 1;
        classes |= length_class << shift;
        *control = (uint8_t)classes;
        shift = (shift + 2) % 8;
        control += shift == 0;
        classes = shift ? classes : 0;
        first_ns = time_ns < first_ns ? time_ns : first_ns;
        latest_ns = time_ns > latest_ns ? time_ns : latest_ns;
        last_ns = time_ns;
    }
    encoder->times.size = (size_t)(at - encoder->times.bytes);
    encoder->event_count += batch->count;
    encoder->controls.size = (encoder->event_count + 3) / 4;
    encoder->first_ns = first_ns;
    encoder->last_ns = latest_ns;
}

/* The index of the shape of a push or pop with only a name, a level and a scope, and without other
 * changes of the depth; 0: another event, or a new shape. */
static inline uint32_t plain_shape(const struct event_encoder *encoder, const struct event *event,
                                   uint64_t depth)
{
    bool pushes = event->kind == EVENT_PUSH;
    bool pops = (event->kind == EVENT_POP) & (event->depth + 1 == depth);
    uint32_t more = event->value_kind | (event->flags & EVENT_HAS_COLOR) | event->arg_count;
    if (!(pushes | pops) || more)
        return 0;
    struct shape_key key =
        key_of(event, pops ? (uint32_t)STORE_FIELD_DEPTH_IMPLIED : continues_in_key(event));
    return encoder->slots[find_shape(encoder, &key, NULL)];
}

/* The shapes of the events, and their extras. */
static void put_shapes(struct event_encoder *encoder, const struct event_batch *batch,
                       struct thread_state *state)
{
    struct cursor cursor = {encoder->tokens.bytes + encoder->tokens.size,
                            encoder->extras.bytes + encoder->extras.size};
    uint8_t *token = cursor.token;
    uint64_t depth = state->depth, low = depth, pushes = 0;
    bool rare = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        uint32_t index = plain_shape(encoder, event, depth);
        uint64_t before = depth;
        pushes += event->kind == EVENT_PUSH;
        depth = event_depth_after(event, depth);
        low = depth < low ? depth : low;
        if (__builtin_expect(index != 0, 1)) {
            token = put_token(token, index);
            continue;
        }
        cursor.token = token;
        put_event(encoder, &cursor, batch, event, before);
        token = cursor.token;
        rare |= is_rare(event, before);
    }
    encoder->tokens.size = (size_t)(token - encoder->tokens.bytes);
    encoder->extras.size = (size_t)(cursor.extras - encoder->extras.bytes);
    *state = (struct thread_state){.next_index = state->next_index + batch->count,
                                   .depth = depth,
                                   .low = low,
                                   .pushes = (uint32_t)pushes,
                                   .rare = rare};
}

int event_encoder_add(struct event_encoder *encoder, const struct event_batch *batch,
                      uint32_t arg_count, struct thread_state *state)
{
    assert(batch->count <= STORE_BATCH_MAX / 2 && arg_count <= STORE_BATCH_ARGS_MAX);
    if (reserve_batch(encoder, batch->count, arg_count) != 0)
        return -ENOMEM;
    put_batch(encoder, batch, state);
    put_times(encoder, batch);
    put_shapes(encoder, batch, state);
    return 0;
}

size_t event_encoder_size(const struct event_encoder *encoder)
{
    return encoder->batches.size == 0
               ? 0
               : sizeof(struct store_events_header) + encoder->batches.size + encoder->tokens.size +
                     encoder->controls.size + encoder->times.size + encoder->extras.size;
}

uint64_t event_encoder_count(const struct event_encoder *encoder)
{
    return encoder->event_count;
}

void event_encoder_span(const struct event_encoder *encoder, int64_t *ret_first_ns,
                        int64_t *ret_last_ns)
{
    *ret_first_ns = encoder->event_count ? encoder->first_ns : 0;
    *ret_last_ns = encoder->event_count ? encoder->last_ns : 0;
}

static uint8_t *copy_section(uint8_t *at, const struct section *section)
{
    if (section->size)
        memcpy(at, section->bytes, section->size);
    return at + section->size;
}

void event_encoder_take(struct event_encoder *encoder, uint8_t *payload)
{
    struct store_events_header header = {
        .event_count = (uint32_t)encoder->event_count,
        .batches_size = (uint32_t)encoder->batches.size,
        .tokens_size = (uint32_t)encoder->tokens.size,
        .controls_size = (uint32_t)encoder->controls.size,
        .times_size = (uint32_t)encoder->times.size,
        .extras_size = (uint32_t)encoder->extras.size,
    };
    memcpy(payload, &header, sizeof(header));
    uint8_t *at = payload + sizeof(header);
    at = copy_section(at, &encoder->batches);
    at = copy_section(at, &encoder->tokens);
    at = copy_section(at, &encoder->controls);
    at = copy_section(at, &encoder->times);
    copy_section(at, &encoder->extras);
    restart(encoder);
}
