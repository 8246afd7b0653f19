/* SPDX-License-Identifier: MIT */
/* Ranges of tracks: events of one track come from any threads, so they wait to be sorted until no
 * earlier one can come; if that is unknown, or too many wait, the older half goes on. Tracks with
 * open ranges have a slot; they are far fewer than all tracks. Thread-safety: none. */
#include "lane_tracks.h"

#include "open_ranges.h"
#include "origins.h"
#include "pass.h"
#include "pass_state.h"
#include "times.h"

#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 1 << 20 }; /* key-values of all waiting events */

struct waiting {
    struct event event;
    struct arg *args; /* owned; NULL: without key-values */
    uint32_t arg_count;
    struct track_told told;
    bool passed_on;
};

struct open_track {
    struct open_ranges open;
    uint64_t hidden; /* open hidden ranges outside of any other */
    uint64_t track;
    int64_t last_ns;    /* of its last event */
    uint32_t next_free; /* index + 1 */
};

struct tracks {
    VEC(struct waiting) waiting; /* as they arrived */
    /* Their places, in order of time while they are passed on; and as much spare room. */
    VEC(struct time_place) places;
    size_t arg_count;           /* of all waiting events */
    size_t limit;               /* number of waiting events at which some are passed on */
    int64_t first_ns;           /* of the waiting events */
    struct map64 open_by_track; /* track + 1 -> index + 1 */
    VEC(struct open_track) open;
    uint32_t first_free;   /* index + 1 */
    VEC(uint32_t) open_of; /* by thread: open ranges that it began */
};

struct tracks *tracks_create(void)
{
    struct tracks *tracks = calloc(1, sizeof(*tracks));
    if (!tracks)
        return NULL;
    tracks->limit = TRACKS_WAITING_MIN;
    tracks->first_ns = INT64_MAX;
    return tracks;
}

void tracks_destroy(struct tracks *tracks)
{
    if (!tracks)
        return;
    for (size_t i = 0; i < tracks->waiting.count; i++)
        free(tracks->waiting.items[i].args);
    for (size_t i = 0; i < tracks->open.count; i++)
        open_ranges_free(&tracks->open.items[i].open);
    vec_free(&tracks->waiting);
    vec_free(&tracks->places);
    vec_free(&tracks->open);
    vec_free(&tracks->open_of);
    map64_free(&tracks->open_by_track);
    free(tracks);
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

static struct open_track *find_open(struct tracks *tracks, uint64_t track)
{
    const uint64_t *index = map64_find(&tracks->open_by_track, track + 1);
    return index ? &tracks->open.items[*index - 1] : NULL;
}

/* NULL: out of memory. */
static struct open_track *need_open(struct tracks *tracks, uint64_t track)
{
    struct open_track *open = find_open(tracks, track);
    if (open)
        return open;
    uint32_t index = tracks->first_free;
    if (index == 0) {
        if (vec_reserve(&tracks->open, 1) != 0 || !tracks->open.items)
            return NULL;
        index = (uint32_t)++tracks->open.count;
        tracks->open.items[index - 1] = (struct open_track){0};
    }
    if (map64_put(&tracks->open_by_track, track + 1, index) != 0)
        return NULL;
    open = &tracks->open.items[index - 1];
    if (index == tracks->first_free)
        tracks->first_free = open->next_free;
    open->track = track;
    return open;
}

/* Frees its slot if no range is open on it. */
static void leave(struct tracks *tracks, struct open_track *open)
{
    uint64_t index;
    if (open->open.count || open->hidden ||
        !map64_take(&tracks->open_by_track, open->track + 1, &index))
        return;
    open->next_free = tracks->first_free;
    tracks->first_free = (uint32_t)index;
}

static int close_top(struct pass *pass, struct open_track *open, const struct range_end *end)
{
    struct tracks *tracks = pass->tracks;
    tracks->open_of.items[open_ranges_top(&open->open)->begin.thread]--;
    int status = open_ranges_close(pass, LANE_TRACK, &open->open, end);
    leave(tracks, open);
    return status;
}

/* The count of hidden ranges that are open in the innermost range. */
static uint64_t *hidden_of(struct open_track *open)
{
    struct open_range *top = open_ranges_top(&open->open);
    return top ? &top->level : &open->hidden;
}

static int begin_hidden(struct tracks *tracks, const struct event *event)
{
    struct open_track *open = need_open(tracks, event->lane);
    if (!open)
        return -ENOMEM;
    ++*hidden_of(open);
    return 0;
}

static bool is_wanted(const struct pass *pass, const struct open_track *open,
                      struct track_told told)
{
    bool inside = told.inside || (open && open_ranges_inside(&open->open));
    return told.wanted && (!pass->selection.range || inside);
}

static int begin_range(struct pass *pass, const struct event *event, const struct args *args,
                       struct track_told told)
{
    struct tracks *tracks = pass->tracks;
    struct open_track *open = need_open(tracks, event->lane);
    while (tracks->open_of.count <= event->thread)
        if (vec_push(&tracks->open_of, 0) != 0)
            return -ENOMEM;
    if (!open)
        return -ENOMEM;
    bool wanted = event->time_ns < pass->selection.to_ns &&
                  (is_wanted(pass, open, told) || (told.wanted && pass_names(pass, event->name)));
    struct open_range *range = open_ranges_push(&open->open, event, args, wanted,
                                                event_is_python_call(pass->source.trace, event));
    if (!range)
        return -ENOMEM;
    tracks->open_of.items[event->thread]++;
    open->last_ns = event->time_ns;
    range->cut = event->time_ns < pass->selection.from_ns;
    range->begin.time_ns = time_latest(event->time_ns, pass->selection.from_ns);
    return wanted && !range->cut ? open_ranges_emit(pass, LANE_TRACK, &open->open) : 0;
}

static int emit_point(struct pass *pass, enum item_kind kind, const struct event *event,
                      const struct args *args, const struct open_track *open)
{
    struct item item = {
        .kind = (uint8_t)kind,
        .lane = LANE_TRACK,
        .event = event,
        .args = *args,
        .end_thread = event->thread,
        .begin_ns = event->time_ns,
        .end_ns = event->time_ns,
    };
    if (open)
        open_ranges_place(&open->open, &item);
    if (!pass->selects_all)
        pass_count(pass, &pass->lanes.items[event->thread], event->kind, event->time_ns);
    return sinks_emit(&pass->events, &item);
}

static int emit_orphan(struct pass *pass, const struct event *event, const struct args *args,
                       struct track_told told)
{
    bool wanted = told.wanted && !pass->selection.range && pass->selection.from_ns == INT64_MIN &&
                  event->time_ns < pass->selection.to_ns;
    pass->counts.orphans += wanted;
    return wanted ? emit_point(pass, ITEM_ORPHAN, event, args, NULL) : 0;
}

static int end_range(struct pass *pass, const struct event *event, const struct args *args,
                     struct track_told told)
{
    struct open_track *open = find_open(pass->tracks, event->lane);
    if (!open)
        return emit_orphan(pass, event, args, told);
    if (*hidden_of(open)) {
        --*hidden_of(open);
        leave(pass->tracks, open);
        return 0;
    }
    const struct open_range *top = open_ranges_top(&open->open);
    bool counts = !pass->selects_all && top->wanted && event->time_ns < pass->selection.to_ns &&
                  (top->told || event->time_ns > pass->selection.from_ns);
    open->last_ns = event->time_ns;
    if (counts)
        pass_count(pass, &pass->lanes.items[event->thread], event->kind, event->time_ns);
    if (args->count && open_ranges_keep_args(&open->open, args) != 0)
        return -ENOMEM;
    return close_top(pass, open,
                     &(struct range_end){.time_ns = event->time_ns,
                                         .thread = event->thread,
                                         .arg_count = args->count});
}

static int mark(struct pass *pass, const struct event *event, const struct args *args,
                struct track_told told)
{
    struct open_track *open = find_open(pass->tracks, event->lane);
    bool wanted =
        is_wanted(pass, open, told) && pass_selects_time(&pass->selection, event->time_ns);
    if (open)
        open->last_ns = event->time_ns;
    int status = wanted && open ? open_ranges_emit(pass, LANE_TRACK, &open->open) : 0;
    return status || !wanted ? status : emit_point(pass, ITEM_INSTANT, event, args, open);
}

/* Ends missed while recording was off are unknown: the thread's ranges, and those inside, end
 * here. */
static int edge(struct pass *pass, const struct event *event)
{
    struct tracks *tracks = pass->tracks;
    const struct range_end end = {.time_ns = event->time_ns, .flags = ITEM_UNFINISHED};
    int status = 0;
    if (event->thread >= tracks->open_of.count || tracks->open_of.items[event->thread] == 0)
        return 0;
    for (size_t i = 0; i < tracks->open.count; i++) {
        struct open_track *open = &tracks->open.items[i];
        size_t level = 0;
        while (level < open->open.count && open->open.items[level].begin.thread != event->thread)
            level++;
        while (!status && open->open.count > level)
            status = close_top(pass, open, &end);
    }
    return status;
}

static int pass_on(struct pass *pass, const struct event *event, const struct args *args,
                   struct track_told told)
{
    switch (event->kind) {
    case EVENT_TRACK_BEGIN:
        return begin_range(pass, event, args, told);
    case EVENT_TRACK_HIDDEN:
        return begin_hidden(pass->tracks, event);
    case EVENT_TRACK_END:
        return end_range(pass, event, args, told);
    case EVENT_TRACK_MARK:
        return mark(pass, event, args, told);
    default:
        return edge(pass, event);
    }
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* 0 or -ENOMEM. */
static int sort_waiting(struct tracks *tracks)
{
    size_t count = tracks->waiting.count;
    tracks->places.count = 0;
    if (count == 0)
        return 0;
    if (vec_reserve(&tracks->places, 2 * count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        tracks->places.items[i] =
            (struct time_place){tracks->waiting.items[i].event.time_ns, (uint32_t)i};
    time_order_sort(tracks->places.items, tracks->places.items + count, count);
    return 0;
}

static void drop_passed_on(struct tracks *tracks)
{
    size_t kept = 0;
    tracks->first_ns = INT64_MAX;
    for (size_t i = 0; i < tracks->waiting.count; i++) {
        const struct waiting *item = &tracks->waiting.items[i];
        if (item->passed_on)
            continue;
        tracks->first_ns = time_earliest(tracks->first_ns, item->event.time_ns);
        tracks->waiting.items[kept++] = *item;
    }
    tracks->waiting.count = kept;
}

/* Passes on the first `count` waiting events, after sort_waiting. */
static int pass_on_first(struct pass *pass, size_t count)
{
    struct tracks *tracks = pass->tracks;
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        struct waiting *item = &tracks->waiting.items[tracks->places.items[i].index];
        const struct args args = {item->args, item->arg_count};
        if (!status)
            status = pass_on(pass, &item->event, &args, item->told);
        tracks->arg_count -= item->arg_count;
        free(item->args);
        item->args = NULL;
        item->passed_on = true;
    }
    drop_passed_on(tracks);
    return status;
}

/* Passes on the settled events, or half of all if that time is unknown or the room is full. */
static int make_room(struct pass *pass)
{
    struct tracks *tracks = pass->tracks;
    int64_t settled_ns = pass->settled_ns;
    size_t count = tracks->waiting.count, settled = 0;
    bool full = count >= TRACKS_WAITING_MAX || tracks->arg_count >= ARGS_MAX;
    bool known = settled_ns != INT64_MIN;
    if (!full && known && tracks->first_ns >= settled_ns) {
        tracks->limit *= 2;
        return 0;
    }
    if (sort_waiting(tracks) != 0)
        return -ENOMEM;
    while (settled < count && tracks->places.items[settled].time_ns < settled_ns)
        settled++;
    if ((full || !known) && settled < (count + 1) / 2)
        settled = (count + 1) / 2;
    size_t limit = 2 * (count - settled);
    tracks->limit = limit < TRACKS_WAITING_MIN   ? TRACKS_WAITING_MIN
                    : limit > TRACKS_WAITING_MAX ? TRACKS_WAITING_MAX
                                                 : limit;
    return pass_on_first(pass, settled);
}

static int add_waiting(struct pass *pass, const struct event *event, const struct args *args,
                       struct track_told told)
{
    struct tracks *tracks = pass->tracks;
    struct waiting item = {.event = *event, .told = told};
    if (args->count) {
        item.arg_count = args->count;
        item.args = malloc(args->count * sizeof(*args->items));
        if (!item.args)
            return -ENOMEM;
        memcpy(item.args, args->items, args->count * sizeof(*args->items));
    }
    if (vec_push(&tracks->waiting, item) != 0) {
        free(item.args);
        return -ENOMEM;
    }
    tracks->arg_count += item.arg_count;
    tracks->first_ns = time_earliest(tracks->first_ns, event->time_ns);
    bool enough = tracks->waiting.count >= tracks->limit || tracks->arg_count >= ARGS_MAX;
    return enough ? make_room(pass) : 0;
}

int tracks_take(struct pass *pass, const struct event *event, const struct args *args,
                struct track_told told)
{
    if (!pass->tracks && event->kind == EVENT_EDGE)
        return 0;
    if (!pass->tracks && !(pass->tracks = tracks_create()))
        return -ENOMEM;
    return pass->merge ? pass_on(pass, event, args, told) : add_waiting(pass, event, args, told);
}

/* ---- Complete spans -------------------------------------------------------------------------- */

static bool is_of_selection(const struct pass *pass, const struct lane *lane,
                            const struct event *span)
{
    const struct pass_selection *selection = &pass->selection;
    bool begins = span->time_ns >= selection->from_ns && span->time_ns < selection->to_ns;
    bool lasts = span->time_ns < selection->from_ns && span->end_ns > selection->from_ns;
    return lane->wanted && (begins || lasts);
}

/* Selected by its own name or by its launch: 1, 0, -ENOMEM. */
static int is_of_range(struct pass *pass, const struct event *span, uint32_t path)
{
    const char *range = pass->selection.range;
    if (!range || pass_names(pass, span->name))
        return 1;
    return path_matches(&pass->matches, pass->source.trace, range, path);
}

int span_emit(struct pass *pass, const struct event *event, const struct args *args,
              const struct span_origin *origin)
{
    struct lane *lane = &pass->lanes.items[event->thread];
    struct event span = *event;
    int of_range = is_of_range(pass, event, origin->path);
    if (of_range != 1)
        return of_range;
    if (event->time_ns < pass->selection.from_ns) { /* and so did its cause */
        span.time_ns = pass->selection.from_ns;
        span.origin_ns = EVENT_NO_ORIGIN;
    }
    struct item *item = &pass->queue_span; /* all other fields stay 0 */
    item->event = &span;
    item->args = *args;
    item->begin_ns = span.time_ns;
    item->end_ns = time_earliest(span.end_ns, pass->selection.to_ns);
    item->end_thread = event->thread;
    item->path = origin->path;
    item->stack = origin->stack;
    item->flags = (span.time_ns > event->time_ns ? ITEM_CUT_BEGIN : 0) |
                  (item->end_ns < span.end_ns ? ITEM_CUT_END : 0);
    if (!pass->selects_all)
        pass_count(pass, lane, EVENT_SPAN, span.time_ns);
    lane->last_told_ns = time_latest(lane->last_told_ns, item->end_ns);
    return sinks_emit(&pass->events, item);
}

int span_take(struct pass *pass, struct lane *lane, const struct event *event,
              const struct args *args)
{
    static const struct span_origin unknown;
    struct event span = *event;
    span.end_ns = time_latest(event->end_ns, event->time_ns);
    pass->counts.last_ns = time_latest(pass->counts.last_ns, span.end_ns);
    if (!is_of_selection(pass, lane, &span))
        return 0;
    return pass->origins ? origins_take(pass, &span, args) : span_emit(pass, &span, args, &unknown);
}

/* ---- Begin and end of the selection ---------------------------------------------------------- */

int tracks_begin(struct pass *pass)
{
    struct tracks *tracks = pass->tracks;
    int status = 0;
    for (size_t i = 0; !status && tracks && i < tracks->open.count; i++)
        status = open_ranges_emit(pass, LANE_TRACK, &tracks->open.items[i].open);
    return status;
}

/* A range ends at the latest with the range around it. */
static int finish_track(struct pass *pass, struct open_track *open)
{
    struct range_end end = {.time_ns = open->last_ns, .flags = ITEM_UNFINISHED};
    int status = 0;
    while (!status && open->open.count) {
        uint32_t process = pass_process_of(pass, open_ranges_top(&open->open)->begin.thread);
        end.time_ns = time_latest(end.time_ns,
                                  range_end_ns(pass->source.trace, process, pass->counts.last_ns));
        status = close_top(pass, open, &end);
    }
    return status;
}

int tracks_finish(struct pass *pass)
{
    struct tracks *tracks = pass->tracks;
    if (!tracks)
        return 0;
    int status = sort_waiting(tracks);
    if (!status)
        status = pass_on_first(pass, tracks->waiting.count);
    for (size_t i = 0; !status && i < tracks->open.count; i++)
        status = finish_track(pass, &tracks->open.items[i]);
    return status;
}
