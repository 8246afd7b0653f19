/* SPDX-License-Identifier: MIT */
/* Each label is looked at once, as its source's path has to be read for that. */
#include "chosen_frames.h"

#include "call_label.h"
#include "code_owner.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum label_class { LABEL_UNKNOWN = 0, LABEL_PLAIN, LABEL_IMPORTS, LABEL_BOOTSTRAP };

int chosen_frames_init(struct chosen_frames *chosen, const struct trace *trace,
                       enum frame_choice choice)
{
    uint32_t count = stacks_label_count(trace_stacks_get(trace));
    *chosen = (struct chosen_frames){.trace = trace, .choice = choice, .label_count = count};
    chosen->labels = calloc(count + 1u, sizeof(*chosen->labels));
    return chosen->labels ? 0 : -ENOMEM;
}

void chosen_frames_fini(struct chosen_frames *chosen)
{
    free(chosen->labels);
    *chosen = (struct chosen_frames){0};
}

static enum label_class look_at(const struct trace *trace, uint32_t ordinal)
{
    static const char imports[] = "<frozen importlib";
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    uint32_t path = stacks_get_source(stacks, label->source)->path;
    if (path && strncmp(trace_string(trace, path)->bytes, imports, sizeof(imports) - 1) == 0)
        return LABEL_IMPORTS;
    return code_is_bootstrap(trace, ordinal) ? LABEL_BOOTSTRAP : LABEL_PLAIN;
}

static enum label_class class_of(struct chosen_frames *chosen, uint32_t frame)
{
    uint32_t label = stacks_get_frame(trace_stacks_get(chosen->trace), frame)->label;
    if (label >= chosen->label_count)
        return LABEL_PLAIN;
    if (chosen->labels[label] == LABEL_UNKNOWN)
        chosen->labels[label] = (uint8_t)look_at(chosen->trace, label);
    return (enum label_class)chosen->labels[label];
}

static bool is_native(const struct chosen_frames *chosen, uint32_t frame)
{
    unsigned kind = stacks_get_frame(trace_stacks_get(chosen->trace), frame)->kind;
    return kind == FRAME_NATIVE || kind == FRAME_JIT || kind == FRAME_KERNEL;
}

/* The innermost native frame outside of the kernel, if nothing else is above it. */
static uint32_t find_leaf(const struct chosen_frames *chosen, const uint32_t *frames,
                          uint32_t count)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    for (uint32_t i = count; i-- > 0 && is_native(chosen, frames[i]);)
        if (stacks_get_frame(stacks, frames[i])->kind != FRAME_KERNEL)
            return frames[i];
    return UINT32_MAX;
}

/* Of a stack with Python functions. */
static uint32_t make_brief(struct chosen_frames *chosen, uint32_t *frames, uint32_t count)
{
    uint32_t leaf = find_leaf(chosen, frames, count), kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum label_class class = class_of(chosen, frames[i]);
        if (class == LABEL_BOOTSTRAP)
            kept = 0;
        if (class != LABEL_IMPORTS && !is_native(chosen, frames[i]))
            frames[kept++] = frames[i];
    }
    if (leaf != UINT32_MAX)
        frames[kept++] = leaf;
    return kept;
}

uint32_t chosen_frames_get(struct chosen_frames *chosen, uint32_t stack, uint32_t *frames,
                           uint32_t size)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    uint32_t count = stacks_frames(stacks, stack, frames, size);
    if (chosen->choice == FRAMES_ALL)
        return count;
    if (chosen->choice == FRAMES_PYTHON)
        return call_python_frames(stacks, frames, count);
    bool python = false;
    for (uint32_t i = 0; i < count && !python; i++)
        python = stacks_get_frame(stacks, frames[i])->kind == FRAME_PYTHON;
    return python ? make_brief(chosen, frames, count) : count;
}
