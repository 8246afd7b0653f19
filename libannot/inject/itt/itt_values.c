/* SPDX-License-Identifier: MIT */
/* Key-values in blocks of a fixed size, which are used again: see itt_parts.h. */
#include "itt_parts.h"

#include <string.h>

static struct itt_values *idle; /* under itt_lock */

struct itt_values *itt_values_take(void)
{
    if (!itt_lock())
        return NULL;
    struct itt_values *values = idle;
    if (values)
        idle = values->next;
    itt_unlock();
    if (!values)
        values = itt_memory_take(sizeof(*values));
    if (values)
        values->count = values->text_size = 0;
    return values;
}

void itt_values_give(struct itt_values *values)
{
    if (!values || !itt_lock())
        return; /* in a signal handler: one block is lost */
    values->next = idle;
    idle = values;
    itt_unlock();
}

int itt_values_add(struct itt_values *values, const struct annot_value *value, uint32_t depth)
{
    if (values->count == ITT_VALUES_MAX)
        return 0;
    struct annot_value *copy = &values->values[values->count];
    *copy = *value;
    if (value->kind == ANNOT_PAYLOAD_STRING) {
        size_t size = strlen(value->value.string) + 1;
        if (size > sizeof(values->text) - values->text_size)
            return 0;
        char *text = values->text + values->text_size;
        memcpy(text, value->value.string, size);
        copy->value.string = text;
        values->text_size += (uint32_t)size;
    }
    values->depths[values->count++] = depth;
    return 1;
}
