/* SPDX-License-Identifier: MIT */
/* Extension PAYLOAD: its slots, events with payloads of schemas, and deferred events.
 *
 * Threads, errno, cost outside of recordings: as nvtx_calls.h. */
#ifndef ANNOT_NVTX_PAYLOAD_H
#define ANNOT_NVTX_PAYLOAD_H

#include "nvtx_extension.h"

#include <annot/annot.h>

/* True if attributes carry payloads of schemas. */
static inline int nvtx_has_blobs(const nvtxEventAttributes_t *attributes)
{
    return attributes && attributes->size >= sizeof(*attributes) &&
           attributes->payloadType == NVTX_PAYLOAD_IS_BLOBS;
}

/* Events with such attributes, during a recording. */
int nvtx_push_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);
annot_range nvtx_start_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);
void nvtx_mark_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);

#endif
