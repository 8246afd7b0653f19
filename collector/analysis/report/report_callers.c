/* SPDX-License-Identifier: MIT */
/* Who calls a function, and what it calls: of the functions of one name, or of a pattern.
 *
 * A stack counts once, at the outermost of these functions. Between Python functions native frames
 * are left out, as the calls of the interpreter that they are. Waits count where the other tables
 * of the report count them, and of functions that did nothing else. */
#include "report_parts.h"

#include "call_label.h"
#include "hash_map.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of samples that end in a stack. */
struct times {
    uint64_t value; /* CPU time, or what was asked for in its place */
    uint64_t ready_ns, waiting_ns;
};

struct neighbour {
    uint32_t label; /* 0: none, it is the outermost; of what is called: its own time */
    struct times times;
};

struct neighbours {
    VEC(struct neighbour) items;
    struct map64 by_label;
};

struct callers {
    const struct report *report;
    const struct stacks *stacks;
    bool *wanted; /* by label */
    struct times whole;
    bool with_waits;
    struct neighbours sides[2]; /* callers, callees */
};

/* What the tables' rows are made of: they are the tables'. */
struct rows {
    bool with_waits;
    struct neighbour items[];
};

/* ---- Sums ------------------------------------------------------------------------------------ */

static uint32_t label_of(const struct callers *callers, uint32_t stack)
{
    uint32_t frame = stacks_get_stack(callers->stacks, stack)->frame;
    return stacks_get_frame(callers->stacks, frame)->label;
}

static uint8_t kind_of(const struct callers *callers, uint32_t stack)
{
    return stacks_get_label(callers->stacks, label_of(callers, stack))->kind;
}

static uint32_t parent_of(const struct callers *callers, uint32_t stack)
{
    return stacks_get_stack(callers->stacks, stack)->parent;
}

static void add_times(struct times *to, const struct times *times)
{
    to->value += times->value;
    to->ready_ns += times->ready_ns;
    to->waiting_ns += times->waiting_ns;
}

static uint64_t time_of(const struct times *times, bool with_waits)
{
    return times->value + (with_waits ? times->ready_ns + times->waiting_ns : 0);
}

static int add(struct neighbours *side, uint32_t label, const struct times *times)
{
    const uint64_t *found = map64_find(&side->by_label, (uint64_t)label + 1);
    struct neighbour fresh = {label, *times};
    if (!found)
        return vec_push(&side->items, fresh) != 0
                   ? -ENOMEM
                   : map64_put(&side->by_label, (uint64_t)label + 1, side->items.count);
    if (side->items.items)
        add_times(&side->items.items[*found - 1].times, times);
    return 0;
}

/* The function that called it: of a Python function the next Python function. */
static uint32_t caller_of(const struct callers *callers, uint32_t stack)
{
    bool python = kind_of(callers, stack) == FRAME_PYTHON;
    for (uint32_t at = parent_of(callers, stack); at != 0; at = parent_of(callers, at))
        if (!python || kind_of(callers, at) == FRAME_PYTHON)
            return label_of(callers, at);
    return 0;
}

/* The kernel takes the processor away: nothing called it. */
static bool is_interrupt(const struct callers *callers, uint32_t stack, const struct times *times)
{
    return times->value + times->waiting_ns == 0 && kind_of(callers, stack) == FRAME_KERNEL;
}

/* From the leaf to the outermost wanted function; what that called, on the way: the next Python
 * function, or, without one, what is next. */
static int add_stack(struct callers *callers, uint32_t leaf, const struct times *times)
{
    uint32_t found = 0, called = 0, next = 0, python = 0;
    for (uint32_t at = leaf; at != 0; at = parent_of(callers, at)) {
        if (callers->wanted[label_of(callers, at)]) {
            found = at;
            called = python && kind_of(callers, at) == FRAME_PYTHON ? python : next;
        }
        next = at;
        python = kind_of(callers, at) == FRAME_PYTHON ? at : python;
    }
    if (found == 0)
        return 0;
    if (called && is_interrupt(callers, called, times))
        called = 0;
    add_times(&callers->whole, times);
    int error = add(&callers->sides[0], caller_of(callers, found), times);
    return error ? error : add(&callers->sides[1], called ? label_of(callers, called) : 0, times);
}

static int largest_first(const void *left, const void *right, void *context)
{
    const struct neighbour *a = left, *b = right;
    const struct callers *callers = context;
    uint64_t a_ns = time_of(&a->times, callers->with_waits);
    uint64_t b_ns = time_of(&b->times, callers->with_waits);
    if (a_ns != b_ns)
        return a_ns < b_ns ? 1 : -1;
    return call_compare_labels(callers->report->trace, a->label, b->label);
}

/* A value has no waits beside it. */
static struct times times_of(const struct callers *callers, uint32_t stack)
{
    const struct line_sums *sums = line_stats_stack(callers->report->samples.lines, stack);
    if (callers->report->options.value)
        return (struct times){.value = sums->self_ns};
    return (struct times){sums->self_ns, sums->ready_ns, sums->waiting_ns};
}

static int sum(struct callers *callers)
{
    uint32_t count = stacks_stack_count(callers->stacks);
    int error = 0;
    for (uint32_t stack = 1; stack < count && !error; stack++) {
        struct times times = times_of(callers, stack);
        if (time_of(&times, true) > 0)
            error = add_stack(callers, stack, &times);
    }
    callers->with_waits = callers->report->samples.with_waits || callers->whole.value == 0;
    for (int i = 0; i < 2 && !error; i++)
        if (callers->sides[i].items.count > 0)
            qsort_r(callers->sides[i].items.items, callers->sides[i].items.count,
                    sizeof(struct neighbour), largest_first, callers);
    return error;
}

/* By its name, or by what tables call it. */
static bool find_wanted(struct callers *callers)
{
    const struct trace *trace = callers->report->trace;
    const char *name = callers->report->options.callers;
    char text[CALL_LABEL_SIZE];
    bool any = false;
    for (uint32_t i = 1; i < stacks_label_count(callers->stacks); i++) {
        code_name(trace, i, text, sizeof(text));
        callers->wanted[i] = text_matches(name, text);
        if (!callers->wanted[i]) {
            call_label(trace, i, CALL_STRIP_LIBRARIES, text, sizeof(text));
            callers->wanted[i] = text_matches(name, text);
        }
        any = any || callers->wanted[i];
    }
    return any;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

enum { NAME, LOCATION, TIME, SHARE, CPU, READY, WAITING };

static const struct table_column columns[] = {
    [NAME] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [TIME] = {.name = "time_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TIME},
    [CPU] = {.name = "cpu_ns", .title = "CPU", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [READY] = {.name = "ready_ns",
               .title = "ready",
               .type = COLUMN_TIME,
               .rank = 4,
               .adds_up = true,
               .rare = true},
    [WAITING] = {.name = "waiting_ns",
                 .title = "waits",
                 .type = COLUMN_TIME,
                 .rank = 2,
                 .adds_up = true,
                 .rare = true},
};

static void fill_number(struct table_row *row, unsigned column, uint64_t time_ns)
{
    row_count(row, column, time_ns);
    row->cells[column].quiet = time_ns == 0;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct rows *rows = table->rows;
    const struct neighbour *neighbour = &rows->items[index];
    row_count(row, TIME, time_of(&neighbour->times, rows->with_waits));
    fill_number(row, CPU, neighbour->times.value);
    fill_number(row, READY, neighbour->times.ready_ns);
    fill_number(row, WAITING, neighbour->times.waiting_ns);
    if (neighbour->label == 0) {
        row->role = ROW_REST;
        row->rest = strcmp(table->name, "callers") == 0 ? "nobody" : "itself";
        return;
    }
    report_name_cells(report, row, NAME, &(struct call_place){neighbour->label, 0});
}

/* Without waits, the first time is CPU time, or the value that was asked for. */
static struct table_column column_of(const struct callers *callers, unsigned at)
{
    struct table_column column =
        report_value_column(callers->report, columns[at], at == TIME ? "value" : NULL);
    bool value = callers->report->options.value;
    if (at == TIME && value)
        column.title = "value";
    else if (at == TIME && !callers->with_waits)
        column.title = "CPU";
    if ((at == CPU && (value || !callers->with_waits)) || (at == READY && !callers->with_waits) ||
        (at >= READY && value))
        column.title = NULL;
    if (at >= CPU && value)
        column.name = NULL;
    return column;
}

static int add_table(struct report *report, const struct callers *callers, unsigned side)
{
    struct table *table = report_add_table(report, side ? "callees" : "callers", fill);
    size_t count = callers->sides[side].items.count;
    struct rows *rows = malloc(sizeof(*rows) + (count + 1) * sizeof(rows->items[0]));
    char title[512];
    for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, column_of(callers, i));
    table->columns[SHARE].whole = time_of(&callers->whole, callers->with_waits);
    table->rows = rows;
    table->limit = report->options.functions;
    table->rest_alone = true;
    table->brief = true;
    if (!rows)
        return -ENOMEM;
    rows->with_waits = callers->with_waits;
    if (count > 0)
        memcpy(rows->items, callers->sides[side].items.items, count * sizeof(rows->items[0]));
    table->row_count = count;
    snprintf(title, sizeof(title), side ? "what %s calls" : "who calls %s",
             report->options.callers);
    return report_title(report, table, title);
}

int report_add_callers(struct report *report)
{
    struct callers callers = {.report = report, .stacks = trace_stacks_get(report->trace)};
    if (!report->options.callers || !report->samples.present)
        return 0;
    callers.wanted = calloc((size_t)stacks_label_count(callers.stacks) + 1, sizeof(bool));
    int rc = callers.wanted ? 0 : -ENOMEM;
    if (rc == 0 && find_wanted(&callers))
        rc = sum(&callers);
    for (unsigned side = 0; side < 2; side++) {
        if (rc == 0)
            rc = add_table(report, &callers, side);
        vec_free(&callers.sides[side].items);
        map64_free(&callers.sides[side].by_label);
    }
    free(callers.wanted);
    return rc;
}
