/* SPDX-License-Identifier: MIT */
/* What the trace is told of the threads of a segment: names, times, counts, losses. */
#include "annot_barrier.h"
#include "clock_now.h"
#include "drain.h"

#include <errno.h>
#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t drain_thread_lost(const struct drain_thread *thread, enum loss cause)
{
    uint64_t told = thread->decode.lost[cause];
    return thread->left ? told - thread->trailing[cause] : larger(thread->lost[cause], told);
}

int drain_name_thread(struct drain *drain, struct drain_thread *thread, uint32_t name_id)
{
    if (name_id == 0 || name_id == thread->name_id)
        return 0;
    int64_t name = names_by_id(&drain->decoder.names, name_id);
    if (name < 0)
        return (int)name;
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    thread->name_id = name_id;
    entry->name = (uint32_t)name;
    entry->revision++;
    return 0;
}

/* Losses of a thread that never got a block give it an entry all the same. */
static int read_record(struct drain *drain, uint32_t index)
{
    struct annot_thread record;
    int error = segment_read_thread(drain->segment, index, &record);
    if (error <= 0)
        return error;
    bool any = drain->complete && record.records != 0;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        any = any || record.lost[cause] != 0;
    uint64_t key = record.serial + UINT64_C(1);
    if (!any && record.name == 0 && !map64_find(&drain->thread_index, key))
        return 0;
    struct drain_thread *thread;
    error = drain_thread(drain, record.serial, &thread);
    if (error != 0)
        return error;
    if (!thread->entered) {
        if (!any)
            return 0;
        error = drain_enter_thread(drain, thread,
                                   &(struct drain_who){record.tid, clock_now_ns(), record.comm});
        if (error != 0)
            return error;
    }
    thread->record = index;
    thread->in_record = true;
    thread->left = record.state == ANNOT_THREAD_FREE;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        if (record.lost[cause] <= LOSS_BELIEVABLE)
            thread->lost[cause] = larger(thread->lost[cause], record.lost[cause]);
    if (drain->complete && thread->decode.headers == 0 && record.records <= LOSS_BELIEVABLE)
        thread->lost[LOSS_OVERWRITTEN] = record.records; /* none of its blocks is left */
    return drain_name_thread(drain, thread, record.name);
}

static void publish_thread(struct drain *drain, struct drain_thread *thread)
{
    uint64_t state = thread->decode.record_count;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        state += larger(thread->lost[cause], thread->decode.lost[cause]);
    if (!thread->entered || state == thread->published)
        return;
    thread->published = state;
    struct trace_thread *entry = trace_thread(drain->trace, thread->decode.ordinal);
    entry->event_count = thread->decode.record_count;
    entry->first_ns = thread->decode.first_ns;
    if (entry->last_ns < thread->decode.last_ns) /* it may have sums of later */
        entry->last_ns = thread->decode.last_ns;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        entry->lost[cause] = larger(thread->lost[cause], thread->decode.lost[cause]);
    entry->revision++;
}

/* Its record is given back and, later, none of its blocks was there: nothing can come any more.
 * What only drain_finish tells keeps it; so do losses that its free record still shows, which would
 * be told again. */
static bool is_over(const struct drain *drain, struct drain_thread *thread)
{
    if (!thread->left)
        thread->left_visit = 0;
    else if (thread->left_visit == 0)
        thread->left_visit = drain->visit + 1;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        if (thread->lost[cause] > thread->decode.lost[cause] || drain_is_waiting(thread) ||
            (thread->in_record && thread->lost[cause] > 0))
            return false;
    return thread->left_visit != 0 && thread->left_visit <= drain->whole_visit &&
           thread->visit < drain->whole_visit;
}

/* Its place goes to the last one. */
static int forget_thread(struct drain *drain, size_t place)
{
    struct drain_thread *thread = &drain->threads.items[place];
    struct drain_thread *last = &drain->threads.items[drain->threads.count - 1];
    uint64_t ignored;
    drain->past.event_count += thread->decode.record_count;
    if (thread->decode.last_ns > drain->past.last_ns)
        drain->past.last_ns = thread->decode.last_ns;
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        drain->past.lost[cause] += drain_thread_lost(thread, (enum loss)cause);
    map64_take(&drain->thread_index, thread->serial + UINT64_C(1), &ignored);
    drain_forget_waiting(thread);
    drain->threads.count--;
    if (last == thread)
        return 0;
    *thread = *last;
    return map64_put(&drain->thread_index, thread->serial + UINT64_C(1), place);
}

static int forget_threads(struct drain *drain)
{
    int error = 0;
    for (size_t i = drain->threads.count; i-- > 0 && error == 0;)
        if (is_over(drain, &drain->threads.items[i]))
            error = forget_thread(drain, i);
    return error;
}

int drain_publish(struct drain *drain)
{
    struct annot_shared shared;
    int error = drain->broken ? -EFAULT : segment_read_shared(drain->segment, &shared);
    uint32_t high = error == 0 ? shared.thread_high : 0;
    if (high > drain->segment->info.thread_count)
        high = drain->segment->info.thread_count;
    /* A record that is not found any more was taken by another thread: its owner left. */
    for (size_t i = 0; i < drain->threads.count; i++)
        drain->threads.items[i].left = true, drain->threads.items[i].in_record = false;
    for (uint32_t i = 0; i < high && error == 0; i++)
        error = read_record(drain, i);
    for (size_t i = 0; i < drain->threads.count; i++)
        publish_thread(drain, &drain->threads.items[i]);
    if (error == -EFAULT)
        drain->broken = true;
    else if (error == 0)
        error = forget_threads(drain);
    return error == -EFAULT ? 0 : error;
}

int drain_finish(struct drain *drain)
{
    int error = drain_sums(drain, true);
    if (error == 0)
        error = drain_publish(drain);
    drain->decoder.now_ns = clock_now_ns();
    for (size_t i = 0; i < drain->threads.count && error == 0; i++) {
        struct drain_thread *thread = &drain->threads.items[i];
        size_t count = 0;
        for (int cause = 0; cause < LOSS_COUNT && thread->entered; cause++) {
            if (thread->lost[cause] <= thread->decode.lost[cause])
                continue;
            uint64_t rest = thread->lost[cause] - thread->decode.lost[cause];
            thread->trailing[cause] += rest;
            drain->decoded.events.items[count++] =
                decode_lost(&drain->decoder, &thread->decode, (enum loss)cause, rest);
        }
        struct batch_source source = {thread->last.sequence, thread->last.end_offset,
                                      thread->last.end_offset};
        error = drain_hand_on_waiting(drain, thread, INT64_MAX);
        if (error == 0)
            error = drain_hand_on(drain, thread, &source, count);
    }
    return error != 0 ? error : drain_publish(drain);
}
