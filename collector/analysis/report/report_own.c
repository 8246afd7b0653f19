/* SPDX-License-Identifier: MIT */
/* The tables of the user's own functions, of the wall time by state, and of places of waits. */
#include "report_build.h"
#include "report_functions.h"
#include "report_samples.h"

#include "code_owner.h"
#include "wait_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Names of rows --------------------------------------------------------------------------- */

/* Leading columns that all rows of functions have. */
enum { NAME, LOCATION, FUNCTION, KIND, MODULE, OWNER, PURPOSE, PLACE_COLUMNS };

static const struct table_column place_columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [OWNER] = {.name = "owner", .type = COLUMN_TEXT},
    [PURPOSE] = {.name = "purpose", .type = COLUMN_TEXT},
};

static void add_columns(struct table *table, const struct table_column *columns, size_t count)
{
    for (size_t i = 0; i < PLACE_COLUMNS; i++)
        table_add_column(table, place_columns[i]);
    for (size_t i = 0; i < count; i++)
        table_add_column(table, columns[i]);
}

static void fill_place(const struct report *report, struct table_row *row,
                       const struct own_row *place)
{
    row_text(row, PURPOSE, code_purpose_name(place->purpose));
    report_function_cells(report, row, FUNCTION, place->label);
    if (place->label == 0) {
        char name[200], shown[204];
        code_rest_name(report->trace, place->purpose, place->program, name, sizeof(name));
        snprintf(shown, sizeof(shown), place->purpose ? "%s" : "(%s)", name);
        row_text(row, NAME, shown);
        row_text(row, LOCATION, "");
        row_text(row, OWNER, code_owner_name(CODE_UNKNOWN));
        return;
    }
    report_name_cells(report, row, NAME, &(struct call_place){place->label, place->line});
    row_text(row, OWNER, code_owner_name(row->owner));
}

/* ---- Own functions --------------------------------------------------------------------------- */

enum { OWN_CPU = PLACE_COLUMNS, OWN_SHARE, OWN_RUNNABLE, OWN_BLOCKED, OWN_SAMPLES, OWN_WAITS };

static const struct table_column own_columns[] = {
    {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME, .adds_up = true},
    {.title = "%", .type = COLUMN_SHARE, .of = OWN_CPU},
    {.name = "runnable_ns", .title = "runnable", .type = COLUMN_TIME, .rank = 2, .adds_up = true},
    {.name = "blocked_ns", .title = "blocked", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    {.name = "sample_count", .type = COLUMN_COUNT, .adds_up = true},
    {.name = "wait_count", .type = COLUMN_COUNT, .adds_up = true},
};

static void fill_own(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct own_row *own = (const struct own_row *)table->rows + index;
    if (!row->sums_only)
        fill_place(table->context, row, own);
    row_count(row, OWN_CPU, own->cpu_ns);
    row_count(row, OWN_RUNNABLE, own->runnable_ns);
    row_count(row, OWN_BLOCKED, own->blocked_ns);
    row_count(row, OWN_SAMPLES, own->sample_count);
    row_count(row, OWN_WAITS, own->wait_count);
}

/* Copies the rows, as others may sort them again. */
static int copy_rows(struct table *table, const void *rows, size_t count, size_t size)
{
    char *copy = calloc(count + 1, size);
    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i < count * size; i++)
        copy[i] = ((const char *)rows)[i];
    table->rows = copy;
    table->row_count = count;
    return 0;
}

static int add_own(struct report *report)
{
    struct table *table = report_add_table(report, "own_functions", fill_own);
    const struct own_row *rows = NULL;
    uint32_t count = 0;
    add_columns(table, own_columns, sizeof(own_columns) / sizeof(*own_columns));
    table->limit = report->options.functions;
    if (report->samples.present) {
        count = own_time_rows(report->samples.own, false, &rows);
        table->columns[OWN_SHARE].whole = own_time_totals(report->samples.own)->cpu_ns;
    }
    int rc = copy_rows(table, rows, count, sizeof(*rows));
    return rc < 0 ? rc : report_title(report, table, "own functions, with what others do for them");
}

/* ---- Places of waits ------------------------------------------------------------------------- */

enum {
    WAIT_REASON_COLUMN = PLACE_COLUMNS,
    WAIT_COUNT,
    WAIT_TOTAL,
    WAIT_SHARE,
    WAIT_MAX,
    WAIT_OPEN
};

static const struct table_column wait_columns[] = {
    {.name = "reason", .title = "waited for", .type = COLUMN_TEXT},
    {.name = "count", .title = "count", .type = COLUMN_COUNT, .rank = 1, .adds_up = true},
    {.name = "total_ns", .title = "total", .type = COLUMN_TIME, .adds_up = true},
    {.title = "%", .type = COLUMN_SHARE, .rank = 3, .of = WAIT_TOTAL},
    {.name = "max_ns", .title = "max", .type = COLUMN_TIME, .rank = 2},
    {.name = "unfinished_count", .type = COLUMN_COUNT, .adds_up = true},
    {.name = "in_helpers", .type = COLUMN_FLAG},
};

/* A wait for a processor has no particular place. */
static void fill_ready(const struct report *report, struct table_row *row)
{
    const struct wait_share *wait = &report->samples.inside.runnable;
    row->role = ROW_REST;
    row->rest = "anywhere";
    row_text(row, WAIT_REASON_COLUMN, "runnable");
    row_count(row, WAIT_COUNT, wait->count);
    row_count(row, WAIT_TOTAL, wait->total_ns);
    row_count(row, WAIT_MAX, wait->max_ns);
}

static void fill_wait(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct own_wait *waits;
    if (index >= own_time_waits(report->samples.own, &waits)) {
        fill_ready(report, row);
        return;
    }
    const struct own_wait *wait = &waits[index];
    if (!row->sums_only)
        fill_place(report, row,
                   &(struct own_row){.label = wait->label,
                                     .purpose = wait->purpose,
                                     .program = wait->program,
                                     .line = wait->line});
    row_text(row, WAIT_REASON_COLUMN, wait_kind_name(wait->kind));
    row_count(row, WAIT_COUNT, wait->count);
    row_count(row, WAIT_TOTAL, wait->blocked_ns);
    row_count(row, WAIT_MAX, wait->max_ns);
    row_count(row, WAIT_OPEN, wait->unfinished);
    row_count(row, WAIT_OPEN + 1, wait->helper);
}

static uint64_t count_unfinished(const struct own_wait *waits, uint32_t count)
{
    uint64_t unfinished = 0;
    for (uint32_t i = 0; i < count; i++)
        unfinished += waits[i].unfinished;
    return unfinished;
}

/* The own functions on the stacks of waits. */
static int add_waits(struct report *report)
{
    static const struct table_note who = {
        .before = "(annot flame --off-cpu shows who called these functions)"};
    const struct thread_share *inside = &report->samples.inside.all;
    struct table *table = report_add_table(report, "wait_places", fill_wait);
    const struct own_wait *waits = NULL;
    uint32_t count = report->samples.present ? own_time_waits(report->samples.own, &waits) : 0;
    struct table_note open = {.before = "(waits that had not ended when the recording did: ",
                              .after = ")",
                              .count = count_unfinished(waits, count)};
    add_columns(table, wait_columns, sizeof(wait_columns) / sizeof(*wait_columns));
    table->columns[WAIT_SHARE].whole = inside->blocked_ns + inside->runnable_ns;
    table->row_count = count + (report->samples.inside.runnable.count > 0);
    table->limit = report->options.functions;
    if (open.count)
        table_add_note(table, open);
    table_add_note(table, who);
    return report->samples.off_cpu ? report_title(report, table, "where threads waited") : 0;
}

/* ---- The wall time --------------------------------------------------------------------------- */

enum { WALL_STATE = PLACE_COLUMNS, WALL_REASON, WALL_TIME, WALL_SHARE };

static const struct table_column wall_columns[] = {
    {.name = "state", .title = "state", .type = COLUMN_TEXT},
    {.name = "reason", .title = "waited for", .type = COLUMN_TEXT},
    {.name = "total_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    {.title = "%", .type = COLUMN_SHARE, .of = WALL_TIME},
};

/* The rows before those of waits. */
enum { WALL_STATES = 4 };

static void fill_wall(const struct table *table, uint64_t index, struct table_row *row)
{
    static const char *const states[] = {"running", "runnable", "short waits", "absent"};
    const struct report *report = table->context;
    const struct wall_totals *totals = wall_totals(report->samples.wall);
    const uint64_t times[] = {totals->running_ns, totals->runnable_ns, totals->short_ns,
                              totals->absent_ns};
    if (index < WALL_STATES) {
        row_text(row, WALL_STATE, states[index]);
        row_count(row, WALL_TIME, times[index]);
        return;
    }
    const struct wall_wait *waits;
    wall_waits(report->samples.wall, &waits);
    const struct wall_wait *wait = &waits[index - WALL_STATES];
    if (!row->sums_only)
        fill_place(
            report, row,
            &(struct own_row){.label = wait->label, .purpose = wait->purpose, .line = wait->line});
    row_text(row, WALL_STATE, "blocked");
    row_text(row, WALL_REASON, wait_kind_name(wait->kind));
    row_count(row, WALL_TIME, wait->time_ns);
}

static int add_wall(struct report *report)
{
    struct table *table = report_add_table(report, "wall", fill_wall);
    const struct wall_wait *waits;
    add_columns(table, wall_columns, sizeof(wall_columns) / sizeof(*wall_columns));
    if (!report->samples.off_cpu || !report->samples.present)
        return 0;
    table->columns[WALL_SHARE].whole = wall_totals(report->samples.wall)->wall_ns;
    table->row_count = WALL_STATES + wall_waits(report->samples.wall, &waits);
    table->limit = report->options.functions;
    return report_plain_title(table, "wall time, by what the program did");
}

/* ---- The tree of calls ----------------------------------------------------------------------- */

enum {
    TREE_DEPTH = PLACE_COLUMNS,
    TREE_REASON,
    TREE_CPU,
    TREE_RUNNABLE,
    TREE_BLOCKED,
    TREE_CPU_SELF,
    TREE_READY_SELF,
    TREE_WAITING_SELF,
    TREE_SAMPLES,
};

static const struct table_column tree_columns[] = {
    {.name = "depth", .type = COLUMN_COUNT},
    {.name = "reason", .title = "waits for", .type = COLUMN_TEXT},
    {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME},
    {.name = "runnable_ns", .title = "runnable", .type = COLUMN_TIME, .rank = 2},
    {.name = "blocked_ns", .title = "blocked", .type = COLUMN_TIME, .rank = 1},
    {.name = "cpu_self_ns", .type = COLUMN_TIME, .adds_up = true},
    {.name = "runnable_self_ns", .type = COLUMN_TIME, .adds_up = true},
    {.name = "blocked_self_ns", .type = COLUMN_TIME, .adds_up = true},
    {.name = "sample_count", .type = COLUMN_COUNT},
};

static void fill_node(const struct report *report, struct table_row *row,
                      const struct own_node *node)
{
    const struct own_row place = {.label = node->label, .purpose = node->purpose};
    fill_place(report, row, &place);
    if (node->reason != OWN_NODE_RUNS)
        row_text(row, TREE_REASON, wait_reason_name((enum wait_reason)node->reason));
    if (node->reason != OWN_NODE_RUNS)
        row_text(row, NAME, "(waits)");
}

static void fill_tree(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct own_node *nodes;
    own_tree_rows(report->samples.tree, &nodes);
    const struct own_node *node = &nodes[index];
    if (!row->sums_only)
        fill_node(report, row, node);
    row_count(row, TREE_DEPTH, node->depth);
    row_count(row, TREE_CPU, node->total.cpu_ns);
    row_count(row, TREE_RUNNABLE, node->total.runnable_ns);
    row_count(row, TREE_BLOCKED, node->total.blocked_ns);
    row_count(row, TREE_CPU_SELF, node->self.cpu_ns);
    row_count(row, TREE_READY_SELF, node->self.runnable_ns);
    row_count(row, TREE_WAITING_SELF, node->self.blocked_ns);
    row_count(row, TREE_SAMPLES, node->total.sample_count);
}

/* For programs; readers see it as a tree (screen_functions_tree.c). */
static int add_tree(struct report *report)
{
    struct table *table = report_add_table(report, "call_tree", fill_tree);
    const struct own_node *nodes;
    add_columns(table, tree_columns, sizeof(tree_columns) / sizeof(*tree_columns));
    if (report->samples.present)
        table->row_count = own_tree_rows(report->samples.tree, &nodes);
    return 0;
}

static int add_tables(struct report *report)
{
    int (*const makers[])(struct report *) = {add_wall, add_own, add_tree, add_waits};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(makers) / sizeof(*makers); i++)
        rc = makers[i](report);
    return rc;
}

const struct report_part report_part_own = {.add_tables = add_tables};
