/* SPDX-License-Identifier: MIT */
/* Functions on the first screen: the user's own by time, counted calls, and the tree of calls. Main
 * thread only. */
#ifndef ANNOT_SCREEN_FUNCTIONS_H
#define ANNOT_SCREEN_FUNCTIONS_H

#include "screen_text.h"

#include <stdint.h>

void screen_own(const struct screen *screen);

/* The base of the shares in these tables and the tree: the wall time, or the time of threads if
 * that is larger because one waited for another. */
uint64_t screen_whole(const struct screen *screen);

/* The maximum of a row: the wall time, if one thread did the work. A sum of samples may exceed it
 * by the time of one sample. */
uint64_t screen_limit(const struct screen *screen);

/* Prints counted calls. 0 or -ENOMEM. */
int screen_calls(const struct screen *screen);

/* Prints the tree of calls, unless the own functions show the same. 0 or -ENOMEM. */
int screen_tree(const struct screen *screen);

/* Prints the tree of own calls, down to a hundredth of the time. 0 or -ENOMEM. */
int report_tree(const struct report *report, const struct report_view *view);

#endif
