/* SPDX-License-Identifier: MIT */
/* Names that stand for labels: see trace.h. Invariant: both exist, so users that follow a name to
 * its label need no check. Thread-safety: the trace's owner. */
#include "trace_parts.h"

#include <errno.h>
#include <string.h>

enum { CONTEXT_MAX = 4096 }; /* bytes of a name: no string of a program is longer */

static uint32_t number_at(const ordinal_vec *numbers, uint32_t index)
{
    return index < numbers->count ? numbers->items[index] : 0;
}

/* Extends `numbers` to `index`. 0 or -ENOMEM. */
static int reach(ordinal_vec *numbers, uint32_t index)
{
    while (numbers->count <= index)
        if (vec_push(numbers, 0) != 0)
            return -ENOMEM;
    return 0;
}

/* trace_label_name returns the first name of a label. */
static int link_name(struct trace *trace, const struct trace_label_name *name)
{
    if (reach(&trace->names_by_label, name->label) != 0 ||
        reach(&trace->labels_by_name, name->string) != 0 ||
        vec_push(&trace->label_names, *name) != 0)
        return -ENOMEM;
    uint32_t *known = &trace->names_by_label.items[name->label];
    *known = *known ? *known : name->string;
    trace->labels_by_name.items[name->string] = name->label;
    return 0;
}

int64_t trace_label_name(struct trace *trace, uint32_t label)
{
    uint32_t known = number_at(&trace->names_by_label, label);
    if (known || label == 0 || label >= stacks_label_count(trace->stacks))
        return known;
    const struct trace_string *text =
        trace_string(trace, stacks_get_label(trace->stacks, label)->text);
    int64_t string = trace_string_append(trace, text->bytes, text->length);
    const struct trace_label_name name = {(uint32_t)string, label};
    return string < 0 || link_name(trace, &name) != 0 ? -ENOMEM : string;
}

uint32_t trace_name_label(const struct trace *trace, uint32_t string)
{
    return number_at(&trace->labels_by_name, string);
}

int64_t trace_context_label(struct trace *trace, uint8_t flag, const char *name, size_t length)
{
    char bytes[CONTEXT_MAX + sizeof(LABEL_TASK_PREFIX)] = LABEL_TASK_PREFIX;
    const char *text = name;
    if (flag == LABEL_TASK) {
        size_t prefix = strlen(LABEL_TASK_PREFIX);
        length = length < CONTEXT_MAX ? length : CONTEXT_MAX;
        memcpy(bytes + prefix, name, length);
        length += prefix;
        text = bytes;
    }
    int64_t string = trace_string_add(trace, text, length);
    const struct label label = {.text = (uint32_t)string, .kind = FRAME_NOTE, .flags = flag};
    return string < 0 ? string : stacks_label(trace->stacks, &label);
}

int trace_label_name_append(struct trace *trace, const struct trace_label_name *name)
{
    static const struct trace_label_name nothing;
    bool known = name->string != 0 && name->string < trace_string_count(trace) &&
                 name->label != 0 && name->label < stacks_label_count(trace->stacks);
    if (known)
        return link_name(trace, name);
    return vec_push(&trace->label_names, nothing) != 0 ? -ENOMEM : 0;
}

uint32_t trace_label_name_count(const struct trace *trace)
{
    return (uint32_t)trace->label_names.count;
}

const struct trace_label_name *trace_label_name_get(const struct trace *trace, uint32_t index)
{
    static const struct trace_label_name nothing;
    return index < trace->label_names.count ? &trace->label_names.items[index] : &nothing;
}
