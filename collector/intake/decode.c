/* SPDX-License-Identifier: MIT */
/* One pass over the records of a block. */
#include "decode.h"

#include <errno.h>
#include <string.h>

/* After the records were copied: their times lie before this. */
static void refresh_now(struct decoder *decoder)
{
    clock_map_advance(decoder->clock);
    decoder->now_ns = clock_now_ns();
}

int64_t decode_time(struct decoder *decoder, uint64_t time)
{
    int64_t ns = decoder->monotonic ? (time > INT64_MAX ? INT64_MAX : (int64_t)time)
                                    : clock_map_ns(decoder->clock, time);
    return ns < 0 ? 0 : ns;
}

/* The time of an event: not before the thread's last one, not after the present. */
static int64_t event_time(struct decoder *decoder, struct decode_thread *thread, uint64_t time)
{
    int64_t ns = decode_time(decoder, time);
    if (ns > decoder->now_ns)
        ns = decoder->now_ns;
    if (ns < thread->last_ns)
        ns = thread->last_ns;
    if (thread->first_ns == 0)
        thread->first_ns = ns;
    thread->last_ns = ns;
    return ns;
}

static struct event lost_event(struct decode_thread *thread, enum loss cause, uint64_t count)
{
    thread->lost[cause] += count;
    return (struct event){.kind = EVENT_LOST,
                          .thread = thread->ordinal,
                          .level = (uint8_t)cause,
                          .value_kind = VALUE_UINT64,
                          .value.uint64 = count,
                          .depth = thread->depth,
                          .time_ns = thread->last_ns,
                          .end_ns = thread->last_ns};
}

struct event decode_lost(struct decoder *decoder, struct decode_thread *thread, enum loss cause,
                         uint64_t count)
{
    struct event event = lost_event(thread, cause, count);
    event.end_ns = decoder->now_ns > event.time_ns ? decoder->now_ns : event.time_ns;
    return event;
}

/* An edge, if recording was off since the thread's last block, and the losses before this one. */
static size_t decode_header(struct decoder *decoder, struct decode_thread *thread,
                            const struct annot_block *header, struct event *events)
{
    size_t count = 0;
    if (decoder->recover && !decoder->monotonic)
        clock_map_offer(decoder->clock,
                        (struct clock_anchor){header->claim_time, (int64_t)header->claim_ns});
    if (thread->started && header->generation != thread->generation && header->open_depth == 0) {
        thread->depth = 0;
        events[count++] =
            (struct event){.kind = EVENT_EDGE,
                           .thread = thread->ordinal,
                           .time_ns = event_time(decoder, thread, header->claim_time)};
    }
    thread->started = true;
    thread->generation = header->generation;

    bool any = false;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        any = any || header->lost[cause] != 0;
    if (!any)
        return count;
    uint64_t begin_time = header->gap_time != 0 ? header->gap_time : header->claim_time;
    int64_t begin_ns = event_time(decoder, thread, begin_time);
    int64_t end_ns = event_time(decoder, thread, header->claim_time);
    if (header->kept_depth < thread->depth)
        thread->depth = header->kept_depth;
    for (int cause = 0; cause < LOSS_COUNT; cause++) {
        if (header->lost[cause] == 0)
            continue;
        bool believed = header->lost[cause] <= LOSS_BELIEVABLE;
        struct event event = lost_event(thread, believed ? (enum loss)cause : LOSS_CORRUPT,
                                        believed ? header->lost[cause] : 1);
        event.time_ns = begin_ns;
        event.end_ns = end_ns;
        events[count++] = event;
        begin_ns = end_ns; /* events of a thread come in time order */
    }
    return count;
}

/* The parts of one record, all inside its length. */
struct parts {
    struct annot_record record;
    struct annot_attr attr;
    struct annot_id id;
    const char *name, *text;
};

static uint32_t padded(uint32_t size)
{
    return (size + ANNOT_GRANULE - 1u) & ~(ANNOT_GRANULE - 1u);
}

/* Takes `size` bytes of the record, if they are there. */
static const void *take(const uint8_t *bytes, uint32_t *used, uint32_t length, uint64_t size)
{
    if (size > length || padded((uint32_t)size) > length - *used)
        return NULL;
    const void *part = bytes + *used;
    *used += padded((uint32_t)size);
    return part;
}

/* 0 or -EBADMSG. */
static int split(const uint8_t *bytes, uint32_t length, struct parts *parts)
{
    uint32_t used = sizeof(parts->record);
    uint8_t flags = parts->record.flags;
    const void *part;
    if (flags & ANNOT_FLAG_ATTR) {
        if (!(part = take(bytes, &used, length, sizeof(parts->attr))))
            return -EBADMSG;
        memcpy(&parts->attr, part, sizeof(parts->attr));
    }
    if (flags & ANNOT_FLAG_ID) {
        if (!(part = take(bytes, &used, length, sizeof(parts->id))))
            return -EBADMSG;
        memcpy(&parts->id, part, sizeof(parts->id));
    }
    if (flags & ANNOT_FLAG_NAME_INLINE)
        if (!(parts->name = take(bytes, &used, length, parts->record.name)))
            return -EBADMSG;
    if (flags & ANNOT_FLAG_VALUE_STRING) {
        if (!(flags & ANNOT_FLAG_ATTR) ||
            !(parts->text = take(bytes, &used, length, parts->attr.value)))
            return -EBADMSG;
    }
    return 0;
}

/* Looks a text up unless an earlier look-up failed; the first failure stays in *error. */
static uint32_t keep(int64_t ordinal, int *error)
{
    if (ordinal >= 0)
        return (uint32_t)ordinal;
    if (*error == 0)
        *error = (int)ordinal;
    return 0;
}

static int set_attributes(struct names *names, const struct parts *parts, struct event *event)
{
    int error = 0;
    if (!(parts->record.flags & ANNOT_FLAG_ATTR))
        return 0;
    uint8_t kind = ANNOT_RECORD_VALUE_KIND(parts->record.level);
    event->value_kind = kind <= VALUE_STRING ? kind : VALUE_NONE;
    event->value.uint64 = parts->attr.value;
    event->has_color = (parts->record.level & ANNOT_RECORD_HAS_COLOR) != 0;
    event->color = event->has_color ? parts->attr.color : 0;
    event->domain = keep(names_domain(names, parts->attr.domain), &error);
    event->category = keep(names_category(names, parts->attr.category), &error);
    if (kind == VALUE_STRING) {
        size_t length = parts->text ? parts->attr.value : 0;
        event->value.uint64 = 0;
        event->value.string = keep(names_inline(names, parts->text, length), &error);
    }
    return error;
}

static uint32_t name_of(struct names *names, const struct parts *parts, int *error)
{
    if (parts->name)
        return keep(names_inline(names, parts->name, parts->record.name), error);
    return keep(names_by_id(names, parts->record.name), error);
}

static const uint8_t event_kinds[256] = {
    [ANNOT_REC_PUSH] = EVENT_PUSH,         [ANNOT_REC_POP] = EVENT_POP,
    [ANNOT_REC_RANGE_START] = EVENT_START, [ANNOT_REC_RANGE_END] = EVENT_END,
    [ANNOT_REC_MARK] = EVENT_MARK,         [ANNOT_REC_COUNTER] = EVENT_COUNTER,
};

/* Fills an event of a known kind. 1 or -errno. */
static int fill_event(struct decoder *decoder, struct decode_thread *thread,
                      const struct parts *parts, struct event *event)
{
    uint8_t kind = parts->record.kind;
    int error = 0;
    *event = (struct event){.kind = event_kinds[kind], .thread = thread->ordinal};
    event->level = ANNOT_RECORD_LEVEL(parts->record.level);
    event->time_ns = event_time(decoder, thread, parts->record.time);
    if (kind == ANNOT_REC_POP) {
        event->depth = parts->record.name;
        if (event->depth < thread->depth)
            thread->depth = (uint32_t)event->depth;
        return 1;
    }
    if (parts->record.flags & ANNOT_FLAG_ID)
        event->id = parts->id.id;
    if (kind == ANNOT_REC_RANGE_END)
        return 1;
    event->name = name_of(&decoder->names, parts, &error);
    if (kind == ANNOT_REC_PUSH)
        thread->depth += thread->depth < UINT32_MAX;
    if (error == 0)
        error = set_attributes(&decoder->names, parts, event);
    return error != 0 ? error : 1;
}

/* A plain push or pop is nearly every record; the rest goes the long way. */
static int decode_record(struct decoder *decoder, struct decode_thread *thread,
                         const uint8_t *bytes, uint32_t room, struct event *event)
{
    struct parts parts = {0};
    memcpy(&parts.record, bytes, sizeof(parts.record));
    uint32_t length = parts.record.granules * (uint32_t)ANNOT_GRANULE;
    if (length == 0 || length > room)
        return -EBADMSG;
    if (event_kinds[parts.record.kind] == 0)
        return 0; /* of a later minor version: what it means, and its flags, are not known here */
    if (parts.record.flags != 0 && split(bytes, length, &parts) != 0)
        return -EBADMSG;
    return fill_event(decoder, thread, &parts, event);
}

int decode_block(struct decoder *decoder, struct decode_thread *thread,
                 const struct segment_block_copy *block, const struct batch_source *part,
                 struct event *events)
{
    size_t count = 0;
    refresh_now(decoder);
    if (thread->headers <= part->sequence)
        count = decode_header(decoder, thread, &block->header, events);
    thread->headers = part->sequence + UINT64_C(1);
    for (uint32_t at = part->begin_offset; at < part->end_offset;) {
        const uint8_t *bytes = block->records + at;
        int got = decode_record(decoder, thread, bytes, part->end_offset - at, &events[count]);
        if (got == -EBADMSG) {
            events[count++] = lost_event(thread, LOSS_CORRUPT, 1);
            break;
        }
        if (got < 0)
            return got;
        count += (size_t)got;
        thread->record_count += (uint64_t)got;
        at += bytes[offsetof(struct annot_record, granules)] * (uint32_t)ANNOT_GRANULE;
    }
    return (int)count;
}
