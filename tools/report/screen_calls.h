/* SPDX-License-Identifier: MIT */
/* Counted calls on a report's first screen. Main thread only. */
#ifndef ANNOT_SCREEN_CALLS_H
#define ANNOT_SCREEN_CALLS_H

#include "screen.h"

struct screen;

/* 0 or -ENOMEM. */
int screen_calls(const struct screen *screen);

#endif
