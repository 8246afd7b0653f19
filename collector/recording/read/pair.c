/* SPDX-License-Identifier: MIT */
/* Events of threads, each in its order. An open range keeps the producer's level (the number of
 * ranges open below), so that a pop finds its range even when others were lost in between.
 * Thread-safety: none. */
#include "pair.h"

#include "lane_samples.h"
#include "lane_tracks.h"
#include "open_ranges.h"
#include "origins.h"
#include "overlapping.h"
#include "pass.h"
#include "pass_state.h"

#include <math.h>

static int pair_take_run(struct pass *pass, struct lane *lane, const struct event_batch *batch,
                         uint32_t *at);

static const struct args no_args;

/* Before its ranges change. */
static int settle(struct pass *pass, struct lane *lane, int64_t time_ns)
{
    int error = pass->origins ? origins_note(pass, lane) : 0;
    if (!error && lane->samples && (pass->wants & WANT_PATHS))
        error = lane_samples_settle(pass, lane, time_ns, false);
    lane->since_ns = time_ns;
    return error;
}

static struct off_share off_until(const struct pass *pass, struct lane *lane, int64_t time_ns)
{
    if (!lane->samples)
        return (struct off_share){0};
    return lane_off_until(pass, lane, time_earliest(time_ns, pass->selection.to_ns));
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static bool is_open(const struct lane *lane, uint64_t level)
{
    const struct open_range *top = open_ranges_top(&lane->open);
    return top && top->level >= level;
}

/* The same, for a range that the thread pushed itself. */
static bool is_pushed(const struct lane *lane, uint64_t level)
{
    return is_open(lane, level) && open_ranges_top(&lane->open)->begin.kind != EVENT_SPAN;
}

static int close_top(struct pass *pass, struct lane *lane, struct range_end *end)
{
    if (pass->wants & WANT_TIMES)
        end->off = off_until(pass, lane, end->time_ns);
    return open_ranges_close(pass, LANE_THREAD, &lane->open, end);
}

/* Closes the ranges at `level` and above, innermost first. A span has a known end. */
static int close_from(struct pass *pass, struct lane *lane, uint64_t level, int64_t end_ns,
                      uint32_t flags)
{
    struct range_end end = {.time_ns = end_ns};
    int status = 0;
    while (!status && is_open(lane, level)) {
        const struct event *begin = &open_ranges_top(&lane->open)->begin;
        bool crosses = begin->end_ns > end_ns;
        end.thread = begin->thread;
        end.flags = begin->kind != EVENT_SPAN ? flags : crosses ? ITEM_CROSSED : 0;
        status = close_top(pass, lane, &end);
    }
    return status;
}

/* True if the innermost range is a span that ends before `end_ns`. */
static bool top_ends_before(const struct lane *lane, int64_t end_ns)
{
    const struct open_range *top = open_ranges_top(&lane->open);
    return top && top->begin.kind == EVENT_SPAN && top->begin.end_ns < end_ns;
}

/* Ends spans that a range beginning inside of them outlasts. */
static int cut_spans(struct pass *pass, struct lane *lane, const struct event *begin)
{
    struct range_end end = {.time_ns = begin->time_ns, .flags = ITEM_CROSSED};
    int status = 0;
    while (!status && top_ends_before(lane, begin->end_ns)) {
        status = settle(pass, lane, begin->time_ns);
        if (!status)
            status = close_top(pass, lane, &end);
    }
    return status;
}

/* Ends the spans that are over by then; one around a range that outlasts it ends with that
 * range. */
static int end_spans(struct pass *pass, struct lane *lane, int64_t time_ns)
{
    int status = 0;
    while (!status && top_ends_before(lane, time_add(time_ns, 1))) {
        const struct event *begin = &open_ranges_top(&lane->open)->begin;
        struct range_end end = {.time_ns = time_latest(begin->end_ns, lane->since_ns),
                                .thread = begin->thread};
        status = settle(pass, lane, end.time_ns);
        if (!status)
            status = close_top(pass, lane, &end);
    }
    return status;
}

/* Ends the innermost calls, which were open when their tracing ended: nothing reports their ends.
 * Those around a range of the program end with it. */
static int cut_calls(struct pass *pass, struct lane *lane, int64_t calls_end_ns, int64_t time_ns)
{
    int status = 0;
    if (time_ns < calls_end_ns)
        return 0;
    for (const struct open_range *top = open_ranges_top(&lane->open);
         !status && top && top->call && top->begin.time_ns < calls_end_ns;
         top = open_ranges_top(&lane->open)) {
        struct range_end end = {.time_ns = time_latest(calls_end_ns, lane->since_ns),
                                .thread = top->begin.thread,
                                .flags = ITEM_UNFINISHED};
        status = settle(pass, lane, end.time_ns);
        if (!status)
            status = close_top(pass, lane, &end);
        lane->cut = true;
    }
    return status;
}

static int close_with(struct pass *pass, struct lane *lane, const struct event *event,
                      const struct args *args)
{
    struct range_end end = {
        .time_ns = event->time_ns, .thread = event->thread, .arg_count = args->count};
    if (args->count && open_ranges_keep_args(&lane->open, args) != 0)
        return -ENOMEM;
    return close_top(pass, lane, &end);
}

static int emit_point(struct pass *pass, enum item_kind kind, const struct event *event,
                      const struct args *args)
{
    struct lane *lane = &pass->lanes.items[event->thread];
    struct item *item = &pass->point; /* all other fields stay 0 */
    item->kind = (uint8_t)kind;
    open_ranges_place(&lane->open, item);
    item->event = event;
    item->args.items = args->items; /* one by one, as written: copying both at once would stall */
    item->args.count = args->count;
    item->end_thread = event->thread;
    item->begin_ns = event->time_ns;
    item->end_ns = event_order_ns(event);
    if (!pass->selects_all)
        pass_count(pass, lane, event->kind, event->time_ns);
    return sinks_emit(&pass->events, item);
}

/* An end without a begin. */
static int emit_orphan(struct pass *pass, const struct lane *lane, const struct event *event,
                       const struct args *args)
{
    if (!lane->wanted || !lane->begun || pass->selection.range)
        return 0;
    pass->counts.orphans++;
    return emit_point(pass, ITEM_ORPHAN, event, args);
}

static int take_pop(struct pass *pass, struct lane *lane, const struct event *event,
                    const struct args *args)
{
    bool known = event->depth < lane->depth;
    int status = settle(pass, lane, event->time_ns);
    if (!status && known && is_open(lane, event->depth + 1)) /* above it: their pops were lost */
        status = close_from(pass, lane, event->depth + 1, event->time_ns, ITEM_END_LOST);
    lane->depth = event->depth;
    if (status)
        return status;
    if (known && lane->cut && !is_pushed(lane, event->depth))
        return 0; /* ended by cut_calls() */
    if (!known || !is_pushed(lane, event->depth))
        return emit_orphan(pass, lane, event, args);
    bool counts = !pass->selects_all && lane->begun && open_ranges_inside(&lane->open);
    status = close_with(pass, lane, event, args);
    if (counts)
        pass_count(pass, lane, event->kind, event->time_ns);
    return status || !lane->probed ? status : end_spans(pass, lane, event->time_ns);
}

/* ---- Begins, points -------------------------------------------------------------------------- */

/* True if items at this place of the thread are selected. */
static bool is_wanted(const struct pass *pass, const struct lane *lane)
{
    return lane->wanted && (!pass->selection.range || open_ranges_inside(&lane->open));
}

/* Number of a push; 0: unknown. */
static uint32_t next_instance(const struct pass *pass, struct lane *lane, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(pass->source.trace, thread);
    lane->instances += lane->instances == UINT32_MAX ? 2 : 1; /* wraps, never 0 */
    return lane->instances_unknown || (entry && entry->unnumbered) ? 0 : lane->instances;
}

/* Opens a push, or a span that an observer reports. */
static inline int open_top(struct pass *pass, struct lane *lane, const struct event *event,
                           const struct args *args)
{
    bool all = pass->selects_all;
    bool wanted = all || is_wanted(pass, lane) || (lane->wanted && pass_names(pass, event->name));
    int error = settle(pass, lane, event->time_ns);
    bool call = event_is_python_call(pass->source.trace, event);
    struct open_range *range =
        error ? NULL : open_ranges_push(&lane->open, event, args, wanted, call);
    if (!range)
        return error ? error : -ENOMEM;
    range->level = lane->depth;
    if (event->kind == EVENT_PUSH)
        lane->depth++;
    if (!all && event->time_ns < pass->selection.from_ns) {
        range->cut = true;
        range->begin.time_ns = pass->selection.from_ns;
    }
    if ((pass->wants & WANT_NUMBERS) && event->kind == EVENT_PUSH)
        range->instance = next_instance(pass, lane, event->thread);
    if (pass->wants & WANT_TIMES)
        range->off = off_until(pass, lane, range->begin.time_ns);
    return wanted && lane->begun ? open_ranges_emit_top(pass, LANE_THREAD, &lane->open) : 0;
}

static inline int take_push(struct pass *pass, struct lane *lane, const struct event *event,
                            const struct args *args)
{
    int status = lane->probed ? cut_spans(pass, lane, event) : 0;
    return status ? status : open_top(pass, lane, event, args);
}

/* A span that an observer reports of the thread. */
static int take_own_span(struct pass *pass, struct lane *lane, const struct event *event,
                         const struct args *args)
{
    lane->probed = true;
    int status = cut_spans(pass, lane, event);
    return status ? status : open_top(pass, lane, event, args);
}

/* Records lost after they were written had numbers; those never written had not. */
static bool took_records(uint8_t cause)
{
    return cause == LOSS_OVERWRITTEN || cause == LOSS_CORRUPT;
}

static int take_lost(struct pass *pass, struct lane *lane, const struct event *event)
{
    bool wanted = is_wanted(pass, lane) && lane->begun;
    int64_t end_ns = event_order_ns(event);
    struct event told = *event;
    int status = settle(pass, lane, event->time_ns);
    lane->lossy = true;
    pass->counts.last_ns = time_latest(pass->counts.last_ns, end_ns);
    lane->instances_unknown = lane->instances_unknown || took_records(event->level);
    if (!status)
        status = close_from(pass, lane, event->depth, end_ns, ITEM_END_LOST);
    lane->depth = event->depth;
    told.time_ns = time_latest(told.time_ns, pass->selection.from_ns);
    return status || !wanted ? status : emit_point(pass, ITEM_LOST, &told, &no_args);
}

static int take_edge(struct pass *pass, struct lane *lane, const struct event *event)
{
    const struct track_told told = {.wanted = lane->wanted};
    int status = settle(pass, lane, event->time_ns);
    lane->depth = 0;
    if (!status)
        status = close_from(pass, lane, 0, event->time_ns, ITEM_UNFINISHED);
    if (!status)
        status = tracks_take(pass, event, &no_args, told);
    return status || !lane->wanted || !lane->begun ? status
                                                   : emit_point(pass, ITEM_EDGE, event, &no_args);
}

static int take_point(struct pass *pass, struct lane *lane, const struct event *event,
                      const struct args *args)
{
    enum item_kind kind = event->kind == EVENT_MARK      ? ITEM_INSTANT
                          : event->kind == EVENT_COUNTER ? ITEM_COUNTER
                                                         : ITEM_FLOW;
    bool told = is_wanted(pass, lane) && lane->begun;
    bool is_double = kind == ITEM_COUNTER && event->value_kind == VALUE_DOUBLE;
    pass->counts.no_numbers += told && is_double && !isfinite(event->value.float64);
    return told ? emit_point(pass, kind, event, args) : 0;
}

static int take_start(struct pass *pass, const struct lane *lane, const struct event *event,
                      const struct args *args)
{
    bool wanted = is_wanted(pass, lane) ||
                  (lane->wanted && event->kind == EVENT_START && pass_names(pass, event->name));
    return starts_take(pass, event, args, wanted);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The start of a reader that has not read all before. */
static void resume(struct lane *lane, const struct event *event)
{
    lane->depth = event->depth;
    lane->instances = (uint32_t)event->value.uint64;
    lane->instances_unknown = event->level & RESUME_UNNUMBERED;
    lane->lossy = lane->lossy || (event->level & RESUME_LOSSY);
}

static int take_point_or_gap(struct pass *pass, struct lane *lane, const struct event *event,
                             const struct args *args)
{
    switch (event->kind) {
    case EVENT_LOST:
        return take_lost(pass, lane, event);
    case EVENT_EDGE:
        return take_edge(pass, lane, event);
    case EVENT_RESUME:
        resume(lane, event);
        return 0;
    case EVENT_SPAN:
        return take_own_span(pass, lane, event, args);
    case EVENT_SPAN_END:
        return end_spans(pass, lane, event->time_ns);
    case EVENT_MARK:
    case EVENT_COUNTER:
    case EVENT_FLOW_BEGIN:
    case EVENT_FLOW_STEP:
    case EVENT_FLOW_END:
        return take_point(pass, lane, event, args);
    default:
        return 0;
    }
}

static int take_kind(struct pass *pass, struct lane *lane, const struct event *event,
                     const struct args *args)
{
    if (event->kind == EVENT_PUSH)
        return take_push(pass, lane, event, args);
    return event->kind == EVENT_POP ? take_pop(pass, lane, event, args)
                                    : take_point_or_gap(pass, lane, event, args);
}

/* False for ends at the first instant, which the selection does not contain. */
static bool is_after_begin(const struct pass *pass, uint8_t kind, int64_t told_ns)
{
    bool is_end =
        kind == EVENT_POP || kind == EVENT_LOST || kind == EVENT_EDGE || kind == EVENT_SPAN_END;
    return is_end ? told_ns > pass->selection.from_ns : told_ns >= pass->selection.from_ns;
}

/* The selection ends before this event. */
static int end_lane(struct pass *pass, struct lane *lane, const struct event *event,
                    int64_t told_ns)
{
    int status = settle(pass, lane, told_ns);
    lane->over = true;
    pass->counts.last_ns = time_latest(pass->counts.last_ns, told_ns);
    if (!status)
        status = close_from(pass, lane, 0, told_ns, 0);
    return status || event->kind != EVENT_EDGE
               ? status
               : tracks_take(pass, event, &no_args, (struct track_told){0});
}

/* A time before the selection's start, after the lane has begun, is raised to that start. */
static int take_from_begin(struct pass *pass, struct lane *lane, const struct event *event,
                           const struct args *args)
{
    struct event moved = *event;
    moved.time_ns = pass->selection.from_ns;
    return take_kind(pass, lane, &moved, args);
}

/* Takes an event on its thread, as far as it is selected. */
static int take_selected(struct pass *pass, struct lane *lane, const struct event *event,
                         const struct args *args)
{
    int64_t told_ns = event_order_ns(event);
    int status = 0;
    if (lane->over)
        return 0;
    if (told_ns >= pass->selection.to_ns)
        return end_lane(pass, lane, event, told_ns);
    if (lane->begun && told_ns < pass->selection.from_ns)
        return take_from_begin(pass, lane, event, args);
    if (!lane->begun && is_after_begin(pass, event->kind, told_ns)) {
        lane->begun = true;
        status = open_ranges_emit(pass, LANE_THREAD, &lane->open);
    }
    return status ? status : take_kind(pass, lane, event, args);
}

static int take_other(struct pass *pass, struct lane *lane, const struct event *event,
                      const struct args *args)
{
    bool own = event_is_own_span(event);
    if (event->kind == EVENT_SPAN && !own)
        return span_take(pass, lane, event, args);
    if (event_has_lane(event->kind) && !own) {
        bool inside = pass->selection.range && is_wanted(pass, lane);
        return tracks_take(pass, event, args, (struct track_told){lane->wanted, inside});
    }
    if (event->kind == EVENT_START || event->kind == EVENT_END)
        return take_start(pass, lane, event, args);
    return pass->selects_all ? take_point_or_gap(pass, lane, event, args)
                             : take_selected(pass, lane, event, args);
}

static int take(struct pass *pass, struct lane *lane, const struct event *event,
                const struct args *args)
{
    if (pass->selects_all && event->kind == EVENT_PUSH)
        return take_push(pass, lane, event, args);
    if (pass->selects_all && event->kind == EVENT_POP)
        return take_pop(pass, lane, event, args);
    return take_other(pass, lane, event, args);
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* If all is selected, events are counted on arrival. */
static void count(struct pass *pass, const struct event *event)
{
    pass->counts.events[event_known_kind(event->kind)] += event->kind != EVENT_SPAN_END;
}

/* Of its last event that is in the thread's order. */
static int64_t last_in_order_ns(const struct lane *lane, const struct event_batch *batch)
{
    uint32_t count = batch->count;
    while (count && event_traits[batch->events[count - 1].kind] & EVENT_OWN_TIME)
        count--;
    return count ? batch->events[count - 1].time_ns : lane->last_ns;
}

static void count_batch(struct lane *lane, const struct event_batch *batch)
{
    lane->first_ns = time_earliest(lane->first_ns, batch->events[0].time_ns);
    lane->last_told_ns = time_latest(lane->last_told_ns, lane->last_ns);
}

/* When the tracing of calls ended, if the thread may have had open calls then; else 0. */
static int64_t calls_end_of(const struct pass *pass, const struct lane *lane,
                            const struct event_batch *batch)
{
    const struct trace_process *process =
        trace_process_get(pass->source.trace, pass_process_of(pass, batch->thread));
    int64_t end_ns = process ? process->calls_end_ns : 0;
    int64_t since_ns = lane->open.count ? lane->open.items[0].begin.time_ns : INT64_MAX;
    return time_earliest(since_ns, batch->events[0].time_ns) < end_ns ? end_ns : 0;
}

int pair_batch(struct pass *pass, const struct event_batch *batch)
{
    int status = 0;
    if (batch->count == 0)
        return 0;
    struct lane *lane = pass_lane(pass, batch->thread);
    if (!lane)
        return -ENOMEM;
    lane->last_ns = last_in_order_ns(lane, batch);
    pass->counts.last_ns = time_latest(pass->counts.last_ns, lane->last_ns);
    if (pass->selects_all)
        count_batch(lane, batch);
    int64_t calls_end_ns = calls_end_of(pass, lane, batch);
    for (uint32_t i = 0; !status && i < batch->count; i++) {
        uint8_t kind = batch->events[i].kind;
        bool may_run = kind == EVENT_PUSH || kind == EVENT_POP;
        if (may_run && pass->runs && !lane->samples && !lane->probed && !calls_end_ns)
            status = pair_take_run(pass, lane, batch, &i);
        if (status || i == batch->count)
            break;
        const struct event *event = &batch->events[i];
        const struct args args = event_args(batch, event);
        if (pass->selects_all)
            count(pass, event);
        if (lane->probed)
            status = end_spans(pass, lane, event->time_ns);
        if (!status && calls_end_ns)
            status = cut_calls(pass, lane, calls_end_ns, event->time_ns);
        if (!status)
            status = take(pass, lane, event, &args);
    }
    return status || !pass->origins ? status : origins_lane_passed(pass, batch->thread);
}

/* Not before the thread's last event, so that no range ends after the one around it. */
int64_t pair_end_ns(const struct pass *pass, uint32_t thread)
{
    int64_t end_ns =
        range_end_ns(pass->source.trace, pass_process_of(pass, thread), pass->counts.last_ns);
    return time_latest(end_ns, pass->lanes.items[thread].last_ns);
}

int pair_finish_thread(struct pass *pass, uint32_t thread)
{
    struct lane *lane = &pass->lanes.items[thread];
    if (lane->open.count == 0)
        return 0;
    int64_t end_ns = pair_end_ns(pass, thread);
    int status = end_spans(pass, lane, end_ns);
    const struct trace_process *process =
        trace_process_get(pass->source.trace, pass_process_of(pass, thread));
    if (!status && process && process->calls_end_ns)
        status = cut_calls(pass, lane, process->calls_end_ns, end_ns);
    return status ? status : close_from(pass, lane, 0, end_ns, ITEM_UNFINISHED);
}

/* ---- Pair run -------------------------------------------------------------------------------- */

/* Runs of matching pushes and pops.
 *
 * Nearly all events are matching pushes and pops without key-values, of threads without samples, in
 * a selection of all: here they take a third of the time of the others. Meanwhile the state of the
 * lane is in registers. Thread-safety: none. */

struct pair_run {
    struct pass *pass;
    struct open_range *items, *end, *limit; /* open: [items, end) */
    const struct event **begins;
    size_t arg_count;
    struct lane_origins *noted; /* NULL: its paths are not noted */
    int64_t since_ns;           /* time of the last change of the path; only if it is noted */
};

static inline bool run_has_room(const struct pair_run *run)
{
    return run->end < run->limit;
}

/* True for the pop of the innermost range, which has no key-values. */
static inline bool run_meets(const struct pair_run *run, const struct event *pop)
{
    if (run->end == run->items)
        return false;
    const struct open_range *top = run->end - 1;
    return top->level == pop->depth && top->first_arg == run->arg_count;
}

/* Notes the path before it changes. */
static int run_note(struct pair_run *run, int64_t time_ns)
{
    uint32_t path = run->end > run->items ? run->end[-1].path : 0;
    int64_t since_ns = run->since_ns;
    run->since_ns = time_ns;
    return origins_note_path(run->pass, run->noted, path, since_ns);
}

/* Finds the path of the innermost range, which was just opened. */
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
    return sinks_emit(&run->pass->begins, item);
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
    return sinks_emit(&run->pass->events, item);
}

static void end_run(struct lane *lane, const struct pair_run *run, size_t event_count)
{
    size_t open = (size_t)(run->end - run->items);
    size_t pushes = (event_count + open - lane->open.count) / 2;
    run->pass->counts.events[EVENT_PUSH] += pushes;
    run->pass->counts.events[EVENT_POP] += event_count - pushes;
    lane->open.count = lane->open.wanted_count = open;
}

/* Finds the paths of the ranges already open. */
static int run_begin_notes(struct pair_run *run, struct lane *lane)
{
    int error = origins_find(run->pass, lane, &run->noted);
    return error || (run->noted && lane_path(run->pass, lane) < 0) ? -ENOMEM : 0;
}

/* Takes events from `at` on as long as they make a run, and moves it. 0, -ENOMEM, or the result of
 * a sink. Not inline: its caller takes all other events, and needs the registers. */
__attribute__((noinline)) static int pair_take_run(struct pass *pass, struct lane *lane,
                                                   const struct event_batch *batch, uint32_t *at)
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
