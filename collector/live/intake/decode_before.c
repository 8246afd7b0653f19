/* SPDX-License-Identifier: MIT */
/* What stands before the first block that is left of a thread: how much was overwritten, and the
 * ranges that are still open. */
#include "intake_parts.h"

static struct event gap_until(const struct decode_thread *thread, int64_t begin_ns, int64_t end_ns)
{
    return (struct event){.kind = EVENT_LOST,
                          .thread = thread->ordinal,
                          .value_kind = VALUE_UINT64,
                          .depth = thread->depth,
                          .time_ns = begin_ns,
                          .end_ns = end_ns > begin_ns ? end_ns : begin_ns};
}

static void tell_gap(struct decode_thread *thread, struct event gap, enum loss cause,
                     uint64_t count, struct event *event)
{
    thread->lost[cause] += count;
    gap.level = (uint8_t)cause;
    gap.value.uint64 = count;
    *event = gap;
}

/* The innermost open ranges, begun when they really were. 0 or -ENOMEM. */
static int tell_open(struct decoder *decoder, struct decode_thread *thread,
                     const struct annot_open *open, struct event *event)
{
    int64_t name = open->name != 0 ? names_by_id(&decoder->names, open->name) : 0;
    if (name < 0)
        return (int)name;
    *event = (struct event){.kind = EVENT_PUSH,
                            .thread = thread->ordinal,
                            .name = (uint32_t)name,
                            .scope = names_scope_by_id(&decoder->names, open->name),
                            .time_ns = decode_event_time(decoder, thread, open->time)};
    thread->depth++;
    thread->record_count++;
    return 0;
}

static uint64_t missing(uint64_t before, uint64_t known)
{
    return before > known && before - known <= LOSS_BELIEVABLE ? before - known : 0;
}

/* Before the open ranges: says that calls are missing, and how many more are open below them. */
static size_t tell_begin(struct decoder *decoder, struct decode_thread *thread,
                         const struct annot_block *header, uint64_t *lost, struct event *event)
{
    int64_t created_ns = decode_time(decoder, decoder->created_time);
    int64_t begin_ns = thread->last_ns > created_ns ? thread->last_ns : created_ns;
    if (*lost == 0)
        return 0;
    --*lost;
    if (begin_ns > decoder->now_ns)
        begin_ns = decoder->now_ns;
    tell_gap(thread, gap_until(thread, begin_ns, decode_time(decoder, header->open[0].time)),
             LOSS_OVERWRITTEN, 1, event);
    if (event->end_ns > decoder->now_ns)
        event->end_ns = decoder->now_ns;
    thread->last_ns = event->end_ns;
    return 1;
}

/* Behind them: the rest, until the block was claimed. */
static size_t tell_rest(struct decoder *decoder, struct decode_thread *thread,
                        const struct annot_block *header, const uint64_t *lost,
                        struct event *events)
{
    int64_t created_ns = decode_time(decoder, decoder->created_time);
    int64_t end_ns = decode_time(decoder, header->claim_time);
    size_t count = 0;
    if (end_ns > decoder->now_ns)
        end_ns = decoder->now_ns;
    bool is_later = created_ns > thread->last_ns && created_ns <= end_ns;
    int64_t begin_ns = is_later ? created_ns : thread->last_ns;
    struct event gap = gap_until(thread, begin_ns, end_ns);
    for (int cause = 0; cause < LOSS_COUNT; cause++)
        if (lost[cause] != 0)
            tell_gap(thread, gap, (enum loss)cause, lost[cause], &events[count++]);
    if (count > 0)
        thread->last_ns = begin_ns;
    return count;
}

/* Events for what was overwritten before a block: at most DECODE_EVENTS_BEFORE. Their number or
 * -ENOMEM. */
int decode_before(struct decoder *decoder, struct decode_thread *thread,
                  const struct annot_block *header, struct event *events)
{
    bool is_first = thread->headers == 0;
    uint32_t shown = is_first ? header->open_count : 0;
    uint64_t lost[LOSS_COUNT] = {0};
    size_t count = 0;
    if (shown > ANNOT_OPEN_DEPTH || shown > header->open_depth)
        shown = 0;
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        lost[cause] = missing(header->lost_before[cause], thread->lost[cause]);
    lost[LOSS_OVERWRITTEN] = missing(header->records_before, thread->wire_records);
    /* The begins of those that are shown were overwritten, too, but here they are. */
    lost[LOSS_OVERWRITTEN] -= shown < lost[LOSS_OVERWRITTEN] ? shown : lost[LOSS_OVERWRITTEN];
    if (is_first || header->open_depth < thread->depth)
        thread->depth = header->open_depth - shown;
    if (shown > 0)
        count = tell_begin(decoder, thread, header, &lost[LOSS_OVERWRITTEN], events);
    for (uint32_t i = 0; i < shown; i++) {
        int error = tell_open(decoder, thread, &header->open[i], &events[count++]);
        if (error != 0)
            return error;
    }
    return (int)(count + tell_rest(decoder, thread, header, lost, events + count));
}
