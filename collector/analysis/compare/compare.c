/* SPDX-License-Identifier: MIT */
/* Reads recordings into rows: each becomes a report, and its tables supply the numbers. */
#include "compare.h"

#include "compare_facts.h"
#include "compare_kinds.h"
#include "compare_limit.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "reader.h"
#include "report_ranges.h"
#include "strtab.h"
#include "vec.h"

#include "missing.h"
#include "pass.h"
#include "report.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DURATIONS = 4096, /* of a range in a recording */
    BATCHES = COMPARE_EXACT_MAX,
};

/* ---- The object ------------------------------------------------------------------------------ */

struct compare *compare_create(size_t a_runs, size_t b_runs)
{
    struct compare *compare = calloc(1, sizeof(*compare));
    if (!compare)
        return NULL;
    compare->counts[COMPARE_A] = a_runs;
    compare->counts[COMPARE_B] = b_runs;
    compare->runs = calloc(a_runs + b_runs, sizeof(*compare->runs));
    compare->lists = calloc(compare_kind_count, sizeof(*compare->lists));
    if (compare->runs && compare->lists)
        return compare;
    compare_destroy(compare);
    return NULL;
}

void compare_free_row(struct compare_row *row)
{
    free(row->values);
    free(row->batches[COMPARE_A]);
    free(row->batches[COMPARE_B]);
}

static void free_list(struct compare_list *list)
{
    for (size_t i = 0; i < list->rows.count; i++)
        compare_free_row(&list->rows.items[i]);
    strtab_free(&list->keys);
    vec_free(&list->rows);
    vec_free(&list->results);
}

void compare_destroy(struct compare *compare)
{
    if (!compare)
        return;
    for (size_t i = 0; compare->lists && i < compare_kind_count; i++)
        free_list(&compare->lists[i]);
    for (size_t i = 0; i < compare->table_count; i++)
        table_fini(&compare->tables[i]);
    for (size_t i = 0; i < compare->screen_count; i++)
        table_fini(&compare->screen[i]);
    vec_free(&compare->story.rows);
    strtab_free(&compare->texts);
    free(compare->lists);
    free(compare->runs);
    free(compare);
}

const char *compare_text(struct compare *compare, const char *text)
{
    int64_t at = strtab_add(&compare->texts, text, strlen(text));
    return at < 0 ? NULL : strtab_get(&compare->texts, (size_t)at)->bytes;
}

/* Returns the number of values of a row: one per metric and run. */
static size_t number_count(const struct compare *compare, size_t kind)
{
    unsigned count = 0;
    while (count < METRICS_MAX && compare_kinds[kind].metrics[count].word)
        count++;
    return compare_at(compare, count, 0);
}

struct compare_row *compare_row_of(struct compare *compare, size_t kind, const char *key,
                                   size_t length)
{
    struct compare_list *list = &compare->lists[kind];
    int64_t at = strtab_add(&list->keys, key, length);
    if (at < 0)
        return NULL;
    if ((size_t)at < list->rows.count)
        return &list->rows.items[at];
    struct compare_row row = {.name = "", .place = "", .file = "", .tail = ""};
    size_t count = number_count(compare, kind);
    row.values = malloc((count + 1) * sizeof(*row.values));
    if (!row.values || vec_push(&list->rows, row) != 0) {
        free(row.values);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        row.values[i] = NAN;
    return &list->rows.items[at];
}

int compare_add_number(struct compare *compare, const struct compare_number *number)
{
    struct compare_row *row = compare_row_of(compare, 0, number->name, strlen(number->name));
    const char *copy = compare_text(compare, number->name);
    size_t from = number->side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    if (!row || !copy)
        return -ENOMEM;
    row->name = copy;
    row->unit = (uint8_t)number->unit;
    row->values[compare_at(compare, 0, from + number->run)] = number->value;
    return 0;
}

/* ---- Rows of tables -------------------------------------------------------------------------- */

/* The table being read. */
struct reading {
    struct compare *compare;
    const struct report *report;
    const struct table *table;
    size_t kind, run;
    enum compare_side side;
    int keys[KEYS_MAX], place;
    int columns[METRICS_MAX];
    struct table_row *row;
    char whole[TABLE_LABEL_SIZE]; /* name of the last row that is not a part of another */
};

static int column_of(const struct table *table, const char *name)
{
    for (unsigned i = 0; name && i < table->column_count; i++)
        if (table->columns[i].name && strcmp(table->columns[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const char *text_of(const struct reading *r, int column)
{
    const struct cell *cell = column < 0 ? NULL : &r->row->cells[column];
    return cell && cell->state == CELL_KNOWN ? cell->text : "";
}

static double number_of(const struct reading *r, int column)
{
    if (column < 0 || r->row->cells[column].state != CELL_KNOWN)
        return NAN;
    const struct cell *cell = &r->row->cells[column];
    return r->table->columns[column].type == COLUMN_VALUE ? cell->value : (double)cell->count;
}

/* Splits the label of a function, "parse (/home/me/io.py:16)": returns the base name of the file,
 * as another checkout of the same program lies in another folder, and the first line. Without a
 * place: "" and 0. */
static const char *place_of(const char *function, char file[TABLE_LABEL_SIZE], int32_t *ret_line)
{
    const char *open = strrchr(function, '('), *colon = open ? strrchr(open, ':') : NULL;
    file[0] = '\0';
    *ret_line = 0;
    if (!colon || !text_ends_with(function, ")"))
        return file;
    snprintf(file, TABLE_LABEL_SIZE, "%.*s", (int)(colon - open - 1), open + 1);
    *ret_line = (int32_t)strtol(colon + 1, NULL, 10);
    return text_base_name(file);
}

/* The identity of a row: name, location and further keys. */
struct identity {
    const char *name, *file;
    int32_t line;
    char room[TABLE_LABEL_SIZE];
    char tail[KEYS_MAX * TABLE_LABEL_SIZE], key[KEYS_MAX * TABLE_LABEL_SIZE];
};

/* Lines without a text are named by their place, a state of the program by itself, a part by the
 * whole. */
static const char *name_of(const struct reading *r)
{
    if (r->row->role == ROW_PART && !text_of(r, r->keys[0])[0])
        return r->whole;
    const int columns[] = {r->keys[0], r->place, r->keys[1]};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        if (text_of(r, columns[i])[0])
            return text_of(r, columns[i]);
    return "";
}

static void identify(const struct reading *r, struct identity *id)
{
    const char *const *names = compare_kinds[r->kind].keys;
    struct text tail = text_init(id->tail, sizeof(id->tail));
    struct text key = text_init(id->key, sizeof(id->key));
    double line = number_of(r, column_of(r->table, "line"));
    id->name = name_of(r);
    id->file = "";
    id->line = isnan(line) ? 0 : (int32_t)line;
    for (int i = 1; i < KEYS_MAX && names[i]; i++) {
        const char *part = text_of(r, r->keys[i]);
        if (strcmp(names[i], "function") == 0)
            id->file = place_of(part, id->room, &id->line);
        else if (strcmp(names[i], "file") == 0)
            id->file = text_base_name(part);
        else
            text_format(&tail, "\x1f%s",
                        strcmp(names[i], "module") == 0 ? text_base_name(part) : part);
    }
    text_format(&key, "%s\x1f%s%s", id->name, id->file, id->tail);
}

static bool is_own(const struct reading *r)
{
    int owner = column_of(r->table, "owner");
    return owner < 0 ? !r->row->observed : strcmp(text_of(r, owner), "own") == 0;
}

/* Rows of one function that allocates at several lines of a file have the file as their place. */
static const char *find_place(const struct reading *r, struct compare_row *row)
{
    const char *place = text_of(r, r->place), *colon = strrchr(place, ':');
    bool again = row->placed == r->run + 1 && strcmp(row->place, place) != 0;
    char file[TABLE_LABEL_SIZE];
    row->placed = r->run + 1;
    if (!again || !colon || !(compare_kinds[r->kind].metrics[0].flags & METRIC_ESTIMATE))
        return compare_text(r->compare, place);
    snprintf(file, sizeof(file), "%.*s", (int)(colon - place), place);
    return compare_text(r->compare, file);
}

static struct compare_row *find_row(const struct reading *r)
{
    struct identity *id = malloc(sizeof(*id));
    struct compare_row *row = NULL;
    if (!id)
        return NULL;
    identify(r, id);
    row = compare_row_of(r->compare, r->kind, id->key, strlen(id->key));
    if (row) {
        row->name = compare_text(r->compare, id->name);
        row->file = compare_text(r->compare, id->file);
        row->tail = compare_text(r->compare, id->tail);
        row->place = find_place(r, row);
        row->line[r->side] = id->line;
        row->own = is_own(r);
    }
    free(id);
    return row && row->name && row->file && row->tail && row->place ? row : NULL;
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Sorts the values. Returns the lower median, as in reports. */
static double median_of(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_number);
    size_t middle = (count - 1) / 2;
    return (double)values[middle];
}

/* Consecutive durations are correlated, as disturbances last: the median of a batch is one
 * measurement. */
static int keep_batches(const struct reading *r, struct compare_row *row, uint64_t *values,
                        size_t count)
{
    size_t batches = count < BATCHES ? count : BATCHES;
    double *medians = calloc(batches, sizeof(*medians));
    if (!medians)
        return -ENOMEM;
    for (size_t i = 0; i < batches; i++) {
        size_t from = i * count / batches, to = (i + 1) * count / batches;
        medians[i] = median_of(values + from, to - from);
    }
    free(row->batches[r->side]);
    row->batches[r->side] = medians;
    row->batch_counts[r->side] = batches;
    return 0;
}

/* Exact medians of durations, while the report's are within 0.8 %; and without time runnable but
 * without a processor. */
struct middles {
    double each, undisturbed; /* NaN: unknown */
};

static int find_middles(const struct reading *r, struct compare_row *row, uint64_t index,
                        struct middles *ret_middles)
{
    uint32_t count;
    const struct range_duration *kept = report_durations(r->report, r->table, index, &count);
    uint64_t *values = count ? malloc(count * sizeof(*values)) : NULL;
    *ret_middles = (struct middles){NAN, NAN};
    if (!values)
        return count ? -ENOMEM : 0;
    for (uint32_t i = 0; i < count; i++)
        values[i] = kept[i].duration_ns;
    int rc = compare_is_single(r->compare) ? keep_batches(r, row, values, count) : 0;
    if (count >= number_of(r, column_of(r->table, "count")))
        ret_middles->each = median_of(values, count);
    for (uint32_t i = 0; i < count; i++)
        values[i] = kept[i].duration_ns - kept[i].runnable_ns;
    ret_middles->undisturbed = median_of(values, count);
    free(values);
    return rc;
}

/* Sets `bound` if its threads only ran in it or were ready, and `speed` if it contains almost no
 * other ranges. Both have to hold in all recordings. */
static void find_speed(const struct reading *r, struct compare_row *row)
{
    double total = number_of(r, column_of(r->table, "total_ns"));
    double self = number_of(r, column_of(r->table, "self_ns"));
    double blocked = number_of(r, column_of(r->table, "blocked_ns"));
    double count = number_of(r, column_of(r->table, "count"));
    bool first = r->side == COMPARE_A && r->compare->added[COMPARE_A] == 0;
    row->bound = (first || row->bound) && total > 0 && blocked <= 0.05 * total;
    row->speed = (first || row->speed) && row->bound && self >= 0.9 * total && count >= 10;
}

static double sum_of(double a, double b, unsigned flags)
{
    return flags & METRIC_DEVIATION ? sqrt(a * a + b * b) : a + b;
}

static int take_row(const struct reading *r, uint64_t index)
{
    const struct compare_kind *kind = &compare_kinds[r->kind];
    struct compare_row *row = find_row(r);
    struct middles middles = {NAN, NAN};
    size_t run = r->run;
    int rc = row ? find_middles(r, row, index, &middles) : -ENOMEM;
    for (unsigned i = 0; i < METRICS_MAX && kind->metrics[i].word && rc == 0; i++) {
        double value = number_of(r, r->columns[i]);
        double *at = &row->values[compare_at(r->compare, i, run)];
        if ((kind->metrics[i].flags & METRIC_EACH) && !isnan(middles.each))
            value = middles.each;
        if (kind->metrics[i].flags & METRIC_UNDISTURBED)
            value = middles.undisturbed;
        if (kind->metrics[i].flags & METRIC_BOTH)
            value = number_of(r, r->columns[i + 1]) + number_of(r, r->columns[i + 2]);
        bool adds = (kind->metrics[i].flags & METRIC_SUM) && !isnan(*at) && !isnan(value);
        *at = adds ? sum_of(*at, value, kind->metrics[i].flags) : isnan(value) ? *at : value;
    }
    if (rc == 0)
        find_speed(r, row);
    return rc;
}

/* Adds up the columns of all rows into the only row of the kind. */
static int take_whole(struct reading *r, const char *name)
{
    const struct compare_metric *metrics = compare_kinds[r->kind].metrics;
    struct compare_row *row = compare_row_of(r->compare, r->kind, name, strlen(name));
    if (!row)
        return -ENOMEM;
    row->name = name;
    for (uint64_t i = 0; i < r->table->row_count; i++) {
        table_row(r->table, i, r->row);
        for (unsigned metric = 0; metric < METRICS_MAX; metric++) {
            double value = number_of(r, r->columns[metric]);
            double *sum = &row->values[compare_at(r->compare, metric, r->run)];
            if (r->columns[metric] >= 0 && !isnan(value))
                *sum = isnan(*sum) ? value : sum_of(*sum, value, metrics[metric].flags);
        }
    }
    return 0;
}

static int take_table(struct reading *r)
{
    const struct compare_kind *kind = &compare_kinds[r->kind];
    int rc = 0;
    r->table = kind->table ? report_find(r->report, kind->table) : NULL;
    if (!r->table)
        return 0;
    for (int i = 0; i < KEYS_MAX; i++)
        r->keys[i] = column_of(r->table, kind->keys[i]);
    r->place = column_of(r->table, kind->place);
    for (int i = 0; i < METRICS_MAX; i++)
        r->columns[i] = kind->metrics[i].word ? column_of(r->table, kind->metrics[i].column) : -1;
    if (kind->whole)
        return take_whole(r, kind->whole);
    for (uint64_t i = 0; i < r->table->row_count && rc == 0; i++) {
        table_row(r->table, i, r->row);
        if (r->row->role == ROW_PLAIN)
            snprintf(r->whole, sizeof(r->whole), "%s", text_of(r, r->keys[0]));
        if (r->row->role == ROW_PLAIN || r->row->role == ROW_PART || r->row->role == ROW_MINOR)
            rc = take_row(r, i);
    }
    return rc;
}

static double fact_of(struct reading *r, const char *table, const char *column)
{
    r->table = report_find(r->report, table);
    if (!r->table || r->table->row_count == 0)
        return NAN;
    table_row(r->table, 0, r->row);
    return number_of(r, column_of(r->table, column));
}

/* Returns percent, over all devices; NaN: no device, or not watched. */
static double gpu_busy_of(struct reading *r)
{
    double busy_ns = 0, watched_ns = 0;
    r->table = report_find(r->report, "gpu_queues");
    for (uint64_t i = 0; r->table && i < r->table->row_count; i++) {
        table_row(r->table, i, r->row);
        bool of_device = text_of(r, column_of(r->table, "device"))[0] != '\0';
        if (of_device && strcmp(text_of(r, column_of(r->table, "kind")), "device") != 0)
            continue;
        busy_ns += number_of(r, column_of(r->table, "busy_ns"));
        watched_ns += number_of(r, column_of(r->table, "watched_ns"));
    }
    return watched_ns > 0 ? 100 * busy_ns / watched_ns : NAN;
}

static int take_tables(struct reading *r, size_t run)
{
    struct compare_number gpu = {r->side, run, "GPU busy [%]", COLUMN_VALUE, gpu_busy_of(r)};
    struct compare_number wall = {r->side, run, "wall", COLUMN_TIME, 0};
    struct compare_number cpu = {r->side, run, "CPU by samples", COLUMN_TIME, 0};
    wall.value = fact_of(r, "recording", "wall_ns");
    cpu.value = fact_of(r, "sampling", "cpu_ns");
    int rc = compare_add_number(r->compare, &wall);
    if (rc == 0 && cpu.value > 0)
        rc = compare_add_number(r->compare, &cpu);
    if (rc == 0 && !isnan(gpu.value))
        rc = compare_add_number(r->compare, &gpu);
    for (r->kind = 1; r->kind < compare_kind_count && rc == 0; r->kind++)
        rc = take_table(r);
    return rc;
}

/* ---- Recordings ------------------------------------------------------------------------------ */

int compare_add(struct compare *compare, enum compare_side side, struct store_reader *reader,
                const char *path)
{
    const struct pass_selection all = PASS_SELECT_ALL;
    const struct report_options options = {
        .path = path,
        .only = "",
        .reader = reader,
        .selection = &all,
        .sort = RANGE_COLUMN_TOTAL,
        .limit = UINT64_MAX,
        .functions = UINT64_MAX,
        .all = true,
        .lines = true,
        .durations = DURATIONS,
    };
    size_t run = compare->added[side];
    struct reading *r = calloc(1, sizeof(*r));
    struct report *report = NULL;
    if (!r)
        return -ENOMEM;
    *r = (struct reading){.compare = compare, .side = side};
    r->run = run + (side == COMPARE_B ? compare->counts[COMPARE_A] : 0);
    r->row = malloc(sizeof(*r->row));
    int rc = r->row ? report_create(&options, &report) : -ENOMEM;
    if (rc == 0) {
        r->report = report;
        compare->runs[r->run].path = compare_text(compare, path);
        compare_take_facts(&compare->runs[r->run], report, store_reader_trace(reader));
        rc = compare->runs[r->run].path ? take_tables(r, run) : -ENOMEM;
        report_destroy(report);
    }
    compare->added[side]++;
    free(r->row);
    free(r);
    return rc;
}

bool compare_is_single(const struct compare *compare)
{
    return compare->counts[COMPARE_A] == 1 && compare->counts[COMPARE_B] == 1;
}

size_t compare_runs(const struct compare *compare, enum compare_side side)
{
    return compare->counts[side];
}

size_t compare_results(const struct compare *compare, const char *kind,
                       const struct compare_result **ret_results)
{
    const struct compare_kind *found = compare_kind_find(kind, strlen(kind));
    const struct compare_list *list = found ? &compare->lists[found - compare_kinds] : NULL;
    *ret_results = list ? list->results.items : NULL;
    return list ? list->results.count : 0;
}

size_t compare_reference_count(const struct compare *compare)
{
    return compare->references;
}
