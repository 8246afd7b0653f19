/* SPDX-License-Identifier: MIT */
/* The session file: how a collector says that it is there, and how others know that it is not.
 *
 * Its collector holds an exclusive lock of it for life; a session whose lock can be had is stale.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_SESSION_FILE_H
#define ANNOT_INTAKE_SESSION_FILE_H

#include "annot_wire.h"
#include "intake_directory.h"

enum { SESSION_NAME_SIZE = 32 };

struct session_file {
    int fd; /* -1: none; else locked */
    char name[SESSION_NAME_SIZE];
    uint64_t id;
};

/* A nonzero random number. */
uint64_t session_id_random(void);

/* Whether it is the name of a session file. */
bool session_name_parse(const char *name, uint64_t *ret_id);

/* Writes and locks the file of `session` (its id names it). 0 or -errno. */
int session_file_create(const struct directory *directory, const struct annot_session *session,
                        struct session_file *ret_file);

/* Takes over a session if its collector is gone. 0; -EWOULDBLOCK: it lives; -EBADMSG: not a
 * session file (fd is held, so that it can be removed); -EINVAL: no regular file;
 * -EPROTONOSUPPORT; else -errno. */
int session_file_take(const struct directory *directory, const char *name,
                      struct session_file *ret_file, struct annot_session *ret_session);

/* Reads somebody's session. 0, -EAGAIN: not complete yet, or -errno. */
int session_file_peek(const struct directory *directory, const char *name,
                      struct annot_session *ret_session);

/* Whether a session can be joined, and what its file says. */
bool session_file_alive(const struct directory *directory, uint64_t id,
                        struct annot_session *ret_session);

/* A recording of a session that begins inside the live session `parent_id` is named to that one: a
 * line at the end of its file, however short the inner session is. It is no more than help. */
void session_file_add_nested(const struct directory *directory, uint64_t parent_id,
                             const char *recording_path);

/* Nobody joins any more; until the file is removed, the segments are still this session's.
 * 0 or -errno. */
int session_file_end(const struct session_file *file);

/* From `now_ns` on its programs may do what no segment holds; an earlier time stays. 0 or -errno.
 */
int session_file_unwatched(const struct session_file *file, int64_t now_ns);

/* Which slots of refused processes may be for it: see struct annot_session. */
struct session_span {
    uint64_t begin_generation, end_generation, unnamed_before;
};

/* It begins: `span`; and what is there now. 0 or -errno. */
int session_file_begin(const struct session_file *file, const struct session_span *span);
int session_file_span(const struct session_file *file, struct session_span *ret_span);

/* The generation is about to change: sessions that are over, or without a collector, whose programs
 * leave them then, are told so. The caller holds the lock of the wake page. */
void session_note_leaving(const struct directory *directory, uint64_t generation);

/* Removes the file and gives up the lock. */
void session_file_remove(const struct directory *directory, struct session_file *file);

/* Gives up the lock only: the session is one to recover. */
void session_file_leave(struct session_file *file);

/* Whether the session of that name can be joined. */
bool session_file_is_live(const struct directory *directory, const char *name);

/* How many sessions can be joined, or -errno. */
int session_count_live(const struct directory *directory);

#endif
