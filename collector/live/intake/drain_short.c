/* SPDX-License-Identifier: MIT */
/* Drops calls that are only wanted above a duration (the LEAST of a CODE) when their end shows that
 * they were shorter.
 *
 * A call is dropped if nothing of its thread lies between its start and its end but dropped calls,
 * and starts and ends on tracks, which are elsewhere. So the remaining events nest as before, each
 * end still has the number of ranges open after it, and every event inside a call keeps that call
 * around it. Calls on tracks (coroutines of tasks) are dropped if they start and end in one thread,
 * with nothing on the track between.
 *
 * Until the length is known, begins and the events after them wait here, for at most about a second
 * (ANNOT_CODE_LEAST_NS_MAX) and at most WAITING_MAX of them. They are not in the file meanwhile: if
 * this process is killed, the waiting calls lack their starts. */
#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING_MAX = 1 << 12 };

bool drain_is_waiting(const struct drain_thread *thread)
{
    return thread->waiting && thread->waiting->events.count > 0;
}

void drain_forget_waiting(struct drain_thread *thread)
{
    if (!thread->waiting)
        return;
    vec_free(&thread->waiting->events);
    vec_free(&thread->waiting->args);
    free(thread->waiting);
    thread->waiting = NULL;
}

static bool waits(const struct event *event)
{
    return (event->kind == EVENT_PUSH || event->kind == EVENT_TRACK_BEGIN) && event->end_ns != 0;
}

static bool is_on_track(const struct event *event)
{
    return event->kind == EVENT_TRACK_BEGIN || event->kind == EVENT_TRACK_END ||
           event->kind == EVENT_TRACK_HIDDEN;
}

/* The event as passed on, without the decoder's notes for this file. */
static struct event plain(const struct event *call)
{
    struct event event = *call;
    event.end_ns = 0;
    event.depth = 0;
    return event;
}

/* 0 or -ENOMEM. */
static int hold(struct drain *drain, struct drain_thread *thread, const struct event *event)
{
    struct drain_waiting *waiting = thread->waiting;
    if (!waiting && !(waiting = thread->waiting = calloc(1, sizeof(*waiting))))
        return -ENOMEM;
    struct event held = *event;
    held.args = (uint32_t)waiting->args.count;
    if (vec_reserve(&waiting->args, event->arg_count) != 0 || vec_push(&waiting->events, held) != 0)
        return -ENOMEM;
    if (event->arg_count)
        memcpy(waiting->args.items + held.args, drain->decoded.args.items + event->args,
               event->arg_count * sizeof(*waiting->args.items));
    waiting->args.count += event->arg_count;
    return 0;
}

/* How many events from the first on need not wait: up to the last call that has lasted long enough
 * by until_ns, as then have those around it, and on to the next call. */
static size_t count_done(const struct drain_waiting *waiting, int64_t until_ns)
{
    const struct event *events = waiting->events.items;
    size_t count = waiting->events.count;
    if (count > WAITING_MAX || waiting->args.count > WAITING_MAX)
        return count;
    while (count > 0 && !(waits(&events[count - 1]) &&
                          events[count - 1].end_ns <= until_ns - events[count - 1].time_ns))
        count--;
    while (count < waiting->events.count && !waits(&events[count]))
        count++;
    return count;
}

static void remove_events(struct drain_waiting *waiting, size_t first, size_t count)
{
    struct event *at = waiting->events.items + first;
    memmove(at, at + count, (waiting->events.count - first - count) * sizeof(*at));
    waiting->events.count -= count;
    if (waiting->events.count == 0)
        waiting->args.count = 0;
}

/* Passes on the first `count` events. 0 or -ENOMEM. */
static int keep(struct drain *drain, struct drain_waiting *waiting, size_t count)
{
    struct decoded *decoded = &drain->decoded;
    for (size_t i = 0; i < count; i++) {
        struct event event = plain(&waiting->events.items[i]);
        const struct arg *args = waiting->args.items + event.args;
        event.args = (uint32_t)decoded->args.count;
        if (vec_push(&drain->kept, event) != 0 || vec_reserve(&decoded->args, event.arg_count) != 0)
            return -ENOMEM;
        if (event.arg_count)
            memcpy(decoded->args.items + event.args, args, event.arg_count * sizeof(*args));
        decoded->args.count += event.arg_count;
    }
    if (count > 0)
        remove_events(waiting, 0, count);
    return 0;
}

/* The last event of the thread itself, or of a track; NULL if it has none. */
static struct event *last_of(const struct drain_waiting *waiting, const struct event *end)
{
    for (size_t i = waiting ? waiting->events.count : 0; i-- > 0;) {
        struct event *event = &waiting->events.items[i];
        if (is_on_track(event) == is_on_track(end) &&
            (!is_on_track(end) || event->lane == end->lane))
            return event;
    }
    return NULL;
}

/* The call that `end` ends too soon, or NULL. */
static struct event *short_call(const struct drain_waiting *waiting, const struct event *end)
{
    struct event *call =
        end->kind == EVENT_POP || end->kind == EVENT_TRACK_END ? last_of(waiting, end) : NULL;
    bool ends = call && waits(call) && (end->kind != EVENT_POP || end->depth == call->depth);
    return ends && end->time_ns - call->time_ns < call->end_ns ? call : NULL;
}

static int drop(struct drain *drain, struct drain_thread *thread, const struct event *call)
{
    struct drain_waiting *waiting = thread->waiting;
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    thread->decode.record_count -= 2;
    if (call->kind == EVENT_PUSH) {
        drain->short_count += !(call->flags & EVENT_CONTINUES);
        entry->revision += !entry->unnumbered;
        entry->unnumbered = true;
    }
    remove_events(waiting, (size_t)(call - waiting->events.items), 1);
    return keep(drain, waiting, count_done(waiting, 0));
}

static int take(struct drain *drain, struct drain_thread *thread, const struct event *event)
{
    struct drain_waiting *waiting = thread->waiting;
    const struct event *call = short_call(waiting, event);
    if (call)
        return drop(drain, thread, call);
    if (waits(event) || (is_on_track(event) && drain_is_waiting(thread)))
        return hold(drain, thread, event);
    int error = waiting ? keep(drain, waiting, waiting->events.count) : 0;
    struct event other = is_on_track(event) ? plain(event) : *event;
    return error != 0 ? error : vec_push(&drain->kept, other);
}

int drain_leave_out(struct drain *drain, struct drain_thread *thread)
{
    struct decoded *decoded = &drain->decoded;
    size_t count = decoded->events.count;
    if (drain->decoder.names.least.count == 0 && !drain_is_waiting(thread))
        return 0;
    drain->kept.count = 0;
    int error = vec_reserve(&drain->kept, DECODE_EVENTS_MAX);
    for (size_t i = 0; i < count && error == 0; i++)
        error = take(drain, thread, &decoded->events.items[i]);
    if (error == 0 && drain_is_waiting(thread))
        error = keep(drain, thread->waiting, count_done(thread->waiting, thread->decode.last_ns));
    if (error != 0)
        return error;
    struct event *items = decoded->events.items;
    size_t capacity = decoded->events.capacity;
    decoded->events.items = drain->kept.items;
    decoded->events.count = drain->kept.count;
    decoded->events.capacity = drain->kept.capacity;
    drain->kept.items = items;
    drain->kept.count = 0;
    drain->kept.capacity = capacity;
    return 0;
}

int drain_hand_on_waiting(struct drain *drain, struct drain_thread *thread, int64_t until_ns)
{
    struct drain_waiting *waiting = thread->waiting;
    size_t count = drain_is_waiting(thread) ? count_done(waiting, until_ns) : 0;
    if (count == 0)
        return 0;
    drain->kept.count = 0;
    for (size_t i = 0; i < count; i++)
        if (vec_push(&drain->kept, plain(&waiting->events.items[i])) != 0)
            return -ENOMEM;
    const struct batch_source source = {thread->last.sequence, thread->last.end_offset,
                                        thread->last.end_offset};
    const struct event_batch batch = {.thread = thread->decode.ordinal,
                                      .count = (uint32_t)count,
                                      .events = drain->kept.items,
                                      .source = source,
                                      .args = waiting->args.items};
    int error = drain->sink(drain->sink_context, &batch);
    remove_events(waiting, 0, count);
    return error;
}
