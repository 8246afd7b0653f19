/* SPDX-License-Identifier: MIT */
/* Who calls a function, and what it calls: of the functions of one name, or of a pattern.
 *
 * A stack counts once, at the outermost of these functions. Between Python functions native frames
 * are left out, as the calls of the interpreter that they are. */
#include "report_parts.h"

#include "call_label.h"
#include "hash_map.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct neighbour {
    uint32_t label; /* 0: none, it is the outermost; of what is called: its own time */
    uint64_t time_ns;
};

struct neighbours {
    VEC(struct neighbour) items;
    struct map64 by_label;
};

struct callers {
    const struct report *report;
    const struct stacks *stacks;
    bool *wanted; /* by label */
    uint64_t whole_ns;
    struct neighbours sides[2]; /* callers, callees */
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

static int add(struct neighbours *side, uint32_t label, uint64_t time_ns)
{
    const uint64_t *found = map64_find(&side->by_label, (uint64_t)label + 1);
    struct neighbour fresh = {label, time_ns};
    if (!found)
        return vec_push(&side->items, fresh) != 0
                   ? -ENOMEM
                   : map64_put(&side->by_label, (uint64_t)label + 1, side->items.count);
    if (side->items.items)
        side->items.items[*found - 1].time_ns += time_ns;
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

/* From the leaf to the outermost wanted function; what that called, on the way: the next Python
 * function, or, without one, what is next. */
static int add_stack(struct callers *callers, uint32_t leaf, uint64_t time_ns)
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
    callers->whole_ns += time_ns;
    int error = add(&callers->sides[0], caller_of(callers, found), time_ns);
    return error ? error : add(&callers->sides[1], called ? label_of(callers, called) : 0, time_ns);
}

static int largest_first(const void *left, const void *right, void *context)
{
    const struct neighbour *a = left, *b = right;
    const struct report *report = context;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return call_compare_labels(report->trace, a->label, b->label);
}

static int sum(struct callers *callers)
{
    const struct frame_stats *frames = callers->report->samples.frames;
    uint32_t count = stacks_stack_count(callers->stacks);
    uint64_t *self_ns = calloc((size_t)count + 1, sizeof(*self_ns));
    int error = self_ns ? 0 : -ENOMEM;
    for (uint32_t stack = 1; stack < count && !error; stack++) {
        uint64_t total_ns = frame_stats_stack_ns(frames, stack);
        self_ns[stack] += total_ns;
        self_ns[parent_of(callers, stack)] -= total_ns; /* a parent's number is smaller */
    }
    for (uint32_t stack = 1; stack < count && !error; stack++)
        if (self_ns[stack] > 0)
            error = add_stack(callers, stack, self_ns[stack]);
    free(self_ns);
    for (int i = 0; i < 2 && !error; i++)
        if (callers->sides[i].items.count > 0)
            qsort_r(callers->sides[i].items.items, callers->sides[i].items.count,
                    sizeof(struct neighbour), largest_first, (void *)callers->report);
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

enum { NAME, LOCATION, TIME, SHARE };

static const struct table_column columns[] = {
    [NAME] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 1},
    [TIME] = {.name = "cpu_ns", .title = "cpu", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TIME},
};

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct neighbour *neighbour = (const struct neighbour *)table->rows + index;
    row_count(row, TIME, neighbour->time_ns);
    if (neighbour->label == 0) {
        row->role = ROW_REST;
        row->rest = strcmp(table->name, "callers") == 0 ? "nobody" : "itself";
        return;
    }
    report_name_cells(report, row, NAME, &(struct call_place){neighbour->label, 0});
}

static int add_table(struct report *report, struct callers *callers, unsigned side)
{
    struct table *table = report_add_table(report, side ? "callees" : "callers", fill);
    char title[512];
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    table->columns[SHARE].whole = callers->whole_ns;
    table->rows = callers->sides[side].items.items;
    table->row_count = callers->sides[side].items.count;
    table->limit = report->options.functions;
    table->rest_alone = true;
    callers->sides[side].items.items = NULL; /* the table's */
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
