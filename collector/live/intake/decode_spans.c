/* SPDX-License-Identifier: MIT */
/* SPANs of queues, the queues and labels that they name, and the clocks that they were measured by.
 *
 * All of it is foreign, and times are never adjusted: a span with an impossible time is counted and
 * dropped; one that contradicts its cause is counted and kept. */

#include "clock_map.h"
#include "decode.h"
#include "symbol_name.h"
#include "trace_devices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_LEVELS_MAX = 8, LABEL_NUMBER_MAX = 24 };

#define BEFORE_SEGMENT_NS INT64_C(3600000000000)
#define AFTER_NOW_NS      INT64_C(1000000000)
#define PACE_NS           INT64_C(100000000) /* anchors this far apart give a clock's rate */

void decode_queues_free(struct decode_queues *queues)
{
    for (size_t i = 0; i < queues->clocks.count; i++)
        vec_free(&queues->clocks.items[i].anchors);
    vec_free(&queues->clocks);
    vec_free(&queues->items);
    vec_free(&queues->labels);
    vec_free(&queues->args);
    map64_free(&queues->by_id);
    map64_free(&queues->label_by_id);
}

/* The part of a text before a separator, ended by NUL; *text moves past it. NULL: no separator. */
static char *take_part(char **text, char separator)
{
    char *part = *text, *end = part ? strchr(part, separator) : NULL;
    *text = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return end ? part : NULL;
}

static bool take_number(const char *text, uint64_t *ret_number)
{
    char *end;
    if (!text || !*text || strlen(text) > LABEL_NUMBER_MAX)
        return false;
    *ret_number = strtoull(text, &end, 10);
    return *end == 0;
}

/* ---- Queues ---------------------------------------------------------------------------------- */

/* True if no other name of the lane has a larger id: the largest id is the newest name. */
static bool is_newest(const struct decode_queues *queues, const struct decode_queue *queue)
{
    for (size_t i = 0; i < queues->items.count; i++) {
        const struct decode_queue *other = &queues->items.items[i];
        if (other->kind != 0 && other->lane == queue->lane && other->id > queue->id)
            return false;
    }
    return true;
}

/* Gives a queue's entry its lane; the number of new lanes is bounded. 0 or -errno. */
static int enter_lane(struct decoder *decoder, struct decode_queue *queue, const char *name)
{
    struct trace *trace = decoder->names.trace;
    uint32_t count = trace_lane_count(trace);
    if (decoder->track_count >= DECODE_TRACKS_MAX)
        return 0;
    int64_t lane =
        trace_lane_of(trace, (enum lane_kind)queue->kind, decoder->process, queue->number);
    if (lane < 0)
        return lane == -ENOSPC ? queue->kind = 0, 0 : (int)lane;
    queue->lane = (uint32_t)lane;
    decoder->track_count += trace_lane_count(trace) != count;
    int64_t text =
        is_newest(&decoder->queues, queue) ? names_inline(&decoder->names, name, strlen(name)) : 0;
    if (text > 0) {
        struct trace_lane *entry = trace_lane(trace, queue->lane);
        entry->name = (uint32_t)text;
        entry->revision++;
    }
    return text < 0 ? (int)text : 0;
}

/* Parses the string of a queue; kind stays 0 if it is invalid. Returns its name, a part of
 * `bytes`. */
static const char *parse_queue(char *bytes, struct decode_queue *queue, uint32_t *ret_parent)
{
    uint64_t kind, parent;
    char *rest = bytes;
    bool is_one = take_number(take_part(&rest, '\x1f'), &kind);
    is_one = is_one && take_number(take_part(&rest, '\x1f'), &queue->number);
    is_one = is_one && take_number(take_part(&rest, '\x1f'), &parent);
    if (!is_one || kind < LANE_QUEUE || kind > LANE_DEVICE || parent > UINT32_MAX)
        return NULL;
    queue->kind = (uint32_t)kind;
    *ret_parent = (uint32_t)parent;
    return rest;
}

static int find_queue(struct decoder *decoder, uint32_t id, int level, int64_t *ret_lane);
static int identify_device(struct decoder *decoder, uint32_t lane, uint32_t label);

static int read_queue(struct decoder *decoder, struct decode_queue *queue, int level)
{
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX + 1];
    uint32_t parent = 0;
    int64_t above = -1;
    int found = names_read(&decoder->names, queue->id, &string, bytes);
    if (found < 0)
        return found;
    bytes[found ? string.length : 0] = 0;
    const char *name = NULL;
    if (found && string.kind == ANNOT_STRING_QUEUE)
        name = parse_queue(bytes, queue, &parent);
    if (!name)
        return 0;
    int error = enter_lane(decoder, queue, name);
    if (error == 0 && queue->kind == LANE_DEVICE && parent != 0)
        error = identify_device(decoder, queue->lane, parent);
    if (error == 0 && parent != 0 && level < QUEUE_LEVELS_MAX)
        error = find_queue(decoder, parent, level + 1, &above);
    if (error == 0 && queue->kind != 0 && above >= 0)
        trace_lane_set_parent(decoder->names.trace, queue->lane, (uint32_t)above);
    return error < 0 ? error : 0;
}

/* Finds the lane of a QUEUE; -1: not a queue. 0 or -errno. */
static int find_queue(struct decoder *decoder, uint32_t id, int level, int64_t *ret_lane)
{
    struct decode_queues *queues = &decoder->queues;
    const uint64_t *known = id ? map64_find(&queues->by_id, id) : NULL;
    *ret_lane = -1;
    if (known) {
        const struct decode_queue *queue = &queues->items.items[*known];
        *ret_lane = queue->kind ? (int64_t)queue->lane : -1;
    }
    if (known || id == 0 || queues->items.count >= QUEUES_MAX)
        return 0;
    struct decode_queue queue = {.id = id};
    int error = read_queue(decoder, &queue, level);
    if (error == 0 && !map64_find(&queues->by_id, id) && vec_push(&queues->items, queue) == 0)
        error = map64_put(&queues->by_id, id, queues->items.count - 1);
    *ret_lane = queue.kind ? (int64_t)queue.lane : -1;
    return error;
}

/* True if a queue of this kind and number has a lane already. */
static bool has_lane(const struct decode_queues *queues, const struct decode_queue *queue)
{
    for (size_t i = 0; i < queues->items.count; i++)
        if (queues->items.items[i].kind == queue->kind &&
            queues->items.items[i].number == queue->number)
            return true;
    return false;
}

int decode_queue_names(struct decoder *decoder)
{
    struct decode_queues *queues = &decoder->queues;
    const number_table *told = &decoder->names.queues;
    int error = 0;
    for (; queues->items.count > 0 && queues->walked < told->count && error == 0;
         queues->walked++) {
        struct annot_string string;
        char bytes[ANNOT_STRING_MAX + 1];
        struct decode_queue queue = {.id = told->items[queues->walked]};
        uint32_t parent;
        int64_t lane;
        if (map64_find(&queues->by_id, queue.id))
            continue;
        error = segment_read_string(decoder->names.segment, queue.id, &string, bytes);
        if (error != 1)
            continue;
        bytes[string.length] = 0;
        error = 0;
        if (parse_queue(bytes, &queue, &parent) && has_lane(queues, &queue))
            error = find_queue(decoder, queue.id, 0, &lane);
    }
    return error == -EBADMSG ? 0 : error;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static int set_label_value(struct names *names, const char *text, struct arg *arg)
{
    uint64_t number = 0;
    if (arg->kind == VALUE_STRING) {
        int error = 0;
        arg->value.uint64 = decode_keep(names_inline(names, text, strlen(text)), &error);
        return error;
    }
    bool less = *text == '-';
    if (arg->kind == VALUE_NONE || arg->kind > VALUE_STRING || !take_number(text + less, &number))
        arg->kind = VALUE_NONE;
    else
        arg->value.uint64 = less ? -number : number;
    return 0;
}

/* Parses "KEY", "KIND", "VALUE". 0 or -ENOMEM. */
static int add_label_arg(struct decoder *decoder, char *field)
{
    uint64_t kind;
    int error = 0;
    const char *key = take_part(&field, '\x1f'), *kind_text = take_part(&field, '\x1f');
    if (!key || !field || !take_number(kind_text, &kind) || kind > VALUE_STRING)
        return 0;
    struct arg arg = {.kind = (uint32_t)kind};
    arg.key = decode_keep(names_inline(&decoder->names, key, strlen(key)), &error);
    if (error == 0)
        error = set_label_value(&decoder->names, field, &arg);
    return error != 0 ? error : vec_push(&decoder->queues.args, arg);
}

static bool is_of_cpp(const char *text)
{
    return text[0] == '_' && text[1] == 'Z';
}

/* Demangles names: GPU kernels are C++ functions. */
static uint32_t keep_label(struct decoder *decoder, const char *text, int *error)
{
    char shown[SYMBOL_NAME_SIZE];
    size_t length = strlen(text);
    if (is_of_cpp(text)) {
        length = symbol_demangle(text, shown);
        text = shown;
    }
    return decode_keep(names_inline(&decoder->names, text, length), error);
}

/* Parses a text with separators, in place. 0 or -ENOMEM. */
static int parse_label(struct decoder *decoder, char *text, struct decode_label *label)
{
    int error = 0;
    label->first_arg = (uint32_t)decoder->queues.args.count;
    for (char *end; error == 0 && (end = strchr(text, '\x1e')); text = end + 1) {
        *end = 0;
        error = add_label_arg(decoder, text);
    }
    label->arg_count = (uint32_t)decoder->queues.args.count - label->first_arg;
    label->name = keep_label(decoder, text, &error);
    return error;
}

/* Subtracts a string that will be read again, so that its bytes count once. */
static void forget_size(struct decoder *decoder, const struct annot_string *string)
{
    decoder->names.table_bytes -= sizeof(*string) + (string->length + (size_t)15) / 16 * 16;
}

static int read_label(struct decoder *decoder, uint32_t id, struct decode_label *label)
{
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX + 1];
    int found = names_read(&decoder->names, id, &string, bytes);
    if (found < 0)
        return found;
    bytes[found ? string.length : 0] = 0;
    if (found && string.kind == ANNOT_STRING_LABEL)
        return parse_label(decoder, bytes, label);
    int error = 0;
    bool is_mangled = found && is_of_cpp(bytes);
    if (found && !is_mangled) /* it is read once more */
        forget_size(decoder, &string);
    label->name = is_mangled ? keep_label(decoder, bytes, &error)
                             : decode_keep(names_by_id(&decoder->names, id), &error);
    return error;
}

/* The value of a key as a string; 0: the label does not have the key. */
static uint32_t label_text(const struct decoder *decoder, const struct decode_label *label,
                           const char *key)
{
    const struct trace *trace = decoder->names.trace;
    const struct arg *args = decoder->queues.args.items + label->first_arg;
    for (uint32_t i = 0; i < label->arg_count; i++)
        if (args[i].kind == VALUE_STRING &&
            strcmp(trace_string(trace, args[i].key)->bytes, key) == 0)
            return args[i].value.string;
    return 0;
}

static int add_device(struct decoder *decoder, uint32_t lane, const struct decode_label *label)
{
    struct trace *trace = decoder->names.trace;
    int64_t ordinal = trace_device_add(trace);
    if (ordinal < 0)
        return ordinal == -ENOSPC ? 0 : (int)ordinal;
    struct trace_device *device = trace_device(trace, (uint32_t)ordinal);
    device->lane = lane + 1;
    device->uuid = label_text(decoder, label, QUEUE_KEY_UUID);
    device->card = label_text(decoder, label, QUEUE_KEY_CARD);
    device->place = label_text(decoder, label, QUEUE_KEY_PCI);
    return 0;
}

/* Identifies the physical device, if the parent of the device's queue is a label. 1; 0: it is not;
 * -errno. */
static int identify_device(struct decoder *decoder, uint32_t lane, uint32_t parent)
{
    struct annot_string string;
    struct decode_label label = {0};
    char bytes[ANNOT_STRING_MAX + 1];
    int found = names_read(&decoder->names, parent, &string, bytes);
    if (found <= 0)
        return found;
    forget_size(decoder, &string); /* the next look-up reads it again */
    if (string.kind != ANNOT_STRING_LABEL)
        return 0;
    bytes[string.length] = 0;
    int error = parse_label(decoder, bytes, &label);
    if (error == 0 && label.arg_count > 0 && !trace_device_of_lane(decoder->names.trace, lane))
        error = add_device(decoder, lane, &label);
    decoder->queues.args.count = label.first_arg;
    return error != 0 ? error : 1;
}

static int find_label(struct decoder *decoder, uint32_t id, struct decode_label *ret_label)
{
    struct decode_queues *queues = &decoder->queues;
    const uint64_t *known = map64_find(&queues->label_by_id, id + UINT64_C(1));
    *ret_label = (struct decode_label){0};
    if (known) {
        *ret_label = queues->labels.items[*known];
        return 0;
    }
    if (id >= decoder->names.segment->info.strings_size / ANNOT_STRING_UNIT)
        return 0; /* not a name: do not cache it */
    int error = read_label(decoder, id, ret_label);
    if (error == 0)
        error = vec_push(&queues->labels, *ret_label);
    return error != 0 ? error
                      : map64_put(&queues->label_by_id, id + UINT64_C(1), queues->labels.count - 1);
}

/* Sets a span's name and the key-values of its label. 0 or -errno. */
static int name_span(struct decode_pass *pass, const struct decode_parts *parts,
                     struct event *event)
{
    struct decoder *decoder = pass->decoder;
    struct decode_label label = {0};
    char text[ANNOT_STRING_MAX + 1];
    int error;
    if (parts->name) { /* the table of strings was full */
        size_t length =
            parts->record.name < ANNOT_STRING_MAX ? parts->record.name : ANNOT_STRING_MAX;
        memcpy(text, parts->name, length);
        text[length] = 0;
        error = parse_label(decoder, text, &label);
        decoder->queues.args.count = label.first_arg;
    } else {
        error = find_label(decoder, parts->record.name, &label);
    }
    event->name = label.name;
    event->args = (uint32_t)pass->decoded->args.count;
    event->arg_count = (uint16_t)label.arg_count;
    for (uint32_t i = 0; i < label.arg_count && error == 0; i++)
        error = vec_push(&pass->decoded->args, decoder->queues.args.items[label.first_arg + i]);
    return error;
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

static struct decode_clock *find_clock(struct decode_queues *queues, uint32_t id)
{
    for (size_t i = 0; i < queues->clocks.count; i++)
        if (queues->clocks.items[i].id == id)
            return &queues->clocks.items[i];
    return NULL;
}

/* NULL: too many clocks, or out of memory. */
static struct decode_clock *need_clock(struct decoder *decoder, uint32_t id)
{
    struct decode_queues *queues = &decoder->queues;
    struct decode_clock *known = find_clock(queues, id), clock = {.id = id};
    if (known || id == 0 || queues->clocks.count >= CLOCKS_MAX)
        return known;
    int64_t ordinal = trace_clock_add(decoder->names.trace, 0, CLOCK_KIND_GPU);
    clock.ordinal = ordinal >= 0 ? (uint32_t)ordinal : UINT32_MAX;
    if (ordinal == -ENOMEM || vec_push(&queues->clocks, clock) != 0)
        return NULL;
    return &queues->clocks.items[queues->clocks.count - 1];
}

/* The index of the first anchor after `raw`. */
static size_t place_of(const struct decode_clock *clock, uint64_t raw)
{
    size_t begin = 0, end = clock->anchors.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (clock->anchors.items[middle].raw <= raw)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Inserts an anchor; drops it if it does not rise with its neighbours. 0 or -ENOMEM. */
static int add_anchor(struct decode_clock *clock, struct clock_anchor anchor)
{
    size_t at = place_of(clock, anchor.raw), count = clock->anchors.count;
    struct clock_anchor *items = clock->anchors.items;
    if ((at > 0 && (items[at - 1].raw == anchor.raw || items[at - 1].ns >= anchor.ns)) ||
        (at < count && items[at].ns <= anchor.ns))
        return 0;
    if (count == CLOCK_ANCHORS_MAX) {
        size_t kept = count / 2;
        memmove(items, items + kept, kept * sizeof(*items));
        clock->anchors.count = kept;
        return add_anchor(clock, anchor);
    }
    if (vec_push(&clock->anchors, anchor) != 0)
        return -ENOMEM;
    items = clock->anchors.items;
    memmove(items + at + 1, items + at, (count - at) * sizeof(*items));
    items[at] = anchor;
    return 0;
}

int decode_anchor(struct decode_pass *pass, const struct decode_parts *parts)
{
    struct decoder *decoder = pass->decoder;
    pass->owner = OWNER_UNKNOWN;
    if (!(parts->record.flags & ANNOT_FLAG_ATTR) || parts->name || parts->attr.value > INT64_MAX)
        return 0;
    struct decode_clock *clock = need_clock(decoder, parts->record.name);
    if (!clock)
        return 0;
    const struct clock_anchor anchor = {parts->attr.value,
                                        decode_time(decoder, parts->record.time)};
    const struct trace_anchor told = {
        .clock = clock->ordinal, .raw = anchor.raw, .ns = anchor.ns, .error_ns = parts->attr.color};
    int64_t added =
        clock->ordinal != UINT32_MAX ? trace_anchor_add(decoder->names.trace, &told) : 0;
    return added == -ENOMEM ? -ENOMEM : add_anchor(clock, anchor);
}

/* Interpolates between two anchors in 128 bits, as both are foreign. */
static __int128 on_line(const struct clock_anchor *a, const struct clock_anchor *b, uint64_t raw)
{
    __int128 since = (__int128)raw - a->raw;
    return a->ns + since * (b->ns - a->ns) / (__int128)(b->raw - a->raw);
}

/* Converts with the nearest anchors. False: the clock has no anchor, or the time is out of
 * range. */
static bool convert(const struct decode_clock *clock, uint64_t raw, int64_t *ret_ns)
{
    size_t count = clock ? clock->anchors.count : 0, at = clock ? place_of(clock, raw) : 0;
    if (count == 0)
        return false;
    const struct clock_anchor *items = clock->anchors.items, *last = &items[count - 1];
    const struct clock_anchor *near = at == 0 ? items : &items[at - 1];
    __int128 ns = near->ns + ((__int128)raw - near->raw);
    if (at > 0 && at < count)
        ns = on_line(&items[at - 1], &items[at], raw);
    else if (last->ns - items->ns >= PACE_NS)
        ns = near->ns + on_line(items, last, raw) - on_line(items, last, near->raw);
    *ret_ns = (int64_t)ns;
    return ns >= 0 && ns <= INT64_MAX;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

static bool span_time(struct decoder *decoder, uint32_t clock, uint64_t time, int64_t *ret_ns)
{
    if (clock != 0 && clock != ANNOT_SPAN_MONOTONIC)
        return convert(find_clock(&decoder->queues, clock), time, ret_ns);
    *ret_ns = clock == 0 ? decode_time(decoder, time) : (int64_t)time;
    return time <= INT64_MAX;
}

/* Sets start and end. False: the times are impossible. */
static bool set_times(struct decoder *decoder, const struct decode_parts *parts,
                      struct event *event)
{
    uint32_t clock = (uint32_t)parts->id.reserved;
    int64_t made_ns = decode_time(decoder, decoder->created_time);
    if (!span_time(decoder, clock, parts->record.time, &event->time_ns) ||
        !span_time(decoder, clock, parts->attr.value, &event->end_ns))
        return false;
    return event->time_ns <= event->end_ns && event->time_ns >= made_ns - BEFORE_SEGMENT_NS &&
           event->end_ns <= decoder->now_ns + AFTER_NOW_NS;
}

/* Sets the cause. A launch from before the segment was created has no known thread. */
static void set_origin(struct decoder *decoder, const struct decode_parts *parts,
                       struct event *event)
{
    uint32_t serial = (uint32_t)(parts->id.reserved >> 32);
    int64_t origin_ns = decode_time(decoder, parts->id.id);
    event->origin_ns = EVENT_NO_ORIGIN;
    if (parts->id.id == 0 || serial == 0 || parts->id.id < decoder->created_time)
        return;
    event->color = serial;
    event->origin_ns = origin_ns;
    decoder->queues.acausal += event->time_ns < origin_ns && !event_is_own_span(event);
}

/* The lane of a queue, or the thread's own; -1: unknown. 0 or -errno. */
static int find_lane(struct decoder *decoder, uint32_t queue, int64_t *ret_lane)
{
    if (queue != ANNOT_SPAN_OWN_LANE)
        return find_queue(decoder, queue, 0, ret_lane);
    *ret_lane = EVENT_OWN_LANE;
    return 0;
}

int decode_span(struct decode_pass *pass, const struct decode_parts *parts)
{
    static const uint8_t needed = ANNOT_FLAG_ATTR | ANNOT_FLAG_ID;
    struct decoder *decoder = pass->decoder;
    struct event *event = &pass->decoded->events.items[pass->decoded->events.count];
    int64_t lane = -1;
    int error = 0;
    pass->owner = OWNER_UNKNOWN;
    if ((parts->record.flags & needed) != needed)
        return -EBADMSG;
    error = find_lane(decoder, parts->attr.color, &lane);
    if (error != 0)
        return error;
    if (lane < 0) {
        decode_lose(pass, LOSS_CORRUPT, 1);
        return 0;
    }
    *event = (struct event){.kind = EVENT_SPAN,
                            .thread = pass->thread->ordinal,
                            .level = ANNOT_RECORD_LEVEL(parts->record.level),
                            .lane = (uint32_t)lane};
    if (!set_times(decoder, parts, event)) {
        decoder->queues.mistimed++;
        return 0;
    }
    set_origin(decoder, parts, event);
    if (event_is_own_span(event) && event->color == 0) {
        decode_lose(pass, LOSS_CORRUPT, 1);
        return 0;
    }
    event->scope =
        decode_keep(names_scope(&decoder->names, parts->attr.domain, parts->attr.category), &error);
    if (error == 0)
        error = name_span(pass, parts, event);
    if (error != 0)
        return error;
    pass->decoded->events.count++;
    decoder->queues.span_count++;
    pass->thread->record_count++;
    pass->owner = OWNER_EVENT;
    return 0;
}
