/* SPDX-License-Identifier: MIT */
/* Overlapping ranges: starts and ends are matched by process and id, in the order of arrival from
 * any thread. Thread-safety: none. */
#include "overlapping.h"

#include "pass.h"
#include "pass_state.h"

#include <stdlib.h>
#include <string.h>

/* A start without its end, or an end without its start. */
struct open_start {
    struct event event; /* of a start, never before the selection */
    struct arg *args;   /* owned; NULL: without key-values */
    uint32_t arg_count;
    uint32_t process;
    uint32_t next_free; /* index + 1 */
    bool wanted, cut, told;
};

struct starts {
    VEC(struct open_start) items;
    uint32_t first_free; /* index + 1 */
    struct wide_map index;
    VEC(struct arg) joined;
    struct item opened, span; /* reused, so that few fields are written */
};

struct starts *starts_create(void)
{
    return calloc(1, sizeof(struct starts));
}

void starts_destroy(struct starts *starts)
{
    if (!starts)
        return;
    for (size_t i = 0; i < starts->items.count; i++)
        free(starts->items.items[i].args);
    vec_free(&starts->items);
    vec_free(&starts->joined);
    wide_map_free(&starts->index);
    free(starts);
}

static void count(struct pass *pass, const struct event *event)
{
    if (!pass->selects_all)
        pass_count(pass, &pass->lanes.items[event->thread], event->kind, event->time_ns);
}

static int emit_opened(struct pass *pass, struct open_start *start)
{
    struct item *item = &pass->starts->opened;
    item->kind = ITEM_OPENED;
    item->lane = LANE_PROCESS;
    item->flags = start->cut ? ITEM_CUT_BEGIN : 0;
    item->event = &start->event;
    item->args = (struct args){start->args, start->arg_count};
    item->begin_ns = start->event.time_ns;
    start->told = true;
    count(pass, &start->event);
    return sinks_emit(&pass->events, item);
}

/* Reports the selected part; the item holds the end. */
static int emit_span(struct pass *pass, struct open_start *start)
{
    struct item *item = &pass->starts->span;
    int64_t to_ns = pass->selection.to_ns, end_ns = item->end_ns;
    bool before = start->cut && end_ns <= pass->selection.from_ns;
    bool outside = !start->told && (start->event.time_ns >= to_ns || before);
    if (!start->wanted || outside)
        return 0;
    int status = start->told ? 0 : emit_opened(pass, start);
    item->kind = ITEM_SPAN;
    item->lane = LANE_PROCESS;
    item->event = &start->event;
    item->begin_ns = start->event.time_ns;
    item->end_ns = time_latest(end_ns, item->begin_ns);
    item->flags |= start->cut ? ITEM_CUT_BEGIN : 0;
    if (end_ns >= to_ns) {
        item->end_ns = to_ns;
        item->end_thread = start->event.thread;
        item->flags = (uint16_t)((item->flags & ~ITEM_UNFINISHED) | ITEM_CUT_END);
        item->args.count -= item->end_arg_count;
        item->end_arg_count = 0;
        pass_count(pass, &pass->lanes.items[start->event.thread], EVENT_END, to_ns);
    }
    return status ? status : sinks_emit(&pass->events, item);
}

static int emit_unfinished(struct pass *pass, struct open_start *start, int64_t end_ns)
{
    struct item *item = &pass->starts->span;
    item->flags = ITEM_UNFINISHED;
    item->end_ns = end_ns;
    item->end_thread = start->event.thread;
    item->end_arg_count = 0;
    item->args = (struct args){start->args, start->arg_count};
    return emit_span(pass, start);
}

/* Keeps a copy of the event and its key-values. */
static int fill(struct open_start *entry, const struct event *event, const struct args *args)
{
    entry->event = *event;
    entry->args = NULL;
    entry->arg_count = 0;
    if (!args->count)
        return 0;
    entry->args = malloc(args->count * sizeof(*args->items));
    if (!entry->args)
        return -ENOMEM;
    memcpy(entry->args, args->items, args->count * sizeof(*args->items));
    entry->arg_count = args->count;
    return 0;
}

static int64_t new_entry(struct starts *starts)
{
    uint32_t index = starts->first_free;
    if (index == 0) {
        if (vec_push(&starts->items, ((struct open_start){0})) != 0)
            return -ENOMEM;
        return (int64_t)starts->items.count;
    }
    starts->first_free = starts->items.items[index - 1].next_free;
    return index;
}

/* Keeps a start until its end comes, or an end until its start comes. */
static int remember(struct pass *pass, const struct wide_key *key, const struct event *event,
                    const struct args *args, bool wanted)
{
    struct starts *starts = pass->starts;
    int64_t index = new_entry(starts);
    if (index < 0)
        return (int)index;
    struct open_start *entry = &starts->items.items[index - 1];
    entry->process = pass_process_of(pass, event->thread);
    entry->wanted = wanted;
    entry->cut = entry->told = false;
    int error = fill(entry, event, args);
    if (!error)
        error = wide_map_put(&starts->index, key, (uint64_t)index);
    if (error || event->kind != EVENT_START)
        return error;
    entry->cut = event->time_ns < pass->selection.from_ns;
    entry->event.time_ns = time_latest(event->time_ns, pass->selection.from_ns);
    bool now = wanted && !entry->cut && event->time_ns < pass->selection.to_ns;
    return now ? emit_opened(pass, entry) : 0;
}

static void forget(struct starts *starts, uint64_t index)
{
    struct open_start *entry = &starts->items.items[index - 1];
    free(entry->args);
    entry->args = NULL;
    entry->event.kind = 0;
    entry->next_free = starts->first_free;
    starts->first_free = (uint32_t)index;
}

/* Removes an earlier entry of the same key that is no partner: the id was used twice. */
static int displace(struct pass *pass, struct open_start *old, const struct event *by)
{
    if (old->event.kind == EVENT_START)
        return emit_unfinished(pass, old, by->time_ns);
    pass->counts.orphans += pass->selects_all || old->wanted;
    return 0;
}

/* Joins the key-values of the start and the end. 0 or -ENOMEM. */
static int join_args(struct starts *starts, const struct args *start, const struct args *end,
                     struct args *ret_args)
{
    const size_t size = sizeof(struct arg);
    starts->joined.count = 0;
    if (vec_reserve(&starts->joined, (size_t)start->count + end->count) != 0)
        return -ENOMEM;
    if (start->count)
        memcpy(starts->joined.items, start->items, start->count * size);
    if (end->count)
        memcpy(starts->joined.items + start->count, end->items, end->count * size);
    *ret_args = (struct args){starts->joined.items, start->count + end->count};
    return 0;
}

/* `end_told`: ITEM_ORPHAN was reported. */
static int join(struct pass *pass, struct open_start *start, const struct event *end,
                const struct args *end_args, bool end_told)
{
    const struct args start_args = {start->args, start->arg_count};
    struct item *item = &pass->starts->span;
    item->flags = end_told ? ITEM_END_TOLD : 0;
    item->end_ns = end->time_ns;
    item->end_thread = end->thread;
    item->end_arg_count = end_args->count;
    int error = join_args(pass->starts, &start_args, end_args, &item->args);
    bool counted =
        start->wanted && (!start->cut || start->told || end->time_ns > pass->selection.from_ns);
    if (counted && !end_told && end->time_ns < pass->selection.to_ns)
        count(pass, end);
    return error ? error : emit_span(pass, start);
}

static int emit_lone_end(struct pass *pass, const struct event *event, const struct args *args)
{
    const struct item item = {
        .kind = ITEM_ORPHAN,
        .lane = LANE_PROCESS,
        .event = event,
        .args = *args,
        .end_thread = event->thread,
        .begin_ns = event->time_ns,
        .end_ns = event->time_ns,
    };
    count(pass, event);
    return sinks_emit(&pass->events, &item);
}

static int take_end(struct pass *pass, const struct wide_key *key, const struct event *event,
                    const struct args *args, bool wanted)
{
    bool told = wanted && !pass->selection.range && pass->selection.from_ns == INT64_MIN &&
                event->time_ns < pass->selection.to_ns;
    int status = remember(pass, key, event, args, told);
    return status || !told ? status : emit_lone_end(pass, event, args);
}

/* Joins the two parts in their order; `old` came first. */
static int meet(struct pass *pass, struct open_start *old, const struct event *event,
                const struct args *args, bool wanted)
{
    if (event->kind == EVENT_END)
        return join(pass, old, event, args, false);
    if (event->time_ns >= pass->selection.to_ns) { /* the start is after the selection: only the end
                                                    * is in it */
        pass->counts.orphans += old->wanted;
        return 0;
    }
    struct open_start start = {
        .event = *event,
        .args = (struct arg *)args->items, /* of the current event */
        .arg_count = args->count,
        .wanted = wanted,
        .cut = event->time_ns < pass->selection.from_ns,
    };
    start.event.time_ns = time_latest(event->time_ns, pass->selection.from_ns);
    const struct args end_args = {old->args, old->arg_count};
    return join(pass, &start, &old->event, &end_args, old->wanted);
}

int starts_take(struct pass *pass, const struct event *event, const struct args *args, bool wanted)
{
    const struct wide_key *key = WIDE_KEY(pass_process_of(pass, event->thread), event->id);
    uint64_t index;
    int status = 0;
    if (wide_map_take(&pass->starts->index, key, &index)) {
        struct open_start *old = &pass->starts->items.items[index - 1];
        bool partner = old->event.kind != event->kind;
        status = partner ? meet(pass, old, event, args, wanted) : displace(pass, old, event);
        forget(pass->starts, index);
        if (partner || status)
            return status;
    }
    if (event->kind == EVENT_END)
        return take_end(pass, key, event, args, wanted);
    return remember(pass, key, event, args, wanted);
}

int starts_begin(struct pass *pass)
{
    int status = 0;
    for (size_t i = 0; !status && i < pass->starts->items.count; i++) {
        struct open_start *entry = &pass->starts->items.items[i];
        if (entry->event.kind == EVENT_START && entry->wanted && !entry->told)
            status = emit_opened(pass, entry);
    }
    return status;
}

int starts_finish(struct pass *pass)
{
    struct starts *starts = pass->starts;
    int status = 0;
    for (size_t i = 0; i < starts->items.count; i++) {
        struct open_start *entry = &starts->items.items[i];
        pass->counts.orphans +=
            entry->event.kind == EVENT_END && (pass->selects_all || entry->wanted);
        if (!status && entry->event.kind == EVENT_START)
            status = emit_unfinished(
                pass, entry,
                range_end_ns(pass->source.trace, entry->process, pass->counts.last_ns));
        free(entry->args);
    }
    starts->items.count = 0;
    starts->first_free = 0;
    wide_map_free(&starts->index);
    return status;
}
