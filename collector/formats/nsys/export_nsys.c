/* SPDX-License-Identifier: MIT */
/* Exports databases like those of `nsys export --type sqlite`, for `nsys stats`, `nsys analyze` and
 * SQL. Times count from the start of the recording. Returns -ENOSYS if built without SQLite. */
#include "nsys.h"

#include "export.h"
#include "nsys_database.h"
#include "nsys_shape.h"

#include <errno.h>

#ifdef HAVE_SQLITE

#include "export_facts.h"
#include "stacks.h"

#include <stdlib.h>

static int begin(void *state, const struct export_job *job)
{
    struct nsys *nsys = state;
    const struct trace *trace = job->source->trace;
    *nsys = (struct nsys){.job = job, .trace = trace, .begin_ns = trace_begin_ns(trace)};
    nsys->stack_count = stacks_stack_count(trace_stacks_get(trace));
    nsys->chains = calloc(nsys->stack_count + 1u, sizeof(*nsys->chains));
    nsys->json = out_stream_memory();
    int error = nsys_database_init(&nsys->db, trace);
    if (!error)
        error = export_ids_init(&nsys->ids, trace);
    if (!error)
        error = chosen_frames_init(&nsys->chosen, trace, export_frames(job->options));
    if (!error)
        error = nsys_gpu_init(nsys);
    return error ? error : nsys->chains && nsys->json ? 0 : -ENOMEM;
}

static int take(void *state, const struct item *item)
{
    struct nsys *nsys = state;
    if (item->kind == ITEM_SAMPLE) {
        nsys_take_sample(nsys, item->sample);
    } else if (item->kind == ITEM_INSTANT) {
        nsys_gpu_mark(nsys, item);
        nsys_take_mark(nsys, item);
    } else if (item->kind == ITEM_SPAN && !nsys_gpu_take(nsys, item)) {
        nsys_take_range(nsys, item);
    }
    return nsys->db.error;
}

static int end(void *state)
{
    struct nsys *nsys = state;
    nsys_gpu_finish(nsys);
    nsys_put_facts(nsys);
    return nsys_database_copy(&nsys->db, nsys->job->out);
}

static void destroy(void *state)
{
    struct nsys *nsys = state;
    nsys_database_fini(&nsys->db);
    export_ids_fini(&nsys->ids);
    chosen_frames_fini(&nsys->chosen);
    gpu_keys_fini(&nsys->keys);
    out_stream_abandon(nsys->json);
    map64_free(&nsys->scopes);
    wide_map_free(&nsys->names);
    map64_free(&nsys->short_names);
    map64_free(&nsys->contexts);
    vec_free(&nsys->devices);
    free(nsys->chains);
}

enum { STATE_SIZE = sizeof(struct nsys) };

#else

static int begin(void *state, const struct export_job *job)
{
    (void)state;
    (void)job;
    return -ENOSYS;
}

static int take(void *state, const struct item *item)
{
    (void)state;
    (void)item;
    return -ENOSYS;
}

static int end(void *state)
{
    (void)state;
    return -ENOSYS;
}

static void destroy(void *state)
{
    (void)state;
}

enum { STATE_SIZE = 1 };

#endif

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    {0},
};

extern const struct exporter export_nsys;
const struct exporter export_nsys = {
    .name = "nsys",
    .extension = ".sqlite",
    .summary = "a database as Nsight Systems exports it: ranges, samples, waits, GPUs",
    .carries = "ranges, calls, marks, samples, waits, GPUs",
    .viewer = "with nsys stats, nsys analyze, SQL",
    .lacks = EXPORT_LACKS_COUNTERS | EXPORT_LACKS_FLOWS | EXPORT_LACKS_OTHER_SAMPLES,
    .waits = true,
    .binary = true,
    .options = options,
    .wants = WANT_EVENTS | WANT_SAMPLES,
    .state_size = STATE_SIZE,
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
