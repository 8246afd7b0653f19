/* SPDX-License-Identifier: MIT */
/* Events with payloads of schemas, and what the files of extension PAYLOAD share.
 *
 * Threads, errno, cost while nobody records: as nvtx_calls.h. */
#ifndef ANNOT_NVTX_PAYLOAD_H
#define ANNOT_NVTX_PAYLOAD_H

#include "nvtx_decode.h"

/* Whether attributes carry payloads of schemas. */
static inline int nvtx_has_blobs(const nvtxEventAttributes_t *attributes)
{
    return attributes && attributes->size >= sizeof(*attributes) &&
           attributes->payloadType == NVTX_PAYLOAD_IS_BLOBS;
}

/* Of such attributes, while somebody records. */
int nvtx_push_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);
annot_range nvtx_start_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);
void nvtx_mark_blobs(annot_domain domain, const nvtxEventAttributes_t *attributes);

/* Events whose attributes are payloads alone. */
void nvtx_mark_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count);
int nvtx_push_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count);
int nvtx_pop_payload(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count);
nvtxRangeId_t nvtx_start_payload(annot_domain domain, const struct nvtx_blob_said *blobs,
                                 size_t count);
void nvtx_end_payload(annot_domain domain, nvtxRangeId_t range, const struct nvtx_blob_said *blobs,
                      size_t count);

/* ---- Scopes ---------------------------------------------------------------------------------- */

/* What a scope is called; "": none in particular. */
const char *nvtx_scope_name(annot_domain domain, uint64_t scope);

uint64_t nvtx_scope_register(annot_domain domain, const struct nvtx_scope_said *said,
                             uint64_t theirs);

/* ---- Times ----------------------------------------------------------------------------------- */

uint64_t nvtx_time_register(annot_domain domain, const struct nvtx_time_said *said,
                            uint64_t theirs);
void nvtx_time_source(annot_domain domain, uint64_t id, int64_t (*now)(void *), void *data);
void nvtx_time_sync(annot_domain domain, const uint64_t ids[2], const struct nvtx_sync_said *at);
void nvtx_time_factor(annot_domain domain, const uint64_t ids[2], double slope,
                      const struct nvtx_sync_said *at);

/* A clock of spans, and times as it has them. */
struct nvtx_clock {
    uint32_t clock; /* annot_span_clock */
    int64_t offset; /* to be added */
    double scale;   /* after that; 0: 1 */
};

/* Of a domain of times, or of the one that belongs to a scope; gives an anchor, where one can be
 * had. Returns 0: nobody said how such times relate to any that is known. */
int nvtx_time_clock(annot_domain domain, uint64_t id, uint64_t scope, struct nvtx_clock *ret);
uint64_t nvtx_time_of(const struct nvtx_clock *clock, int64_t ticks);

/* ---- Deferred events ------------------------------------------------------------------------- */

void nvtx_submit(annot_domain domain, const struct nvtx_blob_said *blobs, size_t count);
void nvtx_submit_batch(annot_domain domain, const struct nvtx_batch_said *batch);

/* The timeline of deferred events of a scope. */
uint32_t nvtx_queue_of(annot_domain domain, uint64_t scope);

#endif
