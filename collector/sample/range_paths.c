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

typedef int64_t ask_fn(void *context, int32_t pid, uint64_t time_ns, uint32_t id);

/* The string of a name's id or of a domain's number. */
static int64_t find_string(struct range_paths *paths, const struct range_request *request,
                           uint32_t id, ask_fn *ask)
{
    const struct sampler_options *options = paths->options;
    const struct wide_key *key = WIDE_KEY(request->image, id, ask == options->range_domain);
    const uint64_t *found = wide_map_find(&paths->names, key);
    if (found)
        return (int64_t)*found;
    int64_t string = ask ? ask(options->context, request->pid, request->time_ns, id) : -ENOENT;
    if (string < 0)
        return string;
    if (paths->names.count > KNOWN_MAX)
        wide_map_free(&paths->names);
    return wide_map_put(&paths->names, key, (uint64_t)string) != 0 ? -ENOMEM : string;
}

static uint32_t kind_of(const struct sampler_range *range)
{
    static const uint32_t kinds[] = {[SAMPLER_MARK_OUTERMOST] = RANGE_PATH_TRACK,
                                     [SAMPLER_MARK_INNER] = RANGE_PATH_INSIDE,
                                     [SAMPLER_MARK_INHERITED] = RANGE_PATH_INHERITED};
    return kinds[range->mark & SAMPLER_MARK_KINDS]; /* 0: RANGE_PATH_THREAD */
}

/* 0: none, or not known. -EAGAIN, -ENOMEM. */
static int64_t find_domain(struct range_paths *paths, const struct range_request *request,
                           const struct sampler_range *range)
{
    uint32_t number = range->mark >> SAMPLER_MARK_DOMAIN;
    if (number == 0 || !paths->options->range_domain)
        return 0;
    int64_t domain = find_string(paths, request, number, paths->options->range_domain);
    return domain == -ENOENT ? 0 : domain;
}

int64_t range_paths_find(struct range_paths *paths, const struct range_request *request)
{
    int64_t path = 0;
    for (uint32_t i = request->count; i > 0 && path >= 0; i--) {
        const struct sampler_range *range = &request->ranges[i - 1];
        int64_t name = find_string(paths, request, range->name, paths->options->range_name);
        int64_t domain = name < 0 ? name : find_domain(paths, request, range);
        struct range_path node = {.parent = (uint32_t)path,
                                  .name = (uint32_t)name,
                                  .kind = kind_of(range),
                                  .domain = (uint32_t)domain};
        path = domain < 0 ? domain : stacks_path_add(trace_stacks(paths->options->trace), &node);
    }
    return path;
}
