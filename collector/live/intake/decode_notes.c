/* SPDX-License-Identifier: MIT */
/* What those who watch GPUs for a program say of the watching is a fact of the recording as well:
 * why nothing is recorded, what is left out. Foreign texts, so there are not many of them. */
#include "intake_parts.h"

#include <errno.h>
#include <string.h>

enum { NOTES_MAX = 32 };

int decode_note(struct decoder *decoder, const struct event *event)
{
    static const char prefix[] = "GPU: ";
    struct trace *trace = decoder->names.trace;
    if (trace_scope(trace, event->scope)->observer != OBSERVER_CUPTI)
        return 0;
    const char *text = trace_string(trace, event->name)->bytes;
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
        return 0;
    uint64_t before = trace_fact_value(trace, text);
    if (before == 0 && decoder->note_count++ >= NOTES_MAX)
        return 0;
    int error = trace_fact_set(trace, FACT_NOTE, text, before + 1);
    return error == -ENOSPC ? 0 : error;
}
