/* SPDX-License-Identifier: MIT */
/* Open ranges, as a thread's live stack names them, into range paths of the trace.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_RANGE_PATHS_H
#define ANNOT_RANGE_PATHS_H

#include "sampler.h"
#include "sampler_abi.h"
#include "wide_map.h"

struct range_paths {
    const struct sampler_options *options; /* range_name, trace */
    struct wide_map names; /* image, id of a name or number of a domain, which -> string */
};

struct range_request {
    int32_t pid;      /* whose names they are */
    uint64_t image;   /* of that process */
    uint64_t time_ns; /* when they were open */
    uint32_t count;
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* innermost first */
};

void range_paths_fini(struct range_paths *paths);

/* The path's ordinal; -EAGAIN: a name is not known yet; -ENOENT: never will be; -ENOMEM. */
int64_t range_paths_find(struct range_paths *paths, const struct range_request *request);

#endif
