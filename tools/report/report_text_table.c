/* SPDX-License-Identifier: MIT */
/* Prints a table of a report as text: the requested number of rows, then the sums of the hidden
 * ones, and the rest outside all rows. */
#include "report_text.h"

#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Order of rows --------------------------------------------------------------------------- */

/* Rows are ordered by --sort; a row's parts follow it. */

/* Columns that correspond to one of ranges; the first that a table has is used. */
static const char *const stand_ins[] = {
    [RANGE_COLUMN_COUNT] = "count|call_count|task_count|sample_count|wait_count",
    [RANGE_COLUMN_TOTAL] = "total_ns|cpu_total_ns|cpu_ns|wall_ns|worker_ns",
    [RANGE_COLUMN_SELF] = "self_ns|own_ns|cpu_self_ns|cpu_python_ns",
    [RANGE_COLUMN_CPU] = "cpu_ns|own_cpu_ns|cpu_total_ns|run_ns",
    [RANGE_COLUMN_CPU_SELF] = "cpu_self_ns|own_cpu_ns|cpu_ns",
    [RANGE_COLUMN_RUNNING] = "running_ns|cpu_ns|busy_ns",
    [RANGE_COLUMN_RUNNABLE] = "runnable_ns",
    [RANGE_COLUMN_BLOCKED] = "blocked_ns|own_off_ns",
    [RANGE_COLUMN_MIN] = "min_ns",
    [RANGE_COLUMN_MEAN] = "mean_ns|per_call_ns",
    [RANGE_COLUMN_P50] = "p50_ns",
    [RANGE_COLUMN_P90] = "p90_ns",
    [RANGE_COLUMN_P99] = "p99_ns",
    [RANGE_COLUMN_MAX] = "max_ns",
    [RANGE_COLUMN_PROCESSES] = "process_count",
    [RANGE_COLUMN_THREADS] = "thread_count",
    [RANGE_COLUMN_UNFINISHED] = "unfinished_count",
    [RANGE_COLUMN_LOST] = "lost_count",
};

/* A row with its parts. */
struct group {
    uint64_t first, count, key;
    char *text;
};

static int largest_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = a->text && b->text ? strcmp(a->text, b->text) : 0;
    if (order)
        return order;
    if (a->key != b->key)
        return a->key < b->key ? 1 : -1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* -1: the table has no such column. */
static int find_column(const struct table *table, enum range_column sort)
{
    if (sort == RANGE_COLUMN_PATH)
        return table->column_count > 0 && table->columns[0].type == COLUMN_TEXT ? 0 : -1;
    for (const char *name = stand_ins[sort]; name && *name; name += *name == '|') {
        size_t length = strcspn(name, "|");
        for (unsigned i = 0; i < table->column_count; i++) {
            const char *known = table->columns[i].name;
            if (known && strlen(known) == length && memcmp(known, name, length) == 0)
                return (int)i;
        }
        name += length;
    }
    return -1;
}

/* Groups the rows before the first ROW_REST. Returns the number of groups. */
static uint64_t find_groups(const struct table *table, unsigned column, struct table_row *row,
                            struct group *groups)
{
    bool is_text = table->columns[column].type == COLUMN_TEXT;
    uint64_t count = 0;
    for (uint64_t at = 0; at < table->row_count; at++) {
        table_row(table, at, row);
        const struct cell *cell = &row->cells[column];
        if (row->role == ROW_REST)
            break;
        if (row->role == ROW_PART && count > 0) {
            groups[count - 1].count++;
            continue;
        }
        groups[count++] = (struct group){at, 1, 0, NULL};
        if (cell->state == CELL_KNOWN && !is_text)
            groups[count - 1].key = cell->count;
        else if (is_text)
            groups[count - 1].text = strdup(cell->state == CELL_KNOWN ? cell->text : "");
        if (is_text && !groups[count - 1].text)
            break; /* out of memory: later rows keep their place */
    }
    return count;
}

/* Orders the rows of a table by a column. The caller frees the result. NULL: the table lacks the
 * column, or is in that order already, or out of memory. Uses `row`. */
static uint64_t *report_table_order(const struct table *table, enum range_column sort,
                                    struct table_row *row)
{
    int column = table->sorted ? -1 : find_column(table, sort);
    if (column < 0 || table->row_count == 0)
        return NULL;
    struct group *groups = calloc(table->row_count, sizeof(*groups));
    uint64_t *order = calloc(table->row_count, sizeof(*order));
    uint64_t count = 0, at = 0;
    if (groups && order) {
        count = find_groups(table, (unsigned)column, row, groups);
        qsort(groups, count, sizeof(*groups), largest_first);
        for (uint64_t i = 0; i < count; i++)
            for (uint64_t part = 0; part < groups[i].count; part++)
                order[at++] = groups[i].first + part;
        for (; at < table->row_count; at++)
            order[at] = at;
    }
    for (uint64_t i = 0; i < count; i++)
        free(groups[i].text);
    free(groups);
    return order;
}

/* Names of C++ templates may have hundreds of columns, and would widen all rows. */
enum { NAME_WIDTH_MAX = 120 };

/* Totals of several rows. */
struct sums {
    uint64_t rows;
    uint64_t items[TABLE_COLUMNS_MAX];
};

struct printing {
    const struct table *table;
    const struct report_view *view;
    struct table_row *row;
    struct grid *grid;
    uint64_t *order;              /* of the rows; NULL: unchanged */
    bool used[TABLE_COLUMNS_MAX]; /* printed columns */
    uint64_t kept, rests;         /* plain rows; rows of the rest */
    uint64_t shown;               /* of `kept` */
    bool last_shown;              /* so its parts are printed as well */
    bool any_few;
    uint64_t of_row[TABLE_COLUMNS_MAX]; /* numbers of the last plain row */
    struct sums more, apart, all;
};

/* ---- Rows and columns ------------------------------------------------------------------------ */

static enum row_role role_of(const struct printing *p)
{
    enum row_role role = (enum row_role)p->row->role;
    bool all = p->view->options->all;
    return all && role != ROW_PART && role != ROW_REST ? ROW_PLAIN : role;
}

static uint64_t number_of(const struct cell *cell)
{
    return cell->state == CELL_KNOWN ? cell->count : 0;
}

static bool adds_up(const struct printing *p, unsigned column)
{
    return p->used[column] && p->table->columns[column].adds_up;
}

static bool has_sums(const struct printing *p)
{
    for (unsigned i = 0; i < p->table->column_count; i++)
        if (adds_up(p, i))
            return true;
    return false;
}

/* Returns true if the row has a number that adds up. */
static bool counts(const struct printing *p)
{
    for (unsigned i = 0; i < p->table->column_count; i++)
        if (adds_up(p, i) && number_of(&p->row->cells[i]) > 0)
            return true;
    return false;
}

/* Counts rows, and enables rare columns that have values. */
static void look(struct printing *p)
{
    const struct table *table = p->table;
    for (unsigned i = 0; i < table->column_count; i++)
        p->used[i] = table->columns[i].title && !table->columns[i].rare;
    for (uint64_t at = 0; at < table->row_count; at++) {
        table_sums(table, at, p->row);
        p->kept += role_of(p) == ROW_PLAIN;
        p->rests += role_of(p) == ROW_REST && counts(p);
        for (unsigned i = 0; i < table->column_count && role_of(p) == ROW_PLAIN; i++)
            p->used[i] = p->used[i] || (table->columns[i].title && table->columns[i].rare &&
                                        number_of(&p->row->cells[i]) > 0);
    }
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static void add_share(const struct printing *p, const struct table_column *column, uint64_t part)
{
    struct table_share share = table_share(column, part, p->of_row[column->of]);
    grid_add_percent(p->grid, share.part, share.whole);
}

/* An identifier: printed without separators. */
static void add_id(struct printing *p, int64_t number)
{
    char text[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    grid_add(p->grid, text);
}

static void add_number(struct printing *p, const struct table_column *column, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    if (column->type == COLUMN_TIME)
        grid_add_time(p->grid, count);
    else if (column->type == COLUMN_NUMBER)
        add_id(p, (int64_t)count);
    else if (column->type == COLUMN_BYTES)
        grid_add(p->grid, number_size(count, text));
    else
        grid_add_count(p->grid, count);
}

/* Marks the first cell of a row with few samples. */
static void add_text(struct printing *p, const struct table_column *column, const char *text)
{
    char marked[TABLE_LABEL_SIZE + 4];
    bool first = column == p->table->columns;
    if (first && p->row->few) {
        snprintf(marked, sizeof(marked), "%s ~", text);
        text = marked;
    }
    grid_add_styled(p->grid, text, first ? owner_style(p->row->owner) : NULL);
}

static void add_known(struct printing *p, const struct table_column *column,
                      const struct cell *cell)
{
    char text[NUMBER_TEXT_SIZE], rough[NUMBER_TEXT_SIZE + 1];
    if (column->type == COLUMN_TEXT) {
        add_text(p, column, cell->text);
    } else if (column->type == COLUMN_VALUE) {
        grid_add(p->grid, number_value(cell->value, text));
    } else if (column->type == COLUMN_SHARE) {
        add_share(p, column, cell->count);
    } else if (cell->rough) {
        snprintf(rough, sizeof(rough), "~%s",
                 column->type == COLUMN_COUNT   ? number_count(cell->count, text)
                 : column->type == COLUMN_BYTES ? number_size(cell->count, text)
                 : p->table->brief              ? number_time_short(cell->count, text)
                                                : number_time(cell->count, text));
        grid_add(p->grid, rough);
    } else {
        add_number(p, column, cell->count);
    }
}

const char *owner_style(unsigned owner)
{
    static const char *const styles[CODE_OWNERS] = {
        [CODE_UNKNOWN] = STYLE_PLAIN, [CODE_OWN] = STYLE_OWN,         [CODE_LIBRARY] = "38;5;180",
        [CODE_STDLIB] = "38;5;180",   [CODE_INTERPRETER] = STYLE_DIM, [CODE_KERNEL] = "38;5;110",
        [CODE_ANNOT] = STYLE_DIM,
    };
    return owner < CODE_OWNERS ? styles[owner] : STYLE_PLAIN;
}

static void add_cell(struct printing *p, unsigned at)
{
    const struct table_column *column = &p->table->columns[at];
    const struct cell *cell = &p->row->cells[column->type == COLUMN_SHARE ? column->of : at];
    char rest[64];
    if (at == 0 && p->row->rest) {
        snprintf(rest, sizeof(rest), "(%s)", p->row->rest);
        grid_add(p->grid, rest);
    } else if (cell->state == CELL_NONE || cell->quiet) {
        grid_add(p->grid, "");
    } else if (cell->state == CELL_UNKNOWN) {
        grid_add(p->grid, "-");
    } else {
        add_known(p, column, cell);
    }
}

static void add_row(struct printing *p)
{
    for (unsigned i = 0; i < p->table->column_count; i++) {
        if (p->row->role != ROW_PART && p->row->role != ROW_REST)
            p->of_row[i] = number_of(&p->row->cells[i]);
        if (p->used[i])
            add_cell(p, i);
    }
    p->any_few = p->any_few || p->row->few;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static void sum(const struct printing *p, struct sums *sums)
{
    sums->rows++;
    for (unsigned i = 0; i < p->table->column_count; i++)
        if (adds_up(p, i))
            sums->items[i] += number_of(&p->row->cells[i]);
}

static void add_sums(struct printing *p, const char *label, const struct sums *sums)
{
    for (unsigned i = 0; i < p->table->column_count; i++) {
        const struct table_column *column = &p->table->columns[i];
        if (!p->used[i])
            continue;
        if (i == 0)
            grid_add(p->grid, label);
        else if (column->type == COLUMN_SHARE && !column->of_row && adds_up(p, column->of))
            add_share(p, column, sums->items[column->of]);
        else if (adds_up(p, i))
            add_number(p, column, sums->items[i]);
        else
            grid_add(p->grid, "");
    }
}

/* Prints the sums below the last row. */
static void add_left_out(struct printing *p)
{
    char label[NUMBER_TEXT_SIZE + 16], count[NUMBER_TEXT_SIZE];
    snprintf(label, sizeof(label), "(%s more)", number_count(p->more.rows, count));
    if (p->more.rows > 0 && has_sums(p))
        add_sums(p, label, &p->more);
    if (p->apart.rows > 0)
        add_sums(p, p->table->apart, &p->apart);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void take_plain(struct printing *p, uint64_t at)
{
    p->last_shown = p->shown < p->table->limit || p->view->options->all;
    if (p->last_shown) {
        table_row(p->table, at, p->row);
        add_row(p);
        p->shown++;
    } else {
        sum(p, &p->more);
    }
    sum(p, &p->all);
}

static void take_row(struct printing *p, uint64_t at)
{
    table_sums(p->table, at, p->row);
    switch (role_of(p)) {
    case ROW_PLAIN:
        take_plain(p, at);
        break;
    case ROW_PART:
        if (!p->last_shown)
            break;
        table_row(p->table, at, p->row);
        add_row(p);
        break;
    case ROW_MINOR:
        if (counts(p))
            sum(p, &p->more);
        sum(p, &p->all);
        break;
    case ROW_APART:
        sum(p, &p->apart);
        sum(p, &p->all);
        break;
    default:
        break;
    }
}

static void add_rows(struct printing *p)
{
    uint64_t at = 0;
    for (; at < p->table->row_count; at++) {
        take_row(p, p->order ? p->order[at] : at);
        if (p->row->role == ROW_REST)
            break;
    }
    add_left_out(p);
    for (; at < p->table->row_count; at++) {
        table_row(p->table, at, p->row);
        if (counts(p))
            add_row(p);
        sum(p, &p->all);
    }
    if (p->table->has_sum)
        add_sums(p, "(sum)", &p->all);
}

/* ---- The table ------------------------------------------------------------------------------- */

void report_text_notes(const struct table *table, bool shown)
{
    char text[NUMBER_TEXT_SIZE];
    for (unsigned i = 0; i < table->note_count; i++) {
        const struct table_note *note = &table->notes[i];
        if (!shown && !note->always)
            continue;
        if (note->apart)
            printf("\n");
        term_print(note->before);
        if (note->after)
            printf("%s%s", number_count(note->count, text), note->after);
        printf("\n");
    }
}

static int print_grid(struct printing *p)
{
    const struct table *table = p->table;
    char count[NUMBER_TEXT_SIZE];
    size_t hidden = 0;
    printf("\n");
    term_print(table->title ? table->title : table->name);
    printf("\n");
    grid_limit_first(p->grid, table->long_labels && !p->view->wide ? NAME_WIDTH_MAX : 0);
    int rc = grid_print(p->grid, p->view->wide ? 0 : p->view->width, p->view->color, &hidden);
    if (hidden && table->tells_hidden)
        printf("(%zu %s hidden: a wider terminal or --wide shows them)\n", hidden,
               hidden == 1 ? "column is" : "columns are");
    if (p->more.rows > 0 && !has_sums(p))
        printf("(%s more)\n", number_count(p->more.rows, count));
    if (p->any_few && table->few)
        printf("%s\n", table->few);
    return rc;
}

static int print_table(struct printing *p)
{
    struct grid_column columns[TABLE_COLUMNS_MAX];
    size_t count = 0, fills = 0;
    for (unsigned i = 0; i < p->table->column_count; i++) {
        const struct table_column *column = &p->table->columns[i];
        if (p->used[i])
            columns[count++] = (struct grid_column){column->title, column->rank,
                                                    column->type == COLUMN_TEXT && !column->right};
        if (p->used[i] && column->fills)
            fills = count - 1;
    }
    p->grid = grid_create(columns, count);
    if (!p->grid)
        return -ENOMEM;
    grid_let_fill(p->grid, fills);
    if (p->table->brief)
        grid_be_brief(p->grid);
    add_rows(p);
    int rc = print_grid(p);
    grid_destroy(p->grid);
    return rc;
}

static bool is_for_people(const struct table *table)
{
    for (unsigned i = 0; i < table->column_count; i++)
        if (table->columns[i].title)
            return true;
    return false;
}

int report_text_table(const struct table *table, const struct report_view *view)
{
    struct printing printing = {.table = table, .view = view};
    int rc = 0;
    if (!is_for_people(table))
        return -ENODATA;
    printing.row = malloc(sizeof(*printing.row));
    if (!printing.row)
        return -ENOMEM;
    look(&printing);
    if (view->options->sorted)
        printing.order = report_table_order(table, view->options->sort, printing.row);
    bool shown = printing.kept > 0 || (table->rest_alone && printing.rests > 0);
    if (shown)
        rc = print_table(&printing);
    free(printing.order);
    free(printing.row);
    report_text_notes(table, shown);
    return rc;
}
