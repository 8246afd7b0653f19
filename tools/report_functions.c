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

/* Native functions say where they are: many have the same name. "[vdso]" has its brackets, and one
 * without a name, "libz.so.1+0x5a0", has said it. */
void report_add_function(struct table *table, const struct trace *trace, const struct frame *frame)
{
    char label[CALL_LABEL_SIZE + 256];
    size_t length = call_frame_label(trace, frame, CALL_STRIP_LIBRARIES, label, CALL_LABEL_SIZE);
    const char *module = text_base_name(trace_string(trace, frame->module)->bytes);
    size_t size = strlen(module);
    bool said = strncmp(label, module, size) == 0 && strncmp(label + size, "+0x", 3) == 0;
    if (frame->kind == FRAME_NATIVE && size > 0 && !said)
        snprintf(label + length, sizeof(label) - length, module[0] == '[' ? " %.200s" : " [%.200s]",
                 module);
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

static void add_row(const struct report_functions_options *options, struct table *table,
                    const struct function_row *row, bool python)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(options->trace), row->frame);
    uint64_t self_ns = python ? row->python_ns : row->self_ns;
    uint64_t all_ns = frame_stats_totals(options->samples->frames)->total_ns;
    report_add_function(table, options->trace, frame);
    if (!python)
        table_add(table, kind_name(frame->kind));
    table_add_time(table, self_ns);
    table_add_percent(table, self_ns, all_ns);
    table_add_time(table, row->total_ns);
    table_add_percent(table, row->total_ns, all_ns);
}

static bool is_python(const struct report_functions_options *options,
                      const struct function_row *row)
{
    uint8_t kind = stacks_get_frame(trace_stacks_get(options->trace), row->frame)->kind;
    return kind == FRAME_PYTHON || kind == FRAME_COLLECTOR;
}

static int print_functions(const struct report_functions_options *options, bool python,
                           const char *title)
{
    enum frame_order self = python ? FRAME_ORDER_PYTHON : FRAME_ORDER_SELF;
    enum frame_order order = options->by_total ? FRAME_ORDER_TOTAL : self;
    const struct function_row *rows;
    char text[NUMBER_TEXT_SIZE];
    uint64_t count = frame_stats_sort(options->samples->frames, order, &rows), shown = 0, more = 0;
    if (count == 0)
        return 0;
    struct table *table =
        python ? table_create(python_columns, 5) : table_create(function_columns, 6);
    if (!table)
        return -ENOMEM;
    for (uint64_t i = 0; i < count; i++) {
        if (python && !is_python(options, &rows[i]))
            continue;
        more += shown >= options->functions;
        if (shown >= options->functions)
            continue;
        add_row(options, table, &rows[i], python);
        shown++;
    }
    if (shown == 0) { /* a program without Python */
        table_destroy(table);
        return 0;
    }
    int rc = report_print_table(options, table, title);
    if (more)
        printf("(%s more)\n", number_count(more, text));
    return rc;
}

/* Where only Python functions are known, both tables would be the same. */
static bool has_native(const struct report_functions_options *options)
{
    const struct function_row *rows;
    uint32_t count = frame_stats_sort(options->samples->frames, FRAME_ORDER_SELF, &rows);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].python_ns != rows[i].self_ns)
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
