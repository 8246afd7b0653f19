/* SPDX-License-Identifier: MIT */
/* Calls that nobody wants unless they last (the LEAST of a CODE) leave the events of their thread
 * when their end shows that they did not.
 *
 * A call is left out if nothing of its thread lies between its begin and its end but calls that
 * are left out. So what is left nests as before, each end still says how many ranges are open after
 * it, and whatever happened in a call has that call around it. Until it is known, the begins wait
 * here: at most as many as calls nest, for at most about a second (ANNOT_CODE_LEAST_NS_MAX). They
 * are in no file then: if this process is killed, the calls that were waiting lack their begins. */
#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool drain_is_waiting(const struct drain_thread *thread)
{
    return thread->waiting && thread->waiting->calls.count > 0;
}

void drain_forget_waiting(struct drain_thread *thread)
{
    if (!thread->waiting)
        return;
    vec_free(&thread->waiting->calls);
    vec_free(&thread->waiting->args);
    free(thread->waiting);
    thread->waiting = NULL;
}

static bool waits(const struct event *event)
{
    return event->kind == EVENT_PUSH && event->end_ns != 0;
}

/* As it goes on: what the decoder has noted for here is no part of the event. */
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
    if (vec_reserve(&waiting->args, event->arg_count) != 0 || vec_push(&waiting->calls, held) != 0)
        return -ENOMEM;
    if (event->arg_count)
        memcpy(waiting->args.items + held.args, drain->decoded.args.items + event->args,
               event->arg_count * sizeof(*waiting->args.items));
    waiting->args.count += event->arg_count;
    return 0;
}

/* How many of them, from the outermost, have lasted long enough by then, or are around one that
 * has. */
static size_t count_lasting(const struct drain_waiting *waiting, int64_t until_ns)
{
    size_t count = waiting->calls.count;
    while (count > 0 && waiting->calls.items[count - 1].end_ns >
                            until_ns - waiting->calls.items[count - 1].time_ns)
        count--;
    return count;
}

/* The first `count` are waiting no more. */
static void remove_first(struct drain_waiting *waiting, size_t count)
{
    size_t left = waiting->calls.count - count;
    uint32_t args = left ? waiting->calls.items[count].args : (uint32_t)waiting->args.count;
    struct event *calls = waiting->calls.items;
    memmove(calls, calls + count, left * sizeof(*calls));
    for (size_t i = 0; i < left; i++)
        calls[i].args -= args;
    waiting->calls.count = left;
    waiting->args.count -= args;
    if (args && waiting->args.count)
        memmove(waiting->args.items, waiting->args.items + args,
                waiting->args.count * sizeof(*waiting->args.items));
}

/* The first `count` go to what is handed on. 0 or -ENOMEM. */
static int keep(struct drain *drain, struct drain_waiting *waiting, size_t count)
{
    struct decoded *decoded = &drain->decoded;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct event event = plain(&waiting->calls.items[i]);
        const struct arg *args = waiting->args.items + event.args;
        event.args = (uint32_t)decoded->args.count;
        if (vec_push(&drain->kept, event) != 0 || vec_reserve(&decoded->args, event.arg_count) != 0)
            return -ENOMEM;
        if (event.arg_count)
            memcpy(decoded->args.items + event.args, args, event.arg_count * sizeof(*args));
        decoded->args.count += event.arg_count;
    }
    remove_first(waiting, count);
    return 0;
}

/* Whether this is the end of the innermost of them, and came too soon. */
static bool is_short(const struct drain_waiting *waiting, const struct event *event)
{
    if (!waiting || waiting->calls.count == 0 || event->kind != EVENT_POP)
        return false;
    const struct event *call = &waiting->calls.items[waiting->calls.count - 1];
    return event->depth == call->depth && event->time_ns - call->time_ns < call->end_ns;
}

static void drop(struct drain *drain, struct drain_thread *thread)
{
    struct drain_waiting *waiting = thread->waiting;
    const struct event *call = &waiting->calls.items[--waiting->calls.count];
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    waiting->args.count = call->args;
    thread->decode.record_count -= 2;
    drain->short_count += !(call->flags & EVENT_CONTINUES);
    entry->revision += !entry->unnumbered;
    entry->unnumbered = true;
}

static int take(struct drain *drain, struct drain_thread *thread, const struct event *event)
{
    if (waits(event))
        return hold(drain, thread, event);
    if (is_short(thread->waiting, event)) {
        drop(drain, thread);
        return 0;
    }
    int error = thread->waiting ? keep(drain, thread->waiting, thread->waiting->calls.count) : 0;
    return error != 0 ? error : vec_push(&drain->kept, *event);
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
        error =
            keep(drain, thread->waiting, count_lasting(thread->waiting, thread->decode.last_ns));
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
    size_t count = drain_is_waiting(thread) ? count_lasting(waiting, until_ns) : 0;
    if (count == 0)
        return 0;
    drain->kept.count = 0;
    for (size_t i = 0; i < count; i++)
        if (vec_push(&drain->kept, plain(&waiting->calls.items[i])) != 0)
            return -ENOMEM;
    const struct batch_source source = {thread->last.sequence, thread->last.end_offset,
                                        thread->last.end_offset};
    const struct event_batch batch = {.thread = thread->decode.ordinal,
                                      .count = (uint32_t)count,
                                      .events = drain->kept.items,
                                      .source = source,
                                      .args = waiting->args.items};
    int error = drain->sink(drain->sink_context, &batch);
    remove_first(waiting, count);
    return error;
}
