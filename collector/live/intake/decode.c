/* SPDX-License-Identifier: MIT */
/* One pass over the records of a block: times, events, key-values, losses. SPANs of queues are
 * decoded in decode_spans.c. */
#include "decode.h"

#include "clock_map.h"
#include "clock_now.h"
#include "schema.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int decode_payload(struct decode_pass *pass, const struct decode_parts *parts);
static int decode_before(struct decoder *decoder, struct decode_thread *thread,
                         const struct annot_block *header, struct event *events);

/* ---- Notes ----------------------------------------------------------------------------------- */

/* Marks that are also facts. A GPU watcher reports its limits as marks; the texts are foreign, so
 * their number is limited. The tracer reports its end while other threads have open calls. */

enum { NOTES_MAX = 32 };

static void note_stopped(const struct decoder *decoder, const struct event *event)
{
    struct trace_process *process = trace_process(decoder->names.trace, decoder->process);
    if (!process || event->time_ns <= process->calls_end_ns)
        return;
    process->calls_end_ns = event->time_ns;
    process->revision++;
}

/* Copies a watcher's mark to a fact. 0 or -ENOMEM. */
static int decode_note(struct decoder *decoder, const struct event *event)
{
    static const char prefix[] = "GPU: ";
    struct trace *trace = decoder->names.trace;
    const struct scope *scope = trace_scope(trace, event->scope);
    if (scope->observer == OBSERVER_PYTHON_CALLS && scope->role == CALLS_ROLE_STOPPED)
        note_stopped(decoder, event);
    if (scope->observer != OBSERVER_CUPTI)
        return 0;
    const char *text = trace_string(trace, event->name)->bytes;
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    uint64_t before = trace_fact_value(trace, text);
    if (before == 0 && decoder->note_count++ >= NOTES_MAX)
        return 0;
    int error = trace_fact_set(trace, FACT_NOTE, text, before + 1);
    return error == -ENOSPC ? 0 : error;
}

/* ---- Times ----------------------------------------------------------------------------------- */

/* Call after the records were copied, so that their times lie before now_ns. */
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

/* The time of an event, clamped between the thread's last event and the present. */
static int64_t decode_event_time(struct decoder *decoder, struct decode_thread *thread,
                                 uint64_t time)
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

/* Emits an edge if recording was off since the thread's last block, and the losses before this
 * one. */
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
                           .time_ns = decode_event_time(decoder, thread, header->claim_time)};
    }
    thread->started = true;
    thread->generation = header->generation;

    bool any = false;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        any = any || header->lost[cause] != 0;
    if (!any)
        return count;
    uint64_t begin_time = header->gap_time != 0 ? header->gap_time : header->claim_time;
    int64_t begin_ns = decode_event_time(decoder, thread, begin_time);
    int64_t end_ns = decode_event_time(decoder, thread, header->claim_time);
    if (header->kept_depth < thread->depth)
        thread->depth = header->kept_depth;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++) {
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

/* ---- Tracks ---------------------------------------------------------------------------------- */

/* Tracks are added to the trace at their first record, and updated by each later one. Ids are
 * foreign, so the number of tracks a segment may add is bounded. */

/* The track's ordinal, or -errno. -ENOSPC: too many tracks. */
static int64_t find_track(struct decoder *decoder, uint64_t id)
{
    struct trace *trace = decoder->names.trace;
    int64_t ordinal = trace_lane_find(trace, id);
    if (ordinal >= 0)
        return ordinal;
    if (decoder->track_count >= DECODE_TRACKS_MAX)
        return -ENOSPC;
    ordinal = trace_lane_add(trace, id);
    if (ordinal < 0)
        return ordinal;
    decoder->track_count++;
    trace_lane(trace, (uint32_t)ordinal)->process = decoder->process;
    return ordinal;
}

static int name_track(struct decoder *decoder, int64_t ordinal, uint32_t name_id)
{
    struct trace_lane *track = trace_lane(decoder->names.trace, (uint32_t)ordinal);
    if (track->name != 0 || name_id == 0)
        return 0;
    int64_t name = names_by_id(&decoder->names, name_id);
    if (name <= 0)
        return (int)name;
    track->name = (uint32_t)name;
    track->revision++;
    return 0;
}

/* Places a track below its parent. A parent is known from its children, and may never emit
 * itself. */
static int place_track(struct decoder *decoder, int64_t ordinal, uint64_t parent_id,
                       uint32_t parent_name)
{
    struct trace *trace = decoder->names.trace;
    uint32_t placed = trace_lane_get(trace, (uint32_t)ordinal)->parent;
    if (parent_id == 0)
        return 0;
    if (placed != 0) { /* perhaps by an end, which carries no names */
        bool is_same = parent_name != 0 && trace_lane_get(trace, placed - 1)->name == 0 &&
                       trace_lane_find(trace, parent_id) == (int64_t)placed - 1;
        return is_same ? name_track(decoder, (int64_t)placed - 1, parent_name) : 0;
    }
    int64_t parent = find_track(decoder, parent_id);
    if (parent < 0)
        return parent == -ENOSPC ? 0 : (int)parent;
    trace_lane_set_parent(trace, (uint32_t)ordinal, (uint32_t)parent);
    return name_track(decoder, parent, parent_name);
}

/* Sets the lane of a track's event. 1; 0: too many tracks; -EBADMSG, -ENOMEM, -EFAULT. */
static int decode_track(struct decoder *decoder, const struct decode_parts *parts,
                        struct event *event)
{
    if (!(parts->record.flags & ANNOT_FLAG_ID) || parts->id.id == 0)
        return -EBADMSG;
    int64_t ordinal = find_track(decoder, parts->id.id);
    if (ordinal < 0)
        return ordinal == -ENOSPC ? 0 : (int)ordinal;
    event->id = 0;
    event->lane = (uint32_t)ordinal;
    bool named = parts->record.flags & ANNOT_FLAG_ATTR;
    int error = name_track(decoder, ordinal, named ? (uint32_t)parts->attr.value : 0);
    if (error == 0)
        error = place_track(decoder, ordinal, parts->id.reserved,
                            named ? (uint32_t)(parts->attr.value >> 32) : 0);
    return error != 0 ? error : 1;
}

/* ---- Records --------------------------------------------------------------------------------- */

static uint32_t padded(uint32_t size)
{
    return (size + ANNOT_GRANULE - 1u) & ~(ANNOT_GRANULE - 1u);
}

/* Takes `size` bytes of the record. NULL: the record is too short. */
static const void *take(const uint8_t *bytes, uint32_t *used, uint32_t length, uint64_t size)
{
    if (size > length || padded((uint32_t)size) > length - *used)
        return NULL;
    const void *part = bytes + *used;
    *used += padded((uint32_t)size);
    return part;
}

/* 0 or -EBADMSG. */
static int split(const uint8_t *bytes, uint32_t length, struct decode_parts *parts)
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
        bool payload = parts->record.kind == ANNOT_REC_PAYLOAD;
        uint64_t size = payload ? parts->record.time : parts->attr.value;
        if ((!payload && !(flags & ANNOT_FLAG_ATTR)) ||
            !(parts->text = take(bytes, &used, length, size)))
            return -EBADMSG;
    }
    return 0;
}

uint32_t decode_keep(int64_t ordinal, int *error)
{
    if (ordinal >= 0)
        return (uint32_t)ordinal;
    if (*error == 0)
        *error = (int)ordinal;
    return 0;
}

static int set_attributes(struct names *names, const struct decode_parts *parts,
                          struct event *event)
{
    int error = 0;
    if (!(parts->record.flags & ANNOT_FLAG_ATTR))
        return 0;
    uint8_t kind = ANNOT_RECORD_VALUE_KIND(parts->record.level);
    event->value_kind = kind <= VALUE_STRING ? kind : VALUE_NONE;
    event->value.uint64 = parts->attr.value;
    if (parts->record.level & ANNOT_RECORD_HAS_COLOR) {
        event->flags |= EVENT_HAS_COLOR;
        event->color = parts->attr.color;
    }
    event->scope =
        decode_keep(names_scope(names, parts->attr.domain, parts->attr.category), &error);
    if (kind == VALUE_STRING) {
        size_t length = parts->text ? parts->attr.value : 0;
        event->value.uint64 = 0;
        event->value.string = decode_keep(names_inline(names, parts->text, length), &error);
    }
    return error;
}

/* The name of a record; *error keeps the first failure. */
static uint32_t decode_name(struct names *names, const struct decode_parts *parts, int *error)
{
    if (parts->name)
        return decode_keep(names_inline(names, parts->name, parts->record.name), error);
    return decode_keep(names_by_id(names, parts->record.name), error);
}

static const uint8_t event_kinds[256] = {
    [ANNOT_REC_PUSH] = EVENT_PUSH,
    [ANNOT_REC_POP] = EVENT_POP,
    [ANNOT_REC_RANGE_START] = EVENT_START,
    [ANNOT_REC_RANGE_END] = EVENT_END,
    [ANNOT_REC_MARK] = EVENT_MARK,
    [ANNOT_REC_COUNTER] = EVENT_COUNTER,
    [ANNOT_REC_FLOW_BEGIN] = EVENT_FLOW_BEGIN,
    [ANNOT_REC_FLOW_STEP] = EVENT_FLOW_STEP,
    [ANNOT_REC_FLOW_END] = EVENT_FLOW_END,
    [ANNOT_REC_TRACK_BEGIN] = EVENT_TRACK_BEGIN,
    [ANNOT_REC_TRACK_END] = EVENT_TRACK_END,
    [ANNOT_REC_TRACK_MARK] = EVENT_TRACK_MARK,
    [ANNOT_REC_COUNTER_GROUP] = EVENT_COUNTER,
    [ANNOT_REC_SPAN] = EVENT_SPAN,
};

/* Fills flows and tracks. 1: an event; 0: no room for it; or -errno. */
static int fill_later(struct decoder *decoder, const struct decode_parts *parts,
                      struct event *event)
{
    event->value_kind = VALUE_NONE;
    event->value.uint64 = 0;
    if (!event_has_lane(event->kind))
        return event->id != 0 ? 1 : -EBADMSG;
    if (event->kind == EVENT_TRACK_BEGIN && !(parts->record.flags & ANNOT_FLAG_ATTR)) {
        event->kind = EVENT_TRACK_HIDDEN;
        event->name = 0;
    }
    return decode_track(decoder, parts, event);
}

static void set_depth(struct decode_thread *thread, struct event *event, uint32_t depth)
{
    event->depth = depth;
    if (depth < thread->depth)
        thread->depth = depth;
}

/* Sets the least duration of a push before it counts: see drain_short.c. */
static inline void set_least(const struct decoder *decoder, const struct decode_thread *thread,
                             uint32_t name, struct event *event)
{
    if (decoder->names.least.count == 0)
        return;
    event->end_ns = names_least_ns(&decoder->names, name);
    if (event->end_ns && event->kind == EVENT_PUSH)
        event->depth = thread->depth;
}

/* Fills an event of a known kind. 1; 0: no room for it; or -errno. */
static int fill_event(struct decoder *decoder, struct decode_thread *thread,
                      const struct decode_parts *parts, struct event *event)
{
    uint8_t kind = parts->record.kind;
    int error = 0;
    *event = (struct event){.kind = event_kinds[kind], .thread = thread->ordinal};
    event->level = ANNOT_RECORD_LEVEL(parts->record.level);
    event->time_ns = decode_event_time(decoder, thread, parts->record.time);
    if (event_can_continue(event->kind) && parts->record.level & ANNOT_RECORD_CONTINUES)
        event->flags |= EVENT_CONTINUES;
    if (kind == ANNOT_REC_POP) {
        set_depth(thread, event, parts->record.name);
        return 1;
    }
    if (parts->record.flags & ANNOT_FLAG_ID)
        event->id = parts->id.id;
    if (kind == ANNOT_REC_RANGE_END)
        return 1;
    event->name = decode_name(&decoder->names, parts, &error);
    if ((kind == ANNOT_REC_PUSH || kind == ANNOT_REC_TRACK_BEGIN) && !parts->name)
        set_least(decoder, thread, parts->record.name, event);
    if (kind == ANNOT_REC_PUSH)
        thread->depth += thread->depth < UINT32_MAX;
    if (kind == ANNOT_REC_PUSH && !parts->name)
        event->scope = names_scope_by_id(&decoder->names, parts->record.name);
    if (error == 0)
        error = set_attributes(&decoder->names, parts, event);
    if (error == 0 && kind == ANNOT_REC_MARK && event->scope != 0)
        error = decode_note(decoder, event);
    if (error == 0 && (event_is_flow(event->kind) || event_has_lane(event->kind)))
        return fill_later(decoder, parts, event);
    return error != 0 ? error : 1;
}

void decode_lose(struct decode_pass *pass, enum loss cause, uint64_t count)
{
    struct decoded *decoded = pass->decoded;
    assert(decoded->events.items);
    struct event *next = &decoded->events.items[decoded->events.count];
    struct event *last = decoded->events.count > 0 ? next - 1 : NULL;
    if (pass->lost && last && last->kind == EVENT_LOST && last->level == cause) {
        last->value.uint64 += count;
        last->end_ns = pass->thread->last_ns;
        pass->thread->lost[cause] += count;
    } else {
        *next = lost_event(pass->thread, cause, count);
        decoded->events.count++;
        pass->lost = true;
    }
}

/* Names another thread. 0 or -errno. */
static int name_thread(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct decoder *decoder = pass->decoder;
    int error = 0;
    uint32_t name = decode_name(&decoder->names, parts, &error);
    pass->owner = OWNER_UNKNOWN; /* it has no key-values */
    if (error != 0 || !decoder->lives || name == 0 || parts->id.id == 0 || parts->id.id > INT32_MAX)
        return error;
    const struct lives_name told = {
        .process = decoder->process,
        .ns_tid = (int32_t)parts->id.id,
        .name = name,
        .time_ns = decode_event_time(decoder, pass->thread, parts->record.time),
    };
    return lives_name_thread(decoder->lives, &told);
}

/* Adds an event, or a part of the last event. 0 or -errno. */
static int add_record(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct event *event = &pass->decoded->events.items[pass->decoded->events.count];
    if (parts->record.kind == ANNOT_REC_PAYLOAD)
        return decode_payload(pass, parts);
    if (parts->record.kind == ANNOT_REC_SPAN)
        return decode_span(pass, parts);
    int got = fill_event(pass->decoder, pass->thread, parts, event);
    if (got < 0)
        return got;
    pass->owner = OWNER_EVENT;
    if (got == 0) { /* together with its parts */
        decode_lose(pass, LOSS_THREAD_LIMIT, 1);
        pass->owner = OWNER_UNKNOWN;
    } else if (parts->record.kind == ANNOT_REC_COUNTER_GROUP) {
        pass->group = *event;
        pass->owner = OWNER_GROUP;
    } else {
        pass->decoded->events.count++;
        pass->thread->record_count++;
    }
    return 0;
}

/* EVENT_CONTINUES, perhaps with other bits set. */
static uint8_t continues(const struct annot_record *record)
{
    _Static_assert(ANNOT_RECORD_CONTINUES >> 6 == EVENT_CONTINUES, "the bit moves");
    return record->level >> 6;
}

/* Fast path: adds a run of pushes and pops without parts and with known names. Nearly all records
 * are of this kind. Returns the bytes consumed. */
static uint32_t add_plain(struct decode_pass *pass, const uint8_t *bytes, uint32_t size)
{
    struct decode_thread *thread = pass->thread;
    struct event *first = pass->decoded->events.items + pass->decoded->events.count, *event = first;
    uint32_t used = 0;
    for (; size - used >= sizeof(struct annot_record); used += ANNOT_GRANULE) {
        struct annot_record record;
        memcpy(&record, bytes + used, sizeof(record));
        bool pushes = record.kind == ANNOT_REC_PUSH;
        bool plain = (pushes | (record.kind == ANNOT_REC_POP)) & (record.flags == 0);
        uint32_t known = pushes ? names_entry(&pass->decoder->names, record.name) : 1;
        if (!plain || record.granules != 1 || known == 0)
            break;
        *event = (struct event){.kind = pushes ? EVENT_PUSH : EVENT_POP,
                                .level = ANNOT_RECORD_LEVEL(record.level),
                                .thread = thread->ordinal,
                                .flags = continues(&record) & (pushes ? EVENT_CONTINUES : 0),
                                .name = names_entry_ordinal(known),
                                .scope = names_entry_scope(&pass->decoder->names, known),
                                .time_ns = decode_event_time(pass->decoder, thread, record.time)};
        if (pushes) {
            set_least(pass->decoder, thread, record.name, event);
            thread->depth += thread->depth < UINT32_MAX;
        } else {
            set_depth(thread, event, record.name);
        }
        event++;
    }
    pass->decoded->events.count += (size_t)(event - first);
    thread->record_count += (size_t)(event - first);
    thread->wire_records += (size_t)(event - first);
    pass->owner = used ? OWNER_EVENT : pass->owner;
    return used;
}

/* True if the recording has the record already: see struct decode_skip. A PAYLOAD is skipped with
 * its owner; spans need anchors. */
static bool decode_is_known(const struct decode_pass *pass, uint8_t kind)
{
    const struct decode_skip *skip = &pass->decoder->skip;
    if (kind == ANNOT_REC_PAYLOAD || kind == ANNOT_REC_CLOCK)
        return skip->plain && kind == ANNOT_REC_PAYLOAD && pass->owner == OWNER_NONE;
    return kind == ANNOT_REC_SPAN ? skip->spans : skip->plain;
}

/* 0 or -errno. */
static int decode_record(struct decode_pass *pass, const uint8_t *bytes, uint32_t room)
{
    struct annot_record record;
    memcpy(&record, bytes, sizeof(record));
    uint32_t length = record.granules * (uint32_t)ANNOT_GRANULE;
    if (length == 0 || length > room)
        return -EBADMSG;
    struct decode_parts parts = {.record = record};
    bool is_name = record.kind == ANNOT_REC_NAME_THREAD;
    bool is_payload = record.kind == ANNOT_REC_PAYLOAD;
    bool is_anchor = record.kind == ANNOT_REC_CLOCK;
    if (decode_is_known(pass, record.kind)) {
        pass->owner = OWNER_UNKNOWN;
        return 0;
    }
    if (event_kinds[record.kind] == 0 && !is_name && !is_payload && !is_anchor) {
        pass->owner =
            OWNER_UNKNOWN; /* from a later minor version: its meaning and flags are unknown here */
        return 0;
    }
    if (parts.record.flags != 0 && split(bytes, length, &parts) != 0)
        return -EBADMSG;
    if (is_anchor)
        return decode_anchor(pass, &parts);
    return is_name ? name_thread(pass, &parts) : add_record(pass, &parts);
}

static int add_before(struct decoder *decoder, struct decode_thread *thread,
                      const struct segment_block_copy *block, const struct batch_source *part,
                      struct event *events)
{
    if (!decoder->overwrites || thread->headers == part->sequence)
        return 0;
    return decode_before(decoder, thread, &block->header, events);
}

int decode_block(struct decoder *decoder, struct decode_thread *thread,
                 const struct segment_block_copy *block, const struct batch_source *part,
                 struct decoded *decoded)
{
    struct decode_pass pass = {.decoder = decoder, .thread = thread, .decoded = decoded};
    decoded->events.count = decoded->args.count = 0;
    if (vec_reserve(&decoded->events, DECODE_EVENTS_MAX) != 0)
        return -ENOMEM;
    refresh_now(decoder);
    decoder->queues.span_count = 0;
    if (thread->headers <= part->sequence && !decoder->skip.plain) {
        int count = add_before(decoder, thread, block, part, decoded->events.items);
        if (count < 0)
            return count;
        decoded->events.count = (size_t)count;
        decoded->events.count +=
            decode_header(decoder, thread, &block->header, decoded->events.items + count);
        thread->wire_records = block->header.records_before;
    }
    if (thread->headers <= part->sequence)
        thread->headers = part->sequence + UINT64_C(1);
    for (uint32_t at = part->begin_offset; at < part->end_offset;) {
        at +=
            decoder->skip.plain ? 0 : add_plain(&pass, block->records + at, part->end_offset - at);
        if (at >= part->end_offset)
            break;
        const uint8_t *bytes = block->records + at;
        int error = decode_record(&pass, bytes, part->end_offset - at);
        if (error == -EBADMSG) {
            decode_lose(&pass, LOSS_CORRUPT, 1);
            break;
        }
        if (error < 0)
            return error;
        thread->wire_records +=
            !decoder->skip.plain && bytes[offsetof(struct annot_record, kind)] != ANNOT_REC_PAYLOAD;
        at += bytes[offsetof(struct annot_record, granules)] * (uint32_t)ANNOT_GRANULE;
    }
    return 0;
}

/* ---- Key-values ------------------------------------------------------------------------------ */

/* Adds a key-value without a value to the last event. 1; 0: the event has the maximum; -errno. */
static int add_arg(struct decode_pass *pass, uint32_t key, struct arg **ret_arg)
{
    struct decoded *decoded = pass->decoded;
    struct event *event = &decoded->events.items[decoded->events.count - 1];
    if (event->arg_count == EVENT_ARGS_MAX) {
        pass->decoder->misuse[MISUSE_PAYLOAD_CUT]++;
        return 0;
    }
    if (vec_push(&decoded->args, ((struct arg){.key = key})) != 0)
        return -ENOMEM;
    if (event->arg_count == 0)
        event->args = (uint32_t)decoded->args.count - 1;
    event->arg_count++;
    *ret_arg = &decoded->args.items[decoded->args.count - 1];
    return 1;
}

static int64_t key_of(struct names *names, const struct decode_parts *parts)
{
    return parts->name ? names_inline(names, parts->name, parts->record.name)
                       : names_by_id(names, parts->record.name);
}

static int set_value(struct names *names, const struct decode_parts *parts, struct arg *arg)
{
    uint8_t kind = ANNOT_RECORD_VALUE_KIND(parts->record.level);
    int error = 0;
    arg->kind = kind <= VALUE_STRING ? kind : VALUE_NONE;
    if (arg->kind == VALUE_STRING) {
        size_t length = parts->text ? parts->record.time : 0;
        arg->value.uint64 = decode_keep(names_inline(names, parts->text, length), &error);
    } else if (arg->kind != VALUE_NONE) {
        arg->value.uint64 = parts->record.time;
    }
    return error;
}

/* ---- Groups of counters ---------------------------------------------------------------------- */

static int add_series(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct names *names = &pass->decoder->names;
    struct arg value = {0};
    int error = 0;
    uint32_t key = decode_keep(key_of(names, parts), &error);
    if (error == 0)
        error = set_value(names, parts, &value);
    bool number = value.kind != VALUE_NONE && value.kind != VALUE_STRING;
    if (error != 0 || !number)
        return error != 0 ? error : -EBADMSG;
    struct event *event = &pass->decoded->events.items[pass->decoded->events.count++];
    *event = pass->group;
    event->value_kind = (uint8_t)value.kind;
    event->value = value.value;
    event->name = decode_keep(names_join(names, event->name, key), &error);
    pass->thread->record_count++;
    return error;
}

/* ---- Structs --------------------------------------------------------------------------------- */

static int add_left_out(struct decode_pass *pass, const struct schema *schema)
{
    struct names *names = &pass->decoder->names;
    struct arg *arg;
    char text[32];
    int error = 0;
    int length = snprintf(text, sizeof(text), "%u more values", schema->left_out);
    int added = add_arg(pass, decode_keep(names_inline(names, "...", 3), &error), &arg);
    pass->decoder->misuse[MISUSE_PAYLOAD_CUT]++;
    if (added <= 0 || error != 0)
        return added < 0 ? added : error;
    arg->kind = VALUE_STRING;
    arg->value.uint64 = decode_keep(names_inline(names, text, (size_t)length), &error);
    return error;
}

static int add_fields(struct decode_pass *pass, const struct schema *schema, const uint8_t *bytes)
{
    int error = 0;
    for (uint32_t i = 0; i < schema->count && error == 0; i++) {
        struct arg *arg;
        int added = add_arg(pass, schema->fields[i].key, &arg);
        if (added <= 0)
            return added;
        error = schema_value(&pass->decoder->names, &schema->fields[i], bytes, arg);
    }
    return error == 0 && schema->left_out > 0 ? add_left_out(pass, schema) : error;
}

/* Shows a struct that does not match its schema as bytes. */
static int add_bytes(struct decode_pass *pass, uint32_t name, const struct decode_parts *parts)
{
    static const char unnamed[] = "struct";
    struct names *names = &pass->decoder->names;
    struct arg *arg;
    int error = 0;
    uint32_t key = name ? name : decode_keep(names_inline(names, unnamed, 6), &error);
    pass->decoder->misuse[MISUSE_SCHEMA]++;
    if (error)
        return error;
    int added = add_arg(pass, key, &arg);
    if (added <= 0)
        return added;
    size_t size = parts->text ? parts->record.time : 0;
    return schema_show_bytes(names, (const uint8_t *)parts->text, size, arg);
}

static int add_struct(struct decode_pass *pass, const struct decode_parts *parts)
{
    const struct schema *schema = NULL;
    bool numbered = !parts->name && parts->record.name <= UINT16_MAX;
    int found = numbered ? schemas_find(&pass->decoder->schemas, &pass->decoder->names,
                                        (uint16_t)parts->record.name, &schema)
                         : 0;
    if (found < 0)
        return found;
    uint64_t size = parts->text ? parts->record.time : 0;
    bool cut = parts->record.flags & ANNOT_FLAG_VALUE_CUT;
    if (!schema || cut || schema->size != size)
        return add_bytes(pass, schema ? schema->name : 0, parts);
    return add_fields(pass, schema, (const uint8_t *)parts->text);
}

/* Adds a PAYLOAD to its event. 0 or -errno. */
static int decode_payload(struct decode_pass *pass, const struct decode_parts *parts)
{
    if (pass->owner == OWNER_UNKNOWN)
        return 0;
    if (pass->owner == OWNER_NONE) {
        decode_lose(pass, LOSS_CORRUPT, 1);
        return 0;
    }
    if (pass->owner == OWNER_GROUP)
        return add_series(pass, parts);
    if (ANNOT_RECORD_VALUE_KIND(parts->record.level) == ANNOT_VALUE_STRUCT)
        return add_struct(pass, parts);
    struct arg *arg;
    int error = 0;
    uint32_t key = decode_keep(key_of(&pass->decoder->names, parts), &error);
    if (error)
        return error;
    int added = add_arg(pass, key, &arg);
    return added <= 0 ? added : set_value(&pass->decoder->names, parts, arg);
}

/* ---- Before the first block ------------------------------------------------------------------ */

/* Events for the overwritten part of a thread's stream: the amount that is missing, and the ranges
 * that are still open. */

static struct event gap_until(const struct decode_thread *thread, int64_t begin_ns, int64_t end_ns)
{
    return (struct event){.kind = EVENT_LOST,
                          .thread = thread->ordinal,
                          .value_kind = VALUE_UINT64,
                          .depth = thread->depth,
                          .time_ns = begin_ns,
                          .end_ns = end_ns > begin_ns ? end_ns : begin_ns};
}

static void emit_gap(struct decode_thread *thread, struct event gap, enum loss cause,
                     uint64_t count, struct event *event)
{
    thread->lost[cause] += count;
    gap.level = (uint8_t)cause;
    gap.value.uint64 = count;
    *event = gap;
}

/* Emits the push of one of the innermost open ranges, at its real start. 0 or -ENOMEM. */
static int emit_open(struct decoder *decoder, struct decode_thread *thread,
                     const struct annot_open *open, struct event *event)
{
    int64_t name = open->name != 0 ? names_by_id(&decoder->names, open->name) : 0;
    if (name < 0)
        return (int)name;
    *event = (struct event){.kind = EVENT_PUSH,
                            .thread = thread->ordinal,
                            .name = (uint32_t)name,
                            .scope = names_scope_by_id(&decoder->names, open->name),
                            .time_ns = decode_event_time(decoder, thread, open->time)};
    thread->depth++;
    thread->record_count++;
    return 0;
}

static uint64_t missing(uint64_t before, uint64_t known)
{
    return before > known && before - known <= LOSS_BELIEVABLE ? before - known : 0;
}

/* Emits one loss before the open ranges, with the number of ranges that are open below them. */
static size_t emit_gap_begin(struct decoder *decoder, struct decode_thread *thread,
                             const struct annot_block *header, uint64_t *lost, struct event *event)
{
    int64_t created_ns = decode_time(decoder, decoder->created_time);
    int64_t begin_ns = thread->last_ns > created_ns ? thread->last_ns : created_ns;
    if (*lost == 0)
        return 0;
    --*lost;
    if (begin_ns > decoder->now_ns)
        begin_ns = decoder->now_ns;
    emit_gap(thread, gap_until(thread, begin_ns, decode_time(decoder, header->open[0].time)),
             LOSS_OVERWRITTEN, 1, event);
    if (event->end_ns > decoder->now_ns)
        event->end_ns = decoder->now_ns;
    thread->last_ns = event->end_ns;
    return 1;
}

/* Emits the remaining losses after the open ranges, up to the block's claim. */
static size_t emit_rest(struct decoder *decoder, struct decode_thread *thread,
                        const struct annot_block *header, const uint64_t *lost,
                        struct event *events)
{
    int64_t created_ns = decode_time(decoder, decoder->created_time);
    int64_t end_ns = decode_time(decoder, header->claim_time);
    size_t count = 0;
    if (end_ns > decoder->now_ns)
        end_ns = decoder->now_ns;
    bool is_later = created_ns > thread->last_ns && created_ns <= end_ns;
    int64_t begin_ns = is_later ? created_ns : thread->last_ns;
    struct event gap = gap_until(thread, begin_ns, end_ns);
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        if (lost[cause] != 0)
            emit_gap(thread, gap, (enum loss)cause, lost[cause], &events[count++]);
    if (count > 0)
        thread->last_ns = begin_ns;
    return count;
}

/* Emits events for overwritten data before a block: at most DECODE_EVENTS_BEFORE. Their number or
 * -ENOMEM. */
static int decode_before(struct decoder *decoder, struct decode_thread *thread,
                         const struct annot_block *header, struct event *events)
{
    bool is_first = thread->headers == 0;
    uint32_t shown = is_first ? header->open_count : 0;
    uint64_t lost[LOSS_COUNT] = {0};
    size_t count = 0;
    if (shown > ANNOT_OPEN_DEPTH || shown > header->open_depth)
        shown = 0;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        lost[cause] = missing(header->lost_before[cause], thread->lost[cause]);
    lost[LOSS_OVERWRITTEN] = missing(header->records_before, thread->wire_records);
    /* The pushes of the ranges shown were overwritten too, but the header has them. */
    lost[LOSS_OVERWRITTEN] -= shown < lost[LOSS_OVERWRITTEN] ? shown : lost[LOSS_OVERWRITTEN];
    if (is_first || header->open_depth < thread->depth)
        thread->depth = header->open_depth - shown;
    if (shown > 0)
        count = emit_gap_begin(decoder, thread, header, &lost[LOSS_OVERWRITTEN], events);
    for (uint32_t i = 0; i < shown; i++) {
        int error = emit_open(decoder, thread, &header->open[i], &events[count++]);
        if (error != 0)
            return error;
    }
    return (int)(count + emit_rest(decoder, thread, header, lost, events + count));
}
