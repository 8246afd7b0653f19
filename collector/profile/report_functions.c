/* SPDX-License-Identifier: MIT */
/* The tables of functions. Shares are of all CPU time that was sampled, or of what was sampled
 * inside the range that was asked for. */
#include "report_parts.h"

#include "call_label.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nameless code is worth a word from this part of the time on. */
enum { NAMELESS_PART = 20 };

bool report_few_samples(uint64_t count)
{
    return count > 0 && count < RANGE_FEW_SAMPLES;
}

/* Native functions say where they are: many have the same name. "[vdso]" has its brackets, and one
 * without a name, "libz.so.1+0x5a0", has said it. */
void report_function_label(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t ordinal, const char *mark)
{
    const struct trace *trace = report->trace;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), ordinal);
    const char *module = text_base_name(trace_string(trace, frame->module)->bytes);
    size_t size, module_size = strlen(module);
    char *label = row_room(row, &size);
    struct text text = text_init(label, size);
    text.length = call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, label,
                                   size < CALL_LABEL_SIZE ? size : CALL_LABEL_SIZE);
    bool said =
        strncmp(label, module, module_size) == 0 && strncmp(label + module_size, "+0x", 3) == 0;
    if (frame->kind == FRAME_NATIVE && module_size > 0 && !said)
        text_format(&text, module[0] == '[' ? " %.200s" : " [%.200s]", module);
    text_format(&text, "%s", mark);
    row_take(row, column, text.length);
}

void report_function_cells(const struct report *report, struct table_row *row, unsigned column,
                           uint32_t ordinal)
{
    static const char *const kinds[] = {
        [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
        [FRAME_NOTE] = "note",
    };
    const struct frame *frame = stacks_get_frame(trace_stacks_get(report->trace), ordinal);
    unsigned kind = frame->kind < sizeof(kinds) / sizeof(*kinds) ? frame->kind : 0;
    size_t size;
    char *room = row_room(row, &size);
    size_t length = ordinal ? call_frame_label(report->trace, frame, CALL_STRIP_LIBRARIES, room,
                                               size < CALL_LABEL_SIZE ? size : CALL_LABEL_SIZE)
                            : 0;
    room[length] = '\0';
    row_take(row, column, length);
    row_text(row, column + 1, ordinal ? kinds[kind] : "none");
    row_text(row, column + 2, trace_string(report->trace, frame->module)->bytes);
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
    LABEL,
    FUNCTION,
    KIND,
    MODULE,
    KIND_TITLE,
    SELF,
    SELF_SHARE,
    PYTHON,
    PYTHON_SHARE,
    TOTAL,
    TOTAL_SHARE,
    SAMPLES,
};

/* What fill goes by. */
struct functions {
    bool python; /* only those, with the native code that they call */
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

/* Without --all, those that have no time of the kind that sorts the table are not missed. */
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
    if (from->frame == 0) {
        fill_rest(functions, from, row);
        return;
    }
    row->role = role_of(report, functions, from);
    row->few = report_few_samples(from->count);
    if (!row->sums_only) {
        unsigned kind = stacks_get_frame(trace_stacks_get(report->trace), from->frame)->kind;
        report_function_label(report, row, LABEL, from->frame, row->few ? " ~" : "");
        report_function_cells(report, row, FUNCTION, from->frame);
        row_text(row, KIND_TITLE, kind_title(kind));
    }
    row_count(row, SELF, from->self_ns);
    row_count(row, PYTHON, from->python_ns);
    row_count(row, TOTAL, from->total_ns);
    row->cells[TOTAL].quiet = from->total_ns == 0;
    row_count(row, SAMPLES, from->count);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
    [LABEL] = {.title = "function", .type = COLUMN_TEXT},
    [FUNCTION] = {.name = "function", .type = COLUMN_TEXT},
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [MODULE] = {.name = "module", .type = COLUMN_TEXT},
    [KIND_TITLE] = {.title = "kind", .type = COLUMN_TEXT, .rank = 1},
    [SELF] = {.name = "cpu_self_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    [SELF_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = SELF},
    [PYTHON] = {.name = "cpu_python_ns", .title = "self", .type = COLUMN_TIME, .adds_up = true},
    [PYTHON_SHARE] = {.title = "%", .type = COLUMN_SHARE, .of = PYTHON},
    [TOTAL] = {.name = "cpu_total_ns", .title = "total", .type = COLUMN_TIME, .rank = 2},
    [TOTAL_SHARE] = {.title = "%", .type = COLUMN_SHARE, .rank = 3, .of = TOTAL},
    [SAMPLES] = {.name = "sample_count", .type = COLUMN_COUNT},
};

static void add_columns(const struct report *report, struct table *table, bool python)
{
    uint64_t whole =
        report->samples.present ? frame_stats_totals(report->samples.frames)->total_ns : 0;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
        struct table_column column = columns[i];
        bool shown = python ? i != KIND_TITLE && i != SELF && i != SELF_SHARE
                            : i != PYTHON && i != PYTHON_SHARE;
        column.title = shown ? column.title : NULL;
        column.whole = whole;
        table_add_column(table, column);
    }
}

/* All rows, or those of Python; they are sorted for each table anew. */
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
    for (uint32_t i = 0; i < count; i++) {
        uint8_t kind = stacks_get_frame(stacks, rows[i].frame)->kind;
        if (!python || rows[i].frame == 0 || kind == FRAME_PYTHON || kind == FRAME_COLLECTOR)
            functions->items[functions->count++] = rows[i];
    }
    table->row_count = functions->count;
    return 0;
}

/* Where only Python functions are known, both tables would be the same. */
static bool has_native(const struct table *table)
{
    const struct functions *functions = table->rows;
    for (uint32_t i = 0; i < functions->count; i++)
        if (functions->items[i].frame != 0 &&
            functions->items[i].python_ns != functions->items[i].self_ns)
            return true;
    return false;
}

/* Code of JIT compilers has names where the program tells them. */
static bool is_nameless(const struct report *report, const struct table *table)
{
    const struct functions *functions = table->rows;
    uint64_t nameless_ns = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct frame *frame =
            stacks_get_frame(trace_stacks_get(report->trace), functions->items[i].frame);
        const char *name = trace_string(report->trace, frame->function)->bytes;
        if (frame->kind == FRAME_JIT && strcmp(name, "[anonymous code]") == 0)
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

int report_add_functions(struct report *report)
{
    bool by_total = report->options.sort == RANGE_COLUMN_TOTAL;
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
    int rc = report_title(report, all,
                          by_total ? "functions and all that they called" : "hottest functions");
    if (rc == 0 && has_native(all))
        rc = report_title(report, python,
                          "Python functions (the native code that they call included)");
    return rc;
}
