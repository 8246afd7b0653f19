/* SPDX-License-Identifier: MIT */
/* What a thread has open, for another one that goes on with its work, and what that is called. */
#include "api.h"

#include "levels.h"
#include "strings.h"

#include <annot/observers.h>
#include <string.h>

/* One of the live stack; false: it is a parent's, or nobody knows its name. */
static int tell(struct control *control, uint32_t index, struct annot_open_range *ret_range)
{
    const struct annot_open *open = levels_live(control, index);
    if (!open || open->name == 0)
        return 0;
    *ret_range = (struct annot_open_range){.name = open->name};
    if (open->time < ANNOT_OPEN_MARK_END) {
        const uint64_t kinds = ANNOT_OPEN_MARK(ANNOT_OPEN_INHERITED, 0);
        ret_range->domain = (annot_domain)(open->time >> 2);
        ret_range->is_shown = 1;
        return (open->time & kinds) != ANNOT_OPEN_INHERITED;
    }
    const struct open_scope *scope =
        index < ANNOT_LIVE_DEPTH ? &control->keep->scopes[index] : NULL;
    if (scope && open->instance != 0 && scope->instance == open->instance) {
        ret_range->domain = scope->domain;
        ret_range->category = scope->category;
    }
    return 1;
}

uint32_t annot_open_ranges(struct annot_open_range *ranges, uint32_t count)
{
    uint32_t told = 0;
    FORWARD_VALUE(open_ranges, 0, ranges, count);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !control->thread)
        return 0;
    for (uint32_t i = 0; i < control->live_depth && told < count; i++)
        told += (uint32_t)tell(control, i, &ranges[told]);
    return told;
}

static size_t no_text(char *text, size_t size)
{
    if (size)
        text[0] = 0;
    return 0;
}

size_t annot_name_text(annot_name name, char *text, size_t size)
{
    FORWARD_VALUE(name_text, no_text(text, size), name, text, size);
    const struct annot_string *string = strings_get(name);
    if (!string || string_kind(string) != ANNOT_STRING_NAME || size == 0)
        return no_text(text, size);
    size_t length = string_length(string), kept = length < size ? length : size - 1;
    memcpy(text, string_bytes(string), kept);
    text[kept] = 0;
    return length;
}

OWN(annot_open_ranges);
OWN(annot_name_text);
