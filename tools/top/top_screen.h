/* SPDX-License-Identifier: MIT */
/* The terminal of `annot top`. Main thread only. */
#ifndef ANNOT_TOP_SCREEN_H
#define ANNOT_TOP_SCREEN_H

#include "top.h"

#include <stdint.h>

/* Runs until the user quits, a signal, the end of what is looked at, or `until_ns` (0: never). The
 * exit status. */
int top_screen_run(struct top_session *session, const struct top_view *view, int64_t until_ns);

#endif
