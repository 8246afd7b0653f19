/* SPDX-License-Identifier: MIT */
/* The one live line of a running recording, on a terminal only, and the summary at its end.
 * Thread-safety: main thread only. */
#ifndef ANNOT_STATUS_LINE_H
#define ANNOT_STATUS_LINE_H

#include "collector.h"

#include <stdbool.h>

struct status_line {
    bool shown;
    int64_t begin_ns, next_ns;
};

void status_line_begin(struct status_line *line);

/* Shows it, at most twice a second, while standard error is a terminal, we are its foreground, and
 * no program has taken its keys over. */
void status_line_update(struct status_line *line, const struct collector *collector);
void status_line_clear(struct status_line *line);

/* On standard error: what was recorded, what was lost and why, what to type next. `hint`: why
 * there is nothing, if there is nothing; NULL: what is likely. */
void status_line_summary(const struct collector *collector, const char *output, const char *hint);

#endif
