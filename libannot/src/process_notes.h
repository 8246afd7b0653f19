/* SPDX-License-Identifier: MIT */
/* Notes of libraries inside of the process about it (annot_process_note), for each session that it
 * joins: lines in the session's file (docs/wire-format.md, "Lines").
 *
 * Threads: any. Adding is not async-signal-safe; writing is. */
#ifndef ANNOT_PROCESS_NOTES_H
#define ANNOT_PROCESS_NOTES_H

#include <annot/observers.h>
#include <stdint.h>

#define PROCESS_NOTES_UNKEPT UINT32_MAX

/* Write the line of one note, or of all stored ones, into a session's file. */
void process_notes_emit_one(int directory_fd, uint64_t session_id, const char *text);
void process_notes_emit(int directory_fd, uint64_t session_id);

/* Copies a text as a field of a line, and reserves an index for it. PROCESS_NOTES_UNKEPT: it is
 * stored already, or all are taken. */
uint32_t process_notes_take(char clean[ANNOT_PROCESS_NOTE_MAX + 1], const char *text);
/* Stores it for sessions that the process joins from here on. */
void process_notes_keep(uint32_t index, const char clean[ANNOT_PROCESS_NOTE_MAX + 1]);

#endif
