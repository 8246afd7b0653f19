/* SPDX-License-Identifier: MIT */
/* Maps the ordinals and times of one recording to those of another, driven by the tables of fields
 * (definitions.c). Thread-safety: none. */
#ifndef ANNOT_REMAP_H
#define ANNOT_REMAP_H

#include "event.h"
#include "format.h"
#include "sample.h"
#include "store.h"
#include "volumes.h"

#include <stdint.h>

struct trace;

/* New ordinals by old ones. `{0}`: empty. */
struct remap {
    uint32_t *maps[STORE_DEFINE_COUNT];
    uint32_t counts[STORE_DEFINE_COUNT];
    struct store_time_map time;
};

/* Adds the contents of `from` to `to`: equal contents become one entry, except processes, threads,
 * lanes, clocks and streams. A missing host of `from` is added. 0, -ENOMEM, -ENOSPC. */
int remap_trace(struct remap *remap, struct trace *to, struct trace *from);
void remap_free(struct remap *remap);

/* To the new clock, and back. The limits of int64_t are kept. */
int64_t remap_time(const struct remap *remap, int64_t time_ns);
int64_t remap_time_back(const struct remap *remap, int64_t time_ns);

/* In place. */
void remap_event(const struct remap *remap, struct event *event);
void remap_arg(const struct remap *remap, struct arg *arg);
void remap_sample(const struct remap *remap, struct sample *sample);
uint32_t remap_ordinal(const struct remap *remap, unsigned number, uint32_t ordinal);

#endif
