/* SPDX-License-Identifier: MIT */
/* Functions by hash; two that share one are each known by the frame itself, which is right as
 * well, only longer. */
#include "frame_names.h"

#include "call_label.h"

uint32_t frame_function(struct frame_names *names, uint32_t frame)
{
    const struct stacks *stacks = trace_stacks_get(names->trace);
    const struct frame *entry = stacks_get_frame(stacks, frame);
    uint64_t key = call_function_hash(entry) | 1;
    const uint64_t *found = map64_find(&names->first_frames, key);
    if (!found) {
        (void)map64_put(&names->first_frames, key, frame);
        return frame;
    }
    uint32_t first = (uint32_t)*found;
    return call_same_function(stacks_get_frame(stacks, first), entry) ? first : frame;
}

size_t frame_label(const struct frame_names *names, uint32_t frame, char *buffer, size_t size)
{
    const struct frame *entry = stacks_get_frame(trace_stacks_get(names->trace), frame);
    return call_frame_label(names->trace, entry, names->prefixes, buffer, size);
}

void frame_names_fini(struct frame_names *names)
{
    map64_free(&names->first_frames);
}
