/* SPDX-License-Identifier: MIT */
/* Session files, as a program reads them.
 *
 * Threads: session_setup runs once, in the constructor; the rest from any thread.
 * Everything is async-signal-safe; descriptors live only inside a call. Untrusted bytes are copied
 * by pread, bounded and checked. */
#ifndef ANNOT_SESSION_H
#define ANNOT_SESSION_H

#include "directory.h"

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

/* Appends a line to the session's file, unless the file is too large: wire-format.md, "Lines". */
void session_add_line(int directory_fd, uint64_t id, const char *line, uint32_t size);

/* Returns the session that it most likely belongs to, without reading files; 0: unknown. */
uint64_t session_guess(void);

#endif
