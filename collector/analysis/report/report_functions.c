/* SPDX-License-Identifier: MIT */
/* The tables of functions, by CPU time or another value of samples. Shares are of all samples, or
 * of the samples inside the chosen range. */
#include "report_functions.h"

#include "call_label.h"
#include "code_owner.h"
#include "hash_map.h"
#include "report_build.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Part (1/20) of the time from which nameless code is mentioned. */
enum { NAMELESS_PART = 20 };

bool report_few_samples(uint64_t count)
{
    return count > 0 && count < RANGE_FEW_SAMPLES;
}

bool report_is_exact(const struct report *report)
{
    unsigned set = report->options.weight.set;
    return sample_set_get(trace_sets_get(report->trace), set)->flags &
           (SAMPLE_SET_EXACT | SAMPLE_SET_STRETCH);
}

struct table_column report_value_column(const struct report *report, struct table_column column,
                                        const char *name)
{
    static const enum column_type types[] = {
        [UNIT_NS] = COLUMN_TIME, [UNIT_BYTES] = COLUMN_BYTES, [UNIT_OTHER] = COLUMN_COUNT};

    unsigned type = sample_weight_type(report->trace, report->options.weight);
    if (report->options.value && name) {
        column.type = (uint8_t)types[sample_unit_of(report->trace, type)];
        column.name = name;
    }
    return column;
}

void report_name_cells(const struct report *report, struct table_row *row, unsigned column,
                       const struct call_place *place)
{
    size_t size;
    char *room = row_room(row, &size);
    row_take(row, column, code_name(report->trace, place->label, room, size));
    room = row_room(row, &size);
    row_take(row, column + 1, code_location(report->trace, place->label, place->line, room, size));
    row->owner = (uint8_t)code_owner_of(report->trace, place->label);
}

void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t ordinal)
{
    static const char *const kinds[] = {
        [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
        [FRAME_NOTE] = "note",
    };
    const struct stacks *stacks = trace_stacks_get(report->trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    unsigned kind = label->kind < sizeof(kinds) / sizeof(*kinds) ? label->kind : 0;
    size_t size;
    char *room = row_room(row, &size);
    size_t length = call_label(report->trace, ordinal, CALL_STRIP_LIBRARIES, room,
                               size < CALL_LABEL_SIZE ? size : CALL_LABEL_SIZE);
    room[length] = '\0';
    row_take(row, column, length);
    row_text(row, column + 1, ordinal ? kinds[kind] : "none");
    row_text(row, column + 2,
             trace_string(report->trace, stacks_get_module(stacks, label->module)->path)->bytes);
}

static const char *kind_title(unsigned kind)
{
    static const char *const names[] = {
        [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "Python", [FRAME_KERNEL] = "kernel",
        [FRAME_JIT] = "JIT",       [FRAME_COLLECTOR] = "GC",  [FRAME_NOTE] = "note",
    };
    return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "";
}

/* ---- Rows ------------------------------------------------------------------------------------ */

enum {
    NAME,
    LOCATION,
    FUNCTION,
    KIND,
    MODULE,
    OWNER,
    KIND_TITLE,
    SELF,
    SELF_SHARE,
    PYTHON,
    PYTHON_SHARE,
    TOTAL,
    TOTAL_SHARE,
    SAMPLES,
};

/* The rows of a table of functions. */
struct functions {
    bool python; /* only Python functions, including native code called there */
    bool few;    /* few samples are an estimate */
    uint32_t count;
    struct function_row items[];
};

static void fill_rest(const struct functions *functions, const struct function_row *from,
                      struct table_row *row)
{
    row->role = ROW_REST;
    row->rest = functions->python ? "not in Python" : "no stack";
    row_text(row, KIND, "none");
    row_count(row, SELF, from->self_ns);
    row_count(row, PYTHON, from->python_ns);
    if (!functions->python)
        row_count(row, SAMPLES, from->count);
}

/* Without --all, rows without time in the sort column are summed up. */
static enum row_role role_of(const struct report *report, const struct functions *functions,
                             const struct function_row *from)
{
    uint64_t self_ns = functions->python ? from->python_ns : from->self_ns;
    return report->options.sort == RANGE_COLUMN_TOTAL || self_ns > 0 ? ROW_PLAIN : ROW_MINOR;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct functions *functions = table->rows;
    const struct function_row *from = &functions->items[index];
    if (from->label == 0) {
        fill_rest(functions, from, row);
        return;
    }
    row->role = role_of(report, functions, from);
    row->few = functions->few && report_few_samples(from->count);
    if (!row->sums_only) {
        const struct label *label = stacks_get_label(trace_stacks_get(report->trace), from->label);
        report_name_cells(report, row, NAME, &(struct call_place){from->label, 0});
        report_function_cells(report, row, FUNCTION, from->label);
        row_text(row, OWNER, code_owner_name(row->owner));
        row_text(row, KIND_TITLE, kind_title(label->kind));
    }
    row_count(row, SELF, from->self_ns);
    row_count(row, PYTHON, from->python_ns);
    row_count(row, TOTAL, from->total_ns);
    row->cells[TOTAL].quiet = from->total_ns == 0;
    row_count(row, SAMPLES, from->count);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    [NAME] = {.name = "name", .title = "function", .type = COLUMN_TEXT},
    [LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 4},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [OWNER] = {.name = "owner", .type = COLUMN_TEXT},
    [KIND_TITLE] = {.title = "kind", .type = COLUMN_TEXT, .rank = 1},
    [SELF] = {.name = "cpu_self_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    [SELF_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SELF},
    [PYTHON] = {.name = "cpu_python_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    [PYTHON_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = PYTHON},
    [TOTAL] = {.name = "cpu_total_ns", .title = "total", .type = COLUMN_TIME, .rank = 2},
    [TOTAL_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 3, .of = TOTAL},
    [SAMPLES] = {.name = "sample_count", .type = COLUMN_COUNT},
};

/* Names for values other than CPU time. */
static const char *const value_names[sizeof(columns) / sizeof(*columns)] = {
    [SELF] = "value_self", [PYTHON] = "value_python", [TOTAL] = "value_total"};

static void add_columns(const struct report *report, struct table *table, bool python)
{
    uint64_t whole =
        report->samples.present ? frame_stats_totals(report->samples.frames)->total_ns : 0;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        struct table_column column = report_value_column(report, columns[i], value_names[i]);
        bool shown = python ? i != KIND_TITLE && i != SELF && i != SELF_SHARE
                            : i != PYTHON && i != PYTHON_SHARE;
        column.title = shown ? column.title : NULL;
        column.whole = whole;
        table_add_column(table, column);
    }
}

/* Collects all rows, or those of Python functions, sorted for each table. */
static int collect(const struct report *report, struct table *table, bool python)
{
    bool by_total = report->options.sort == RANGE_COLUMN_TOTAL;
    enum frame_order self = python ? FRAME_ORDER_PYTHON : FRAME_ORDER_SELF;
    const struct function_row *rows = NULL;
    const struct stacks *stacks = trace_stacks_get(report->trace);
    uint32_t count = 0;
    if (report->samples.present)
        count =
            frame_stats_sort(report->samples.frames, by_total ? FRAME_ORDER_TOTAL : self, &rows);
    struct functions *functions =
        calloc(1, sizeof(*functions) + ((size_t)count + 1) * sizeof(*rows));
    table->rows = functions;
    if (!functions)
        return -ENOMEM;
    functions->python = python;
    functions->few = !report_is_exact(report);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t kind = stacks_get_label(stacks, rows[i].label)->kind;
        if (!python || rows[i].label == 0 || kind == FRAME_PYTHON || kind == FRAME_COLLECTOR)
            functions->items[functions->count++] = rows[i];
    }
    table->row_count = functions->count;
    return 0;
}

/* If only Python functions are known, both tables would be the same. */
static bool has_native(const struct table *table)
{
    const struct functions *functions = table->rows;
    for (uint32_t i = 0; i < functions->count; i++)
        if (functions->items[i].label != 0 &&
            functions->items[i].python_ns != functions->items[i].self_ns)
            return true;
    return false;
}

/* True if much code has no name: JIT compilers' code only has names that the program reports. */
static bool is_nameless(const struct report *report, const struct table *table)
{
    const struct functions *functions = table->rows;
    uint64_t nameless_ns = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct label *label =
            stacks_get_label(trace_stacks_get(report->trace), functions->items[i].label);
        if (label->kind == FRAME_JIT && label->flags & LABEL_PLACE)
            nameless_ns += functions->items[i].self_ns;
    }
    return nameless_ns * NAMELESS_PART > table->columns[SELF_SHARE].whole;
}

static struct table *add_table(struct report *report, bool python)
{
    struct table *table = report_add_table(report, python ? "python_functions" : "functions", fill);
    table->limit = report->options.functions;
    table->long_labels = true;
    table->rest_alone = !python;
    table->few = REPORT_FEW_NOTE;
    add_columns(report, table, python);
    return collect(report, table, python) == 0 ? table : NULL;
}

/* "functions by alloc:bytes". 0 or -ENOMEM. */
static int title(const struct report *report, struct table *table, bool python)
{
    bool by_total = report->options.sort == RANGE_COLUMN_TOTAL;
    const char *behind = python ? " (the native code that they call included)" : "";
    char text[512];
    if (!report->options.value && !python)
        return report_title(report, table,
                            by_total ? "functions and all that they called" : "hottest functions");
    snprintf(text, sizeof(text), "%s%s%s%s%s", python ? "Python functions" : "functions",
             by_total && !python ? " and all that they called" : "",
             report->options.value ? " by " : "",
             report->options.value ? report->options.value : "", behind);
    return report_title(report, table, text);
}

static int add_functions(struct report *report)
{
    struct table *all = add_table(report, false);
    struct table *python = all ? add_table(report, true) : NULL;
    if (!python)
        return -ENOMEM;
    if (report->samples.present && is_nameless(report, all)) {
        table_add_note(all, (struct table_note){
                                .before = "([anonymous code] was compiled while the program ran; "
                                          "it has names if the program writes"});
        table_add_note(
            all, (struct table_note){.before = "/tmp/perf-PID.map: node --perf-basic-prof, for "
                                               "example)"});
    }
    int rc = title(report, all, false);
    return rc == 0 && has_native(all) ? title(report, python, true) : rc;
}

const struct report_part report_part_functions = {.add_tables = add_functions};

/* ---- Sums by function ------------------------------------------------------------------------ */

/* Weights are summed by stack; functions are resolved once per stack when all samples are added. A
 * parent's ordinal is smaller than its children's, so one reverse walk gives each stack the weight
 * of all its callees. Thread-safety: none. */

/* Sum over the samples that end at a stack; from finish on, also over those that end further
 * inside. */
struct stack_sum {
    uint64_t weight_ns, count;
};

struct frame_stats {
    const struct trace *trace;
    const struct stacks *stacks;
    struct sample_weight weight;
    struct stack_sum *sums;    /* by stack; the first: samples without one */
    struct function_row *rows; /* by label; after finish only those that were sampled */
    uint32_t row_count;
    struct frame_totals totals;
};

struct frame_stats *frame_stats_create(const struct trace *trace, struct sample_weight weight)
{
    struct frame_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    stats->trace = trace;
    stats->weight = weight;
    stats->stacks = trace_stacks_get(trace);
    stats->sums = calloc(stacks_stack_count(stats->stacks), sizeof(*stats->sums));
    stats->row_count = stacks_label_count(stats->stacks);
    stats->rows = calloc(stats->row_count + 1u, sizeof(*stats->rows));
    if (stats->sums && stats->rows)
        return stats;
    frame_stats_destroy(stats);
    return NULL;
}

void frame_stats_destroy(struct frame_stats *stats)
{
    if (!stats)
        return;
    free(stats->sums);
    free(stats->rows);
    free(stats);
}

void frame_stats_add(struct frame_stats *stats, const struct sample *sample)
{
    uint64_t weight_ns = sample_weight_of(stats->weight, trace_sets_get(stats->trace), sample);
    bool known = sample->stack < stacks_stack_count(stats->stacks);
    struct stack_sum *sum = &stats->sums[known ? sample->stack : 0];
    stats->totals.total_ns += weight_ns;
    sum->weight_ns += weight_ns;
    sum->count += sample_weight_count(stats->weight, sample);
}

/* Returns the label of the leaf; 0: unknown. */
static uint32_t function_of(const struct frame_stats *stats, uint32_t stack)
{
    uint32_t frame = stacks_get_stack(stats->stacks, stack)->frame;
    uint32_t label = stacks_get_frame(stats->stacks, frame)->label;
    return label < stats->row_count ? label : 0;
}

/* The garbage collector interrupts a Python function, and its time does not belong to that
 * function. */
static bool is_python(const struct frame_stats *stats, uint32_t stack)
{
    const struct stack *node = stacks_get_stack(stats->stacks, stack);
    uint8_t kind = stacks_get_frame(stats->stacks, node->frame)->kind;
    return kind == FRAME_PYTHON || kind == FRAME_COLLECTOR;
}

/* Adds the samples that end at a stack to its functions. */
static void add_self(struct frame_stats *stats, uint32_t stack)
{
    uint64_t weight_ns = stats->sums[stack].weight_ns;
    uint32_t leaf = function_of(stats, stack), at = stack;
    if (leaf != 0)
        stats->rows[leaf].self_ns += weight_ns;
    while (at != 0 && !is_python(stats, at))
        at = stacks_get_stack(stats->stacks, at)->parent;
    if (at == 0)
        return;
    stats->totals.python_ns += weight_ns;
    stats->rows[function_of(stats, at)].python_ns += weight_ns;
}

/* True if the function is also nearer to the root; then that frame counts. */
static bool is_nested(const struct frame_stats *stats, uint32_t stack, uint32_t function)
{
    for (uint32_t at = stacks_get_stack(stats->stacks, stack)->parent; at != 0;
         at = stacks_get_stack(stats->stacks, at)->parent)
        if (function_of(stats, at) == function)
            return true;
    return false;
}

/* Drops functions that only waited, and adds a row for time outside of functions. */
static void keep_sampled(struct frame_stats *stats, uint64_t no_stack_count)
{
    uint32_t kept = 0;
    uint64_t self_ns = 0;
    for (uint32_t i = 1; i < stats->row_count; i++) {
        struct function_row row = stats->rows[i];
        row.label = i;
        self_ns += row.self_ns;
        if (row.count > 0)
            stats->rows[kept++] = row;
    }
    stats->row_count = kept;
    struct function_row none = {.count = no_stack_count,
                                .self_ns = stats->totals.total_ns - self_ns,
                                .total_ns = stats->totals.total_ns - self_ns,
                                .python_ns = stats->totals.total_ns - stats->totals.python_ns};
    stats->totals.no_stack_ns = none.self_ns;
    if (none.count || none.python_ns)
        stats->rows[stats->row_count++] = none;
}

void frame_stats_finish(struct frame_stats *stats)
{
    uint32_t count = stacks_stack_count(stats->stacks);
    for (uint32_t stack = 1; stack < count; stack++)
        if (stats->sums[stack].count > 0)
            add_self(stats, stack);
    uint64_t no_stack_count = stats->sums[0].count;
    for (uint32_t stack = count; stack-- > 1;) {
        struct stack_sum *parent = &stats->sums[stacks_get_stack(stats->stacks, stack)->parent];
        parent->weight_ns += stats->sums[stack].weight_ns;
        parent->count += stats->sums[stack].count;
    }
    for (uint32_t stack = 1; stack < count; stack++) {
        uint32_t function = stats->sums[stack].count > 0 ? function_of(stats, stack) : 0;
        if (function == 0 || is_nested(stats, stack, function))
            continue;
        stats->rows[function].total_ns += stats->sums[stack].weight_ns;
        stats->rows[function].count += stats->sums[stack].count;
    }
    keep_sampled(stats, no_stack_count);
}

const struct frame_totals *frame_stats_totals(const struct frame_stats *stats)
{
    return &stats->totals;
}

static uint64_t value_of(const struct function_row *row, enum frame_order order)
{
    return order == FRAME_ORDER_SELF    ? row->self_ns
           : order == FRAME_ORDER_TOTAL ? row->total_ns
                                        : row->python_ns;
}

struct order_context {
    const struct frame_stats *stats;
    enum frame_order order;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct function_row *a = left, *b = right;
    const struct order_context *by = context;
    uint64_t a_value = value_of(a, by->order), b_value = value_of(b, by->order);
    if ((a->label == 0) != (b->label == 0))
        return a->label == 0 ? 1 : -1;
    if (a_value != b_value)
        return a_value < b_value ? 1 : -1;
    int order = call_compare_labels(by->stats->trace, a->label, b->label);
    return order ? order : a->label < b->label ? -1 : a->label > b->label;
}

uint32_t frame_stats_sort(struct frame_stats *stats, enum frame_order order,
                          const struct function_row **ret_rows)
{
    struct order_context context = {stats, order};
    qsort_r(stats->rows, stats->row_count, sizeof(*stats->rows), compare, &context);
    *ret_rows = stats->rows;
    return stats->row_count;
}

/* ---- Callers --------------------------------------------------------------------------------- */

/* The callers and callees of functions of one name, or of a pattern.
 *
 * A stack counts once, at the outermost of these functions. Native frames between Python functions
 * are left out, as they are the interpreter's calls. Waits count as in the other tables of the
 * report, also for functions that only waited. */

/* Sums over samples that end at a stack. */
struct times {
    uint64_t value; /* CPU time, or the chosen value */
    uint64_t runnable_ns, blocked_ns;
};

struct neighbour {
    uint32_t label; /* 0: outermost function; among callees: own time */
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

/* The rows of the tables, owned by them. */
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
    to->runnable_ns += times->runnable_ns;
    to->blocked_ns += times->blocked_ns;
}

static uint64_t time_of(const struct times *times, bool with_waits)
{
    return times->value + (with_waits ? times->runnable_ns + times->blocked_ns : 0);
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

/* Returns the caller: for a Python function the next Python function. */
static uint32_t caller_of(const struct callers *callers, uint32_t stack)
{
    bool python = kind_of(callers, stack) == FRAME_PYTHON;
    for (uint32_t at = parent_of(callers, stack); at != 0; at = parent_of(callers, at))
        if (!python || kind_of(callers, at) == FRAME_PYTHON)
            return label_of(callers, at);
    return 0;
}

/* True if the kernel took the processor away: that is not a call. */
static bool is_interrupt(const struct callers *callers, uint32_t stack, const struct times *times)
{
    return times->value + times->blocked_ns == 0 && kind_of(callers, stack) == FRAME_KERNEL;
}

/* Walks from the leaf to the outermost wanted function, and finds its callee: the next Python
 * function, or otherwise the next frame. */
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

/* A chosen value has no waits. */
static struct times times_of(const struct callers *callers, uint32_t stack)
{
    const struct line_sums *sums = line_stats_stack(callers->report->samples.lines, stack);
    if (callers->report->options.value)
        return (struct times){.value = sums->self_ns};
    return (struct times){sums->self_ns, sums->runnable_ns, sums->blocked_ns};
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

/* Matches the name, or the label in tables. */
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

enum { CALLER_NAME, CALLER_LOCATION, TIME, SHARE, CPU, RUNNABLE, BLOCKED };

static const struct table_column columns_caller[] = {
    [CALLER_NAME] = {.name = "function", .title = "function", .type = COLUMN_TEXT},
    [CALLER_LOCATION] = {.name = "location", .title = "location", .type = COLUMN_TEXT, .rank = 3},
    [TIME] = {.name = "total_ns", .title = "time", .type = COLUMN_TIME, .adds_up = true},
    [SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = TIME},
    [CPU] = {.name = "cpu_ns", .title = "CPU", .type = COLUMN_TIME, .rank = 1, .adds_up = true},
    [RUNNABLE] = {.name = "runnable_ns",
                  .title = "runnable",
                  .type = COLUMN_TIME,
                  .rank = 4,
                  .adds_up = true,
                  .rare = true},
    [BLOCKED] = {.name = "blocked_ns",
                 .title = "blocked",
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

static void fill_caller(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct report *report = table->context;
    const struct rows *rows = table->rows;
    const struct neighbour *neighbour = &rows->items[index];
    row_count(row, TIME, time_of(&neighbour->times, rows->with_waits));
    fill_number(row, CPU, neighbour->times.value);
    fill_number(row, RUNNABLE, neighbour->times.runnable_ns);
    fill_number(row, BLOCKED, neighbour->times.blocked_ns);
    if (neighbour->label == 0) {
        row->role = ROW_REST;
        row->rest = strcmp(table->name, "callers") == 0 ? "nobody" : "itself";
        return;
    }
    report_name_cells(report, row, CALLER_NAME, &(struct call_place){neighbour->label, 0});
}

/* Without waits, the first time is CPU time, or the chosen value. */
static struct table_column column_of(const struct callers *callers, unsigned at)
{
    struct table_column column =
        report_value_column(callers->report, columns_caller[at], at == TIME ? "value" : NULL);
    bool value = callers->report->options.value;
    if (at == TIME && value)
        column.title = "value";
    else if (at == TIME && !callers->with_waits)
        column.title = "CPU";
    if ((at == CPU && (value || !callers->with_waits)) ||
        (at == RUNNABLE && !callers->with_waits) || (at >= RUNNABLE && value))
        column.title = NULL;
    if (at >= CPU && value)
        column.name = NULL;
    return column;
}

static int add_table_caller(struct report *report, const struct callers *callers, unsigned side)
{
    struct table *table = report_add_table(report, side ? "callees" : "callers", fill_caller);
    size_t count = callers->sides[side].items.count;
    struct rows *rows = malloc(sizeof(*rows) + (count + 1) * sizeof(rows->items[0]));
    char title[512];
    for (unsigned i = 0; i < sizeof(columns_caller) / sizeof(*columns_caller); i++)
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

static int add_callers(struct report *report)
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
            rc = add_table_caller(report, &callers, side);
        vec_free(&callers.sides[side].items);
        map64_free(&callers.sides[side].by_label);
    }
    free(callers.wanted);
    return rc;
}

const struct report_part report_part_callers = {.add_tables = add_callers};
