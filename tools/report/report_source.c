/* SPDX-License-Identifier: MIT */
/* `annot report --source`: prints source with the time of each line.
 *
 * For hot functions, the lines with samples and some around them; for a named file or function, all
 * lines. A line of own code includes the time of libraries it calls, as in the table of lines; a
 * line of other code has its own time and that of the native code it calls. Total includes all
 * callees. */
#include "report_source.h"

#include "call_label.h"
#include "cmd.h"
#include "code_owner.h"
#include "reader.h"
#include "report_lines.h"
#include "report_text.h"
#include "stacks.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 2, HOT_PART = 50, LINE_MAX_BYTES = 1024, STYLED_PART = 10, WAITS_PART = 1000 };

/* Columns of a time, of the bar, of all before the source with one time, and of total and samples;
 * these are printed if the width is at least WIDE. */
enum { TIME = 8, HEAT = 4, BEFORE = 28, MORE = 17, ROOM_MIN = 30, WIDE = 110 };

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
    bool *own_sources; /* by source: files of own code */
    bool with_waits, by_value, has_waits;
    uint64_t whole, most; /* time of all; of the line with the most */
};

/* The time of a line. */
struct cost {
    uint64_t time, cpu, waits, hits;
};

/* A line of an own file includes the time of libraries; other lines have their own time. */
static struct cost cost_of(const struct source_view *v, const struct file_line *line)
{
    const struct line_sums *sums = &line->sums;
    const struct own_times *own = &line->own;
    if (v->own_sources[line->source] && !v->by_value)
        return (struct cost){line_time_ns(own, v->with_waits), own->cpu_ns, own->blocked_ns,
                             own->sample_count};
    uint64_t off_ns = v->with_waits ? sums->runnable_ns + sums->blocked_ns : 0;
    return (struct cost){sums->self_ns + off_ns, sums->self_ns, sums->blocked_ns, sums->count};
}

/* ---- Choosing lines -------------------------------------------------------------------------- */

/* The printed lines of one file: [0, count] */
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

bool report_names_file(const struct trace *trace, uint32_t source, const char *name)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const char *path = trace_string(trace, stacks_get_source(stacks, source)->path)->bytes;
    size_t length = strlen(path), wanted = strlen(name);
    return wanted > 0 && wanted <= length && strcmp(path + length - wanted, name) == 0 &&
           (wanted == length || path[length - wanted - 1] == '/' || name[0] == '/');
}

bool report_names_function(const struct trace *trace, uint32_t label, const char *name)
{
    char text[CALL_LABEL_SIZE];
    code_name(trace, label, text, sizeof(text));
    const char *dot = strrchr(text, '.');
    return strcmp(text, name) == 0 || (dot && strcmp(dot + 1, name) == 0);
}

static bool is_hot(const struct source_view *v, uint32_t label)
{
    const struct line_sums *sums = &v->by_label[label];
    return (sums->total_ns > 0 && sums->total_ns * HOT_PART >= v->whole) ||
           (sums->self_ns > 0 && sums->self_ns * HOT_PART >= v->all->self_ns) ||
           (sums->blocked_ns > 0 && sums->blocked_ns * HOT_PART >= v->all->blocked_ns);
}

/* Shows a function's head, and the surroundings of its lines with samples. */
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
        return report_names_function(v->trace, label, v->name);
    return is_hot(v, label) && code_owner_of(v->trace, label) != CODE_STDLIB;
}

static void choose(const struct source_view *v, struct shown *shown)
{
    if (v->name && report_names_file(v->trace, shown->source, v->name))
        show(shown, 1, shown->count);
    for (uint32_t i = 0; i < v->row_count; i++)
        if (v->rows[i].label != 0 && v->rows[i].line > 0 &&
            stacks_get_label(v->stacks, v->rows[i].label)->source == shown->source &&
            is_wanted(v, v->rows[i].label))
            show_row(v, shown, &v->rows[i], v->name != NULL);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* NULL: a line without data. */
static const struct file_line *find_line(const struct source_view *v, uint32_t source,
                                         uint32_t line)
{
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
    return found ? &v->lines[low] : NULL;
}

static void print_time(uint64_t ns)
{
    char text[NUMBER_TEXT_SIZE];
    printf(" %7s", ns ? number_time_short(ns, text) : "");
}

static bool shows_more(const struct source_view *v)
{
    return v->view->wide || v->view->width == 0 || v->view->width >= WIDE;
}

static void print_numbers(const struct source_view *v, const struct cost *cost, uint64_t total_ns)
{
    char text[NUMBER_TEXT_SIZE];
    print_time(cost->time);
    printf(" %6s", cost->time ? number_share(cost->time, v->whole, text) : "");
    if (v->with_waits)
        print_time(cost->cpu);
    if (v->has_waits)
        print_time(cost->waits);
    if (!shows_more(v))
        return;
    print_time(total_ns);
    printf(" %8s", cost->hits ? number_count(cost->hits, text) : "");
}

static void print_heat(const struct source_view *v, const struct cost *cost)
{
    uint64_t marks = v->most ? (cost->time * HEAT + v->most - 1) / v->most : 0;
    printf(" %-*.*s ", HEAT, (int)(cost->time * 2 * HOT_PART >= v->whole ? marks : 0), "####");
}

static size_t width_before(const struct source_view *v)
{
    return BEFORE + (v->with_waits ? TIME : 0) + (v->has_waits ? TIME : 0) +
           (shows_more(v) ? MORE : 0);
}

void report_put_source(const struct report *report, uint32_t source, uint32_t line, size_t width,
                       FILE *out)
{
    char text[LINE_MAX_BYTES], cut[4 * LINE_MAX_BYTES + 4];
    const char *begin;
    size_t length = source_line(report_texts(report), source, line, &begin);
    struct text copy = text_init(text, sizeof(text));
    for (size_t i = 0; i < length; i++)
        text_format(&copy, begin[i] == '\t' ? "    " : "%c", begin[i]);
    term_cut(text, width > 0 && width < LINE_MAX_BYTES ? width : (size_t)LINE_MAX_BYTES, cut,
             sizeof(cut));
    fputs(cut, out);
}

static void print_line(const struct source_view *v, uint32_t source, uint32_t line)
{
    static const struct file_line none;
    const struct file_line *found = find_line(v, source, line);
    struct cost cost = cost_of(v, found ? found : &none);
    size_t before = width_before(v);
    bool fits = v->view->wide || v->view->width <= before + ROOM_MIN;
    bool hot = v->view->color && cost.time > 0 && cost.time * STYLED_PART >= v->whole;
    printf("%s", hot ? "\033[1m" : "");
    print_numbers(v, &cost, found ? found->sums.total_ns : 0);
    print_heat(v, &cost);
    printf("%5u  ", line);
    report_put_source(v->report, source, line, fits ? 0 : v->view->width - before, stdout);
    printf("%s\n", hot ? "\033[0m" : "");
}

static uint32_t count_shown(const struct shown *shown)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= shown->count; i++)
        count += shown->lines[i];
    return count;
}

static void print_head(const struct source_view *v, const struct shown *shown)
{
    const struct trace_session *session = trace_session_get(v->trace);
    const char *folder = trace_string(v->trace, session->directory)->bytes;
    printf("\n");
    term_print(call_short_path(path_of(v, shown->source), folder));
    if (source_line_count(report_texts(v->report), shown->source) == 0)
        printf(" (its text is not in the recording)");
    else
        printf(" (%u of %u lines)", count_shown(shown), shown->count);
    printf("\n %7s %6s", v->by_value ? "value" : v->with_waits ? "time" : "CPU", "%");
    if (v->with_waits)
        printf(" %7s", "CPU");
    if (v->has_waits)
        printf(" %7s", "blocked");
    if (shows_more(v))
        printf(" %7s %8s", "total", "samples");
    printf(" %*s %5s  source\n", HEAT, "", "line");
}

static bool print_lines(const struct source_view *v, const struct shown *shown)
{
    bool known = source_line_count(report_texts(v->report), shown->source) > 0;
    uint32_t last = 0;
    for (uint32_t i = 1; i <= shown->count; i++) {
        if (!shown->lines[i] || (!known && !find_line(v, shown->source, i)))
            continue;
        if (last == 0)
            print_head(v, shown);
        if (known && i != last + 1)
            printf("%*s\n", (int)width_before(v) - 2, "...");
        print_line(v, shown->source, i);
        last = i;
    }
    return last != 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The range of lines of one file, and their time. */
struct file_part {
    uint32_t begin, end;
    uint64_t time_ns, shown_ns;
};

/* Chooses the printed lines among `lines[begin]` to `lines[end - 1]`, those of one file.
 * -ENOMEM. */
static int choose_lines(const struct source_view *v, struct file_part *part,
                        struct shown *ret_shown)
{
    struct shown shown = {.source = v->lines[part->begin].source};
    uint32_t known = source_line_count(report_texts(v->report), shown.source);
    uint32_t last = (uint32_t)v->lines[part->end - 1].line;
    shown.count = known ? known : last;
    shown.lines = shown.count < UINT32_C(1) << 24
                      ? calloc((size_t)shown.count + 1, sizeof(*shown.lines))
                      : NULL;
    if (!shown.lines)
        return -ENOMEM;
    choose(v, &shown);
    part->shown_ns = 0;
    for (uint32_t i = part->begin; i < part->end; i++)
        if ((uint32_t)v->lines[i].line <= shown.count && shown.lines[v->lines[i].line])
            part->shown_ns += cost_of(v, &v->lines[i]).time;
    *ret_shown = shown;
    return 0;
}

/* 1: lines are printed; `print` false: only chooses them. */
static int take_file(const struct source_view *v, struct file_part *part, bool print)
{
    struct shown shown;
    int rc = choose_lines(v, part, &shown);
    if (rc == 0) {
        rc = print ? print_lines(v, &shown) : 0;
        free(shown.lines);
    }
    return rc;
}

static int most_first(const void *left, const void *right)
{
    const struct file_part *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->begin < b->begin ? -1 : 1;
}

/* Returns the number of files: own ones first. */
static uint32_t find_files(const struct source_view *v, struct file_part *files)
{
    uint32_t count = 0, own = 0;
    for (int others = 0; others < 2; others++) {
        for (uint32_t i = 0; i < v->line_count; i++) {
            uint32_t source = v->lines[i].source;
            if (v->own_sources[source] == others)
                continue;
            if (i == 0 || source != v->lines[i - 1].source)
                files[count++] = (struct file_part){.begin = i};
            files[count - 1].end = i + 1;
            files[count - 1].time_ns += cost_of(v, &v->lines[i]).time;
        }
        qsort(files + own, count - own, sizeof(*files), most_first);
        own = count;
    }
    return count;
}

/* Prints the title, and the share of the time that is not in the lines below. */
static void print_title(const struct source_view *v, const struct file_part *files, uint32_t count)
{
    const struct report_facts *facts = report_facts(v->report);
    char share[NUMBER_TEXT_SIZE];
    uint64_t shown_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        shown_ns += v->own_sources[v->lines[files[i].begin].source] ? files[i].shown_ns : 0;
    if (v->by_value || v->name)
        return;
    uint64_t left_ns = shown_ns < v->whole ? v->whole - shown_ns : 0;
    printf("\nLines of functions that have 2 %% of the %s and more.\n", facts->by_wall ? "wall time"
                                                                        : v->with_waits
                                                                            ? "time of threads"
                                                                            : "CPU time");
    printf("Left out: %s, in smaller functions, imports and other code.\n",
           number_share(left_ns, v->whole, share));
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

/* 0 or -ENOMEM. For a label, `total_ns` is its time in own code. */
static int add_labels(struct source_view *v)
{
    v->by_label = calloc((size_t)stacks_label_count(v->stacks) + 1, sizeof(*v->by_label));
    v->own_sources = calloc((size_t)stacks_source_count(v->stacks) + 1, sizeof(bool));
    if (!v->by_label || !v->own_sources)
        return -ENOMEM;
    for (uint32_t i = 0; i < v->row_count; i++) {
        const struct line_row *row = &v->rows[i];
        v->by_label[row->label].self_ns += row->sums.self_ns;
        v->by_label[row->label].blocked_ns += row->sums.blocked_ns;
        v->by_label[row->label].total_ns +=
            row->is_own && !v->by_value ? line_time_ns(&row->own, v->with_waits) : 0;
        if (row->is_own)
            v->own_sources[stacks_get_label(v->stacks, row->label)->source] = true;
    }
    for (uint32_t i = 0; i < v->line_count; i++) {
        uint64_t time_ns = cost_of(v, &v->lines[i]).time;
        v->most = time_ns > v->most ? time_ns : v->most;
        v->has_waits |= cost_of(v, &v->lines[i]).waits * WAITS_PART > v->whole;
    }
    return 0;
}

/* Returns the number of files, or -ENOMEM. */
static int print_files(const struct source_view *v)
{
    struct file_part *files = calloc((size_t)v->line_count + 1, sizeof(*files));
    uint32_t count = files ? find_files(v, files) : 0;
    int any = files ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < count && any >= 0; i++)
        any = take_file(v, &files[i], false);
    if (count > 0 && any >= 0)
        print_title(v, files, count);
    for (uint32_t i = 0; i < count && any >= 0; i++) {
        int rc = take_file(v, &files[i], true);
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
    v.by_value = view->options->value != NULL;
    v.with_waits = report_facts(report)->with_waits && !v.by_value;
    v.whole = v.by_value ? v.all->self_ns : report_lines_whole(report);
    int any = add_labels(&v);
    if (any == 0)
        any = print_files(&v);
    free(v.by_label);
    free(v.own_sources);
    return any < 0 ? any : any > 0 ? 0 : fail(name);
}
