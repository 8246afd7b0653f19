/* SPDX-License-Identifier: MIT */
/* `annot report`: where the time went, as a table that adds up.
 *
 * The header says what there was and what is missing; then one table per kind of entry
 * (report_table.c). A recording that is damaged is shown as far as it is whole, with exit 1. */
#include "cmd.h"
#include "loss_sums.h"
#include "number_text.h"
#include "recording.h"
#include "recording_source.h"
#include "report_data.h"
#include "report_functions.h"
#include "report_imports.h"
#include "report_samples.h"
#include "report_table.h"
#include "report_tasks.h"
#include "selection.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report_values {
    const char *sort, *by;
    struct selection_values selection; /* its range: of samples only */
    uint64_t limit, functions;
    bool all, wide, json, csv;
};

enum { REPORT_TOLD = 1 }; /* it failed, and the message is out */

static const char sort_words[] = "path|count|total|self|share|min|mean|p50|p90|p99|max|processes|"
                                 "threads|unfinished|lost|cpu|cpuself|running|runnable|blocked";

static const enum range_column sort_columns[] = {
    RANGE_COLUMN_PATH,     RANGE_COLUMN_COUNT,      RANGE_COLUMN_TOTAL,    RANGE_COLUMN_SELF,
    RANGE_COLUMN_TOTAL,    RANGE_COLUMN_MIN,        RANGE_COLUMN_MEAN,     RANGE_COLUMN_P50,
    RANGE_COLUMN_P90,      RANGE_COLUMN_P99,        RANGE_COLUMN_MAX,      RANGE_COLUMN_PROCESSES,
    RANGE_COLUMN_THREADS,  RANGE_COLUMN_UNFINISHED, RANGE_COLUMN_LOST,     RANGE_COLUMN_CPU,
    RANGE_COLUMN_CPU_SELF, RANGE_COLUMN_RUNNING,    RANGE_COLUMN_RUNNABLE, RANGE_COLUMN_BLOCKED,
};

static const char by_words[] = "path|name|process|thread";

/* Which of the words, counted from 0. */
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

static uint64_t event_sum(const struct range_totals *totals)
{
    uint64_t sum = 0;
    for (unsigned kind = 0; kind < EVENT_KIND_COUNT; kind++)
        sum += event_is_record((uint8_t)kind) ? totals->event_count[kind] : 0;
    return sum;
}

static bool is_sampled(const struct trace *trace, const struct report_samples *samples)
{
    return samples->present || trace_sampling_get(trace)->rung > SAMPLING_NONE;
}

static void print_header(const struct trace *trace, const struct range_totals *totals,
                         const struct report_samples *samples, const char *path, bool cut)
{
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE], c[NUMBER_TEXT_SIZE], d[NUMBER_TEXT_SIZE];
    uint64_t covered = totals->covered_ns;
    const struct trace_session *session = trace_session_get(trace);
    printf("recording  ");
    term_print(path);
    if (session->command)
        printf("\ncommand    ");
    term_print(trace_string(trace, session->command)->bytes);
    char only[1024];
    if (selection_describe(samples->selection->values, only, sizeof(only)) > 0) {
        printf("\nonly       ");
        term_print(only);
    }
    printf("\nwall time  %s, %s %s", number_time_plain((uint64_t)totals->wall_ns, a),
           number_count(trace_process_count(trace), b),
           trace_process_count(trace) == 1 ? "process" : "processes");
    if (trace_fact_value(trace, TRACE_FACT_UNSEEN))
        printf(" (and %s without a sample)",
               number_count(trace_fact_value(trace, TRACE_FACT_UNSEEN), a));
    printf(", %s %s", number_count(trace_thread_count(trace), c),
           trace_thread_count(trace) == 1 ? "thread" : "threads");
    bool annotated = event_sum(totals) > 0 || !is_sampled(trace, samples);
    if (annotated)
        printf(", %s event%s", number_count(event_sum(totals), d),
               event_sum(totals) == 1 ? "" : "s");
    printf("\n");
    if (annotated)
        printf("in ranges  %s of %s thread time (%s)\n", number_time_plain(covered, a),
               number_time_plain(totals->thread_ns, b),
               number_percent(covered, totals->thread_ns, c));
    report_sampling_print(trace, samples);
    uint64_t lost[LOSS_COUNT];
    uint64_t sum = loss_sums(trace, totals->lost, lost);
    if (sum == 0)
        printf("lost       %s%s\n", report_lost_text(trace, samples),
               cut ? ", up to where it was cut short" : "");
    else
        printf("lost       %s %s: ", number_count(sum, a), sum == 1 ? "record" : "records");
    if (sum > 0)
        loss_print(lost);
    report_missing_print(trace);
}

static void print_damage(const struct store_reader *reader, const struct trace *trace,
                         const struct range_totals *totals, const struct selection *selection)
{
    char text[NUMBER_TEXT_SIZE];
    uint32_t parts = store_reader_damage_count(reader);
    uint64_t missing =
        selection_is_all(selection) ? loss_of_damage(reader, trace, event_sum(totals)) : 0;
    if (!parts)
        return;
    if (recording_is_cut(reader))
        printf("cut        it has no end: what was not written yet is missing");
    else
        printf("damage     %u %s", parts, parts == 1 ? "part" : "parts");
    if (missing)
        printf("; records missing from the numbers below: %s", number_count(missing, text));
    printf("\n");
}

/* What the limits left out, and what the numbers can't show. */
static void print_remarks(const struct trace *trace, const struct range_totals *totals,
                          const struct report_samples *samples)
{
    char text[NUMBER_TEXT_SIZE];
    if (event_sum(totals) == 0 && !samples->present)
        printf("\n%s\n", report_nothing_text(trace));
    if (totals->lost_outside)
        printf("\nRecords lost outside of all ranges above: %s.\n",
               number_count(totals->lost_outside, text));
    if (totals->orphan_count)
        printf("\nEnds without a beginning in this recording, not counted: %s.\n",
               number_count(totals->orphan_count, text));
    if (totals->other_count)
        printf("\nToo many paths: the later ones are together in \"(other)\"; entries there: %s.\n",
               number_count(totals->other_count, text));
    if (totals->quantile_count)
        printf("\nToo many paths: durations that are not in the quantiles: %s.\n",
               number_count(totals->quantile_count, text));
    if (totals->threads_cut)
        printf("\nToo many threads: the columns procs and threads are lower bounds.\n");
}

/* Has any range of the program a row of its own? */
static bool has_ranges(const struct range_stats *stats)
{
    for (uint32_t i = 0; i < range_stats_row_count(stats); i++) {
        const struct range_row *row = range_stats_row(stats, i);
        if (row->kind == RANGE_PUSHED && (row->count > 0 || row->cpu_ns > 0) &&
            !report_row_is_observed(stats, i))
            return true;
    }
    return false;
}

static int print_functions(const struct cmd_call *call, const struct range_stats *stats,
                           const struct report_table_options *table, struct report_samples *samples)
{
    const struct report_values *values = call->values;
    struct report_functions_options options = {
        .trace = table->trace,
        .samples = samples,
        .owners = values->all || table->grouping >= RANGE_BY_PROCESS || !has_ranges(stats),
        .by_thread = values->all || table->grouping == RANGE_BY_THREAD,
        .limit = table->limit,
        .functions = values->all ? UINT64_MAX : values->functions,
        .width = table->width,
        .by_total = table->sort == RANGE_COLUMN_TOTAL,
        .wide = values->wide,
        .all = values->all,
        .color = table->color,
    };
    if (samples->range && samples->inside.all.sample_count == 0 && samples->present) {
        printf("\nThere are no samples inside ranges named ");
        term_print(samples->range);
        printf(".\n");
    }
    return report_functions_print(&options);
}

/* What was found in the recording. */
struct report_parts {
    struct range_stats *stats;
    struct report_samples *samples;
    struct pool_tasks *tasks;
};

static int print_tasks(const struct report_table_options *table, const struct pool_tasks *tasks)
{
    const struct report_tasks_options options = {
        .trace = table->trace, .limit = table->limit, .width = table->width, .color = table->color};
    return report_tasks_print(&options, tasks);
}

static int print_report(const struct cmd_call *call, const char *path, struct store_reader *reader,
                        const struct report_parts *parts)
{
    const struct range_stats *stats = parts->stats;
    struct report_samples *samples = parts->samples;
    const struct trace *trace = store_reader_trace(reader);
    const struct report_values *values = call->values;
    unsigned width = term_width(STDOUT_FILENO);
    struct report_table_options options = {
        .trace = trace,
        .stats = stats,
        .grouping = (enum range_grouping)word_index(by_words, values->by),
        .sort = sort_columns[word_index(sort_words, values->sort)],
        .limit = values->limit && !values->all ? values->limit : UINT64_MAX,
        .sampled = samples->present,
        .off_cpu = samples->off_cpu,
        .all = values->all,
        .cpu_ns = samples->all.all.cpu_ns,
        .width = values->wide ? 0 : width,
        .color = term_color(STDOUT_FILENO),
    };
    print_header(trace, range_stats_totals(stats), samples, path, recording_is_cut(reader));
    print_damage(reader, trace, range_stats_totals(stats), samples->selection);
    int rc = report_table_print(&options);
    if (rc == 0)
        rc = print_tasks(&options, parts->tasks);
    if (rc == 0)
        rc = print_functions(call, stats, &options, samples);
    print_remarks(trace, range_stats_totals(stats), samples);
    report_facts_print(trace, samples);
    return rc;
}

/* For programs. Errors of the output have their message. */
static int print_data(const struct cmd_call *call, const char *path, struct store_reader *reader,
                      const struct report_parts *parts)
{
    const struct report_values *values = call->values;
    const struct report_data_options options = {
        .path = path,
        .reader = reader,
        .trace = store_reader_trace(reader),
        .stats = parts->stats,
        .grouping = (enum range_grouping)word_index(by_words, values->by),
        .sort = sort_columns[word_index(sort_words, values->sort)],
        .samples = parts->samples,
        .tasks = parts->tasks,
    };
    const struct out_stream_options out_options = {0};
    struct out_stream *out;
    int rc = out_stream_open("-", &out_options, &out);
    if (rc < 0)
        return rc;
    rc = values->json ? report_json(&options, out) : report_csv(&options, out);
    int written = out_stream_close(out);
    if (written < 0 && written != -EPIPE) {
        cmd_fail(0, "cannot write to standard output: %s", strerror(-written));
        return REPORT_TOLD;
    }
    return rc;
}

/* One reading for all tables. */
static int read_all(struct store_reader *reader, const struct report_parts *parts)
{
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sinks[] = {range_stats_sink(parts->stats), pool_tasks_sink(parts->tasks),
                                 report_samples_sink(parts->samples)};
    struct pass *pass = pass_create(&source, &parts->samples->selection->chosen, sinks,
                                    sizeof(sinks) / sizeof(*sinks));
    int rc = pass ? pass_run(pass) : -ENOMEM;
    if (rc == 0)
        rc = range_stats_finish(parts->stats, pass);
    if (rc == 0)
        rc = report_samples_finish(parts->samples, pass);
    if (rc == 0)
        rc = pool_tasks_finish(parts->tasks);
    pass_destroy(pass);
    return rc;
}

/* The whole report of an open recording: 0, -errno, or REPORT_TOLD. */
static int make_report(const struct cmd_call *call, const char *path, struct store_reader *reader,
                       const struct selection *selection)
{
    const struct report_values *values = call->values;
    const struct trace *trace = store_reader_trace(reader);
    const struct range_stats_options options = {
        .grouping = (enum range_grouping)word_index(by_words, values->by),
        .from_ns = selection->chosen.from_ns,
        .to_ns = selection->chosen.to_ns,
    };
    struct report_samples samples;
    struct report_parts parts = {.samples = &samples,
                                 .stats = range_stats_create(trace, &options),
                                 .tasks = pool_tasks_create(trace)};
    int rc = report_samples_begin(&samples, reader, selection, values->selection.range);
    if (rc == 0)
        rc = parts.stats && parts.tasks ? read_all(reader, &parts) : -ENOMEM;
    if (rc == 0)
        rc = values->json || values->csv ? print_data(call, path, reader, &parts)
                                         : print_report(call, path, reader, &parts);
    report_samples_fini(&samples);
    pool_tasks_destroy(parts.tasks);
    range_stats_destroy(parts.stats);
    return rc;
}

static int run_report(const struct cmd_call *call)
{
    const struct report_values *values = call->values;
    struct selection_values chosen = values->selection;
    struct selection selection = {0};
    char name[RECORDING_NAME_SIZE];
    int status = selection_check(&values->selection);
    if (values->json && values->csv)
        return cmd_fail(CMD_MISUSE, "options --json and --csv: one of them\n--json tells more");
    const char *path = status == CMD_OK ? recording_choose(call, name) : NULL;
    struct store_reader *reader = path ? recording_open(path) : NULL;
    if (!reader)
        return status == CMD_OK ? CMD_FAILED : status;
    chosen.range = NULL;
    status = selection_check_recording(&values->selection, reader, path);
    if (status == CMD_OK)
        status = selection_init(&selection, &chosen, store_reader_trace(reader), path);
    int rc = status == CMD_OK ? make_report(call, path, reader, &selection) : 0;
    if (rc < 0)
        status = recording_fail(path, rc);
    else if (rc == REPORT_TOLD || (status == CMD_OK && recording_note_damage(reader, path) > 0))
        status = CMD_FAILED;
    selection_fini(&selection);
    store_reader_close(reader);
    return status;
}

#define AT(field) offsetof(struct report_values, field)

static const struct option_spec report_options[] = {
    {"sort", 's', OPTION_CHOICE, AT(sort), sort_words, "sort by a column", "self"},
    {"by", 'b', OPTION_CHOICE, AT(by), by_words, "one row per", "path"},
    {"limit", 'n', OPTION_COUNT, AT(limit), "N", "rows per table; 0 shows all", "40"},
    {"range", 'r', OPTION_TEXT, AT(selection.range), "NAME",
     "functions and waits of samples inside ranges of this name only; *, ? and [] as in a shell",
     NULL},
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    {"functions", 0, OPTION_COUNT, AT(functions), "N",
     "rows of the tables of functions; 0 shows none", "20"},
    {"all", 'a', OPTION_FLAG, AT(all), NULL,
     "all rows of all tables, each process and thread in its own", NULL},
    {"json", 'j', OPTION_FLAG, AT(json), NULL,
     "one JSON object with all rows, times in nanoseconds", NULL},
    {"csv", 0, OPTION_FLAG, AT(csv), NULL,
     "all rows of all tables as comma-separated values, times in nanoseconds", NULL},
    {"wide", 'w', OPTION_FLAG, AT(wide), NULL,
     "all columns and whole names, whatever the terminal's width", NULL},
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
    "  running  exact, of --off-cpu recordings: total is running + runnable + blocked\n"
    "  runnable the thread could have run, but others had the CPUs\n"
    "  blocked  it waited for something: see the table of waits\n"
    "  p50..    half (90%, 99%) of the ranges took at most this long, to within 0.8%\n"
    "  unfin    ranges whose end was never seen: killed, still open, or lost\n"
    "  lost     records lost directly inside: count is too low, self too high\n"
    "\n"
    "exit status: 0; 1 if the recording could not be read or is damaged; 2 wrong command line\n";

const struct cmd cmd_report = {
    .name = "report",
    .summary = "show where the time of a recording went, as a table",
    .usage = "[OPTIONS] [FILE]",
    .details = report_details,
    .options = report_options,
    .values_size = sizeof(struct report_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_report,
};
