/* SPDX-License-Identifier: MIT */
/* The tables of report_functions.h. Shares are of all CPU time that was sampled, or of what was
 * sampled inside the range that was asked for. */
#include "report_functions.h"

#include "call_label.h"
#include "number_text.h"
#include "report_table.h"
#include "table.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of C++ templates take hundreds of columns, and all rows would be as wide. */
enum { NAME_WIDTH_MAX = 120 };

/* Nameless code is worth a word from this part of the time on. */
enum { NAMELESS_PART = 20 };

static const char *kind_name(unsigned kind)
{
    static const char *const names[] = {
        [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "Python", [FRAME_KERNEL] = "kernel",
        [FRAME_JIT] = "JIT",       [FRAME_COLLECTOR] = "GC",  [FRAME_NOTE] = "note",
    };
    return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "";
}

int report_print_table(const struct report_functions_options *options, struct table *table,
                       const char *title)
{
    const char *range = options->samples->range;
    size_t hidden;
    printf("\n%s", title);
    if (range) {
        printf(" inside ranges named ");
        term_print(range);
    }
    printf("\n");
    table_limit_first(table, options->wide ? 0 : NAME_WIDTH_MAX);
    int rc = table_print(table, options->width, options->color, &hidden);
    table_destroy(table);
    return rc;
}

bool report_few_samples(uint64_t count)
{
    return count > 0 && count < RANGE_FEW_SAMPLES;
}

void report_few_print(void)
{
    printf("(" REPORT_FEW_MARK_TEXT " from fewer than %d samples: a rough estimate)\n",
           RANGE_FEW_SAMPLES);
}

/* Native functions say where they are: many have the same name. "[vdso]" has its brackets, and one
 * without a name, "libz.so.1+0x5a0", has said it. */
void report_add_function(struct table *table, const struct trace *trace, const struct frame *frame,
                         const char *mark)
{
    char label[CALL_LABEL_SIZE + 512];
    size_t length = call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, label, CALL_LABEL_SIZE);
    const char *module = text_base_name(trace_string(trace, frame->module)->bytes);
    size_t size = strlen(module);
    bool said = strncmp(label, module, size) == 0 && strncmp(label + size, "+0x", 3) == 0;
    if (frame->kind == FRAME_NATIVE && size > 0 && !said)
        length += (size_t)snprintf(label + length, sizeof(label) - length,
                                   module[0] == '[' ? " %.200s" : " [%.200s]", module);
    snprintf(label + length, sizeof(label) - length, "%s", mark);
    table_add(table, label);
}

static const struct table_column function_columns[] = {
    {"function", 0, true}, {"kind", 1, true},   {"self", 0, false},
    {"%", 0, false},       {"total", 2, false}, {"%", 3, false},
};

static const struct table_column python_columns[] = {
    {"function", 0, true}, {"self", 0, false}, {"%", 0, false},
    {"total", 2, false},   {"%", 3, false},
};

/* What one table of functions shows. */
struct function_table {
    const struct report_functions_options *options;
    struct table *table;
    bool python;
    bool few; /* a row has the mark of few samples */
};

static uint64_t self_of(const struct function_table *shown, const struct function_row *row)
{
    return shown->python ? row->python_ns : row->self_ns;
}

static void add_times(const struct function_table *shown, uint64_t self_ns, uint64_t total_ns)
{
    uint64_t all_ns = frame_stats_totals(shown->options->samples->frames)->total_ns;
    table_add_time(shown->table, self_ns);
    table_add_percent(shown->table, self_ns, all_ns);
    if (total_ns == 0) {
        table_add(shown->table, "");
        table_add(shown->table, "");
        return;
    }
    table_add_time(shown->table, total_ns);
    table_add_percent(shown->table, total_ns, all_ns);
}

static void add_row(struct function_table *shown, const struct function_row *row)
{
    const struct report_functions_options *options = shown->options;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(options->trace), row->frame);
    bool few = report_few_samples(row->count);
    shown->few = shown->few || few;
    report_add_function(shown->table, options->trace, frame, few ? REPORT_FEW_MARK : "");
    if (!shown->python)
        table_add(shown->table, kind_name(frame->kind));
    add_times(shown, self_of(shown, row), row->total_ns);
}

/* What no row shows, so that the table has all of the time. */
static void add_rest(const struct function_table *shown, const char *label, uint64_t self_ns)
{
    table_add(shown->table, label);
    if (!shown->python)
        table_add(shown->table, "");
    add_times(shown, self_ns, 0);
}

/* Without --all, those that have no time of the kind that sorts the table are not missed. */
static bool is_wanted(const struct function_table *shown, const struct function_row *row)
{
    const struct report_functions_options *options = shown->options;
    uint8_t kind = stacks_get_frame(trace_stacks_get(options->trace), row->frame)->kind;
    if (row->frame == 0 || (shown->python && kind != FRAME_PYTHON && kind != FRAME_COLLECTOR))
        return false;
    return options->all || options->by_total || self_of(shown, row) > 0;
}

/* How many functions are shown. */
static uint64_t add_functions(struct function_table *shown)
{
    const struct report_functions_options *options = shown->options;
    enum frame_order self = shown->python ? FRAME_ORDER_PYTHON : FRAME_ORDER_SELF;
    const struct function_row *rows;
    uint32_t count = frame_stats_sort(options->samples->frames,
                                      options->by_total ? FRAME_ORDER_TOTAL : self, &rows);
    uint64_t added = 0, more = 0, more_ns = 0, none_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        none_ns += rows[i].frame == 0 ? self_of(shown, &rows[i]) : 0;
        if (!is_wanted(shown, &rows[i]))
            continue;
        if (added < options->functions) {
            add_row(shown, &rows[i]);
            added++;
            continue;
        }
        more++;
        more_ns += self_of(shown, &rows[i]);
    }
    if (more) {
        char label[NUMBER_TEXT_SIZE + 16], number[NUMBER_TEXT_SIZE];
        snprintf(label, sizeof(label), "(%s more)", number_count(more, number));
        add_rest(shown, label, more_ns);
    }
    if (none_ns)
        add_rest(shown, shown->python ? "(not in Python)" : "(no stack)", none_ns);
    return added + (shown->python ? 0 : none_ns > 0);
}

static int print_functions(const struct report_functions_options *options, bool python,
                           const char *title)
{
    struct function_table shown = {.options = options, .python = python};
    shown.table = python ? table_create(python_columns, 5) : table_create(function_columns, 6);
    if (!shown.table)
        return -ENOMEM;
    if (add_functions(&shown) == 0) { /* no samples; a program without Python */
        table_destroy(shown.table);
        return 0;
    }
    int rc = report_print_table(options, shown.table, title);
    if (shown.few)
        report_few_print();
    return rc;
}

/* Where only Python functions are known, both tables would be the same. */
static bool has_native(const struct report_functions_options *options)
{
    const struct function_row *rows;
    uint32_t count = frame_stats_sort(options->samples->frames, FRAME_ORDER_SELF, &rows);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].frame != 0 && rows[i].python_ns != rows[i].self_ns)
            return true;
    return false;
}

/* Code of JIT compilers has names where the program tells them. */
static void print_nameless(const struct report_functions_options *options)
{
    const struct function_row *rows;
    uint32_t count = frame_stats_sort(options->samples->frames, FRAME_ORDER_SELF, &rows);
    uint64_t nameless_ns = 0, all_ns = frame_stats_totals(options->samples->frames)->total_ns;
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame =
            stacks_get_frame(trace_stacks_get(options->trace), rows[i].frame);
        const char *name = trace_string(options->trace, frame->function)->bytes;
        if (frame->kind == FRAME_JIT && strcmp(name, "[anonymous code]") == 0)
            nameless_ns += rows[i].self_ns;
    }
    if (nameless_ns * NAMELESS_PART > all_ns)
        printf("([anonymous code] was compiled while the program ran; it has names if the program "
               "writes\n/tmp/perf-PID.map: node --perf-basic-prof, for example)\n");
}

int report_functions_print(const struct report_functions_options *options)
{
    int rc = 0;
    if (!options->samples->present)
        return 0;
    if (options->owners)
        rc = report_owners_print(options);
    if (rc == 0 && options->functions > 0)
        rc = print_functions(options, false,
                             options->by_total ? "functions and all that they called"
                                               : "hottest functions");
    if (rc == 0 && options->functions > 0)
        print_nameless(options);
    if (rc == 0 && options->functions > 0 && has_native(options))
        rc = print_functions(options, true,
                             "Python functions (the native code that they call included)");
    if (rc == 0)
        rc = report_waits_print(options);
    return rc;
}
