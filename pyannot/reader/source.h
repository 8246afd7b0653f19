/* SPDX-License-Identifier: MIT */
/* The events of a recording, in order of time, paired: what `annot cat` tells, without its text.
 *
 * The file is foreign; the store's reader checks it. Nothing here knows Python, so that it runs
 * while other threads have the interpreter. Memory is bounded as that of event_order.h and slices.h
 * is. Thread-safety: one thread per object. */
#ifndef PYANNOT_READER_SOURCE_H
#define PYANNOT_READER_SOURCE_H

#include "slices.h"
#include "store.h"

struct source;

/* Sees each event before it is paired: 0 or -errno. */
struct source_watch {
    int (*event)(void *context, const struct event *event);
    void *context;
};

/* `reader` is at its first event and outlives the source, as `watch` does (NULL: nobody watches);
 * nothing else reads its events. Pushes have the number that annot_current() told as their id, 0 if
 * none is known. NULL: out of memory. destroy accepts NULL. */
struct source *source_create(struct store_reader *reader, const struct slice_sink *sink,
                             const struct source_watch *watch);
void source_destroy(struct source *source);

/* Passes one event on, or at the end what was left open. 1; 0: there was no more; -errno, also of
 * the sink. */
int source_step(struct source *source);

#endif
