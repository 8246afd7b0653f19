/* SPDX-License-Identifier: MIT */
/* Between intake and store: closes chunks, and returns blocks to their programs.
 *
 * Draining implies writing. Data that the store writes in its thread (store_writer_beside) has a
 * ticket; blocks with records in it are returned when that ticket is written. While eight chunks
 * wait for the disk, draining pauses: events stay in shared memory, and programs count those that
 * find no room there. Without a file, data passed to the sink is released at the next look.
 * Thread-safety: as the collector. */
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

/* Creates the recording. 0 or -errno, with the reason in *error. */
int writing_create(const struct collector_options *options, struct trace *trace,
                   struct store_writer **ret_writer, struct collector_error *error);

/* Describes the failure; returns `code`, which is negative errno. */
int collector_fail(struct collector_error *error, int code, const char *what, const char *hint);

/* The owner sets the first two. */
struct writing {
    struct store_writer *writer; /* NULL: without a file */
    struct intake *intake;
    uint64_t freed;  /* the last ticket with returned blocks */
    uint64_t sealed; /* the last ticket of all */
    int64_t first_pending_ns;
    struct store_progress progress; /* at the last look */
    bool has_room;                  /* likewise */
    bool patient;                   /* waits for room, because the session ends */
};

/* Call at the start of a step: returns blocks that are in the file. 0, or the file's first
 * error. */
int writing_look(struct writing *writing);

/* Writes a batch of the intake: spans of queues go to a stream that is declared with the first of
 * them. 0 or -errno. */
int writing_add(struct store_writer *writer, struct trace *trace, const struct event_batch *batch);

/* Writes sums that programs counted; the context is the store's writer. */
int writing_add_samples(void *writer, const struct sample *samples, size_t count);

/* As writing_add without a file: spans go with the threads that caused them. */
int sink_add(const struct collector_sink *sink, const struct event_batch *batch);

/* intake_options.room, with `writing`. */
bool writing_has_room(struct writing *writing);

/* True if the disk keeps up: no data has waited for it for long, so losses of programs have another
 * cause. */
bool writing_keeps_up(const struct writing *writing, int64_t now_ns);

/* Call at the end of a step: closes the current chunks if much data waits, or has for long, or
 * after reading blocks that are being filled. 0 or -errno. */
int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial);

/* Removes a recording; keeps a non-file such as a device. */
void writing_remove(const char *path);

/* ---- A recording that cannot be written any more (a full disk) ----
 *
 * Programs go on recording into shared memory, and count events that find no room there; "annot
 * recover" collects them later. The memory for new processes is bounded: at the limit the session
 * is closed to new processes, and the recording notes since when. */

enum { HOLD_PAUSE_MS = 1000, HOLD_POOLS = 4 };

/* The owner sets the first two. */
struct hold {
    const struct directory *directory;
    const struct session_file *session;
    uint64_t bytes_max;
    bool shut;
};

/* Starts the hold: the shared memory may grow by HOLD_POOLS times `pool_bytes`. */
void hold_begin(struct hold *hold, int64_t pool_bytes);

/* Call periodically. */
void hold_step(struct hold *hold);

#endif
