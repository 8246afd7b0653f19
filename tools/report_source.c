/* SPDX-License-Identifier: MIT */
/* `annot report --source`: the source, with what each of its lines took.
 *
 * Of hot functions the lines that samples were at, and some around them; of a file or function that
 * was named, all. A line's time is that of the Python line itself with the native code it calls;
 * total has all that it called. */
#include "call_label.h"
#include "cmd.h"
#include "code_owner.h"
#include "report_print.h"
#include "stacks.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 2, HOT_PART = 50, LINE_MAX_BYTES = 1024, STYLED_PART = 10 };

struct source_view {
    const struct report *report;
    const struct report_view *view;
    const struct trace *trace;
    const struct stacks *stacks;
    const char *name; /* NULL: hot functions */
    const struct line_row *rows;
    const struct file_line *lines;
    uint32_t row_count, line_count;
    const struct line_sums *all;
    struct line_sums *by_label;
};

/* ---- What is shown --------------------------------------------------------------------------- */

/* Lines of one file: [0, count] */
struct shown {
    uint32_t source;
    uint32_t count;
    bool *lines;
};

static void show(struct shown *shown, int64_t first, int64_t last)
{
    for (int64_t i = first < 1 ? 1 : first; i <= last && i <= shown->count; i++)
        shown->lines[i] = true;
}

static const char *path_of(const struct source_view *v, uint32_t source)
{
    return trace_string(v->trace, stacks_get_source(v->stacks, source)->path)->bytes;
}

/* "parse.py" is "/home/me/lib/parse.py", too. */
static bool is_named_file(const struct source_view *v, uint32_t source)
{
    const char *path = path_of(v, source);
    size_t length = strlen(path), wanted = strlen(v->name);
    return wanted > 0 && wanted <= length && strcmp(path + length - wanted, v->name) == 0 &&
           (wanted == length || path[length - wanted - 1] == '/' || v->name[0] == '/');
}

static bool is_named_function(const struct source_view *v, uint32_t label)
{
    char name[CALL_LABEL_SIZE];
    code_name(v->trace, label, name, sizeof(name));
    const char *dot = strrchr(name, '.');
    return strcmp(name, v->name) == 0 || (dot && strcmp(dot + 1, v->name) == 0);
}

static bool is_hot(const struct source_view *v, uint32_t label)
{
    const struct line_sums *sums = &v->by_label[label];
    return (sums->self_ns > 0 && sums->self_ns * HOT_PART >= v->all->self_ns) ||
           (sums->waiting_ns > 0 && sums->waiting_ns * HOT_PART >= v->all->waiting_ns);
}

/* A function's head, and what is around its lines that samples were at. */
static void show_row(const struct source_view *v, struct shown *shown, const struct line_row *row,
                     bool whole)
{
    int32_t first = stacks_get_label(v->stacks, row->label)->first_line;
    int32_t begin = whole && first > 0 && first < row->line ? first : row->line - CONTEXT;
    show(shown, first, first);
    show(shown, begin, row->line + CONTEXT);
}

static bool is_wanted(const struct source_view *v, uint32_t label)
{
    if (v->name)
        return is_named_function(v, label);
    return is_hot(v, label) && code_owner_of(v->trace, label) != CODE_STDLIB;
}

static void choose(const struct source_view *v, struct shown *shown)
{
    if (v->name && is_named_file(v, shown->source))
        show(shown, 1, shown->count);
    for (uint32_t i = 0; i < v->row_count; i++)
        if (v->rows[i].label != 0 && v->rows[i].line > 0 &&
            stacks_get_label(v->stacks, v->rows[i].label)->source == shown->source &&
            is_wanted(v, v->rows[i].label))
            show_row(v, shown, &v->rows[i], v->name != NULL);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static const struct line_sums *sums_of(const struct source_view *v, uint32_t source, uint32_t line)
{
    static const struct line_sums none;
    uint32_t low = 0, high = v->line_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct file_line *at = &v->lines[middle];
        if (at->source < source || (at->source == source && (uint32_t)at->line < line))
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < v->line_count && v->lines[low].source == source &&
                 (uint32_t)v->lines[low].line == line;
    return found ? &v->lines[low].sums : &none;
}

static void print_time(uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    printf(" %8s", ns ? number_time_short(ns, text) : "");
}

static void print_line(const struct source_view *v, uint32_t source, uint32_t line)
{
    const struct line_sums *sums = sums_of(v, source, line);
    char count[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    char text[LINE_MAX_BYTES];
    const char *begin;
    size_t length = source_line(report_texts(v->report), source, line, &begin);
    struct text copy = text_init(text, sizeof(text));
    for (size_t i = 0; i < length; i++)
        text_format(&copy, begin[i] == '\t' ? "    " : "%c", begin[i]);
    bool hot =
        v->view->color && sums->self_ns > 0 && sums->self_ns * STYLED_PART >= v->all->self_ns;
    printf("%s", hot ? "\033[1m" : "");
    print_time(sums->self_ns);
    printf(" %6s", sums->self_ns ? number_share(sums->self_ns, v->all->self_ns, share) : "");
    print_time(sums->total_ns);
    print_time(sums->waiting_ns);
    printf(" %7s %5u  ", sums->count ? number_count(sums->count, count) : "", line);

    enum { BEFORE = 50, ROOM_MIN = 30 };

    size_t width = v->view->width > BEFORE + ROOM_MIN && !v->view->wide ? v->view->width - BEFORE
                                                                        : copy.length;
    char cut[4 * LINE_MAX_BYTES + 4];
    term_shorten(text, width < LINE_MAX_BYTES ? width : LINE_MAX_BYTES, cut, sizeof(cut));
    printf("%s%s\n", cut, hot ? "\033[0m" : "");
}

static void print_head(const struct source_view *v, uint32_t source)
{
    const struct trace_session *session = trace_session_get(v->trace);
    const char *folder = trace_string(v->trace, session->directory)->bytes;
    printf("\n");
    term_print(call_short_path(path_of(v, source), folder));
    if (source_line_count(report_texts(v->report), source) == 0)
        printf(" (its text is not in the recording)");
    printf("\n %8s %6s %8s %8s %7s %5s  source\n", "self", "%", "total", "waits", "hits", "line");
}

static bool print_lines(const struct source_view *v, const struct shown *shown)
{
    bool known = source_line_count(report_texts(v->report), shown->source) > 0;
    uint32_t last = 0;
    for (uint32_t i = 1; i <= shown->count; i++) {
        const struct line_sums *sums = sums_of(v, shown->source, i);
        if (!shown->lines[i] || (!known && sums->total_ns == 0 && sums->waits == 0))
            continue;
        if (last == 0)
            print_head(v, shown->source);
        if (known && i != last + 1)
            printf("%52s\n", "...");
        print_line(v, shown->source, i);
        last = i;
    }
    return last != 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The lines of one file are `lines[begin]` to `lines[end - 1]`. 1: some are printed. */
static int print_file(const struct source_view *v, uint32_t begin, uint32_t end)
{
    struct shown shown = {.source = v->lines[begin].source};
    uint32_t known = source_line_count(report_texts(v->report), shown.source);
    uint32_t last = (uint32_t)v->lines[end - 1].line;
    shown.count = known ? known : last;
    shown.lines = shown.count < UINT32_C(1) << 24
                      ? calloc((size_t)shown.count + 1, sizeof(*shown.lines))
                      : NULL;
    if (!shown.lines)
        return -ENOMEM;
    choose(v, &shown);
    bool any = print_lines(v, &shown);
    free(shown.lines);
    return any;
}

/* The first and the time of lines of one file. */
struct file_part {
    uint32_t begin, end;
    uint64_t time_ns;
};

static int most_first(const void *left, const void *right)
{
    const struct file_part *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->begin < b->begin ? -1 : 1;
}

/* How many. */
static uint32_t find_files(const struct source_view *v, struct file_part *files)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->line_count; i++) {
        if (i == 0 || v->lines[i].source != v->lines[i - 1].source)
            files[count++] = (struct file_part){.begin = i};
        files[count - 1].end = i + 1;
        files[count - 1].time_ns += v->lines[i].sums.self_ns;
    }
    qsort(files, count, sizeof(*files), most_first);
    return count;
}

static int fail(const char *name)
{
    return name ? cmd_fail(CMD_FAILED,
                           "no samples are in a file or function called \"%s\"\nannot report "
                           "--lines lists the lines that have some",
                           name)
                : cmd_fail(CMD_FAILED, "no function with known lines has 2 %% of the time\nannot "
                                       "report --lines lists all lines");
}

/* 0 or -ENOMEM. */
static int add_labels(struct source_view *v)
{
    v->by_label = calloc((size_t)stacks_label_count(v->stacks) + 1, sizeof(*v->by_label));
    for (uint32_t i = 0; v->by_label && i < v->row_count; i++) {
        v->by_label[v->rows[i].label].self_ns += v->rows[i].sums.self_ns;
        v->by_label[v->rows[i].label].waiting_ns += v->rows[i].sums.waiting_ns;
    }
    return v->by_label ? 0 : -ENOMEM;
}

/* How many files, or -ENOMEM. */
static int print_files(const struct source_view *v)
{
    struct file_part *files = calloc((size_t)v->line_count + 1, sizeof(*files));
    uint32_t count = files ? find_files(v, files) : 0;
    int any = files ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && any >= 0; i++) {
        int rc = print_file(v, files[i].begin, files[i].end);
        any = rc < 0 ? rc : any + rc;
    }
    free(files);
    return any;
}

int report_source(const struct report *report, const struct report_view *view, const char *name)
{
    const struct trace *trace = store_reader_trace(view->options->reader);
    struct source_view v = {.report = report,
                            .view = view,
                            .trace = trace,
                            .stacks = trace_stacks_get(trace),
                            .name = name};
    const struct line_stats *stats = report_lines(report);
    if (!stats)
        return fail(name);
    v.row_count = line_stats_rows(stats, &v.rows);
    v.line_count = line_stats_files(stats, &v.lines);
    v.all = line_stats_totals(stats);
    int any = add_labels(&v);
    if (any == 0)
        any = print_files(&v);
    free(v.by_label);
    return any < 0 ? any : any > 0 ? 0 : fail(name);
}
