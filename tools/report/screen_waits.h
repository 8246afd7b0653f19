/* SPDX-License-Identifier: MIT */
/* The places where threads waited, and where tasks of asyncio were suspended, on a report's first
 * screen. Main thread only. */
#ifndef ANNOT_SCREEN_WAITS_H
#define ANNOT_SCREEN_WAITS_H

#include "screen.h"

struct screen;

void screen_waits(const struct screen *screen);
void screen_awaits(const struct screen *screen);

#endif
