/* SPDX-License-Identifier: MIT */
/* A recording as a pass reads it. */
#include "recording_source.h"

static int next_events(void *context, struct event_batch *ret_batch)
{
    return store_reader_next(context, ret_batch);
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    int status = store_reader_next_samples(context, &ret_batch->samples, &ret_batch->count);
    ret_batch->settled_ns = store_reader_samples_settled_ns(context);
    return status;
}

static int seek(void *context, int64_t from_ns)
{
    return store_reader_seek(context, from_ns);
}

struct pass_source recording_pass_source(struct store_reader *reader)
{
    return (struct pass_source){.trace = store_reader_trace(reader),
                                .next_events = next_events,
                                .next_samples = next_samples,
                                .context = reader,
                                .seek = seek};
}
