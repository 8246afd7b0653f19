/* SPDX-License-Identifier: MIT */
/* A table as lines: comma-separated values (RFC 4180, lines end in \n), and JSON objects.
 *
 * In CSV, an unknown value is an empty cell, an empty text is "". JSON objects omit unknown values;
 * integers beyond 2^53 are still numbers. Thread-safety: none. */
#include "export_rows.h"
#include "json_writer.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHORT_TEXT = 128, CELL_SIZE = SHORT_TEXT + 64, PREFIX_SIZE = 24 };

struct state {
    struct out_stream *out;
    struct rows rows;
    uint8_t *begin, *at; /* of the part of the row not yet advanced in `out` */
    bool any;            /* the row has a member */
    char prefixes[ROWS_COLUMNS_MAX][PREFIX_SIZE];
    uint8_t prefix_sizes[ROWS_COLUMNS_MAX];
};

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Reserves room for the rest of the row, if its texts are short. */
static void begin_part(struct state *s)
{
    s->begin = s->at = out_reserve(s->out, (size_t)ROWS_COLUMNS_MAX * CELL_SIZE);
}

static void end_part(struct state *s)
{
    out_advance(s->out, (size_t)(s->at - s->begin));
}

static bool is_number(const struct rows_cell *cell)
{
    return cell->kind == CELL_INTEGER || cell->kind == CELL_REAL;
}

static void put_number(struct state *s, const struct rows_cell *cell)
{
    s->at = cell->kind == CELL_INTEGER ? json_put_int(s->at, cell->integer)
                                       : json_put_double(s->at, cell->real);
}

/* Bytes of a cell with a text; NULL: out of memory. */
static const char *text_of(struct rows *rows, const struct rows_cell *cell, size_t *ret_length)
{
    if (cell->kind == CELL_TEXT)
        return rows_text(rows, cell->key, ret_length);
    if (cell->kind == CELL_PATH)
        return rows_paths_text(&rows->paths, ret_length);
    *ret_length = cell->length;
    return rows->bytes;
}

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->out = job->out;
    return rows_init(&s->rows, job);
}

static void destroy(void *state)
{
    struct state *s = state;
    rows_fini(&s->rows);
}

static int finish(void *state)
{
    (void)state;
    return 0;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Marks bytes that need quotes. */
static inline uint64_t need_quotes(uint64_t word)
{
    return byte_word_less(word, 0x20) | byte_word_has(word, '"') | byte_word_has(word, ',');
}

static bool is_plain(const char *bytes, size_t length)
{
    return length > 0 && !byte_words_any(bytes, length, need_quotes);
}

/* In pieces, with room for each byte twice. */
static void put_quoted(struct out_stream *out, const char *bytes, size_t length)
{
    enum { PIECE = 16 << 10 };

    out_write(out, "\"", 1);
    for (size_t left = length, piece; left > 0; left -= piece) {
        piece = left < PIECE ? left : PIECE;
        uint8_t *begin = out_reserve(out, 2 * piece), *at = begin;
        for (size_t i = 0; i < piece; i++, bytes++) {
            *at++ = (uint8_t)*bytes;
            if (*bytes == '"')
                *at++ = '"';
        }
        out_advance(out, (size_t)(at - begin));
    }
    out_write(out, "\"", 1);
}

static int put_cell(struct state *s, const struct rows_cell *cell)
{
    size_t length;
    if (cell->kind == CELL_NONE)
        return 0;
    if (is_number(cell)) {
        put_number(s, cell);
        return 0;
    }
    const char *text = text_of(&s->rows, cell, &length);
    if (!text)
        return -ENOMEM;
    if (length <= SHORT_TEXT && is_plain(text, length)) {
        s->at = mempcpy(s->at, text, length);
        return 0;
    }
    end_part(s);
    if (is_plain(text, length))
        out_write(s->out, text, length);
    else
        put_quoted(s->out, text, length);
    begin_part(s);
    return 0;
}

static int begin_csv(void *state, const struct export_job *job)
{
    struct state *s = state;
    int error = begin(state, job);
    for (uint32_t i = 0; i < s->rows.count && !error; i++) {
        out_text(s->out, i ? "," : "");
        out_text(s->out, s->rows.columns[i].schema->name);
    }
    out_text(s->out, "\n");
    return error;
}

static int take_csv(void *state, const struct item *item)
{
    struct state *s = state;
    int status = rows_take(&s->rows, item), error = 0;
    if (status <= 0)
        return status;
    begin_part(s);
    for (uint32_t i = 0; i < s->rows.count && !error; i++) {
        if (i > 0)
            *s->at++ = ',';
        error = put_cell(s, &s->rows.cells[i]);
    }
    *s->at++ = '\n';
    end_part(s);
    return error;
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static int begin_jsonl(void *state, const struct export_job *job)
{
    struct state *s = state;
    int error = begin(state, job);
    for (uint32_t i = 0; i < s->rows.count && !error; i++)
        s->prefix_sizes[i] = (uint8_t)snprintf(s->prefixes[i], PREFIX_SIZE,
                                               "\"%s\":", s->rows.columns[i].schema->name);
    return error;
}

static int put_member(struct state *s, uint32_t column)
{
    const struct rows_cell *cell = &s->rows.cells[column];
    size_t length;
    if (s->any)
        *s->at++ = ',';
    s->any = true;
    memcpy(s->at, s->prefixes[column], PREFIX_SIZE); /* a constant size is faster */
    s->at += s->prefix_sizes[column];
    if (is_number(cell)) {
        put_number(s, cell);
        return 0;
    }
    const char *text = text_of(&s->rows, cell, &length);
    if (!text)
        return -ENOMEM;
    if (cell->kind != CELL_BYTES && length <= SHORT_TEXT && json_is_plain(text, length)) {
        *s->at++ = '"';
        s->at = mempcpy(s->at, text, length);
        *s->at++ = '"';
        return 0;
    }
    end_part(s);
    if (cell->kind == CELL_BYTES) /* already JSON */
        out_write(s->out, text, length);
    else
        json_string(s->out, text, length);
    begin_part(s);
    return 0;
}

static int take_jsonl(void *state, const struct item *item)
{
    struct state *s = state;
    int status = rows_take(&s->rows, item), error = 0;
    if (status <= 0)
        return status;
    begin_part(s);
    s->any = false;
    *s->at++ = '{';
    for (uint32_t i = 0; i < s->rows.count && !error; i++)
        if (s->rows.cells[i].kind != CELL_NONE)
            error = put_member(s, i);
    s->at = json_put_literal(s->at, "}\n");
    end_part(s);
    return error;
}

/* ---- Formats --------------------------------------------------------------------------------- */

extern const struct exporter export_csv, export_jsonl;
const struct exporter export_csv = {
    ROWS_EXPORTER,
    .name = "csv",
    .extension = ".csv",
    .summary = "a table of ranges, samples, counters or marks: comma-separated values",
    .viewer = "with pandas, spreadsheets",
    .state_size = sizeof(struct state),
    .begin = begin_csv,
    .take = take_csv,
    .end = finish,
    .destroy = destroy,
};

const struct exporter export_jsonl = {
    ROWS_EXPORTER,
    .name = "jsonl",
    .extension = ".jsonl",
    .summary = "the same table: a JSON object a line",
    .viewer = "with jq, pandas",
    .state_size = sizeof(struct state),
    .begin = begin_jsonl,
    .take = take_jsonl,
    .end = finish,
    .destroy = destroy,
};
