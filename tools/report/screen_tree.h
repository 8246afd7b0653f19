/* SPDX-License-Identifier: MIT */
/* Prints the tree of calls, as lines with branches. Main thread only. */
#ifndef ANNOT_SCREEN_TREE_H
#define ANNOT_SCREEN_TREE_H

#include "report_view.h"
#include "screen.h"

struct report;
struct report_view;
struct screen;

/* Prints the tree of calls, unless the own functions show the same. 0 or -ENOMEM. */
int screen_tree(const struct screen *screen);

/* Prints the tree of own calls, down to a hundredth of the time. 0 or -ENOMEM. */
int report_tree(const struct report *report, const struct report_view *view);

#endif
