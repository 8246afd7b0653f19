/* SPDX-License-Identifier: MIT */
/* See collector_parts.h. */
#include "collector_parts.h"

enum { CHUNK_BYTES = 1 << 20 }; /* closed when this much waits */

#define SEAL_NS INT64_C(500000000) /* the longest that a drained block waits to be sealed */
#define LAG_NS  INT64_C(20000000)  /* what waits longer for the disk is late */

int writing_look(struct writing *writing)
{
    struct store_progress *progress = &writing->progress;
    store_writer_look(writing->writer, progress);
    if (progress->written != writing->freed)
        intake_free(writing->intake, progress->written);
    writing->freed = progress->written;
    writing->has_room = store_writer_has_room(writing->writer);
    return progress->error;
}

bool writing_has_room(struct writing *writing)
{
    if (writing->patient)
        store_writer_await_room(writing->writer);
    return writing->patient || store_writer_has_room(writing->writer);
}

bool writing_keeps_up(const struct writing *writing, int64_t now_ns)
{
    int64_t since_ns = writing->progress.waiting_since_ns;
    return since_ns == 0 || now_ns - since_ns < LAG_NS;
}

int writing_seal_if_due(struct writing *writing, int64_t now_ns, bool partial)
{
    uint64_t ticket;
    size_t pending = store_writer_pending_bytes(writing->writer);
    if (writing->first_pending_ns == 0)
        writing->first_pending_ns = now_ns;
    bool old = partial || now_ns - writing->first_pending_ns >= SEAL_NS;
    bool idle = writing->progress.waiting_since_ns == 0;
    bool much = pending >= CHUNK_BYTES || intake_is_pressed(writing->intake);
    /* While others wait, more small chunks would only take room. */
    if (!(much && store_writer_has_room(writing->writer)) && !(old && idle))
        return 0;
    writing->first_pending_ns = 0;
    int error = store_writer_seal(writing->writer, &ticket);
    return error != 0 ? error : intake_seal(writing->intake, ticket);
}
