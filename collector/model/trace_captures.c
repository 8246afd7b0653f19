/* SPDX-License-Identifier: MIT */
/* When processes recorded: see trace.h. */
#include "trace.h"
#include "trace_parts.h"

#include <errno.h>

int trace_capture_add(struct trace *trace, const struct trace_capture *capture)
{
    return vec_push(&trace->captures, *capture);
}

void trace_captures_set(struct trace *trace, enum trace_captures state)
{
    trace->captures_state = state;
}

enum trace_captures trace_captures(const struct trace *trace)
{
    return trace->captures_state;
}

static bool is_before(const struct trace_capture *capture, uint32_t process, int64_t time_ns)
{
    return capture->process < process || (capture->process == process && capture->to_ns <= time_ns);
}

const struct trace_capture *trace_captures_from(const struct trace *trace, uint32_t process,
                                                int64_t time_ns, size_t *ret_count)
{
    size_t begin = 0, end = trace->captures.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (is_before(&trace->captures.items[middle], process, time_ns))
            begin = middle + 1;
        else
            end = middle;
    }
    *ret_count = trace->captures.count - begin;
    return trace->captures.items + begin;
}
