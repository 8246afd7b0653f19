/* SPDX-License-Identifier: MIT */
/* Between intake and store: when chunks are closed, and when blocks go back to their programs.
 *
 * Drained means written. What the store writes beside (store_writer_beside) has a ticket; blocks
 * whose records it has go back when that ticket is written. While eight chunks wait for the disk,
 * nothing is drained: what programs emit stays in shared memory, and they count what finds no room
 * there. Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_WRITING_H
#define ANNOT_COLLECTOR_WRITING_H

#include "intake.h"
#include "store.h"

/* The first two are the owner's. */
struct writing {
    struct store_writer *writer;
    struct intake *intake;
    uint64_t freed; /* the last ticket whose blocks went back */
    int64_t first_pending_ns;
    struct store_progress progress; /* at the last look */
    bool has_room;                  /* then, too */
    bool patient;                   /* room is waited for: the session ends */
};

/* At the beginning of a step: blocks that are in the file go back. 0, or the file's first error. */
int writing_look(struct writing *writing);

/* intake_options.room, with `writing`. */
bool writing_has_room(struct writing *writing);

/* Whether the programs' losses are not the disk's: nothing has waited for it for long. */
bool writing_keeps_up(const struct writing *writing, int64_t now_ns);

/* At the end of a step: closes the present chunks if much waits, or has for long, or after a look
 * into blocks that are being filled. 0 or -errno. */
int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial);

#endif
