/* SPDX-License-Identifier: MIT */
/* Keys of several numbers: what differs in one of them is another thing, however the numbers
 * follow one another. */
#include "range_paths.h"
#include "stack_parts.h"
#include "stacks.h"
#include "test.h"
#include "trace.h"

#include <stdio.h>

enum { IMAGES = 24, NAMES = 24, OUTER = 99 };

static struct trace *trace;

/* The name of an id depends on the process: as in forks that make names of their own. */
static int64_t range_name(void *context, int32_t pid, uint64_t time_ns, uint32_t name)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%d-%u", pid, name);
    (void)context, (void)time_ns;
    return trace_string_add(trace, text, (size_t)length);
}

static const char *text_of(uint32_t name)
{
    return trace_string(trace, name)->bytes;
}

/* Two ranges; the second pass finds what the first one asked for. */
static void check_request(struct range_paths *paths, uint64_t image, uint32_t name)
{
    struct range_request request = {.pid = (int32_t)image,
                                    .image = image,
                                    .count = 2,
                                    .ranges = {{.name = name}, {.name = OUTER}}};
    char inner[32], outer[32];
    snprintf(inner, sizeof(inner), "%d-%u", (int)image, name);
    snprintf(outer, sizeof(outer), "%d-%u", (int)image, OUTER);
    int64_t path = range_paths_find(paths, &request);
    CHECK(path > 0);
    const struct range_path *node = stacks_get_path(trace_stacks_get(trace), (uint32_t)path);
    CHECK_STR(text_of(node->name), inner);
    node = stacks_get_path(trace_stacks_get(trace), node->parent);
    CHECK_STR(text_of(node->name), outer);
    CHECK_INT(node->parent, 0);
}

TEST(ranges_of_neighbouring_processes_keep_their_names)
{
    trace = trace_create();
    struct sampler_options options = {.trace = trace, .range_name = range_name};
    struct range_paths paths = {.options = &options};
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t image = 1; image <= IMAGES; image++)
            for (uint32_t name = 1; name <= NAMES; name++)
                check_request(&paths, image, name);
    range_paths_fini(&paths);
    trace_destroy(trace);
}

TEST(parts_of_stacks_of_different_kinds_never_meet)
{
    struct stack_parts parts = {0};
    for (uint64_t hash = 1; hash <= 100; hash++)
        for (unsigned kind = PART_KERNEL; kind <= PART_PYTHON; kind++)
            stack_parts_add(&parts, (enum part_kind)kind, hash, 1)->items[0].address =
                hash * 10 + kind;
    for (uint64_t hash = 1; hash <= 100; hash++)
        for (unsigned kind = PART_KERNEL; kind <= PART_PYTHON; kind++) {
            const struct stack_part *part = stack_parts_find(&parts, (enum part_kind)kind, hash, 1);
            CHECK(part);
            CHECK_INT(part->items[0].address, hash * 10 + kind);
        }
    stack_parts_fini(&parts);
}
