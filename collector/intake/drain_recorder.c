/* SPDX-License-Identifier: MIT */
/* Reading a flight recorder: all of its blocks at once, at the end or for a snapshot. */
#include "capture.h"
#include "clock_now.h"
#include "drain.h"

#include <errno.h>

/* Where the block is read from: 0, behind what an earlier look has handed on, or at its end. */
static uint32_t begin_of(const struct drain_thread *thread, uint32_t sequence, uint32_t end)
{
    if (sequence >= thread->decode.headers)
        return 0;
    bool is_last = sequence + UINT64_C(1) == thread->decode.headers;
    if (!is_last)
        return end;
    return thread->last.sequence == sequence ? thread->last.end_offset : 0;
}

static int read_copy(struct drain *drain, const struct capture_place *place,
                     const struct segment_block_copy *copy)
{
    const struct annot_block *header = &copy->header;
    struct drain_thread *thread;
    int error = drain_thread(drain, header->thread_serial, &thread);
    if (error != 0)
        return error;
    uint32_t begin = begin_of(thread, header->sequence, place->end);
    if (begin >= place->end && header->sequence < thread->decode.headers)
        return 0;
    drain->cut = drain->room && !drain->room(drain->sink_context);
    if (drain->cut)
        return 0;
    int64_t claimed_ns = header->claim_ns < INT64_MAX ? (int64_t)header->claim_ns : clock_now_ns();
    if (!thread->entered)
        error = drain_enter_thread(drain, thread,
                                   &(struct drain_who){header->tid, claimed_ns, header->comm});
    if (error == 0)
        error = drain_name_thread(drain, thread, header->thread_name);
    if (error != 0)
        return error;
    thread->record = header->thread_index;
    struct batch_source source = {header->sequence, begin, place->end};
    error = decode_block(&drain->decoder, &thread->decode, copy, &source, &drain->events);
    if (error == 0)
        error = drain_hand_on(drain, thread, &source, drain->events.count);
    return error != 0 ? error : (int)(place->end - begin);
}

int64_t drain_recorder(struct drain *drain, bool everything)
{
    struct capture capture;
    int64_t total = 0;
    int bytes = capture_take(drain->segment, everything, &capture);
    for (size_t i = 0; i < capture.places.count && bytes >= 0 && !drain->cut; i++) {
        if (capture.places.items[i].state == ANNOT_BLOCK_FREE)
            continue;
        bytes = read_copy(drain, &capture.places.items[i], &capture.copies[i]);
        total += bytes;
    }
    capture_free(&capture);
    return bytes < 0 ? bytes : total;
}
