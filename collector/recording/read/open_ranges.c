/* SPDX-License-Identifier: MIT */
/* Opening, nesting and ending of ranges: the rules of all lanes that nest. */
#include "open_ranges.h"

#include "pass_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Numbers in logs ------------------------------------------------------------------------- */

/* The numbers that programs write into their logs (annot_current), made as in
 * docs/wire-format.md. */

/* Registration numbers from here on are of threads in processes with several segments. */
enum { SERIAL_PLAIN_MAX = 1 << 20 };

/* Part of the wire: the finalizer of SplitMix64, and the factors that spread serial and
 * instance. */
#define SPREAD_SERIAL   UINT64_C(0x9e3779b97f4a7c15)
#define SPREAD_INSTANCE UINT64_C(0xbf58476d1ce4e5b9)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static uint64_t range_number(const struct trace *trace, uint32_t thread, uint32_t instance)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    const struct trace_process *process = entry ? trace_process_get(trace, entry->process) : NULL;
    if (!process || entry->serial == 0 || entry->serial > SERIAL_PLAIN_MAX)
        return 0;
    uint64_t number =
        mix(process->identity ^ (entry->serial - 1) * SPREAD_SERIAL ^ instance * SPREAD_INSTANCE);
    return number ? number : 1;
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

int open_ranges_grow(struct open_ranges *open)
{
    size_t begins = 0;
    if (vec_grow((void **)&open->items, &open->capacity, open->count + 1, sizeof(*open->items)) ||
        vec_grow((void **)&open->begins, &open->begins_capacity, open->capacity,
                 sizeof(*open->begins)))
        return -ENOMEM;
    for (size_t i = 0; i < open->count; i++) {
        if (open->items[i].wanted)
            open->begins[begins++] = &open->items[i].begin;
    }
    return 0;
}

int open_ranges_keep_args(struct open_ranges *open, const struct args *args)
{
    if (vec_reserve(&open->args, args->count) != 0)
        return -ENOMEM;
    memcpy(open->args.items + open->args.count, args->items, args->count * sizeof(*args->items));
    open->args.count += args->count;
    return 0;
}

void open_ranges_free(struct open_ranges *open)
{
    free(open->items);
    free(open->begins);
    vec_free(&open->args);
    *open = (struct open_ranges){0};
}

/* The key-values of a range, without those of the ranges inside of it. */
static struct args args_of(const struct open_ranges *open, size_t index)
{
    size_t first = open->items[index].first_arg;
    size_t end = index + 1 < open->count ? open->items[index + 1].first_arg : open->args.count;
    return (struct args){open->args.items + first, (uint32_t)(end - first)};
}

static uint64_t number_of(const struct pass *pass, const struct open_range *range)
{
    return range->instance ? range_number(pass->source.trace, range->begin.thread, range->instance)
                           : 0;
}

/* Reports the begin of a wanted range, inside of `depth` others. */
static int emit_open_range(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                           size_t index, uint32_t depth)
{
    struct open_range *range = &open->items[index];
    struct item *item = &pass->opened; /* all other fields stay 0 */
    item->lane = (uint8_t)kind;
    item->flags = range->cut ? ITEM_CUT_BEGIN : 0;
    item->depth = depth;
    item->ranges = open_range_outer(range);
    item->call = range->call;
    item->event = &range->begin;
    item->args = args_of(open, index);
    item->begin_ns = range->begin.time_ns;
    item->parents = open->begins;
    item->number = number_of(pass, range);
    range->told = true;
    if (!pass->selects_all) /* else it was counted on arrival */
        pass_count(pass, &pass->lanes.items[range->begin.thread], range->begin.kind,
                   range->begin.time_ns);
    return sinks_emit(kind == LANE_THREAD ? &pass->begins : &pass->events, item);
}

int open_ranges_emit_top(struct pass *pass, enum lane_kind kind, struct open_ranges *open)
{
    return emit_open_range(pass, kind, open, open->count - 1, (uint32_t)open->wanted_count - 1);
}

int open_ranges_emit(struct pass *pass, enum lane_kind kind, struct open_ranges *open)
{
    uint32_t depth = 0;
    int status = 0;
    for (size_t i = 0; !status && i < open->count; i++) {
        const struct open_range *range = &open->items[i];
        if (range->wanted && !range->told)
            status = emit_open_range(pass, kind, open, i, depth);
        depth += range->wanted;
    }
    return status;
}

/* The end that the selection makes counts for the thread that began the range. */
static void count_cut_end(struct pass *pass, enum lane_kind kind, const struct event *begin)
{
    if (begin->kind == EVENT_SPAN) /* it was one event */
        return;
    pass_count(pass, &pass->lanes.items[begin->thread],
               kind == LANE_THREAD ? EVENT_POP : EVENT_TRACK_END, pass->selection.to_ns);
}

/* Foreign times may exceed the length of the range. */
static struct off_share off_between(const struct pass *pass, const struct open_range *range,
                                    const struct range_end *end)
{
    int64_t until_ns = time_earliest(end->time_ns, pass->selection.to_ns);
    uint64_t room =
        until_ns > range->begin.time_ns ? (uint64_t)until_ns - (uint64_t)range->begin.time_ns : 0;
    uint64_t runnable_ns = end->off.runnable_ns - range->off.runnable_ns;
    uint64_t blocked_ns = end->off.blocked_ns - range->off.blocked_ns;
    blocked_ns = blocked_ns < room ? blocked_ns : room;
    runnable_ns = runnable_ns < room - blocked_ns ? runnable_ns : room - blocked_ns;
    return (struct off_share){runnable_ns, blocked_ns};
}

static int emit_span(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                     const struct open_range *range, const struct range_end *end)
{
    bool cut = !pass->selects_all && end->time_ns >= pass->selection.to_ns;
    size_t arg_count = open->args.count - range->first_arg;
    struct item *item = &pass->span;
    item->lane = (uint8_t)kind;
    item->flags = (uint16_t)((range->cut ? ITEM_CUT_BEGIN : 0) | (cut ? ITEM_CUT_END : end->flags));
    item->depth = (uint32_t)open->wanted_count;
    item->ranges = open_range_outer(range);
    item->call = range->call;
    item->event = &range->begin;
    item->args.items = open->args.items + range->first_arg;
    item->args.count = (uint32_t)arg_count - (cut ? end->arg_count : 0);
    item->end_arg_count = cut ? 0 : end->arg_count;
    item->end_thread = cut || end->flags ? range->begin.thread : end->thread;
    item->begin_ns = range->begin.time_ns;
    item->end_ns = cut ? pass->selection.to_ns : time_latest(end->time_ns, item->begin_ns);
    item->child_ns = range->child_ns;
    item->ranges_ns = range->ranges_ns;
    if (pass->wants & WANT_TIMES)
        item->off = off_between(pass, range, end);
    item->parents = open->begins;
    item->number = number_of(pass, range);
    struct open_range *parent = open_ranges_parent(open);
    if (parent)
        open_range_add(parent, range, item->end_ns - item->begin_ns);
    if (cut)
        count_cut_end(pass, kind, &range->begin);
    pass->counts.crossed += (item->flags & ITEM_CROSSED) != 0;
    return sinks_emit(&pass->events, item);
}

/* Reports the pending begins, without the key-values of the end. */
static int emit_before_end(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                           const struct range_end *end)
{
    open->args.count -= end->arg_count;
    int status = open_ranges_emit(pass, kind, open);
    open->args.count += end->arg_count;
    return status;
}

int open_ranges_close(struct pass *pass, enum lane_kind kind, struct open_ranges *open,
                      const struct range_end *end)
{
    struct open_range *range = &open->items[open->count - 1];
    bool before = range->cut && !range->told && end->time_ns <= pass->selection.from_ns;
    int status = 0;
    if (range->wanted && !before && !range->told)
        status = emit_before_end(pass, kind, open, end);
    open->count--;
    if (range->wanted) {
        open->wanted_count--;
        if (!status && !before)
            status = emit_span(pass, kind, open, range, end);
    }
    open->args.count = range->first_arg;
    return status;
}
