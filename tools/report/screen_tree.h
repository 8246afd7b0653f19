/* SPDX-License-Identifier: MIT */
/* The tree of calls, as lines with branches. Main thread only. */
#ifndef ANNOT_SCREEN_TREE_H
#define ANNOT_SCREEN_TREE_H

#include "report_view.h"
#include "screen.h"

struct report;
struct report_view;
struct screen;

/* The tree of calls, if it says more than the own functions do. 0 or -ENOMEM. */
int screen_tree(const struct screen *screen);

/* The tree of own calls, as far as it has a hundredth of the time. 0 or -ENOMEM. */
int report_tree(const struct report *report, const struct report_view *view);

#endif
