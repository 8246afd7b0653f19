/* SPDX-License-Identifier: MIT */
/* Deferred events of extension PAYLOAD: events with explicit times, as spans of a queue.
 * Threads: any. */
#ifndef ANNOT_NVTX_DEFERRED_H
#define ANNOT_NVTX_DEFERRED_H

#include "nvtx_extension.h"

#include <annot/annot.h>
#include <stddef.h>
#include <stdint.h>

/* One event; a batch of events of one schema. */
void nvtx_submit(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count);
void nvtx_submit_batch(annot_domain domain, const struct nvtx_batch_said *batch);

/* Returns the queue of a scope's deferred events. */
uint32_t nvtx_queue_of(annot_domain domain, uint64_t scope);

#endif
