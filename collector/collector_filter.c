/* SPDX-License-Identifier: MIT */
/* See collector_parts.h. What cannot be read of the file leaves the rules as they are. */
#include "collector_parts.h"

#include "clock_now.h"

#include <errno.h>
#include <string.h>

int collector_filter_init(struct annot_session *session, const char *text)
{
    size_t size = text ? strlen(text) : 0;
    if (size > sizeof(session->filter))
        return -E2BIG;
    if (size == 0)
        return 0;
    memcpy(session->filter, text, size);
    session->filter_size = (uint32_t)size;
    session->filter_sequence = 2;
    return 0;
}

int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace)
{
    struct filter_rules *rules = intake_filter(intake);
    if (session_filter_poll(&filter->watch, filter->directory, filter->session->fd, rules) != 1)
        return 0;
    int64_t text = trace_string_add(trace, rules->text, rules->size);
    const struct trace_filter entry = {clock_now_ns(), (uint32_t)text};
    return text < 0 || trace_filter_add(trace, &entry) < 0 ? -ENOMEM : 0;
}

void collector_filter_told(struct collector_filter *filter)
{
    if (filter->told == filter->watch.sequence)
        return;
    filter->told = filter->watch.sequence;
    session_filter_set_told(filter->session->fd, filter->told);
}
