/* SPDX-License-Identifier: MIT */
/* Prints results of `annot query`: tables for people, comma-separated values, JSON lines.
 *
 * Rows are written as they come; those of tables in blocks of some thousand, with the column widths
 * of the block. */
#include "query_print.h"

#include "csv.h"
#include "json_writer.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 5000, BLOB_SHOWN = 64, CELL_SIZE = 2 * BLOB_SHOWN + 8 };

/* A block of rows of a table. */
struct query_block {
    struct grid *grid;
    struct grid_column *columns;
    char **titles; /* owned */
    bool *times;   /* by column: nanoseconds */
    unsigned count;
    unsigned rows;
};

/* ---- Cells ----------------------------------------------------------------------------------- */

/* "x'0aff'", truncated. */
static void blob_text(const struct query_cell *cell, char buffer[CELL_SIZE])
{
    size_t shown = cell->size < BLOB_SHOWN ? cell->size : BLOB_SHOWN;
    struct text text = text_init(buffer, CELL_SIZE);
    text_format(&text, "x'");
    for (size_t i = 0; i < shown; i++)
        text_format(&text, "%02x", (unsigned char)cell->bytes[i]);
    text_format(&text, shown < cell->size ? "...'" : "'");
}

static void time_text(const struct query_cell *cell, char buffer[CELL_SIZE])
{
    double ns = cell->type == QUERY_REAL ? cell->real : 0;
    bool negative = cell->type == QUERY_REAL ? ns < 0 : cell->integer < 0;
    uint64_t size = cell->type == QUERY_REAL ? (uint64_t)(fabs(ns) < 9e18 ? llround(fabs(ns)) : 0)
                    : negative               ? 0 - (uint64_t)cell->integer
                                             : (uint64_t)cell->integer;
    buffer[0] = '-';
    number_time_plain(size, buffer + negative);
}

static bool is_number(const struct query_cell *cell)
{
    return cell->type == QUERY_INTEGER || cell->type == QUERY_REAL;
}

/* Returns `buffer`, or the cell's own bytes. */
static const char *cell_text(const struct query_cell *cell, bool is_time, char buffer[CELL_SIZE])
{
    if (is_time && is_number(cell))
        time_text(cell, buffer);
    else if (cell->type == QUERY_INTEGER)
        snprintf(buffer, CELL_SIZE, "%lld", (long long)cell->integer);
    else if (cell->type == QUERY_REAL)
        number_value(cell->real, buffer);
    else if (cell->type == QUERY_BLOB)
        blob_text(cell, buffer);
    else
        return cell->type == QUERY_TEXT ? cell->bytes : "-";
    return buffer;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static bool begins_as_sum(const char *name)
{
    static const char *const words[] = {"sum(", "min(", "max(", "avg(", "total(", "quantile("};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strncasecmp(name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* "duration_ns", "sum(duration_ns)": columns of times. */
static bool is_time_name(const char *name)
{
    size_t length = strlen(name);
    bool ends = length > 3 && strcmp(name + length - 3, "_ns") == 0;
    return ends || (begins_as_sum(name) && strstr(name, "_ns"));
}

/* Drops the unit from the title: each value has one. */
static char *make_title(const char *name)
{
    size_t length = strlen(name);
    bool cut = is_time_name(name) && strcmp(name + length - 3, "_ns") == 0;
    return strndup(name, cut ? length - 3 : length);
}

static void block_free(struct query_block *block)
{
    if (!block)
        return;
    grid_destroy(block->grid);
    for (unsigned i = 0; block->titles && i < block->count; i++)
        free(block->titles[i]);
    free(block->titles);
    free(block->columns);
    free(block->times);
    free(block);
}

static int block_make(const struct query_result *result, struct query_block **ret_block)
{
    struct query_block *block = calloc(1, sizeof(*block));
    size_t count = result->column_count;
    *ret_block = block;
    if (!block)
        return -ENOMEM;
    block->count = result->column_count;
    block->titles = calloc(count + 1, sizeof(*block->titles));
    block->columns = calloc(count + 1, sizeof(*block->columns));
    block->times = calloc(count + 1, sizeof(*block->times));
    if (!block->titles || !block->columns || !block->times)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        block->times[i] = is_time_name(result->names[i]);
        block->titles[i] = make_title(result->names[i]);
        if (!block->titles[i])
            return -ENOMEM;
        block->columns[i].title = block->titles[i];
    }
    block->grid = grid_create(block->columns, count);
    return block->grid ? 0 : -ENOMEM;
}

/* Prints the rows of the block and starts the next one. */
static int block_flush(struct query_printer *printer)
{
    struct query_block *block = printer->block;
    size_t hidden;
    int error = grid_print(block->grid, printer->width, printer->color, &hidden);
    grid_destroy(block->grid);
    block->grid = grid_create(block->columns, block->count);
    block->rows = 0;
    if (!error && !block->grid)
        error = -ENOMEM;
    return error ? error : fflush(stdout) != 0 ? -errno : 0;
}

static int table_begin(struct query_printer *printer, const struct query_result *result)
{
    if (printer->results > 1)
        printf("\n");
    block_free(printer->block);
    printer->block = NULL;
    return result->column_count ? block_make(result, &printer->block) : 0;
}

static int table_row(struct query_printer *printer, const struct query_result *result)
{
    struct query_block *block = printer->block;
    char buffer[CELL_SIZE];
    for (unsigned i = 0; i < result->column_count; i++) {
        const struct query_cell *cell = &result->cells[i];
        if (cell->type == QUERY_TEXT)
            block->columns[i].left = true;
        grid_add(block->grid, cell_text(cell, block->times[i], buffer));
    }
    if (++block->rows < BLOCK_ROWS)
        return 0;
    int error = block_flush(printer);
    printf("\n");
    return error;
}

static int table_end(struct query_printer *printer)
{
    if (!printer->block)
        return 0;
    if (printer->rows == 0)
        printf("(no rows)\n");
    return printer->block->rows > 0 ? block_flush(printer) : 0;
}

/* ---- Comma-separated values ------------------------------------------------------------------ */

static void csv_real(struct out_stream *out, double value)
{
    uint8_t *at = out_reserve(out, JSON_DOUBLE_MAX);
    out_advance(out, (size_t)(json_put_double(at, value) - at));
}

static void csv_row(struct query_printer *printer, const struct query_result *result)
{
    struct out_stream *out = printer->out;
    char buffer[CELL_SIZE];
    for (unsigned i = 0; i < result->column_count; i++) {
        const struct query_cell *cell = &result->cells[i];
        out_write(out, ",", i > 0);
        if (cell->type == QUERY_REAL)
            csv_real(out, cell->real);
        else if (cell->type != QUERY_NULL)
            csv_text(out, cell_text(cell, false, buffer));
    }
    out_text(out, "\n");
}

static void csv_begin(struct query_printer *printer, const struct query_result *result)
{
    if (printer->results > 1)
        out_text(printer->out, "\n");
    for (unsigned i = 0; i < result->column_count; i++) {
        out_write(printer->out, ",", i > 0);
        csv_text(printer->out, result->names[i]);
    }
    out_text(printer->out, "\n");
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static void json_row(struct query_printer *printer, const struct query_result *result)
{
    struct json_doc doc = {.out = printer->out};
    char buffer[CELL_SIZE];
    json_doc_object(&doc, NULL);
    for (unsigned i = 0; i < result->column_count; i++) {
        const struct query_cell *cell = &result->cells[i];
        json_doc_key(&doc, result->names[i], strlen(result->names[i]), "");
        if (cell->type == QUERY_INTEGER)
            json_doc_int(&doc, NULL, cell->integer);
        else if (cell->type == QUERY_REAL)
            json_doc_double(&doc, NULL, cell->real);
        else if (cell->type == QUERY_NULL)
            json_doc_null(&doc, NULL);
        else
            json_doc_text(&doc, NULL, cell_text(cell, false, buffer));
    }
    json_doc_close(&doc);
    out_text(printer->out, "\n");
}

/* ---- The sink -------------------------------------------------------------------------------- */

static int begin(void *context, const struct query_result *result)
{
    struct query_printer *printer = context;
    printer->results++;
    printer->rows = 0;
    if (printer->form == QUERY_FORM_TABLE)
        return table_begin(printer, result);
    if (printer->form == QUERY_FORM_CSV)
        csv_begin(printer, result);
    return out_error(printer->out);
}

static int row(void *context, const struct query_result *result)
{
    struct query_printer *printer = context;
    printer->rows++;
    if (printer->form == QUERY_FORM_TABLE)
        return table_row(printer, result);
    if (printer->form == QUERY_FORM_CSV)
        csv_row(printer, result);
    else
        json_row(printer, result);
    return out_error(printer->out);
}

static int end(void *context)
{
    struct query_printer *printer = context;
    return printer->form == QUERY_FORM_TABLE ? table_end(printer) : out_error(printer->out);
}

struct query_sink query_printer_sink(struct query_printer *printer)
{
    return (struct query_sink){.begin = begin, .row = row, .end = end, .context = printer};
}

void query_printer_fini(struct query_printer *printer)
{
    block_free(printer->block);
    printer->block = NULL;
}
