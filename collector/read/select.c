/* SPDX-License-Identifier: MIT */
/* What a selection has. */
#include "read_parts.h"
#include "text.h"

#include <stdlib.h>

bool pass_selects_all(const struct pass_selection *selection)
{
    return selection->from_ns == INT64_MIN && selection->to_ns == INT64_MAX && !selection->range &&
           !selection->wants;
}

bool pass_selects_thread(const struct pass_selection *selection, uint32_t thread)
{
    return !selection->wants || selection->wants(selection->context, thread);
}

bool pass_selects_time(const struct pass_selection *selection, int64_t time_ns)
{
    return time_ns >= selection->from_ns && time_ns < selection->to_ns;
}

bool pass_selects_sample(const struct pass_selection *selection, const struct sample_sets *sets,
                         struct sample *sample, int64_t values[SAMPLE_VALUES_MAX])
{
    return pass_selects_thread(selection, sample->thread) &&
           sample_cut(sets, sample, selection->from_ns, selection->to_ns, values);
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

/* Parents come first. */
int path_matches(struct path_matches *matches, const struct trace *trace, const char *range,
                 uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    while (matches->count <= path) {
        uint32_t next = matches->count;
        const struct range_path *entry = stacks_get_path(stacks, next);
        bool inside = next != 0 && matches->items[entry->parent];
        size_t capacity = matches->capacity;
        if (vec_grow((void **)&matches->items, &capacity, (size_t)next + 1, 1) != 0)
            return -ENOMEM;
        matches->capacity = (uint32_t)capacity;
        bool named = next != 0 && text_matches(range, trace_string(trace, entry->name)->bytes);
        matches->items[next] = inside || named;
        matches->count++;
    }
    return matches->items[path];
}

void path_matches_fini(struct path_matches *matches)
{
    free(matches->items);
    *matches = (struct path_matches){0};
}
