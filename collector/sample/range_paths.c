/* SPDX-License-Identifier: MIT */
/* Asks for a name once per image; paths are found again by their names, whole, in the trace's
 * table. Thread-safety: one thread per object. */
#include "range_paths.h"

#include "stacks.h"

#include <errno.h>

enum { KNOWN_MAX = 1 << 17 };

void range_paths_fini(struct range_paths *paths)
{
    wide_map_free(&paths->names);
}

static int64_t find_name(struct range_paths *paths, const struct range_request *request,
                         uint32_t name)
{
    const struct wide_key *key = WIDE_KEY(request->image, name);
    const uint64_t *found = wide_map_find(&paths->names, key);
    if (found)
        return (int64_t)*found;
    const struct sampler_options *options = paths->options;
    if (!options->range_name)
        return -ENOENT;
    int64_t string = options->range_name(options->context, request->pid, request->time_ns, name);
    if (string < 0)
        return string;
    if (paths->names.count > KNOWN_MAX)
        wide_map_free(&paths->names);
    return wide_map_put(&paths->names, key, (uint64_t)string) != 0 ? -ENOMEM : string;
}

static uint32_t kind_of(const struct sampler_range *range)
{
    if (range->mark == SAMPLER_MARK_OUTERMOST)
        return RANGE_PATH_TRACK;
    return range->mark == SAMPLER_MARK_INNER ? RANGE_PATH_INSIDE : RANGE_PATH_THREAD;
}

int64_t range_paths_find(struct range_paths *paths, const struct range_request *request)
{
    int64_t path = 0;
    for (uint32_t i = request->count; i > 0 && path >= 0; i--) {
        const struct sampler_range *range = &request->ranges[i - 1];
        int64_t name = find_name(paths, request, range->name);
        struct range_path node = {(uint32_t)path, (uint32_t)name, kind_of(range)};
        path = name < 0 ? name : stacks_path_of_kind(trace_stacks(paths->options->trace), &node);
    }
    return path;
}
