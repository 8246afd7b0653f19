/* SPDX-License-Identifier: MIT */
/* Events of a Perfetto trace, once all tracks are known: those of threads' tracks become ranges of
 * these, those of others lie on tracks of the recording. */
#include "from_perfetto_parts.h"

#include <errno.h>
#include <string.h>

enum {
    OPEN_MAX = 1 << 16,     /* begins of a track that wait for their ends */
    OPEN_ALL_MAX = 1 << 20, /* of all tracks, with their values */
    LEVELS_MAX = TRACE_LANE_LEVELS,
};

/* ---- Where tracks lie ------------------------------------------------------------------------ */

static struct perfetto_track *find_track(struct perfetto *trace, uint64_t uuid)
{
    const uint64_t *index = map64_find(&trace->track_index, perfetto_track_key(uuid));
    return index ? &trace->tracks.items[*index - 1] : NULL;
}

int64_t perfetto_pid(struct perfetto *trace, const struct perfetto_track *track)
{
    for (int i = 0; track && i < LEVELS_MAX; i++) {
        if (track->pid >= 0)
            return track->pid;
        track = track->parent ? find_track(trace, track->parent) : NULL;
    }
    return -1;
}

/* The thread, of a counter or of what is above it; -1: none. */
static int64_t tid_of(struct perfetto *trace, const struct perfetto_track *track)
{
    for (int i = 0; track && i < LEVELS_MAX; i++) {
        if (track->tid >= 0 || !track->counter)
            return track->tid;
        track = track->parent ? find_track(trace, track->parent) : NULL;
    }
    return -1;
}

/* The process's own thread, or one of a process without a number. */
static uint32_t thread_of(struct perfetto *trace, int64_t pid, int64_t tid)
{
    struct import_sink *sink = trace->sink;
    struct import_id process = {.number = pid};
    const struct import_id thread = {.number = tid};
    if (pid < 0)
        process = (struct import_id){.text = import_text(sink, "trace")};
    return import_thread(sink, import_process(sink, &process), &thread);
}

static int make_lane(struct perfetto *trace, struct perfetto_track *track, int level)
{
    struct trace *out = trace->sink->trace;
    struct perfetto_track *above = track->parent ? find_track(trace, track->parent) : NULL;
    int64_t pid = perfetto_pid(trace, track);
    int64_t lane = trace_lane_add(out, track->uuid);
    if (lane < 0)
        return (int)lane;
    track->made = track->is_lane = true;
    track->lane = (uint32_t)lane;
    track->thread = thread_of(trace, pid, pid < 0 ? 0 : pid);
    if (trace->sink->error)
        return trace->sink->error;
    trace_lane(out, track->lane)->name = track->name;
    trace_lane(out, track->lane)->kind = LANE_TRACK;
    trace_lane(out, track->lane)->process = trace_thread_get(out, track->thread)->process;
    if (!above || above->pid >= 0 || above->counter || level >= LEVELS_MAX)
        return 0;
    int error = above->made ? 0 : make_lane(trace, above, level + 1);
    if (!error && above->is_lane)
        trace_lane_set_parent(out, track->lane, above->lane);
    return error;
}

static int make_track(struct perfetto *trace, struct perfetto_track *track)
{
    struct trace *out = trace->sink->trace;
    if (track->tid < 0 && !track->counter && !track->others && (track->pid < 0 || track->name))
        return make_lane(trace, track, 1);
    int64_t pid = perfetto_pid(trace, track), tid = tid_of(trace, track);
    track->made = true;
    track->thread = thread_of(trace, pid, tid >= 0 ? tid : pid < 0 ? 0 : pid);
    if (trace->sink->error || !track->counter || !track->unit)
        return trace->sink->error;
    int error = trace_unit_set(out, 0, track->name, track->unit);
    return error == -ENOMEM ? error : 0;
}

static void name_all(struct perfetto *trace)
{
    struct trace *out = trace->sink->trace;
    for (size_t i = 0; i < trace->tracks.count; i++) {
        const struct perfetto_track *track = &trace->tracks.items[i];
        const struct import_id pid = {.number = track->pid}, tid = {.number = track->tid};
        int64_t process = track->pid >= 0 ? import_process_find(trace->sink, &pid) : -1;
        int64_t thread = process >= 0 && track->tid >= 0
                             ? import_thread_find(trace->sink, (uint32_t)process, &tid)
                             : -1;
        if (process >= 0 && track->process_name)
            trace_process(out, (uint32_t)process)->name = track->process_name;
        if (thread >= 0 && track->name && !track->counter)
            trace_thread(out, (uint32_t)thread)->name = track->name;
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static int tell_begin(struct perfetto *trace, struct perfetto_track *track, struct event *event,
                      const struct arg *args)
{
    event->kind = EVENT_PUSH;
    event->args = (uint32_t)track->args.count;
    event->depth = track->begins.count;
    if (track->begins.count >= OPEN_MAX || trace->open_count >= OPEN_ALL_MAX) {
        trace->sink->left[LEFT_MALFORMED]++;
        return 0;
    }
    trace->open_count += 1 + (size_t)event->arg_count;
    if (vec_push(&track->begins, *event) != 0 || vec_reserve(&track->args, event->arg_count) != 0)
        return -ENOMEM;
    if (event->arg_count)
        memcpy(track->args.items + track->args.count, args, event->arg_count * sizeof(*args));
    track->args.count += event->arg_count;
    return 0;
}

static int tell_end(struct perfetto *trace, struct perfetto_track *track, int64_t end_ns)
{
    if (!track->begins.count) {
        trace->sink->left[LEFT_END_ALONE]++;
        return 0;
    }
    struct event range = track->begins.items[--track->begins.count];
    range.end_ns = end_ns;
    trace->open_count -= 1 + (size_t)range.arg_count;
    track->args.count = range.args;
    return import_add(trace->sink, &range, track->args.items + range.args);
}

/* With its duration; on a track that is no thread's, as a begin and an end. */
static int tell_whole(struct perfetto *trace, const struct perfetto_track *track,
                      struct event *event, const struct arg *args)
{
    const struct event end = {.kind = EVENT_TRACK_END,
                              .time_ns = event->end_ns,
                              .thread = event->thread,
                              .lane = event->lane};
    if (!track->is_lane)
        return import_add(trace->sink, event, args);
    event->kind = EVENT_TRACK_BEGIN;
    event->end_ns = 0;
    int error = import_add(trace->sink, event, args);
    return error ? error : import_add(trace->sink, &end, NULL);
}

static int tell_counter(struct perfetto *trace, const struct perfetto_track *track,
                        struct event *event, const struct arg *args)
{
    trace->sink->left[LEFT_MALFORMED] += !event->value_kind && !event->arg_count;
    if (!event->value_kind)
        return import_counters(trace->sink, event, args, event->arg_count);
    event->name = track->name ? track->name : event->name;
    return import_add(trace->sink, event, args);
}

/* Ranges of the process, paired by their tracks. */
static int tell_on_none(struct perfetto *trace, struct event *event, const struct arg *args)
{
    event->kind = event->kind == EVENT_TRACK_BEGIN ? EVENT_START
                  : event->kind == EVENT_TRACK_END ? EVENT_END
                                                   : EVENT_MARK;
    return import_add(trace->sink, event, args);
}

static int tell(struct perfetto *trace, struct event *event, const struct arg *args)
{
    struct perfetto_track *track = &trace->tracks.items[event->lane];
    int error = track->made ? 0 : make_track(trace, track);
    if (error)
        return error;
    event->thread = track->thread;
    event->lane = track->lane;
    if (event->kind == EVENT_COUNTER)
        return tell_counter(trace, track, event, args);
    if (event->kind == EVENT_PUSH)
        return tell_whole(trace, track, event, args);
    if (event->kind == EVENT_START || event->kind == EVENT_END) {
        event->lane = 0;
        return import_add(trace->sink, event, args);
    }
    if (track->is_lane || event_is_flow(event->kind))
        return import_add(trace->sink, event, args);
    if (track->others)
        return tell_on_none(trace, event, args);
    if (event->kind == EVENT_TRACK_BEGIN)
        return tell_begin(trace, track, event, args);
    if (event->kind == EVENT_TRACK_END)
        return tell_end(trace, track, event->time_ns);
    event->kind = EVENT_MARK;
    return import_add(trace->sink, event, args);
}

/* An event and its values, at any address. */
static int tell_record(struct perfetto *trace, const uint8_t *bytes)
{
    struct event event;
    memcpy(&event, bytes, sizeof(event));
    trace->args.count = 0;
    if (vec_reserve(&trace->args, event.arg_count) != 0)
        return -ENOMEM;
    if (event.arg_count)
        memcpy(trace->args.items, bytes + sizeof(event),
               event.arg_count * sizeof(*trace->args.items));
    return tell(trace, &event, trace->args.items);
}

int perfetto_tell(struct perfetto *trace)
{
    struct sorter_key key;
    const void *bytes;
    uint32_t size;
    int more, error = sorter_finish(trace->records);
    while (!error && (more = sorter_next(trace->records, &key, &bytes, &size)) != 0) {
        if (more < 0)
            return more;
        error = tell_record(trace, bytes);
    }
    for (size_t i = 0; i < trace->tracks.count && !error; i++)
        while (!error && trace->tracks.items[i].begins.count) {
            trace->sink->left[LEFT_OPEN]++;
            error = tell_end(trace, &trace->tracks.items[i], INT64_MAX);
        }
    if (!error)
        name_all(trace);
    return error;
}
