/* SPDX-License-Identifier: MIT */
/* The last word of a process.
 *
 * Threads: any, also signal handlers, whatever they interrupt; the first call counts. */
#ifndef ANNOT_NOTE_H
#define ANNOT_NOTE_H

void note_write(const char *text);

#endif
