/* SPDX-License-Identifier: MIT */
/* Asks for a name once per image. Thread-safety: one thread per object. */
#include "range_paths.h"

#include "hash.h"
#include "stacks.h"

#include <errno.h>

enum { KNOWN_MAX = 1 << 17 };

void range_paths_fini(struct range_paths *paths)
{
    map64_free(&paths->names);
    map64_free(&paths->paths);
}

static int64_t find_name(struct range_paths *paths, const struct range_request *request,
                         uint32_t name)
{
    uint64_t key = hash_u64(request->image << 32 ^ name) | 1;
    const uint64_t *found = map64_find(&paths->names, key);
    if (found)
        return (int64_t)*found - 1;
    const struct sampler_options *options = paths->options;
    if (!options->range_name)
        return -ENOENT;
    int64_t string = options->range_name(options->context, request->pid, request->time_ns, name);
    if (string < 0)
        return string;
    if (paths->names.count > KNOWN_MAX)
        map64_free(&paths->names);
    return map64_put(&paths->names, key, (uint64_t)string + 1) != 0 ? -ENOMEM : string;
}

static uint32_t kind_of(const struct sampler_range *range)
{
    if (range->mark == SAMPLER_MARK_OUTERMOST)
        return RANGE_PATH_TRACK;
    return range->mark == SAMPLER_MARK_INNER ? RANGE_PATH_INSIDE : RANGE_PATH_THREAD;
}

static uint64_t request_key(const struct range_request *request)
{
    uint64_t key = request->image;
    for (uint32_t i = 0; i < request->count; i++)
        key = hash_u64(key + request->ranges[i].name + 1 +
                       ((uint64_t)kind_of(&request->ranges[i]) << 32));
    return key | 1;
}

int64_t range_paths_find(struct range_paths *paths, const struct range_request *request)
{
    uint64_t key = request_key(request);
    const uint64_t *found = map64_find(&paths->paths, key);
    if (found)
        return (int64_t)*found - 1;
    int64_t path = 0;
    for (uint32_t i = request->count; i > 0 && path >= 0; i--) {
        const struct sampler_range *range = &request->ranges[i - 1];
        int64_t name = find_name(paths, request, range->name);
        struct range_path node = {(uint32_t)path, (uint32_t)name, kind_of(range)};
        path = name < 0 ? name : stacks_path_of_kind(trace_stacks(paths->options->trace), &node);
    }
    if (path < 0)
        return path;
    if (paths->paths.count > KNOWN_MAX)
        map64_free(&paths->paths);
    return map64_put(&paths->paths, key, (uint64_t)path + 1) != 0 ? -ENOMEM : path;
}
