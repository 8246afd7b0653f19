/* SPDX-License-Identifier: MIT */
/* Session files, as a program reads them.
 *
 * Threads: session_setup runs once, in the constructor; the rest from any thread.
 * Everything is async-signal-safe; descriptors live only inside a call. Untrusted bytes are copied
 * by pread, bounded and checked. */
#ifndef ANNOT_SESSION_H
#define ANNOT_SESSION_H

#include "directory.h"

#include <annot/observers.h>
#include <stdint.h>

/* The fields of a session file that programs use. */
struct session {
    uint64_t id;
    uint64_t category_mask[ANNOT_LEVELS];
    uint64_t late_ticks;
    uint32_t block_count, thread_count, strings_size, policy;
    uint32_t is_late; /* this process ran before: ranges may be open without a recorded begin */
    /* Set by filter_join, not read from the file: */
    uint32_t is_filtered, filter_sequence;
};

/* The rules of a session's filter: annot_filter.h. */
struct session_filter {
    uint32_t sequence, size;
    char text[ANNOT_FILTER_MAX];
};

/* Reads the environment. Not called in a set-uid program. */
void session_setup(void);

/* Waits, a fifth of a second at most, for the collector of a session that the environment names and
 * that began in another directory: it opens the gate of this one when it finds this process.
 * Without a directory (`refusal`) it waits briefly, so that the collector sees the reason. */
void session_await(const struct refusal *refusal);

/* Finds the session that this process belongs to. Returns 1, 0 (none) or negative errno. */
int session_find(int directory_fd, struct session *ret_session, struct refusal *ret_refusal);

/* Reads the current filter. 0 or negative errno: -EAGAIN if it keeps changing. */
int session_read_filter(int directory_fd, uint64_t id, struct session_filter *ret_filter);

/* Reads the only range that the session records inside of: wire-format.md, "Capture ranges". "":
 * all. */
void session_read_capture(int directory_fd, uint64_t id, char ret_text[ANNOT_CAPTURE_MAX + 1]);

/* Returns the session that it most likely belongs to, without reading files; 0: unknown. */
uint64_t session_guess(void);

/* Notes of libraries inside of the process about it (annot_process_note), for each session that it
 * joins: lines in the session's file (docs/wire-format.md, "Lines").
 *
 * Threads: any. Adding is not async-signal-safe; writing is. */

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
