/* SPDX-License-Identifier: MIT */
/* Times when processes recorded, if `--capture-range` restricted them.
 *
 * Thread-safety: none; one owner at a time. */
#ifndef ANNOT_MODEL_TRACE_CAPTURES_H
#define ANNOT_MODEL_TRACE_CAPTURES_H

#include "trace.h"

/* An interval in which a process recorded, if only ranges of one name are recorded (found once, by
 * read/captures.c): in order of processes, then of time. add: 0 or -ENOMEM, which sticks. */
struct trace_capture {
    uint32_t process;
    int64_t from_ns, to_ns;
};

enum trace_captures {
    CAPTURES_UNKNOWN = 0, /* not searched yet */
    CAPTURES_ALL = 1,     /* all is recorded */
    CAPTURES_KNOWN = 2,
    CAPTURES_FAILED = 3, /* out of memory */
};

int trace_capture_add(struct trace *trace, const struct trace_capture *capture);
void trace_captures_set(struct trace *trace, enum trace_captures state);
enum trace_captures trace_captures(const struct trace *trace);
/* The first of a process that ends after a time, followed by the later ones; `ret_count`: their
 * number. */
const struct trace_capture *trace_captures_from(const struct trace *trace, uint32_t process,
                                                int64_t time_ns, size_t *ret_count);

#endif
