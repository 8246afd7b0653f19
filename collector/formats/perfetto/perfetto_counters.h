/* SPDX-License-Identifier: MIT */
/* Tracks of counters: one for each process, domain and name, with its unit; the series of a group
 * below a track with the group's name. The driver's counters of a GPU are below the track of that
 * GPU, in each program that has one; else below a separate process. */
#ifndef ANNOT_PERFETTO_COUNTERS_H
#define ANNOT_PERFETTO_COUNTERS_H

#include "counter_groups.h"
#include "event.h"
#include "export_ids.h"
#include "hash_map.h"
#include "strtab.h"
#include "vec.h"

#include <stdint.h>

struct perfetto_groups;
struct perfetto_tracks;

struct perfetto_counter {
    uint64_t uuid;
    uint32_t domain;
    uint32_t next; /* counter + 1 with the same process and name */
    uint32_t more; /* counter + 1 of the same counter on another track */
};

struct perfetto_counters {
    struct perfetto_tracks *tracks;
    struct perfetto_groups *groups_of_tracks; /* set by the caller, like the next two */
    int (*put)(void *context, const struct event *event, uint64_t uuid);
    void *context;
    struct counter_groups groups;
    struct map64 by_key;          /* process and name: index + 1 of the first of a chain */
    struct wide_map group_by_key; /* process and name: uuid */
    struct strtab group_names;
    struct export_text label; /* of the one being described */
    VEC(struct perfetto_counter) counters;
};

/* Each value goes to `put` with the number of its track, at once or with the next ones. 0 or
 * -ENOMEM; then fini all the same. */
int perfetto_counters_init(struct perfetto_counters *counters, struct perfetto_tracks *tracks);
int perfetto_counters_add(struct perfetto_counters *counters, const struct event *event);
int perfetto_counters_finish(struct perfetto_counters *counters);
void perfetto_counters_fini(struct perfetto_counters *counters);

#endif
