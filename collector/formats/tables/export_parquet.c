/* SPDX-License-Identifier: MIT */
/* A table as a Parquet file: texts as dictionaries, integers as differences, pages compressed with
 * zstd.
 *
 * A group of rows (columns.h) is written column by column. Memory: that group, and 2 KiB for each
 * group that is written. Thread-safety: none. */
#include "columns.h"
#include "parquet_parts.h"

#include <errno.h>

struct state {
    struct out_stream *out;
    struct columns columns;
    struct parquet_pages pages;
    uint64_t all_rows;
    uint32_t group_count;
    struct column_bytes groups; /* their metadata */
};

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    int error = columns_init(&s->columns, job, false);
    if (!error)
        error = parquet_pages_init(&s->pages, job->out);
    out_write(s->out, "PAR1", 4);
    return error;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static int put_group(struct state *s)
{
    const struct columns *columns = &s->columns;
    struct parquet_thrift thrift = {.out = &s->groups};
    uint64_t begin_bytes = out_bytes(s->out);
    if (columns->row_count == 0)
        return 0;
    int error = columns_sort(&s->columns);
    thrift_list(&thrift, 1, THRIFT_STRUCT, columns->rows.count);
    for (uint32_t i = 0; i < columns->rows.count && !error; i++)
        error = parquet_pages_put(&s->pages, &columns->items[i], columns->row_count, &thrift);
    thrift_int(&thrift, 2, THRIFT_I64, (int64_t)(out_bytes(s->out) - begin_bytes));
    thrift_int(&thrift, 3, THRIFT_I64, columns->row_count);
    thrift_end(&thrift);
    s->all_rows += columns->row_count;
    s->group_count++;
    columns_forget(&s->columns);
    return s->groups.failed ? -ENOMEM : error;
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int status = columns_take(&s->columns, item);
    return status > 0 ? put_group(s) : status;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_schema(struct state *s, struct parquet_thrift *thrift)
{
    enum { OPTIONAL = 1, UTF8 = 0 };

    thrift_list(thrift, 2, THRIFT_STRUCT, s->columns.rows.count + 1);
    thrift_struct(thrift, 0);
    thrift_text(thrift, 4, rows_table_name(s->columns.rows.table));
    thrift_int(thrift, 5, THRIFT_I32, s->columns.rows.count);
    thrift_end(thrift);
    for (uint32_t i = 0; i < s->columns.rows.count; i++) {
        const struct column *column = &s->columns.items[i];
        thrift_struct(thrift, 0);
        thrift_int(thrift, 1, THRIFT_I32, parquet_type_of(column));
        thrift_int(thrift, 3, THRIFT_I32, OPTIONAL);
        thrift_text(thrift, 4, column->name);
        if (column->type == COLUMN_TEXT)
            thrift_int(thrift, 6, THRIFT_I32, UTF8);
        thrift_end(thrift);
    }
}

static int end(void *state)
{
    struct state *s = state;
    struct column_bytes footer = {0};
    struct parquet_thrift thrift = {.out = &footer};
    uint8_t size[4];
    int error = put_group(s);
    thrift_int(&thrift, 1, THRIFT_I32, 2); /* version */
    put_schema(s, &thrift);
    thrift_int(&thrift, 3, THRIFT_I64, (int64_t)s->all_rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, s->group_count);
    column_put(&footer, s->groups.vec.items, s->groups.vec.count);
    thrift_text(&thrift, 6, "annot");
    thrift_end(&thrift);
    for (unsigned i = 0; i < sizeof(size); i++)
        size[i] = (uint8_t)(footer.vec.count >> 8 * i);
    out_write(s->out, footer.vec.items, footer.vec.count);
    out_write(s->out, size, sizeof(size));
    out_write(s->out, "PAR1", 4);
    error = error ? error : footer.failed ? -ENOMEM : 0;
    vec_free(&footer.vec);
    return error;
}

static void destroy(void *state)
{
    struct state *s = state;
    vec_free(&s->groups.vec);
    parquet_pages_fini(&s->pages);
    columns_fini(&s->columns);
}

extern const struct exporter export_parquet;
const struct exporter export_parquet = {
    ROWS_EXPORTER,
    .name = "parquet",
    .extension = ".parquet",
    .summary = "the same table in a few bytes a row, for DuckDB, Polars, pandas",
    .viewer = "with DuckDB, Polars, pandas",
    .binary = true,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
