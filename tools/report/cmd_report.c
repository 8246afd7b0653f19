/* SPDX-License-Identifier: MIT */
/* `annot report`: tables of times that add up (profile/report.h), and options for printing them. Of
 * a damaged recording the intact part is shown, with exit 1. */
#include "cmd.h"
#include "headline.h"
#include "out_stream.h"
#include "reader.h"
#include "recording.h"
#include "report_data.h"
#include "report_source.h"
#include "report_text.h"
#include "screen.h"
#include "screen_functions.h"
#include "selection.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report_values {
    const char *sort, *by, *table, *value, *callers, *color;
    struct selection_values selection; /* its range applies to samples only */
    uint64_t limit, functions;
    const char *source_of;
    bool all, wide, python, native, tree, json, csv, lines, source, memory;
};

static const char sort_words[] =
    "path|count|total|self|share|min|mean|p50|p90|p99|max|processes|"
    "threads|unfinished|lost|cpu|cpuself|running|runnable|blocked|own|calls|ncalls|pcalls|"
    "tottime|time|cumulative|cumtime|percall|name";

static const enum range_column sort_columns[] = {
    RANGE_COLUMN_PATH,
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_MIN,
    RANGE_COLUMN_MEAN,
    RANGE_COLUMN_P50,
    RANGE_COLUMN_P90,
    RANGE_COLUMN_P99,
    RANGE_COLUMN_MAX,
    RANGE_COLUMN_PROCESSES,
    RANGE_COLUMN_THREADS,
    RANGE_COLUMN_UNFINISHED,
    RANGE_COLUMN_LOST,
    RANGE_COLUMN_CPU,
    RANGE_COLUMN_CPU_SELF,
    RANGE_COLUMN_RUNNING,
    RANGE_COLUMN_RUNNABLE,
    RANGE_COLUMN_BLOCKED,
    /* Words of cProfile and of the tables of calls. */
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_COUNT,
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_SELF,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_TOTAL,
    RANGE_COLUMN_MEAN,
    RANGE_COLUMN_PATH,
};

static const char by_words[] = "path|name|process|thread";

/* The index of `word` in `words`. */
static unsigned word_index(const char *words, const char *word)
{
    unsigned index = 0;
    size_t length = strlen(word);
    for (const char *at = words; *at; at++) {
        if ((at == words || at[-1] == '|') && strncmp(at, word, length) == 0 &&
            (at[length] == '|' || !at[length]))
            return index;
        index += *at == '|';
    }
    return 0;
}

static bool is_chosen(const struct report_values *values, const char *table)
{
    if (values->memory)
        return strcmp(table, "memory") == 0 || strcmp(table, "memory_processes") == 0;
    return !values->table || strcmp(table, values->table) == 0;
}

/* Chooses all tables, the named one, or those of memory. CMD_OK, or the exit status after a printed
 * message. */
static int choose_tables(const struct report_values *values, const struct report *report,
                         struct report_tables *ret_tables)
{
    char names[1024];
    struct text text = text_init(names, sizeof(names));
    ret_tables->count = 0;
    for (unsigned i = 0; i < report_table_count(report); i++) {
        const struct table *table = report_table(report, i);
        text_format(&text, "%s%s", i ? ", " : "", table->name);
        if (is_chosen(values, table->name))
            ret_tables->items[ret_tables->count++] = table;
    }
    if (ret_tables->count == 0 && values->memory)
        return cmd_fail(CMD_FAILED, "the recording has no samples of memory\n"
                                    "annot record --memory makes them");
    return ret_tables->count > 0
               ? CMD_OK
               : cmd_fail(CMD_MISUSE, "there is no table \"%s\"\none of %s", values->table, names);
}

/* Prints machine-readable output, and a message for errors of the output. */
static int print_data(const struct report_values *values, const struct report_tables *tables)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    int rc = out_stream_open("-", &options, &out);
    if (rc < 0)
        return rc;
    rc = values->json ? report_json(tables, out) : report_csv(tables, out);
    int written = out_stream_close(out);
    if (written < 0 && written != -EPIPE) {
        cmd_fail(0, "cannot write to standard output: %s", strerror(-written));
        return CMD_FAILED;
    }
    return rc;
}

/* Prints the tables that options select. */
static int print_named(const struct report_values *values, const struct report *report,
                       const struct report_view *view)
{
    const char *names[] = {
        values->callers ? "callers" : NULL,
        values->callers ? "callees" : NULL,
        values->python ? "python_functions" : NULL,
        values->native ? "functions" : NULL,
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && rc == 0; i++) {
        const struct table *table = names[i] ? report_find(report, names[i]) : NULL;
        if (table)
            rc = report_text_table(table, view);
    }
    if (rc == 0 && values->callers && report_find(report, "callers")->row_count == 0)
        rc = cmd_fail(CMD_FAILED,
                      "no function that was sampled is called \"%s\"\n"
                      "annot report --native lists names; *, ? and [] stand for letters",
                      values->callers);
    return rc;
}

/* The sentences about memory, and its tables. */
static int print_memory(const struct report *report, const struct report_view *view,
                        const struct report_tables *tables)
{
    const struct screen screen = screen_init(report, view);
    char buffer[HEADLINE_SIZE];
    int rc = 0;
    if (headline_memory(screen.trace, screen.facts, buffer, sizeof(buffer)) > 0)
        screen_put_wrapped(&screen, STYLE_BOLD, buffer, 0);
    for (unsigned i = 0; i < tables->count && rc == 0; i++)
        if (tables->items[i]->title)
            rc = report_text_table(tables->items[i], view);
    return rc;
}

/* 0, -errno, or the exit status after a printed message. */
static int print_report(const struct report_values *values, const struct report *report,
                        const struct report_view *view)
{
    struct report_tables tables = {0};
    int rc = choose_tables(values, report, &tables);
    if (rc != CMD_OK)
        return rc;
    if (values->json || values->csv)
        return print_data(values, &tables);
    if (values->memory)
        return print_memory(report, view, &tables);
    if ((values->source || values->source_of) && !values->value &&
        report_counts_source(report, view, values->source_of, stdout))
        return 0;
    if (values->source || values->source_of)
        return report_source(report, view, values->source_of);
    if (values->lines)
        return report_text_table(report_find(report, "lines"), view);
    if (values->tree)
        return report_tree(report, view);
    if (values->callers || values->python || values->native)
        return print_named(values, report, view);
    if (!values->table)
        return values->all || values->sort || values->by || values->value || values->wide
                   ? report_text(report, view)
                   : report_screen(report, view);
    rc = report_text_table(tables.items[0], view);
    return rc == -ENODATA
               ? cmd_fail(CMD_MISUSE, "the table %s has no text form\n--json and --csv have it",
                          values->table)
               : rc;
}

/* Returns true if --limit also applies to the tables of functions. */
static bool limits_functions(const struct cmd_call *call)
{
    const struct report_values *values = call->values;
    return values->callers || values->python || values->native ||
           (options_given(call->options, "limit") &&
            !options_given(call->options, "function-rows"));
}

/* Makes and prints the report of an open recording: 0, -errno, or the exit status after a printed
 * message. */
static int make_report(const struct cmd_call *call, const char *path, struct store_reader *reader,
                       const struct selection *selection)
{
    const struct report_values *values = call->values;
    char only[1024];
    bool data = values->json || values->csv;
    bool whole = values->all || (values->memory && !options_given(call->options, "limit"));
    uint64_t limit = values->limit && !whole ? values->limit : UINT64_MAX;
    struct report_options options = {
        .path = path,
        .only = only,
        .reader = reader,
        .selection = &selection->chosen,
        .grouping = (enum range_grouping)word_index(by_words, values->by ? values->by : "path"),
        .sort = sort_columns[word_index(sort_words, values->sort ? values->sort : "self")],
        .sorted = values->sort != NULL,
        .value = values->value,
        .callers = values->callers,
        .range = values->selection.range,
        .limit = limit,
        .functions = values->all              ? UINT64_MAX
                     : limits_functions(call) ? limit
                                              : values->functions,
        .all = values->all || data,
        .lines = values->lines || values->source || values->source_of ||
                 (values->table && strcmp(values->table, "lines") == 0),
    };
    const struct report_view view = {
        .options = &options,
        .width = term_width(STDOUT_FILENO),
        .wide = values->wide,
        .limited = options_given(call->options, "limit"),
        .color = term_color(STDOUT_FILENO, values->color),
    };
    struct report *report;
    selection_describe(selection->values, only, sizeof(only));
    int rc = values->value
                 ? selection_weight(values->value, selection, reader, path, &options.weight)
                 : 0;
    if (rc == 0)
        rc = report_create(&options, &report);
    if (rc != 0)
        return rc;
    rc = print_report(values, report, &view);
    report_destroy(report);
    return rc;
}

static int run_report(const struct cmd_call *call)
{
    const struct report_values *given = call->values;
    struct report_values own = *given, *values = &own;
    struct cmd_call with = *call;
    struct selection_values chosen = values->selection;
    char other[SELECTION_VALUE_SIZE];
    struct selection selection = {0};
    char name[RECORDING_NAME_SIZE];
    int status = selection_check(&values->selection);
    if (values->json && values->csv)
        return cmd_fail(CMD_MISUSE, "options --json and --csv: use only one\neach has all tables");
    const char *path = status == CMD_OK ? recording_choose(call, name) : NULL;
    struct store_reader *reader = path ? recording_open(path) : NULL;
    if (!reader)
        return status == CMD_OK ? CMD_FAILED : status;
    chosen.range = NULL;
    with.values = values;
    if (!values->value && selection_other_value(reader, other))
        values->value = other;
    status = selection_check_recording(&values->selection, reader, path);
    if (status == CMD_OK)
        status = selection_init(&selection, &chosen, store_reader_trace(reader), path);
    int rc = status == CMD_OK ? make_report(&with, path, reader, &selection) : 0;
    if (rc < 0)
        status = recording_fail(path, rc);
    else if (rc > 0)
        status = rc;
    else if (status == CMD_OK && recording_note_damage(reader, path) > 0)
        status = CMD_FAILED;
    selection_fini(&selection);
    store_reader_close(reader);
    return status;
}

#define AT(field) offsetof(struct report_values, field)

static const struct option_spec report_options[] = {
    OPTIONS_GROUP("what to show"),
    {"all", 'a', OPTION_FLAG, AT(all), NULL,
     "all rows of all tables, each process and thread in its own", NULL},
    {"table", 0, OPTION_TEXT, AT(table), "NAME", "this table alone, as --json calls it", NULL},
    {"memory", 0, OPTION_FLAG, AT(memory), NULL,
     "the tables of memory alone, with all rows (record --memory)", NULL},
    {"callers", 0, OPTION_TEXT, AT(callers), "NAME",
     "who calls functions of this name (*, ? and [] as in a shell), and what they call", NULL},
    {"tree", 0, OPTION_FLAG, AT(tree), NULL,
     "who called whom: own functions, and the first of each library that they call", NULL},
    {"lines", 0, OPTION_FLAG, AT(lines), NULL,
     "the hottest lines; with --json and --csv: all lines, beside the other tables", NULL},
    {"source", 0, OPTION_FLAG, AT(source), NULL,
     "the source of hot functions, with the time of each line; lines that were counted (record "
     "--trace-lines) with their hits",
     NULL},
    {"source-of", 0, OPTION_TEXT, AT(source_of), "NAME",
     "the whole source of this file or function, with the time of each line", NULL},
    OPTIONS_GROUP("of which part"),
    {"range", 'r', OPTION_TEXT, AT(selection.range), "NAME",
     "calls, functions and waits inside ranges of this name only; *, ? and [] as in a shell", NULL},
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    SELECTION_GIL(AT(selection)),
    {"value", 0, OPTION_TEXT, AT(value), "NAME",
     "ranges and functions by this value of samples: off-cpu:blocked, heap:peak, ... (default: "
     "CPU time); annot info lists the names",
     NULL},
    {"python-only", 0, OPTION_FLAG, AT(python), NULL,
     "Python functions alone, with the native code that they call", NULL},
    {"native", 0, OPTION_FLAG, AT(native), NULL, "all functions alone, native ones by themselves",
     NULL},
    OPTIONS_GROUP("rows and columns"),
    {"sort", 's', OPTION_CHOICE, AT(sort), sort_words,
     "sort all tables by a column (default: self)", NULL},
    {"by", 'b', OPTION_CHOICE, AT(by), by_words, "group rows of ranges (default: path)", NULL},
    {"limit", 'n', OPTION_COUNT, AT(limit), "N", "rows per table; 0 shows all", "10"},
    {"function-rows", 0, OPTION_COUNT, AT(functions), "N",
     "rows of the tables of functions; 0 shows none", "20"},
    {"wide", 'w', OPTION_FLAG, AT(wide), NULL,
     "all columns and whole names, whatever the terminal's width", NULL},
    {"color", 0, OPTION_CHOICE, AT(color), "auto|always|never",
     "colours (default: auto, on a terminal unless NO_COLOR is set)", NULL},
    {"json", 'j', OPTION_FLAG, AT(json), NULL,
     "one JSON object with all rows, times in nanoseconds", NULL},
    {"csv", 0, OPTION_FLAG, AT(csv), NULL,
     "all rows of all tables as comma-separated values, times in nanoseconds", NULL},
    {0},
};

static const char report_details[] = RECORDING_CHOICE_HELP
    "columns:\n"
    "  total    time in the range, all threads together\n"
    "  self     total without the ranges inside; with what is outside of ranges, these add up to\n"
    "           the time of all threads\n"
    "  share    total as part of the wall time; more than 100% means several at once\n"
    "  cpu      CPU time by samples, with the ranges inside; cpu self: without; of ranges on\n"
    "           tracks: while a thread ran the track (a task of asyncio)\n"
    "  running  exact with record --off-cpu: total is running + runnable + blocked\n"
    "  runnable the thread could have run, but others had the CPUs\n"
    "  blocked  it waited for something: see the table of waits\n"
    "  p50..    half (90%, 99%) of the ranges took at most this long, to within 0.8%\n"
    "  unfin    ranges whose end was never seen: killed, still open, or lost\n"
    "  lost     records lost directly inside: count is too low, self too high\n"
    "\n"
    "exit status: 0; 1 if the recording could not be read or is damaged; 2 wrong command line\n";

const struct cmd cmd_report = {
    .name = "report",
    .summary = "show where the time of a recording went",
    .usage = "[OPTIONS] [FILE]",
    .details = report_details,
    .examples = "  annot report run.annot\n"
                "  annot report --range load --source run.annot\n"
                "  annot report --json --table functions run.annot\n",
    .options = report_options,
    .values_size = sizeof(struct report_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_report,
};
