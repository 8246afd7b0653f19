/* SPDX-License-Identifier: MIT */
/* The session file: announces a collector, and lets others detect that it has ended.
 *
 * The collector holds an exclusive lock of it for life; a session without a held lock is stale.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_SESSION_FILE_H
#define ANNOT_INTAKE_SESSION_FILE_H

#include "annot_wire.h"
#include "intake_directory.h"

enum { SESSION_NAME_SIZE = 32 };

struct session_file {
    int fd; /* locked; -1: no file */
    char name[SESSION_NAME_SIZE];
    uint64_t id;
};

/* A nonzero random number. */
uint64_t session_id_random(void);

/* True if it is the name of a session file. */
bool session_name_parse(const char *name, uint64_t *ret_id);

/* Writes and locks the file of `session` (its id names it). 0 or -errno. */
int session_file_create(const struct directory *directory, const struct annot_session *session,
                        struct session_file *ret_file);

/* Takes over a session whose collector has ended. 0; -EWOULDBLOCK: it lives; -EBADMSG: not a
 * session file (fd is held, so that it can be removed); -EINVAL: no regular file;
 * -EPROTONOSUPPORT; else -errno. */
int session_file_take(const struct directory *directory, const char *name,
                      struct session_file *ret_file, struct annot_session *ret_session);

/* Reads the session of another collector. 0, -EAGAIN: not complete yet, or -errno. */
int session_file_peek(const struct directory *directory, const char *name,
                      struct annot_session *ret_session);

/* True if a session can be joined; reads its file. */
bool session_file_alive(const struct directory *directory, uint64_t id,
                        struct annot_session *ret_session);

/* Appends the name of an inner session's recording as a line to the file of the live session
 * `parent_id`, however short the inner session is. Best effort. */
void session_file_add_nested(const struct directory *directory, uint64_t parent_id,
                             const char *recording_path);

/* Closes the session to new processes; until the file is removed, the segments are still this
 * session's. 0 or -errno. */
int session_file_end(const struct session_file *file);

/* Records `now_ns` as the time from which its programs may act unrecorded; keeps an earlier time. 0
 * or -errno. */
int session_file_unwatched(const struct session_file *file, int64_t now_ns);

/* The slots of refused processes that may belong to a session: see struct annot_session. */
struct session_span {
    uint64_t begin_generation, end_generation, unnamed_before;
};

/* Stores `span` at the session's start; session_file_span reads the current one. 0 or -errno. */
int session_file_begin(const struct session_file *file, const struct session_span *span);
int session_file_span(const struct session_file *file, struct session_span *ret_span);

/* Marks sessions that are over or without a collector before the generation changes: their programs
 * leave them then. The caller holds the lock of the wake page. */
void session_note_leaving(const struct directory *directory, uint64_t generation);

/* Removes the file and releases the lock. */
void session_file_remove(const struct directory *directory, struct session_file *file);

/* Releases only the lock: the session can be recovered. */
void session_file_leave(struct session_file *file);

/* True if the session of that name can be joined. */
bool session_file_is_live(const struct directory *directory, const char *name);

/* The number of sessions that can be joined, or -errno. */
int session_count_live(const struct directory *directory);

#endif
