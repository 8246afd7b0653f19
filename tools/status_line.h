/* SPDX-License-Identifier: MIT */
/* The one live line of `annot attach`, on a terminal only, and the summary at a recording's end.
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

/* Shows it, at most twice a second, while standard error is a terminal, we are its foreground, no
 * program has taken its keys over, and the user does not want quiet. */
void status_line_update(struct status_line *line, const struct collector *collector);
void status_line_clear(struct status_line *line);

struct status_summary {
    const struct collector *collector;
    const char *output;
    const char *hint; /* why there is nothing, if there is nothing; NULL: what is likely */
    bool verbose;     /* lists are whole */
    bool incomplete;  /* not all could be written; the message is out */
};

/* On standard error: what was recorded, what was lost and why, what to type next. Of this only the
 * losses if the user wants quiet. */
void status_line_summary(const struct status_summary *summary);

#endif
