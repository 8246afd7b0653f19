/* SPDX-License-Identifier: MIT */
/* Runs of pushes and pops that meet.
 *
 * Nearly all that there is are pushes and pops without key-values that meet, of threads without
 * samples, in a selection of all: here they take a third of the way of the others. What a lane
 * knows stands in registers meanwhile. Thread-safety: none. */
#include "read_parts.h"

struct pair_run {
    struct pass *pass;
    struct open_range *items, *end, *limit; /* open: [items, end) */
    const struct event **begins;
    size_t arg_count;
    struct lane_origins *noted; /* NULL: its paths are not */
    int64_t since_ns;           /* when the path last changed; only if it is noted */
};

static inline bool run_has_room(const struct pair_run *run)
{
    return run->end < run->limit;
}

/* The pop of the innermost range, which has no key-values. */
static inline bool run_meets(const struct pair_run *run, const struct event *pop)
{
    if (run->end == run->items)
        return false;
    const struct open_range *top = run->end - 1;
    return top->level == pop->depth && top->first_arg == run->arg_count;
}

/* Before it changes. */
static int run_note(struct pair_run *run, int64_t time_ns)
{
    uint32_t path = run->end > run->items ? run->end[-1].path : 0;
    int64_t since_ns = run->since_ns;
    run->since_ns = time_ns;
    return origins_note_path(run->pass, run->noted, path, since_ns);
}

/* Of the innermost range, which was opened now. */
static int run_find_path(struct pair_run *run)
{
    struct open_range *range = run->end - 1;
    uint32_t parent = range > run->items ? range[-1].path : 0;
    int64_t path = range_path_add(run->pass, parent, &range->begin);
    range->path = path > 0 ? (uint32_t)path : 0;
    return path < 0 ? (int)path : 0;
}

static inline int run_push(struct pair_run *run, const struct event *event, uint64_t level)
{
    if (run->noted && run_note(run, event->time_ns) != 0)
        return -ENOMEM;
    struct open_range *range = run->end++;
    uint32_t depth = (uint32_t)(range - run->items);
    range->begin = *event;
    range->level = level;
    range->child_ns = 0;
    open_range_place(range, depth ? range - 1 : NULL,
                     event_is_python_call(run->pass->source.trace, event));
    range->off.runnable_ns = range->off.blocked_ns = 0;
    range->first_arg = run->arg_count;
    range->path = range->instance = 0;
    range->wanted = range->told = true;
    range->cut = false;
    run->begins[depth] = &range->begin;
    if (run->noted && run_find_path(run) != 0)
        return -ENOMEM;
    if (!run->pass->begins.count)
        return 0;
    struct item *item = &run->pass->plain_opened;
    item->depth = depth;
    item->ranges = open_range_outer(range);
    item->call = range->call;
    item->event = &range->begin;
    item->begin_ns = range->begin.time_ns;
    item->parents = run->begins;
    return sinks_tell(&run->pass->begins, item);
}

static inline int run_pop(struct pair_run *run, const struct event *event)
{
    if (run->noted && run_note(run, event->time_ns) != 0)
        return -ENOMEM;
    const struct open_range *range = --run->end;
    struct item *item = &run->pass->plain_span;
    int64_t begin_ns = range->begin.time_ns, end_ns = time_latest(event->time_ns, begin_ns);
    item->depth = (uint32_t)(range - run->items);
    item->ranges = open_range_outer(range);
    item->call = range->call;
    item->event = &range->begin;
    item->end_thread = event->thread;
    item->begin_ns = begin_ns;
    item->end_ns = end_ns;
    item->child_ns = range->child_ns;
    item->ranges_ns = range->ranges_ns;
    item->parents = run->begins;
    if (item->depth)
        open_range_add(&run->end[-1], range, end_ns - begin_ns);
    return sinks_tell(&run->pass->events, item);
}

static void end_run(struct lane *lane, const struct pair_run *run, size_t event_count)
{
    size_t open = (size_t)(run->end - run->items);
    size_t pushes = (event_count + open - lane->open.count) / 2;
    run->pass->counts.events[EVENT_PUSH] += pushes;
    run->pass->counts.events[EVENT_POP] += event_count - pushes;
    lane->open.count = lane->open.wanted_count = open;
}

/* What is open then has its path. */
static int run_begin_notes(struct pair_run *run, struct lane *lane)
{
    int error = origins_find(run->pass, lane, &run->noted);
    return error || (run->noted && lane_path(run->pass, lane) < 0) ? -ENOMEM : 0;
}

int pair_take_run(struct pass *pass, struct lane *lane, const struct event_batch *batch,
                  uint32_t *at)
{
    struct open_ranges *open = &lane->open;
    struct pair_run run = {pass,
                           open->items,
                           open->items + open->count,
                           open->items + open->capacity,
                           open->begins,
                           open->args.count,
                           NULL,
                           lane->since_ns};
    const struct event *begin = batch->events + *at, *event = begin,
                       *end = batch->events + batch->count;
    uint64_t depth = lane->depth;
    int status = pass->origins ? run_begin_notes(&run, lane) : 0;
    for (; !status && event < end; event++) {
        if (event->arg_count)
            break;
        if (event->kind == EVENT_PUSH && run_has_room(&run)) {
            status = run_push(&run, event, depth++);
        } else if (event->kind == EVENT_POP && event->depth < depth && run_meets(&run, event)) {
            depth = event->depth;
            status = run_pop(&run, event);
        } else {
            break;
        }
    }
    if (event == begin)
        return status;
    end_run(lane, &run, (size_t)(event - begin));
    lane->depth = depth;
    lane->since_ns = event[-1].time_ns;
    *at = (uint32_t)(event - batch->events);
    return status;
}
