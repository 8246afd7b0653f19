/* SPDX-License-Identifier: MIT */
/* `annot attach --asked`: a program asked for the recording, and talks through two pipes.
 *
 * Standard output tells "recording SESSION" once events are recorded, and "complete" once the file
 * is; a line on standard input ends the recording. If the program goes away, that is no end: it or
 * its descendants may be what is recorded. Thread-safety: main thread only. */
#ifndef ANNOT_ATTACH_ASKER_H
#define ANNOT_ATTACH_ASKER_H

#include <poll.h>
#include <stdbool.h>

/* Before the first line is written: nobody may be left to read it. */
void attach_asker_begin(void);

/* Writes a line; `word` may be NULL. */
void attach_asker_tell(const char *what, const char *word);

/* Whether the end was asked for. `input`: as poll() left it; its fd becomes -1 when nobody can ask
 * any more. */
bool attach_asker_wants_end(struct pollfd *input);

#endif
