/* SPDX-License-Identifier: MIT */
/* Those who watch queues for programs, such as a GPU's: what the session wishes of them.
 *
 * A wish is a word of the segment that the program reads when it likes. */
#include "intake_parts.h"

void intake_tell_wishes(const struct intake *intake, struct segment_source *source)
{
    uint32_t wishes = intake->filter.wishes | intake->wishes;
    if (source->wishes == wishes || source->drain->broken)
        return;
    if (segment_set_wishes(&source->segment, wishes) == 0)
        source->wishes = wishes;
}

void intake_ask_queues(struct intake *intake)
{
    intake->wishes |= ANNOT_WISH_END;
}

bool intake_awaits_queues(const struct intake *intake)
{
    for (size_t i = 0; i < intake->sources.count; i++) {
        const struct segment_source *source = intake->sources.items[i];
        uint64_t counts[ANNOT_QUEUE_COUNTS];
        if (source->state == SOURCE_LIVE && !source->watch.ended && !source->drain->broken &&
            segment_read_queues(&source->segment, counts) == 0 &&
            counts[ANNOT_QUEUE_TOTAL_OPENED] > counts[ANNOT_QUEUE_TOTAL_SHUT])
            return true;
    }
    return false;
}
