/* SPDX-License-Identifier: MIT */
/* The first screen of a report, and its tables. Main thread only. */
#ifndef ANNOT_SCREEN_H
#define ANNOT_SCREEN_H

#include "screen_text.h"

/* The state for printing to standard output. */
struct screen screen_init(const struct report *report, const struct report_view *view);

/* Prints the summary, on one screen: 0 or -ENOMEM, or the exit status after a printed message. */
int report_screen(const struct report *report, const struct report_view *view);

/* Prints the findings. 0 or -ENOMEM. */
int screen_findings(const struct screen *screen);

/* Prints ranges, tasks, imports. 0 or -ENOMEM. */
int screen_tables(const struct screen *screen);

/* Print the places where threads waited, and where tasks of asyncio were suspended. */
void screen_waits(const struct screen *screen);
void screen_awaits(const struct screen *screen);

#endif
