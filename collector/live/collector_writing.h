/* SPDX-License-Identifier: MIT */
/* Between intake and store: when chunks are closed, and when blocks go back to their programs.
 *
 * Drained means written. What the store writes beside (store_writer_beside) has a ticket; blocks
 * whose records it has go back when that ticket is written. While eight chunks wait for the disk,
 * nothing is drained: what programs emit stays in shared memory, and they count what finds no room
 * there. Without a file, what was handed to the sink is done with at the next look. Thread-safety:
 * as the collector. */
#ifndef ANNOT_COLLECTOR_WRITING_H
#define ANNOT_COLLECTOR_WRITING_H

#include "collector.h"
#include "event.h"
#include "intake_directory.h"
#include "sample.h"
#include "session_file.h"
#include "store.h"
#include "writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intake;
struct store_writer;
struct trace;

/* Creates the recording. 0 or -errno, said in *error. */
int writing_create(const struct collector_options *options, struct trace *trace,
                   struct store_writer **ret_writer, struct collector_error *error);

/* Says what failed; returns `code`, which is negative errno. */
int collector_fail(struct collector_error *error, int code, const char *what, const char *hint);

/* The first two are the owner's. */
struct writing {
    struct store_writer *writer; /* NULL: there is no file */
    struct intake *intake;
    uint64_t freed;  /* the last ticket whose blocks went back */
    uint64_t sealed; /* without a file: the last ticket of all */
    int64_t first_pending_ns;
    struct store_progress progress; /* at the last look */
    bool has_room;                  /* then, too */
    bool patient;                   /* room is waited for: the session ends */
};

/* At the beginning of a step: blocks that are in the file go back. 0, or the file's first error. */
int writing_look(struct writing *writing);

/* A batch of the intake: spans of queues go to a stream that is declared when the first ones come.
 * 0 or -errno. */
int writing_add(struct store_writer *writer, struct trace *trace, const struct event_batch *batch);

/* What programs counted; the context is the store's writer. */
int writing_add_samples(void *writer, const struct sample *samples, size_t count);

/* The same where there is no file: spans by the threads that caused them. */
int sink_add(const struct collector_sink *sink, const struct event_batch *batch);

/* intake_options.room, with `writing`. */
bool writing_has_room(struct writing *writing);

/* Whether the programs' losses are not the disk's: nothing has waited for it for long. */
bool writing_keeps_up(const struct writing *writing, int64_t now_ns);

/* At the end of a step: closes the present chunks if much waits, or has for long, or after a look
 * into blocks that are being filled. 0 or -errno. */
int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial);

/* Removes a recording; what is no file, such as a device, stays. */
void writing_remove(const char *path);

/* ---- A recording that cannot be written any more (a full disk) ----
 *
 * Programs go on to record into shared memory, of which they count what finds no room, and "annot
 * recover" fetches it. What new processes may take of it that way is bounded: then nobody joins any
 * more, and the recording will say from when on. */

enum { HOLD_PAUSE_MS = 1000, HOLD_POOLS = 4 };

/* The first two are the owner's. */
struct hold {
    const struct directory *directory;
    const struct session_file *session;
    uint64_t bytes_max;
    bool shut;
};

/* The shared memory may grow by HOLD_POOLS times `pool_bytes` from here on. */
void hold_begin(struct hold *hold, int64_t pool_bytes);

/* From time to time. */
void hold_step(struct hold *hold);

#endif
