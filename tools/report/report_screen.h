/* SPDX-License-Identifier: MIT */
/* The first screen of `annot report`. Main thread only. */
#ifndef ANNOT_REPORT_SCREEN_H
#define ANNOT_REPORT_SCREEN_H

#include "report_view.h"
#include "screen.h"

struct report_view;
struct report;
struct screen;

/* The state for printing to standard output. */
struct screen screen_init(const struct report *report, const struct report_view *view);

/* Prints the summary, on one screen: 0 or -ENOMEM, or the exit status after a printed message. */
int report_screen(const struct report *report, const struct report_view *view);

#endif
