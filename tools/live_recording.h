/* SPDX-License-Identifier: MIT */
/* Which recording is meant by who follows one that is being made: by its file, by the number of its
 * session (ANNOT_SESSION), or the only one there is. Main thread only. */
#ifndef ANNOT_LIVE_RECORDING_H
#define ANNOT_LIVE_RECORDING_H

#include <limits.h>
#include <stdbool.h>

struct cmd_call;

/* Its path, into `path`: the operand, or the file of the session that it is the number of; without
 * an operand that of the only session. False: the message is out. */
bool live_recording_choose(const struct cmd_call *call, char path[PATH_MAX]);

/* Does a collector write it at present? */
bool live_recording_is(const char *path);

#endif
