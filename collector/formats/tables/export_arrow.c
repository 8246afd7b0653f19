/* SPDX-License-Identifier: MIT */
/* A table as an Arrow file (Feather version 2): record batches whose buffers are compressed with
 * zstd.
 *
 * A group of rows (columns.h) is a record batch. Memory: that group three times, and 24 bytes for
 * each batch that is written. Thread-safety: none. */
#include "arrow_parts.h"

#include <errno.h>

static const char magic[8] = "ARROW1"; /* at the begin with its two zeros */

enum { MAGIC_BYTES = 6, PREFIX_BYTES = 8 };

struct state {
    struct out_stream *out;
    struct columns columns;
    struct arrow_body body;
    struct column_bytes metadata;
    struct arrow_blocks batches;
};

/* The prefix of a message: its metadata has so many bytes. */
static void put_prefix(struct out_stream *out, uint32_t size)
{
    const uint32_t prefix[] = {UINT32_MAX, size};
    _Static_assert(sizeof(prefix) == PREFIX_BYTES, "what the format has");
    out_write(out, prefix, sizeof(prefix));
}

/* s->metadata. */
static int put_metadata(struct state *s)
{
    put_prefix(s->out, (uint32_t)s->metadata.vec.count);
    out_write(s->out, s->metadata.vec.items, s->metadata.vec.count);
    return s->metadata.failed ? -ENOMEM : 0;
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    int error = columns_init(&s->columns, job, true);
    if (!error)
        error = arrow_body_init(&s->body);
    if (error)
        return error;
    out_write(s->out, magic, sizeof(magic));
    arrow_put_schema(&s->metadata, &s->columns);
    return put_metadata(s);
}

static int put_group(struct state *s)
{
    struct arrow_block block = {.offset = (int64_t)out_bytes(s->out)};
    if (s->columns.row_count == 0)
        return 0;
    int error = columns_sort(&s->columns);
    if (!error)
        error = arrow_body_fill(&s->body, &s->columns);
    if (error)
        return error;
    arrow_put_batch(&s->metadata, &s->body, s->columns.row_count);
    block.metadata_bytes = PREFIX_BYTES + (int64_t)s->metadata.vec.count;
    block.body_bytes = (int64_t)s->body.bytes.vec.count;
    error = put_metadata(s);
    out_write(s->out, s->body.bytes.vec.items, s->body.bytes.vec.count);
    columns_forget(&s->columns);
    return error ? error : vec_push(&s->batches.vec, block);
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int status = columns_take(&s->columns, item);
    return status > 0 ? put_group(s) : status;
}

static int end(void *state)
{
    struct state *s = state;
    int error = put_group(s);
    if (error)
        return error;
    put_prefix(s->out, 0); /* no more messages */
    arrow_put_footer(&s->metadata, &s->columns, &s->batches);
    const uint32_t size = (uint32_t)s->metadata.vec.count;
    out_write(s->out, s->metadata.vec.items, size);
    out_write(s->out, &size, sizeof(size));
    out_write(s->out, magic, MAGIC_BYTES);
    return s->metadata.failed ? -ENOMEM : 0;
}

static void destroy(void *state)
{
    struct state *s = state;
    vec_free(&s->metadata.vec);
    vec_free(&s->batches.vec);
    arrow_body_fini(&s->body);
    columns_fini(&s->columns);
}

extern const struct exporter export_arrow;
const struct exporter export_arrow = {
    ROWS_EXPORTER,
    .name = "arrow",
    .extension = ".arrow",
    .summary = "the same table as an Arrow file (Feather), for Polars, pandas, ClickHouse",
    .viewer = "with Polars, pandas, ClickHouse",
    .binary = true,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
