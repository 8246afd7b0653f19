/* SPDX-License-Identifier: MIT */
/* `annot report`: where the time went, as a table that adds up.
 *
 * The header says what there was and what is missing; then one table per kind of entry
 * (report_table.c). A recording that is damaged is shown as far as it is whole, with exit 1. */
#include "cmd.h"
#include "loss_sums.h"
#include "number_text.h"
#include "recording.h"
#include "report_table.h"
#include "term.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct report_values {
    const char *sort, *by;
    uint64_t limit;
    bool wide;
};

static const char sort_words[] = "path|count|total|self|share|min|mean|p50|p90|p99|max|processes|"
                                 "threads|unfinished|lost";

static const enum range_column sort_columns[] = {
    RANGE_COLUMN_PATH,    RANGE_COLUMN_COUNT,      RANGE_COLUMN_TOTAL, RANGE_COLUMN_SELF,
    RANGE_COLUMN_TOTAL,   RANGE_COLUMN_MIN,        RANGE_COLUMN_MEAN,  RANGE_COLUMN_P50,
    RANGE_COLUMN_P90,     RANGE_COLUMN_P99,        RANGE_COLUMN_MAX,   RANGE_COLUMN_PROCESSES,
    RANGE_COLUMN_THREADS, RANGE_COLUMN_UNFINISHED, RANGE_COLUMN_LOST,
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
        sum += kind == EVENT_LOST ? 0 : totals->event_count[kind];
    return sum;
}

static void print_header(const struct trace *trace, const struct range_totals *totals,
                         const char *path)
{
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE], c[NUMBER_TEXT_SIZE], d[NUMBER_TEXT_SIZE];
    uint64_t covered = totals->covered_ns;
    const struct trace_session *session = trace_session_get(trace);
    printf("recording  ");
    term_print(path);
    if (session->command)
        printf("\ncommand    ");
    term_print(trace_string(trace, session->command)->bytes);
    printf("\nwall time  %s, %s %s, %s %s, %s event%s\n",
           number_time_plain((uint64_t)totals->wall_ns, a),
           number_count(trace_process_count(trace), b),
           trace_process_count(trace) == 1 ? "process" : "processes",
           number_count(trace_thread_count(trace), c),
           trace_thread_count(trace) == 1 ? "thread" : "threads",
           number_count(event_sum(totals), d), event_sum(totals) == 1 ? "" : "s");
    printf("in ranges  %s of %s thread time (%s)\n", number_time_plain(covered, a),
           number_time_plain(totals->thread_ns, b), number_percent(covered, totals->thread_ns, c));
    uint64_t lost[LOSS_COUNT];
    uint64_t sum = loss_sums(trace, totals->lost, lost);
    if (sum == 0)
        printf("lost       nothing\n");
    else
        printf("lost       %s %s: ", number_count(sum, a), sum == 1 ? "record" : "records");
    if (sum > 0)
        loss_print(lost);
}

static void print_damage(const struct store_reader *reader, const struct trace *trace,
                         const struct range_totals *totals)
{
    char text[NUMBER_TEXT_SIZE];
    uint32_t parts = store_reader_damage_count(reader);
    uint64_t missing = loss_of_damage(reader, trace, event_sum(totals));
    if (!parts)
        return;
    printf("damage     %u %s", parts, parts == 1 ? "part" : "parts");
    if (missing)
        printf("; records missing from the numbers below: %s", number_count(missing, text));
    printf("\n");
}

/* What the limits left out, and what the numbers can't show. */
static void print_remarks(const struct range_totals *totals)
{
    char text[NUMBER_TEXT_SIZE];
    if (event_sum(totals) == 0)
        printf("\nThere are no events: the program is not annotated, or its annotations were "
               "off.\n");
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

static int read_all(struct store_reader *reader, struct range_stats *stats)
{
    struct event_batch batch;
    int rc;
    while ((rc = store_reader_next(reader, &batch)) > 0) {
        rc = range_stats_add(stats, &batch);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? rc : range_stats_finish(stats);
}

static int print_report(const struct cmd_call *call, struct store_reader *reader,
                        const struct range_stats *stats)
{
    const struct trace *trace = store_reader_trace(reader);
    const struct report_values *values = call->values;
    unsigned width = term_width(STDOUT_FILENO);
    struct report_table_options options = {
        .trace = trace,
        .stats = stats,
        .grouping = (enum range_grouping)word_index(by_words, values->by),
        .sort = sort_columns[word_index(sort_words, values->sort)],
        .limit = values->limit ? values->limit : UINT64_MAX,
        .width = values->wide ? 0 : width,
        .color = term_color(STDOUT_FILENO),
    };
    print_header(trace, range_stats_totals(stats), call->operands[0]);
    print_damage(reader, trace, range_stats_totals(stats));
    int rc = report_table_print(&options);
    print_remarks(range_stats_totals(stats));
    return rc;
}

static int run_report(const struct cmd_call *call)
{
    const struct report_values *values = call->values;
    const char *path = call->operands[0];
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    struct range_stats_options options = {
        .grouping = (enum range_grouping)word_index(by_words, values->by),
    };
    struct trace *trace = store_reader_trace(reader);
    struct range_stats *stats = range_stats_create(trace, &options);
    int status = CMD_FAILED;
    if (!stats) {
        cmd_fail(0, "out of memory");
        goto out;
    }
    int rc = read_all(reader, stats);
    if (rc == 0)
        rc = print_report(call, reader, stats);
    if (rc < 0)
        recording_fail(path, rc);
    else if (recording_note_damage(reader, path) == 0)
        status = CMD_OK;
out:
    range_stats_destroy(stats);
    store_reader_close(reader);
    return status;
}

#define AT(field) offsetof(struct report_values, field)

static const struct option_spec report_options[] = {
    {"sort", 's', OPTION_CHOICE, AT(sort), sort_words, "sort by a column", "self"},
    {"by", 'b', OPTION_CHOICE, AT(by), by_words, "one row per", "path"},
    {"limit", 'n', OPTION_COUNT, AT(limit), "N", "rows per table; 0 shows all", "40"},
    {"wide", 'w', OPTION_FLAG, AT(wide), NULL, "all columns, whatever the terminal's width", NULL},
    {0},
};

static const char report_details[] =
    "columns:\n"
    "  total    time in the range, all threads together\n"
    "  self     total without the ranges inside; these add up to the time in ranges\n"
    "  share    total as part of the wall time; more than 100% means several at once\n"
    "  p50..    half (90%, 99%) of the ranges took at most this long, to within 0.8%\n"
    "  unfin    ranges whose end was never seen: killed, still open, or lost\n"
    "  lost     records lost directly inside: count is too low, self too high\n"
    "\n"
    "exit status: 0; 1 if the recording could not be read or is damaged; 2 wrong command line\n";

const struct cmd cmd_report = {
    .name = "report",
    .summary = "show where the time of a recording went, as a table",
    .usage = "[OPTIONS] FILE",
    .details = report_details,
    .options = report_options,
    .values_size = sizeof(struct report_values),
    .operands_min = 1,
    .operands_max = 1,
    .run = run_report,
};
