/* SPDX-License-Identifier: MIT */
/* The terminal of `annot top`. Main thread only. */
#ifndef ANNOT_TOP_SCREEN_H
#define ANNOT_TOP_SCREEN_H

#include "top.h"

#include <stdint.h>

/* Runs until the user quits, a signal arrives, the observed programs end, or `until_ns` passes (0:
 * never). Returns the exit status. */
int top_screen_run(struct top_session *session, const struct top_view *view, int64_t until_ns);

#endif
