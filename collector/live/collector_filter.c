/* SPDX-License-Identifier: MIT */
/* Unreadable rules of the session's file leave the current ones unchanged. */
#include "collector_filter.h"

#include "annot_places.h"
#include "clock_now.h"
#include "file_io.h"
#include "intake.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static size_t size_of(const char *text)
{
    return text ? strlen(text) : 0;
}

int collector_filter_init(struct collector_filter *filter, struct annot_session *session,
                          const struct collector_options *options)
{
    size_t rules = size_of(options->filter), capture = size_of(options->capture);
    if (rules > sizeof(session->filter) || capture >= sizeof(session->capture))
        return -E2BIG;
    if (capture > 0)
        memcpy(session->capture, options->capture, capture);
    memcpy(filter->capture, session->capture, sizeof(filter->capture));
    filter->is_new = capture > 0;
    if (rules == 0)
        return 0;
    memcpy(session->filter, options->filter, rules);
    session->filter_size = (uint32_t)rules;
    session->filter_sequence = 2;
    return 0;
}

/* Writes the capture range in readable form before the rules; parsers of rules skip it. */
static void describe_capture(const char *capture, struct text *text)
{
    const char *domain = strchr(capture, '\x1f');
    if (!capture[0])
        return;
    text_format(text, "capture-range=%.*s", domain ? (int)(domain - capture) : INT_MAX, capture);
    if (domain)
        text_format(text, "@%s", domain + 1);
}

int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace)
{
    struct filter_rules *rules = intake_filter(intake);
    char bytes[sizeof(filter->capture) + ANNOT_FILTER_MAX + 32];
    struct text text = text_init(bytes, sizeof(bytes));
    int changed =
        session_filter_poll(&filter->watch, filter->directory, filter->session->fd, rules);
    if (changed != 1 && !filter->is_new)
        return 0;
    filter->is_new = false;
    describe_capture(filter->capture, &text);
    if (text.length > 0 && rules->size > 0)
        text_add(&text, " ", 1);
    text_add(&text, rules->text, rules->size);
    int64_t string = trace_string_add(trace, text.buffer, text.length);
    const struct trace_filter entry = {clock_now_ns(), (uint32_t)string};
    return string < 0 || trace_filter_add(trace, &entry) < 0 ? -ENOMEM : 0;
}

void collector_filter_told(struct collector_filter *filter)
{
    if (filter->told == filter->watch.sequence)
        return;
    filter->told = filter->watch.sequence;
    session_filter_set_told(filter->session->fd, filter->told);
}
