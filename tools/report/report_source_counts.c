/* SPDX-License-Identifier: MIT */
/* `annot report --source` of a recording with counted lines: prints, function by function, the
 * source with the hits and the time of each line.
 *
 * The function with the most time comes first, and the output fits on a screen: for long functions
 * it has the lines with a share of the time, and those around them. A named function or file is
 * printed in full. */
#include "report_source.h"

#include "call_label.h"
#include "line_counts.h"
#include "reader.h"
#include "report_lines.h"
#include "report_text.h"
#include "stacks.h"
#include "term.h"

#include <stdio.h>
#include <string.h>

/* CONTEXT: lines around a printed one. SHORT: functions below this length are printed in full. A
 * line is hot from a hundredth of its function's time on, and styled from a tenth. */
enum { CONTEXT = 1, SHORT = 24, SCREEN = 40, HOT_PART = 100, STYLED_PART = 10 };

/* Columns before the source; with less than ROOM_MIN after them, lines are not cut. */
enum { BEFORE = 52, SELF = 8, ROOM_MIN = 30, HEAT = 4 };

struct counts_view {
    const struct report *report;
    const struct report_view *view;
    const struct trace *trace;
    const struct stacks *stacks;
    const struct line_count *lines;
    const char *name; /* NULL: all */
    FILE *out;
    uint64_t whole_ns;
    uint32_t printed; /* lines */
    bool has_self;    /* on some line, self time differs from the time */
};

/* The source of a function, and the part of it to print. */
struct extent {
    struct line_extent of;
    bool whole; /* all lines */
    bool ran; /* only lines that ran: of a module, whose functions are separate, or without the text
               */
    bool hot; /* only hot lines */
};

static struct extent extent_of(const struct counts_view *v,
                               const struct line_count_function *function)
{
    struct extent extent = {
        .of = line_counts_extent(report_line_counts(v->report), report_texts(v->report), function)};
    bool is_asked = v->name != NULL || v->view->options->all;
    bool is_short = extent.of.last - extent.of.first < SHORT;
    extent.whole = extent.of.is_function && (is_asked || is_short);
    extent.ran = !extent.of.is_known || (!extent.of.is_function && is_asked);
    extent.hot = !is_asked && function->count >= SHORT;
    return extent;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void print_cell(const struct counts_view *v, int width, const char *text)
{
    fprintf(v->out, " %*s", width, text);
}

static void print_numbers(const struct counts_view *v, const struct line_count *line,
                          const struct line_count_function *function)
{
    char text[NUMBER_TEXT_SIZE];
    bool none = line->hits == 0 && line->time_ns == 0;
    uint64_t marks =
        function->time_ns ? (line->time_ns * HEAT + function->time_ns - 1) / function->time_ns : 0;
    bool is_hot = line->time_ns > 0 && line->time_ns * HOT_PART >= function->time_ns;
    print_cell(v, 12, none ? "" : number_count(line->hits, text));
    print_cell(v, 8, none ? "" : number_time_short(line->time_ns, text));
    if (v->has_self)
        print_cell(v, SELF, none ? "" : number_time_short(line_count_self_ns(line), text));
    print_cell(v, 8, line->hits ? number_time_short(line->time_ns / line->hits, text) : "");
    print_cell(v, 6, none ? "" : number_share(line->time_ns, function->time_ns, text));
    fprintf(v->out, " %-*.*s ", HEAT, (int)(is_hot ? marks : 0), "####");
}

static void print_source(const struct counts_view *v, uint32_t source, uint32_t line)
{
    size_t before = BEFORE + (v->has_self ? 1 + SELF : 0), width = 0;
    if (!v->view->wide && v->view->width > before + ROOM_MIN)
        width = v->view->width - before;
    report_put_source(v->report, source, line, width, v->out);
}

static void print_line(struct counts_view *v, const struct line_count_function *function,
                       const struct line_count *line)
{
    uint32_t source = stacks_get_label(v->stacks, function->label)->source;
    bool styled =
        v->view->color && line->time_ns > 0 && line->time_ns * STYLED_PART >= function->time_ns;
    fprintf(v->out, "%s %6d", styled ? "\033[1m" : "", line->line);
    print_numbers(v, line, function);
    print_source(v, source, (uint32_t)line->line);
    fprintf(v->out, "%s\n", styled ? "\033[0m" : "");
    v->printed++;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool is_hot(const struct line_count_function *function, const struct line_count *line)
{
    return line->time_ns > 0 && line->time_ns * HOT_PART >= function->time_ns;
}

/* Returns true if a line near `line` is hot. `at`: index of a line of the function to start
 * from. */
static bool is_near_hot(const struct counts_view *v, const struct line_count_function *function,
                        uint32_t at, uint32_t line)
{
    uint32_t end = function->begin + function->count;
    for (at = at > function->begin + CONTEXT ? at - CONTEXT - 1 : function->begin;
         at < end && (uint32_t)v->lines[at].line <= line + CONTEXT; at++)
        if ((uint32_t)v->lines[at].line + CONTEXT >= line && is_hot(function, &v->lines[at]))
            return true;
    return false;
}

static bool is_shown(const struct counts_view *v, const struct line_count_function *function,
                     const struct extent *extent, const struct line_count *line, uint32_t at)
{
    if (extent->ran)
        return extent->hot ? is_hot(function, line) : line->hits > 0 || line->time_ns > 0;
    uint32_t number = (uint32_t)line->line;
    return extent->whole || number == extent->of.first || is_near_hot(v, function, at, number);
}

static void print_lines(struct counts_view *v, const struct line_count_function *function,
                        const struct extent *extent)
{
    uint32_t at = function->begin, end = at + function->count, shown = extent->of.first - 1;
    for (uint32_t i = extent->of.first; i <= extent->of.last; i++) {
        while (at < end && (uint32_t)v->lines[at].line < i)
            at++;
        const struct line_count none = {.line = (int32_t)i};
        bool found = at < end && (uint32_t)v->lines[at].line == i;
        const struct line_count *line = found ? &v->lines[at] : &none;
        if (!is_shown(v, function, extent, line, at))
            continue;
        if (extent->of.is_known && i != shown + 1)
            fprintf(v->out, " %6s\n", "...");
        print_line(v, function, line);
        shown = i;
    }
    if (extent->of.is_known && shown < extent->of.last)
        fprintf(v->out, " %6s\n", "...");
}

static void print_foreign(const struct counts_view *v, const char *text)
{
    term_write(v->out, text, strlen(text));
}

static void print_function(struct counts_view *v, const struct line_count_function *function)
{
    char time[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE], name[CALL_LABEL_SIZE];
    const struct trace_session *session = trace_session_get(v->trace);
    const char *folder = trace_string(v->trace, session->directory)->bytes;
    const struct extent extent = extent_of(v, function);
    const struct label *label = stacks_get_label(v->stacks, function->label);
    const struct source *source = stacks_get_source(v->stacks, label->source);
    code_name(v->trace, function->label, name, sizeof(name));
    fprintf(v->out, "\nTotal time: %s", number_time_plain(function->time_ns, time));
    if (v->has_self)
        fprintf(v->out, ", self %s", number_time_plain(function->self_ns, time));
    fprintf(v->out, " (%s of what was counted)\nFile: ",
            number_share(function->self_ns, v->whole_ns, share));
    print_foreign(v, call_short_path(trace_string(v->trace, source->path)->bytes, folder));
    fprintf(v->out,
            "%s\nFunction: ", extent.of.is_known ? "" : " (its text is not in the recording)");
    print_foreign(v, name);
    fprintf(v->out, " at line %d\n\n", label->first_line);
    fprintf(v->out, " %6s %12s %8s", "line", "hits", "time");
    if (v->has_self)
        print_cell(v, SELF, "self");
    fprintf(v->out, " %8s %6s %*s %s\n", "per hit", "%", HEAT, "", "source");
    print_lines(v, function, &extent);
}

static bool is_wanted(const struct counts_view *v, const struct line_count_function *function)
{
    uint32_t source = stacks_get_label(v->stacks, function->label)->source;
    return !v->name || report_names_file(v->trace, source, v->name) ||
           report_names_function(v->trace, function->label, v->name);
}

static void print_rest(const struct counts_view *v, uint32_t count, uint64_t time_ns)
{
    char share[NUMBER_TEXT_SIZE];
    if (count > 0)
        fprintf(v->out,
                "\n%u more function%s with %s of the time: annot report --source --all, or\n"
                "annot report --source-of NAME\n",
                count, count == 1 ? "" : "s", number_share(time_ns, v->whole_ns, share));
}

bool report_counts_source(const struct report *report, const struct report_view *view,
                          const char *name, FILE *out)
{
    const struct line_count_function *functions;
    const struct line_counts *counts = report_line_counts(report);
    struct counts_view v = {.report = report,
                            .view = view,
                            .trace = store_reader_trace(view->options->reader),
                            .name = name,
                            .out = out};
    uint32_t count = counts ? line_counts_functions(counts, &functions) : 0;
    uint32_t wanted = 0, left = 0;
    uint64_t left_ns = 0;
    if (count == 0)
        return false;
    v.stacks = trace_stacks_get(v.trace);
    v.whole_ns = line_counts_self_ns(counts);
    v.has_self = line_counts_have_callees(counts);
    line_counts_lines(counts, &v.lines);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_wanted(&v, &functions[i]))
            continue;
        if (wanted++ == 0)
            fprintf(v.out,
                    "Lines that were counted: hits are exact, nothing is sampled. The time of a "
                    "line is with all that it calls%s;\ntimes include the cost of counting.\n",
                    v.has_self ? ",\nself without functions whose calls are traced or whose lines "
                                 "are counted"
                               : "");
        if (v.printed >= SCREEN && !name && !view->options->all) {
            left++;
            left_ns += functions[i].self_ns;
            continue;
        }
        print_function(&v, &functions[i]);
    }
    print_rest(&v, left, left_ns);
    return wanted > 0;
}
