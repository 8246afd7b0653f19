/* SPDX-License-Identifier: MIT */
/* Scopes and domains of times that programs register, and conversion of their times to annot's.
 * Threads: any. */
#ifndef ANNOT_NVTX_TIMES_H
#define ANNOT_NVTX_TIMES_H

#include "nvtx_extension.h"

#include <annot/annot.h>
#include <stdint.h>

/* Returns the scope's name; "": no particular scope. */
const char *nvtx_scope_name(annot_domain domain, uint64_t scope);

/* Return the id, or 0: invalid. `theirs`: the next tool's id, or 0. */
uint64_t nvtx_scope_register(annot_domain domain, const struct nvtx_scope_given *given,
                             uint64_t theirs);
uint64_t nvtx_time_register(annot_domain domain, const struct nvtx_time_given *given,
                            uint64_t theirs);

/* The program's clock of a domain of times; pairs of equal times, or a factor, of two domains. */
void nvtx_time_source(annot_domain domain, uint64_t id, int64_t (*now)(void *), void *data);
void nvtx_time_sync(annot_domain domain, const uint64_t ids[2], const struct nvtx_sync_given *at);
void nvtx_time_factor(annot_domain domain, const uint64_t ids[2], double slope,
                      const struct nvtx_sync_given *at);

/* A clock of spans, and the conversion to its times. */
struct nvtx_clock {
    uint32_t clock; /* annot_span_clock */
    int64_t offset; /* added first */
    double scale;   /* applied after that; 0: 1 */
};

/* Returns the clock of a domain of times, or of a scope's; adds an anchor if possible. Returns 0 if
 * its relation to a known clock is unknown. */
int nvtx_time_clock(annot_domain domain, uint64_t id, uint64_t scope, struct nvtx_clock *ret);
uint64_t nvtx_time_of(const struct nvtx_clock *clock, int64_t ticks);

#endif
