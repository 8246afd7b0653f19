/* SPDX-License-Identifier: MIT */
/* See event_select.h. Which ranges are open is followed as slices.c does; what is handed out counts
 * its own depth, in which only wanted ranges are. Thread-safety: none. */
#include "event_select.h"

#include "range_stack.h"
#include "text.h"
#include "wide_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An open range. */
struct entry {
    struct event *begin; /* owned, with its key-values; NULL: handed out, or not wanted */
    uint64_t id, level;  /* level: as the producer counts */
    uint32_t count;      /* of `begin` */
    uint32_t thread;
    bool wanted, handed_out;
};

/* Ranges of a thread or of a track, innermost last. */
struct line {
    VEC(struct entry) open;
    uint64_t depth;
};

struct event_select {
    const struct trace *trace;
    struct event_selection selection;
    struct event_stream source;
    VEC(struct line) threads;
    VEC(struct line) tracks;
    VEC(struct entry) starts; /* free places are all zero */
    VEC(uint32_t) free_starts;
    struct wide_map start_index;
    VEC(uint8_t) named; /* of string: 0 not looked at, 1 the range, 2 not */
    VEC(struct event) queue;
    size_t queue_next;
    int64_t last_ns;
    bool begun; /* the first instant has passed */
    bool ended; /* the last one has, or there is no more */
};

/* ---- What is wanted -------------------------------------------------------------------------- */

bool event_selection_wants(const struct event_selection *selection, uint32_t thread)
{
    return !selection->wants || selection->wants(selection->context, thread);
}

bool event_selection_holds(const struct event_selection *selection, int64_t time_ns)
{
    return time_ns >= selection->from_ns && time_ns < selection->to_ns;
}

bool event_selection_is_all(const struct event_selection *selection)
{
    return selection->from_ns == INT64_MIN && selection->to_ns == INT64_MAX && !selection->range &&
           !selection->wants;
}

static bool is_named(struct event_select *select, uint32_t name)
{
    while (select->named.count <= name) {
        if (vec_push(&select->named, 0) != 0)
            return text_matches(select->selection.range, trace_string(select->trace, name)->bytes);
    }
    uint8_t *known = &select->named.items[name];
    if (*known == 0) {
        const char *text = trace_string(select->trace, name)->bytes;
        *known = text_matches(select->selection.range, text) ? 1 : 2;
    }
    return *known == 1;
}

static bool is_inside(const struct line *line)
{
    return line->open.count && line->open.items[line->open.count - 1].wanted;
}

/* ---- Making and ending ----------------------------------------------------------------------- */

struct event_select *event_select_create(const struct trace *trace,
                                         const struct event_selection *selection,
                                         const struct event_stream *source)
{
    struct event_select *select = calloc(1, sizeof(*select));
    if (!select)
        return NULL;
    select->trace = trace;
    select->selection = *selection;
    select->source = *source;
    select->begun = selection->from_ns == INT64_MIN;
    select->last_ns = INT64_MIN;
    return select;
}

static void free_line(struct line *line)
{
    for (size_t i = 0; i < line->open.count; i++)
        free(line->open.items[i].begin);
    vec_free(&line->open);
}

void event_select_destroy(struct event_select *select)
{
    if (!select)
        return;
    for (size_t i = 0; i < select->threads.count; i++)
        free_line(&select->threads.items[i]);
    for (size_t i = 0; i < select->tracks.count; i++)
        free_line(&select->tracks.items[i]);
    for (size_t i = 0; i < select->starts.count; i++)
        free(select->starts.items[i].begin);
    vec_free(&select->threads);
    vec_free(&select->tracks);
    vec_free(&select->starts);
    vec_free(&select->free_starts);
    vec_free(&select->named);
    vec_free(&select->queue);
    wide_map_free(&select->start_index);
    free(select);
}

/* ---- Handing out ----------------------------------------------------------------------------- */

/* Not before the first instant. */
static int put(struct event_select *select, const struct event *events, uint32_t count)
{
    if (vec_reserve(&select->queue, count) != 0)
        return -ENOMEM;
    struct event *to = select->queue.items + select->queue.count;
    memcpy(to, events, count * sizeof(*events));
    for (uint32_t i = 0; i < count; i++) {
        if (to[i].time_ns < select->selection.from_ns)
            to[i].time_ns = select->selection.from_ns;
    }
    select->queue.count += count;
    return 0;
}

/* One end that is ours: at the last instant, or where nobody else would tell it. */
static int put_end(struct event_select *select, const struct entry *entry, enum event_kind kind,
                   int64_t time_ns)
{
    const struct event end = {
        .kind = (uint8_t)kind, .thread = entry->thread, .time_ns = time_ns, .id = entry->id};
    return put(select, &end, 1);
}

/* When it would end that nobody ends. */
static int64_t natural_end(const struct event_select *select, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(select->trace, thread);
    return range_end_ns(select->trace, entry ? entry->process : 0, select->last_ns);
}

/* A range that began before the first instant, and lasts until then. */
static int hand_out(struct event_select *select, struct entry *entry)
{
    bool lasts = !select->ended || natural_end(select, entry->thread) > select->selection.from_ns;
    if (!entry->begin || !lasts)
        return 0;
    int error = put(select, entry->begin, entry->count);
    free(entry->begin);
    entry->begin = NULL;
    entry->handed_out = true;
    return error;
}

static int hand_out_line(struct event_select *select, struct line *line)
{
    int error = 0;
    for (size_t i = 0; !error && i < line->open.count; i++)
        error = hand_out(select, &line->open.items[i]);
    return error;
}

/* The first instant: all that is open begins. */
static int begin(struct event_select *select)
{
    int error = 0;
    for (size_t i = 0; !error && i < select->threads.count; i++)
        error = hand_out_line(select, &select->threads.items[i]);
    for (size_t i = 0; !error && i < select->starts.count; i++)
        error = hand_out(select, &select->starts.items[i]);
    for (size_t i = 0; !error && i < select->tracks.count; i++)
        error = hand_out_line(select, &select->tracks.items[i]);
    select->begun = true;
    return error;
}

/* Ends at the last instant what is open there; a POP's id is its depth. */
static int end_open(struct event_select *select, struct entry *entry, enum event_kind kind)
{
    int64_t end_ns = natural_end(select, entry->thread);
    if (!entry->handed_out)
        return 0;
    entry->handed_out = false;
    return put_end(select, entry, kind,
                   end_ns < select->selection.to_ns ? end_ns : select->selection.to_ns);
}

/* What ends before is left to who ends ranges that nobody ended; but what is inside goes first. */
static int end_line(struct event_select *select, struct line *line, enum event_kind kind)
{
    int error = 0;
    uint64_t depth = 0;
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < line->open.count; i++) {
        struct entry *entry = &line->open.items[i];
        last_ns = time_latest(last_ns, natural_end(select, entry->thread));
        if (kind == EVENT_POP)
            entry->id = depth;
        depth += entry->handed_out;
    }
    for (size_t i = line->open.count; !error && last_ns >= select->selection.to_ns && i-- > 0;)
        error = end_open(select, &line->open.items[i], kind);
    return error;
}

static int end_start(struct event_select *select, struct entry *entry)
{
    bool ends = natural_end(select, entry->thread) < select->selection.to_ns;
    return ends ? 0 : end_open(select, entry, EVENT_END);
}

int event_select_finish(struct event_select *select)
{
    if (select->ended)
        return 0;
    select->ended = true;
    int error = select->begun ? 0 : begin(select);
    for (size_t i = 0; !error && i < select->threads.count; i++)
        error = end_line(select, &select->threads.items[i], EVENT_POP);
    for (size_t i = 0; !error && i < select->starts.count; i++)
        error = end_start(select, &select->starts.items[i]);
    for (size_t i = 0; !error && i < select->tracks.count; i++)
        error = end_line(select, &select->tracks.items[i], EVENT_TRACK_END);
    return error;
}

/* ---- Open ranges ----------------------------------------------------------------------------- */

/* A range begins: handed out, or kept until the first instant. 0 or -ENOMEM. */
static int fill(struct event_select *select, struct entry *entry, const struct event *events,
                uint32_t count)
{
    entry->thread = events->thread;
    if (!entry->wanted)
        return 0;
    if (select->begun) {
        entry->handed_out = true;
        return put(select, events, count);
    }
    entry->begin = malloc(count * sizeof(*events));
    if (!entry->begin)
        return -ENOMEM;
    memcpy(entry->begin, events, count * sizeof(*events));
    entry->count = count;
    return 0;
}

static int open_on(struct event_select *select, struct line *line, struct entry entry,
                   const struct event *events, uint32_t count)
{
    int error = vec_push(&line->open, entry);
    return error ? error : fill(select, &line->open.items[line->open.count - 1], events, count);
}

/* Whether it had been handed out. */
static bool close_top(struct line *line)
{
    struct entry *entry = &line->open.items[--line->open.count];
    free(entry->begin);
    return entry->handed_out;
}

/* Those at `level` and above; how many of them had been handed out. */
static size_t close_from(struct line *line, uint64_t level)
{
    size_t closed = 0;
    while (line->open.count && line->open.items[line->open.count - 1].level >= level)
        closed += close_top(line);
    return closed;
}

static uint64_t handed_out_count(const struct line *line)
{
    uint64_t count = 0;
    for (size_t i = 0; i < line->open.count; i++)
        count += line->open.items[i].handed_out;
    return count;
}

static struct line *line_of_thread(struct event_select *select, uint32_t thread)
{
    while (select->threads.count <= thread) {
        if (vec_push(&select->threads, ((struct line){0})) != 0)
            return NULL;
    }
    return &select->threads.items[thread];
}

/* ---- Events of threads ----------------------------------------------------------------------- */

static int take_push(struct event_select *select, struct line *line, const struct event *events,
                     uint32_t count)
{
    struct entry entry = {.level = line->depth++};
    entry.wanted = !select->selection.range || is_inside(line) || is_named(select, events->name);
    return open_on(select, line, entry, events, count);
}

static int take_pop(struct event_select *select, struct line *line, struct event *events,
                    uint32_t count)
{
    bool known = line->depth > events->depth;
    size_t closed = close_from(line, known ? events->depth : UINT64_MAX);
    line->depth = events->depth;
    bool told = closed || (!known && select->begun && !select->selection.range);
    events->depth = handed_out_count(line);
    return told ? put(select, events, count) : 0;
}

static int take_lost(struct event_select *select, struct line *line, struct event *events,
                     uint32_t count)
{
    bool told = select->begun && (!select->selection.range || is_inside(line));
    close_from(line, events->depth);
    line->depth = events->depth;
    events->depth = handed_out_count(line);
    return told ? put(select, events, count) : 0;
}

static int take_plain(struct event_select *select, const struct line *line,
                      const struct event *events, uint32_t count)
{
    bool told = select->begun && (!select->selection.range || is_inside(line));
    return told ? put(select, events, count) : 0;
}

/* ---- Overlapping ranges ---------------------------------------------------------------------- */

static struct wide_key start_key(const struct event_select *select, const struct event *event)
{
    const struct trace_thread *entry = trace_thread_get(select->trace, event->thread);
    return *WIDE_KEY(entry ? entry->process : 0, event->id);
}

static int take_start(struct event_select *select, const struct line *line,
                      const struct event *events, uint32_t count)
{
    struct entry entry = {.id = events->id};
    entry.wanted = !select->selection.range || is_inside(line) || is_named(select, events->name);
    if (!entry.wanted)
        return 0;
    int error = fill(select, &entry, events, count);
    uint32_t index = (uint32_t)select->starts.count;
    if (!error && select->free_starts.count) {
        index = select->free_starts.items[--select->free_starts.count];
        select->starts.items[index] = entry;
    } else if (!error) {
        error = vec_push(&select->starts, entry);
    }
    if (error) {
        free(entry.begin);
        return error;
    }
    struct wide_key key = start_key(select, events);
    return wide_map_put(&select->start_index, &key, index + 1ull);
}

static int take_end(struct event_select *select, const struct event *events, uint32_t count)
{
    struct wide_key key = start_key(select, events);
    uint64_t index;
    if (!wide_map_take(&select->start_index, &key, &index)) {
        bool told = event_selection_wants(&select->selection, events->thread) &&
                    !select->selection.range && select->selection.from_ns == INT64_MIN;
        return told ? put(select, events, count) : 0;
    }
    struct entry *entry = &select->starts.items[index - 1];
    bool told = entry->handed_out;
    free(entry->begin);
    *entry = (struct entry){0};
    if (vec_push(&select->free_starts, (uint32_t)(index - 1)) != 0)
        return -ENOMEM;
    return told ? put(select, events, count) : 0;
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static struct line *line_of_track(struct event_select *select, uint64_t track)
{
    while (select->tracks.count <= track) {
        if (vec_push(&select->tracks, ((struct line){0})) != 0)
            return NULL;
    }
    return &select->tracks.items[track];
}

static bool is_inside_any(struct event_select *select, const struct line *line, uint32_t thread)
{
    return is_inside(line) ||
           (thread < select->threads.count && is_inside(&select->threads.items[thread]));
}

static int take_track_begin(struct event_select *select, struct line *line,
                            const struct event *events, uint32_t count)
{
    struct entry entry = {.id = events->id};
    entry.wanted = events->kind == EVENT_TRACK_BEGIN &&
                   event_selection_wants(&select->selection, events->thread) &&
                   (!select->selection.range || is_named(select, events->name) ||
                    is_inside_any(select, line, events->thread));
    return open_on(select, line, entry, events, count);
}

static int take_track(struct event_select *select, struct event *events, uint32_t count)
{
    if (events->id >= TRACE_TRACKS_MAX)
        return 0;
    struct line *line = line_of_track(select, events->id);
    if (!line)
        return -ENOMEM;
    if (events->kind == EVENT_TRACK_BEGIN || events->kind == EVENT_TRACK_HIDDEN)
        return take_track_begin(select, line, events, count);
    bool told;
    if (events->kind == EVENT_TRACK_MARK)
        told = select->begun && event_selection_wants(&select->selection, events->thread) &&
               (!select->selection.range || is_inside_any(select, line, events->thread));
    else if (line->open.count)
        told = close_top(line);
    else
        told = !select->selection.range && select->selection.from_ns == INT64_MIN &&
               event_selection_wants(&select->selection, events->thread);
    return told ? put(select, events, count) : 0;
}

/* The thread's ranges on tracks end at an edge, and what is inside of them; who only sees the edge
 * of a wanted thread ends these himself. */
static int edge_of_tracks(struct event_select *select, const struct event *edge, bool told)
{
    int error = 0;
    for (size_t i = 0; i < select->tracks.count; i++) {
        struct line *line = &select->tracks.items[i];
        size_t level = 0;
        while (level < line->open.count && line->open.items[level].thread != edge->thread)
            level++;
        while (!error && line->open.count > level) {
            const struct entry entry = line->open.items[line->open.count - 1];
            if (close_top(line) && !told)
                error = put_end(select, &entry, EVENT_TRACK_END, edge->time_ns);
        }
    }
    return error;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int take_edge(struct event_select *select, struct line *line, const struct event *events,
                     uint32_t count)
{
    bool told = select->begun && event_selection_wants(&select->selection, events->thread);
    int error = told ? put(select, events, count) : 0;
    close_from(line, 0);
    line->depth = 0;
    return error ? error : edge_of_tracks(select, events, told);
}

static int take_of_thread(struct event_select *select, struct event *events, uint32_t count)
{
    struct line *line = line_of_thread(select, events->thread);
    if (!line)
        return -ENOMEM;
    if (events->kind == EVENT_EDGE)
        return take_edge(select, line, events, count);
    if (!event_selection_wants(&select->selection, events->thread))
        return 0;
    switch (events->kind) {
    case EVENT_PUSH:
        return take_push(select, line, events, count);
    case EVENT_POP:
        return take_pop(select, line, events, count);
    case EVENT_LOST:
        return take_lost(select, line, events, count);
    case EVENT_START:
        return take_start(select, line, events, count);
    default:
        return take_plain(select, line, events, count);
    }
}

/* What ends at the first instant is not of the selection. */
static bool is_after_begin(const struct event_select *select, uint8_t kind, int64_t told_ns)
{
    bool is_end = kind == EVENT_POP || kind == EVENT_END || kind == EVENT_TRACK_END ||
                  kind == EVENT_LOST || kind == EVENT_EDGE;
    return is_end ? told_ns > select->selection.from_ns : told_ns >= select->selection.from_ns;
}

static int take(struct event_select *select, struct event *events, uint32_t count)
{
    int64_t told_ns = event_told_ns(events);
    if (told_ns > select->last_ns)
        select->last_ns = told_ns;
    if (told_ns >= select->selection.to_ns)
        return event_select_finish(select);
    if (!select->begun && is_after_begin(select, events->kind, told_ns) && begin(select) != 0)
        return -ENOMEM;
    if (event_is_of_track(events->kind))
        return take_track(select, events, count);
    if (events->kind == EVENT_END)
        return take_end(select, events, count);
    return take_of_thread(select, events, count);
}

int event_select_next(struct event_select *select, struct event **ret_events, uint32_t *ret_count)
{
    struct event *events;
    uint32_t count;
    while (select->queue_next == select->queue.count) {
        select->queue.count = select->queue_next = 0;
        if (select->ended)
            return 0;
        int status = select->source.next(select->source.context, &events, &count);
        if (status == 0 && select->source.live)
            return 0;
        int error = status > 0 ? take(select, events, count) : status;
        if (status == 0)
            error = event_select_finish(select);
        if (error)
            return error;
    }
    *ret_events = select->queue.items + select->queue_next;
    *ret_count = 1 + event_payload_count(select->queue.items, (uint32_t)select->queue.count,
                                         (uint32_t)select->queue_next);
    select->queue_next += *ret_count;
    return 1;
}
