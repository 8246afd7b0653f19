/* SPDX-License-Identifier: MIT */
/* A table as a Parquet file: texts as dictionaries, integers as differences, pages compressed with
 * zstd.
 *
 * Rows are gathered in groups of ROWS_MAX, or fewer if their texts are long, and written column by
 * column, ranges of a group by lane and begin. Every column may lack values. Memory: 12 bytes a
 * cell of a group, its texts, and 2 KiB for each group that is written. Thread-safety: none. */
#include "export_rows_parts.h"
#include "parquet_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 1 << 18, TEXTS_MAX = 32 << 20, LAST_KEYS = 64 };

struct last_key {
    uint64_t key; /* 0: none */
    uint32_t index;
};

/* The words of a dictionary. */
struct words {
    struct map64 by_key; /* index + 1 */
    struct last_key last[LAST_KEYS];
};

struct state {
    struct out_stream *out;
    struct rows rows;
    struct parquet_pages pages;
    struct parquet_column columns[ROWS_COLUMNS_MAX];
    struct words words[ROWS_COLUMNS_MAX];
    struct parquet_row_key *keys; /* of ranges; else NULL */
    uint32_t row_count;           /* of the group */
    size_t text_bytes;            /* of the group */
    uint64_t all_rows;
    uint32_t group_count;
    struct parquet_bytes groups; /* their metadata */
};

static bool is_text(const struct rows_column *column)
{
    return column->type == ROWS_TEXT || column->type == ROWS_BYTES;
}

static int add_column(struct state *s, uint32_t index)
{
    const struct rows_column *like = &s->rows.columns[index];
    struct parquet_column *column = &s->columns[index];
    column->name = like->name;
    column->type = is_text(like)               ? PARQUET_BYTES
                   : like->type == ROWS_NUMBER ? PARQUET_DOUBLE
                                               : PARQUET_INT64;
    column->dictionary = like->type == ROWS_TEXT;
    column->present = malloc(ROWS_MAX * sizeof(*column->present));
    if (column->dictionary)
        column->indices = malloc(ROWS_MAX * sizeof(*column->indices));
    else if (!is_text(like))
        column->values = malloc(ROWS_MAX * sizeof(*column->values));
    return column->present && (column->indices || column->values || like->type == ROWS_BYTES)
               ? 0
               : -ENOMEM;
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    int error = rows_init(&s->rows, job);
    if (!error)
        error = parquet_pages_init(&s->pages, job->out);
    for (uint32_t i = 0; i < s->rows.count && !error; i++)
        error = add_column(s, i);
    if (s->rows.table == ROWS_RANGES && !error) {
        s->keys = malloc(ROWS_MAX * sizeof(*s->keys));
        error = s->keys ? 0 : -ENOMEM;
    }
    out_write(s->out, "PAR1", 4);
    return error;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void forget_group(struct state *s)
{
    for (uint32_t i = 0; i < s->rows.count; i++) {
        s->columns[i].count = s->columns[i].word_count = 0;
        s->columns[i].bytes.vec.count = 0;
        map64_free(&s->words[i].by_key);
        memset(s->words[i].last, 0, sizeof(s->words[i].last));
    }
    s->row_count = 0;
    s->text_bytes = 0;
}

static int put_group(struct state *s)
{
    struct parquet_thrift thrift = {.out = &s->groups};
    uint64_t begin_bytes = out_bytes(s->out);
    int error = 0;
    if (s->row_count == 0)
        return 0;
    if (s->keys)
        error = parquet_sort(s->columns, s->rows.count, s->keys, s->row_count);
    thrift_list(&thrift, 1, THRIFT_STRUCT, s->rows.count);
    for (uint32_t i = 0; i < s->rows.count && !error; i++)
        error = parquet_pages_put(&s->pages, &s->columns[i], s->row_count, &thrift);
    thrift_int(&thrift, 2, THRIFT_I64, (int64_t)(out_bytes(s->out) - begin_bytes));
    thrift_int(&thrift, 3, THRIFT_I64, s->row_count);
    thrift_end(&thrift);
    s->all_rows += s->row_count;
    s->group_count++;
    forget_group(s);
    return s->groups.failed ? -ENOMEM : error;
}

/* With its length, as both pages of dictionaries and plain ones have it. */
static int put_bytes(struct state *s, struct parquet_column *column, const char *text,
                     size_t length)
{
    uint8_t size[4];
    if (!text || length > INT32_MAX)
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(size); i++)
        size[i] = (uint8_t)(length >> 8 * i);
    parquet_put(&column->bytes, size, sizeof(size));
    parquet_put(&column->bytes, text, length);
    s->text_bytes += length + sizeof(size);
    return column->bytes.failed ? -ENOMEM : 0;
}

static int64_t find_word(struct state *s, uint32_t index, uint64_t key)
{
    struct words *words = &s->words[index];
    struct parquet_column *column = &s->columns[index];
    struct last_key *last = &words->last[(key ^ key >> 30) % LAST_KEYS];
    size_t length;
    if (last->key == key)
        return last->index;
    const uint64_t *known = map64_find(&words->by_key, key);
    uint32_t word = known ? (uint32_t)*known - 1 : column->word_count;
    if (!known) {
        const char *text = rows_text(&s->rows, key, &length);
        if (put_bytes(s, column, text, length) != 0 ||
            map64_put(&words->by_key, key, word + UINT64_C(1)) != 0)
            return -ENOMEM;
        column->word_count++;
    }
    *last = (struct last_key){key, word};
    return word;
}

static int put_cell(struct state *s, uint32_t index)
{
    const struct rows_cell *cell = &s->rows.cells[index];
    struct parquet_column *column = &s->columns[index];
    int64_t value = cell->integer;
    column->present[s->row_count] = cell->kind != CELL_NONE;
    if (cell->kind == CELL_NONE)
        return 0;
    if (column->dictionary) {
        int64_t word = find_word(s, index, cell->key);
        column->indices[column->count++] = (uint32_t)word;
        return word < 0 ? (int)word : 0;
    }
    if (column->type == PARQUET_BYTES) {
        column->count++;
        return put_bytes(s, column, s->rows.bytes, cell->length);
    }
    if (column->type == PARQUET_DOUBLE) {
        double real = cell->kind == CELL_REAL ? cell->real : (double)cell->integer;
        memcpy(&value, &real, sizeof(value));
    }
    column->values[column->count++] = value;
    return 0;
}

static struct parquet_row_key key_of(const struct item *item, uint32_t row)
{
    const struct event *event = item->event;
    bool own = item->lane == LANE_THREAD || item->lane == LANE_PROCESS;
    return (struct parquet_row_key){
        (uint64_t)item->lane << 32 | (own ? event->thread : event->lane), event->time_ns, row};
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    int status = rows_take(&s->rows, item), error = 0;
    if (status <= 0)
        return status;
    for (uint32_t i = 0; i < s->rows.count && !error; i++)
        error = put_cell(s, i);
    if (s->keys)
        s->keys[s->row_count] = key_of(item, s->row_count);
    s->row_count++;
    if (!error && (s->row_count == ROWS_MAX || s->text_bytes > TEXTS_MAX))
        error = put_group(s);
    return error;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_schema(struct state *s, struct parquet_thrift *thrift)
{
    enum { OPTIONAL = 1, UTF8 = 0 };

    thrift_list(thrift, 2, THRIFT_STRUCT, s->rows.count + 1);
    thrift_struct(thrift, 0);
    thrift_text(thrift, 4, rows_table_name(s->rows.table));
    thrift_int(thrift, 5, THRIFT_I32, s->rows.count);
    thrift_end(thrift);
    for (uint32_t i = 0; i < s->rows.count; i++) {
        const struct parquet_column *column = &s->columns[i];
        thrift_struct(thrift, 0);
        thrift_int(thrift, 1, THRIFT_I32, column->type);
        thrift_int(thrift, 3, THRIFT_I32, OPTIONAL);
        thrift_text(thrift, 4, column->name);
        if (column->type == PARQUET_BYTES)
            thrift_int(thrift, 6, THRIFT_I32, UTF8);
        thrift_end(thrift);
    }
}

static int end(void *state)
{
    struct state *s = state;
    struct parquet_bytes footer = {0};
    struct parquet_thrift thrift = {.out = &footer};
    uint8_t size[4];
    int error = put_group(s);
    thrift_int(&thrift, 1, THRIFT_I32, 2); /* version */
    put_schema(s, &thrift);
    thrift_int(&thrift, 3, THRIFT_I64, (int64_t)s->all_rows);
    thrift_list(&thrift, 4, THRIFT_STRUCT, s->group_count);
    parquet_put(&footer, s->groups.vec.items, s->groups.vec.count);
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
    for (uint32_t i = 0; i < ROWS_COLUMNS_MAX; i++) {
        free(s->columns[i].present);
        free(s->columns[i].values);
        free(s->columns[i].indices);
        vec_free(&s->columns[i].bytes.vec);
        map64_free(&s->words[i].by_key);
    }
    free(s->keys);
    vec_free(&s->groups.vec);
    parquet_pages_fini(&s->pages);
    rows_fini(&s->rows);
}

static const struct option_spec options[] = {
    ROWS_OPTION_TABLE,
    {0},
};

extern const struct exporter export_parquet;
const struct exporter export_parquet = {
    .name = "parquet",
    .extension = ".parquet",
    .summary = "the same table in a few bytes a row, for DuckDB, Polars, pandas",
    .carries = "ranges; or samples, counters, marks: --table",
    .viewer = "with DuckDB, Polars, pandas",
    .waits = true,
    .binary = true,
    .options = options,
    .choose = rows_wants,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
