/* SPDX-License-Identifier: MIT */
/* Look-ups in the state of a pass. */
#include "pass_state.h"

#include "text.h"

uint32_t pass_process_of(const struct pass *pass, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(pass->source.trace, thread);
    return entry ? entry->process : 0;
}

struct lane *pass_lane(struct pass *pass, uint32_t thread)
{
    static const struct lane fresh = {.last_ns = INT64_MIN,
                                      .since_ns = INT64_MIN,
                                      .first_ns = INT64_MAX,
                                      .last_told_ns = INT64_MIN};
    while (pass->lanes.count <= thread)
        if (vec_push(&pass->lanes, fresh) != 0)
            return NULL;
    struct lane *lane = &pass->lanes.items[thread];
    if (!lane->known) {
        lane->known = true;
        const struct trace_thread *entry = trace_thread_get(pass->source.trace, thread);
        lane->probed = entry && entry->probed;
        lane->wanted = pass_selects_thread(&pass->selection, thread);
        lane->begun = pass->selection.from_ns == INT64_MIN || pass->begun;
    }
    return lane;
}

bool pass_names(struct pass *pass, uint32_t name)
{
    const char *range = pass->selection.range;
    if (!range)
        return false;
    while (pass->named.count <= name) {
        if (vec_push(&pass->named, 0) != 0)
            return text_matches(range, trace_string(pass->source.trace, name)->bytes);
    }
    uint8_t *known = &pass->named.items[name];
    if (*known == 0)
        *known = text_matches(range, trace_string(pass->source.trace, name)->bytes) ? 1 : 2;
    return *known == 1;
}
