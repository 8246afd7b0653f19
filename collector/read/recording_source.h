/* SPDX-License-Identifier: MIT */
/* A recording as a pass reads it: from where the reader stands, or where the selection begins, to
 * its end. */
#ifndef ANNOT_READ_RECORDING_SOURCE_H
#define ANNOT_READ_RECORDING_SOURCE_H

#include "pass.h"
#include "store.h"

struct pass_source recording_pass_source(struct store_reader *reader);

/* ---- Samples with their paths ---------------------------------------------------------------- */

/* Samples with their paths of ranges, as a source that another pass puts in order of time: which
 * ranges were open is known lane by lane only, a moment later than samples are told. This needs the
 * events, too; a pass that wants both reads its own from store_reader_again. Thread-safety: one
 * thread per object. */

struct sample_feed;

/* What the arguments point to outlives the feed; nothing else reads from the source. NULL: out of
 * memory. destroy accepts NULL. */
struct sample_feed *sample_feed_create(const struct pass_source *source,
                                       const struct pass_selection *selection);
void sample_feed_destroy(struct sample_feed *feed);

/* next_samples of a pass_source; the context is the feed. */
int sample_feed_next(void *feed, struct sample_batch *ret_batch);

#endif
