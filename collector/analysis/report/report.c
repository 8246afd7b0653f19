/* SPDX-License-Identifier: MIT */
/* The one reading of a report, and the tables of facts. */
#include "reader.h"
#include "report_build.h"
#include "report_calls.h"
#include "report_findings.h"
#include "report_functions.h"
#include "report_gpu.h"
#include "report_lines.h"
#include "report_model.h"
#include "report_own.h"
#include "report_owners.h"
#include "report_pools.h"
#include "report_ranges.h"
#include "report_samples.h"
#include "report_waits.h"
#include "volumes.h"

#include "missing.h"
#include "pass.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Losses -------------------------------------------------------------------------- */

uint64_t loss_sums(const struct trace *trace, const uint64_t *gaps, uint64_t *ret_lost)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        uint64_t counted = 0;
        for (uint32_t i = 0; i < trace_process_count(trace); i++)
            counted += trace_process_get(trace, i)->lost[cause];
        ret_lost[cause] = counted > gaps[cause] ? counted : gaps[cause];
        sum += ret_lost[cause];
    }
    return sum;
}

uint64_t loss_of_damage(const struct store_reader *reader, const struct trace *trace, uint64_t seen)
{
    uint64_t promised = 0;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        promised += trace_thread_get(trace, i)->event_count;
    return store_reader_damage_count(reader) && promised > seen ? promised - seen : 0;
}

uint32_t damaged_part_count(const struct store_reader *reader)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++)
        count += store_reader_damage(reader, i)->missing_count == 0;
    return count;
}

/* ---- Facts: tables of one row -----------------------------------------------------------------
 */

struct fact {
    const char *name;
    const char *text; /* NULL: a number */
    uint64_t number;
    enum column_type type;
};

enum { FACTS_MAX = TABLE_COLUMNS_MAX };

static void fill_facts(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct fact *facts = table->rows;
    (void)index;
    for (unsigned i = 0; i < table->column_count; i++) {
        if (facts[i].text)
            row_text(row, i, facts[i].text);
        else
            row_count(row, i, facts[i].number);
    }
}

static int add_facts(struct report *report, const char *name, const struct fact *facts,
                     size_t count)
{
    struct table *table = report_add_table(report, name, fill_facts);
    table->rows = malloc(count * sizeof(*facts));
    if (!table->rows)
        return -ENOMEM;
    memcpy(table->rows, facts, count * sizeof(*facts));
    for (size_t i = 0; i < count; i++)
        table_add_column(
            table, (struct table_column){.name = facts[i].name, .type = (uint8_t)facts[i].type});
    table->is_single = true;
    table->row_count = 1;
    return 0;
}

#define TEXT(name, text)                                                                           \
    {                                                                                              \
        (name), (text), 0, COLUMN_TEXT                                                             \
    }
#define FACT(name, type, number)                                                                   \
    {                                                                                              \
        (name), NULL, (number), COLUMN_##type                                                      \
    }
#define COUNTED(facts) (facts), sizeof(facts) / sizeof(*(facts))

static int add_recording(struct report *report)
{
    const struct trace *trace = report->trace;
    const struct range_totals *totals = report->facts.totals;
    const struct fact facts[] = {
        TEXT("path", report->options.path),
        TEXT("command", trace_string(trace, trace_session_get(trace)->command)->bytes),
        TEXT("only", report->options.only),
        FACT("wall_ns", TIME, (uint64_t)totals->wall_ns),
        FACT("processor_count", COUNT, trace_session_get(trace)->processors),
        FACT("others_cpu_ns", TIME, report->facts.others_ms * 1000000),
        FACT("stolen_cpu_ns", TIME, report->facts.stolen_ms * 1000000),
        FACT("process_count", COUNT, trace_process_count(trace)),
        FACT("thread_count", COUNT, trace_thread_count(trace)),
        FACT("event_count", COUNT, report->facts.event_count),
        FACT("in_ranges_ns", TIME, totals->covered_ns),
        FACT("thread_time_ns", TIME, totals->thread_ns),
        FACT("orphan_end_count", COUNT, totals->orphan_count),
        FACT("lost_count", COUNT, report->facts.lost_count),
        FACT("lost_outside_count", COUNT, totals->lost_outside),
        FACT("damaged_part_count", COUNT, damaged_part_count(report->options.reader)),
        FACT("unreadable_record_count", COUNT, report->facts.unreadable_count),
        FACT("in_other_paths_count", COUNT, totals->other_count),
        FACT("not_in_quantiles_count", COUNT, totals->quantile_count),
        FACT("threads_are_lower_bounds", FLAG, totals->threads_cut),
    };
    return add_facts(report, "recording", COUNTED(facts));
}

static int add_sampling(struct report *report)
{
    const struct trace_sampling *sampling = trace_sampling_get(report->trace);
    const struct report_samples *samples = &report->samples;
    const struct sample_stats *all = &samples->all;
    const struct fact facts[] = {
        TEXT("way", sampling_rung_text(sampling->rung)),
        FACT("frequency_hz", COUNT, sampling->frequency_hz),
        FACT("off_cpu", FLAG, samples->off_cpu),
        FACT("sample_count", COUNT, all->all.sample_count),
        FACT("cpu_ns", TIME, all->all.cpu_ns),
        FACT("stretch_count", COUNT, all->stretch_count),
        FACT("ready_ns", TIME, all->all.runnable_ns),
        FACT("waiting_ns", TIME, all->all.blocked_ns),
        FACT("inherited_cpu_ns", TIME, report->facts.totals->cpu_inherited_ns),
        FACT("stack_count", COUNT, all->walk_count),
        FACT("complete_stack_count", COUNT, all->complete_count),
        FACT("checked_count", COUNT, samples->checks.checked),
        FACT("at_edge_count", COUNT, samples->checks.at_edge),
        FACT("unsure_count", COUNT, samples->checks.unsure),
        FACT("contradicted_count", COUNT, samples->checks.contradicted),
        FACT("late_count", COUNT, samples->late),
        TEXT("inside_range", samples->range ? samples->range : ""),
        FACT("inside_cpu_ns", TIME, samples->inside.all.cpu_ns),
    };
    return add_facts(report, "sampling", COUNTED(facts));
}

/* ---- Lists of losses, and notes ------------------------------------------------------- */

struct found {
    const char *kind;
    char *text; /* owned */
    uint64_t count;
};

/* The rows of fill_found: the table owns the array, the texts are freed with the report. */
struct found_list {
    VEC(struct found) items;
    bool failed;
};

static void add_found(struct found_list *list, const char *kind, const char *text, uint64_t count)
{
    struct found found = {kind, strdup(text), count};
    if (found.text && vec_push(&list->items, found) == 0)
        return;
    free(found.text);
    list->failed = true;
}

static void find_missing(void *context, const struct missing *missing)
{
    static const char *const kinds[MISSING_KINDS] = {
        [MISSING_RECORDS] = "lost record",   [MISSING_SAMPLED] = "missing",
        [MISSING_QUEUED] = "missing",        [MISSING_PROCESSES] = "refused process",
        [MISSING_CALLS] = "remarkable call",
    };
    struct found_list *list = context;
    add_found(list, kinds[missing->kind], missing->what, missing->count);
}

static void find_missing_volumes(const struct store_reader *reader, struct found_list *list)
{
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        char text[STORE_DAMAGE_TEXT_SIZE];
        store_damage_text(damage, text);
        if (damage->missing_count)
            add_found(list, "missing volume", text, damage->missing_count);
    }
}

enum { FOUND_KIND, FOUND_WHAT, FOUND_COUNT };

static void fill_found(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct found *found = (const struct found *)table->rows + index;
    row_text(row, FOUND_KIND, found->kind);
    row_text(row, FOUND_WHAT, found->text);
    row_count(row, FOUND_COUNT, found->count);
}

static int add_missing(struct report *report)
{
    struct table *table = report_add_table(report, "missing", fill_found);
    struct found_list list = {0};
    missing_each(report->trace, report->facts.lost, find_missing, &list);
    for (uint32_t i = 0; i < trace_fact_count(report->trace); i++) {
        const struct trace_fact *fact = trace_fact_get(report->trace, i);
        if (fact->kind == FACT_NOTE && fact->value != 0)
            add_found(&list, "note", trace_string(report->trace, fact->name)->bytes, fact->value);
    }
    find_missing_volumes(report->options.reader, &list);
    table->rows = list.items.items;
    table->row_count = list.items.count;
    table_add_column(table, (struct table_column){.name = "kind"});
    table_add_column(table, (struct table_column){.name = "what"});
    table_add_column(table, (struct table_column){.name = "count", .type = COLUMN_COUNT});
    return list.failed ? -ENOMEM : 0;
}

static void free_missing(struct table *table)
{
    struct found *found = table->rows;
    for (uint64_t i = 0; i < table->row_count; i++)
        free(found[i].text);
}

/* ---- The report --------------------------------------------------------------------------------
 */

static int finish_gpu(struct report *report)
{
    const struct range_totals *totals = range_stats_totals(report->stats);
    int rc = gpu_stats_finish(report->gpu, totals->begin_ns, totals->begin_ns + totals->wall_ns);
    return rc == 0 ? gpu_stats_find_sources(report->gpu, report->samples.own) : rc;
}

/* Called when a range ends: passes it to the GPU statistics and to the caller's watch. */
static int report_range(void *context, uint32_t row, const struct item *span)
{
    struct report *report = context;
    const struct range_watch *watch = &report->options.range_watch;
    int rc = report->gpu ? gpu_stats_told(report->gpu, row, span) : 0;
    return rc == 0 && watch->told ? watch->told(watch->context, row, span) : rc;
}

enum { REPORT_OWN_SINKS = 6 }; /* with calls and counted lines */

/* One reading for all tables. */
static int read_all(struct report *report)
{
    const struct pass_source stored = recording_pass_source(report->options.reader);
    const struct pass_source source = report->options.source ? *report->options.source : stored;
    struct sink sinks[REPORT_OWN_SINKS + 2 + REPORT_SINKS_MAX] = {
        range_stats_sink(report->stats),
        pool_tasks_sink(report->tasks),
        loop_blocks_sink(report->loops, report->samples.present),
        awaits_sink(report->awaits),
        report_samples_sink(&report->samples),
        gpu_stats_sink(report->gpu)};
    unsigned count = REPORT_OWN_SINKS;
    if (report->calls)
        sinks[count++] = calls_sink(report->calls);
    if (report->line_counts)
        sinks[count++] = line_counts_sink(report->line_counts);
    for (unsigned i = 0; i < report->options.sink_count && i < REPORT_SINKS_MAX; i++)
        sinks[count++] = report->options.sinks[i];
    struct pass *pass = pass_create(&source, report->options.selection, sinks, count);
    int rc = pass ? pass_run(pass) : -ENOMEM;
    if (rc == 0)
        rc = range_stats_finish(report->stats, pass);
    if (rc == 0)
        rc = report_samples_finish(&report->samples, pass, range_stats_totals(report->stats));
    if (rc == 0)
        rc = pool_tasks_finish(report->tasks);
    if (rc == 0)
        rc = loop_blocks_finish(report->loops, report->samples.own);
    if (rc == 0 && report->line_counts)
        rc = line_counts_finish(report->line_counts);
    awaits_finish(report->awaits);
    if (rc == 0 && report->calls)
        rc = calls_finish(report->calls);
    pass_destroy(pass);
    return rc == 0 ? finish_gpu(report) : rc; /* after the pass has freed its memory */
}

/* Only for a whole recording of one machine; annot's own use is briefly counted as others'. */
static void find_others(struct report *report)
{
    struct report_facts *facts = &report->facts;
    uint64_t used_ms = trace_fact_value(report->trace, TRACE_FACT_USED_MS);
    uint64_t own_ms = facts->wall ? wall_totals(facts->wall)->busy_ns / 1000000 : 0;
    if (!facts->wall || !pass_selects_all(report->options.selection) ||
        report->options.selection->samples_to_ns != 0 || trace_host_count(report->trace) > 1)
        return;
    facts->others_ms = used_ms > own_ms ? used_ms - own_ms : 0;
    facts->stolen_ms = trace_fact_value(report->trace, TRACE_FACT_STOLEN_MS);
}

static void find_facts(struct report *report)
{
    struct report_facts *facts = &report->facts;
    facts->totals = range_stats_totals(report->stats);
    facts->ranges = report->stats;
    facts->samples = &report->samples.all;
    facts->own = report->samples.own;
    facts->tree = report->samples.tree;
    facts->awaits = report->awaits;
    facts->calls = report->calls;
    facts->gpu = gpu_stats_any(report->gpu) ? report->gpu : NULL;
    facts->wall = report->samples.off_cpu ? report->samples.wall : NULL;
    find_others(report);
    facts->holds_gil = report->options.selection->flags & SAMPLE_HOLDS_GIL;
    facts->by_wall = report->samples.by_wall;
    facts->with_waits = report->samples.with_waits;
    facts->checks = report->samples.checks;
    facts->late_count = report->samples.late;
    facts->has_samples = report->samples.present;
    facts->off_cpu = report->samples.off_cpu;
    for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
        facts->event_count += event_is_record((uint8_t)kind) ? facts->totals->event_count[kind] : 0;
    facts->lost_count = loss_sums(report->trace, facts->totals->lost, facts->lost);
    if (pass_selects_all(report->options.selection))
        facts->unreadable_count =
            loss_of_damage(report->options.reader, report->trace, facts->event_count);
}

static int add_tables(struct report *report)
{
    int (*const makers[])(struct report *) = {
        add_recording,     report_add_ranges,   report_add_imports,    report_add_plain,
        report_add_gpu,    report_add_stalls,   report_add_tasks,      report_add_pools,
        report_add_owners, report_add_calls,    report_add_calls_made, report_add_functions,
        report_add_lines,  report_add_waits,    report_add_awaits,     report_add_loops,
        report_add_own,    report_add_findings, report_add_callers,    report_add_line_counts,
        add_sampling,      add_missing,
    };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(makers) / sizeof(*makers); i++)
        rc = makers[i](report);
    return rc;
}

/* Only if the recording has calls, as their sink has a cost. 0 or -ENOMEM. */
static int begin_calls(struct report *report)
{
    const struct calls_options options = {.off_cpu = trace_sampling_get(report->trace)->off_cpu,
                                          .range = report->options.range};
    if (!calls_any(report->trace))
        return 0;
    report->calls = calls_create(report->trace, &options);
    return report->calls ? 0 : -ENOMEM;
}

int report_create(const struct report_options *options, struct report **ret_report)
{
    struct report *report = calloc(1, sizeof(*report));
    if (!report)
        return -ENOMEM;
    report->options = *options;
    report->trace = store_reader_trace(options->reader);
    const struct pass_selection *selection = options->selection;
    const struct range_stats_options ranges = {
        .grouping = options->grouping,
        .weight = options->weight,
        .durations = options->durations,
        .from_ns = selection->samples_to_ns ? selection->samples_from_ns : selection->from_ns,
        .to_ns = selection->samples_to_ns ? selection->samples_to_ns : selection->to_ns,
        .watch = {report_range, report},
    };
    report->stats = range_stats_create(report->trace, &ranges);
    report->tasks = pool_tasks_create(report->trace);
    report->loops = loop_blocks_create(report->trace);
    report->awaits = awaits_create(report->trace);
    report->texts = source_texts_create(report->trace);
    if (report->stats)
        report->gpu = gpu_stats_create(report->trace, report->stats, options->grouping);
    if (report->gpu)
        gpu_stats_keep(report->gpu, options->durations);
    bool made = report->stats && report->tasks && report->loops && report->awaits && report->gpu &&
                report->texts;
    int rc = report_samples_begin(&report->samples, options);
    if (rc == 0)
        rc = report_begin_line_counts(report);
    if (made)
        pool_tasks_report(report->tasks, &options->task_watch);
    if (rc == 0)
        rc = begin_calls(report);
    if (rc == 0)
        rc = made ? read_all(report) : -ENOMEM;
    if (rc == 0) {
        find_facts(report);
        rc = add_tables(report);
    }
    if (rc == 0)
        *ret_report = report;
    else
        report_destroy(report);
    return rc;
}

void report_destroy(struct report *report)
{
    if (!report)
        return;
    for (unsigned i = 0; i < report->table_count; i++) {
        if (report->tables[i].fill == fill_found)
            free_missing(&report->tables[i]);
        table_fini(&report->tables[i]);
    }
    free(report->nothing);
    report_samples_fini(&report->samples);
    pool_tasks_destroy(report->tasks);
    loop_blocks_destroy(report->loops);
    awaits_destroy(report->awaits);
    gpu_stats_destroy(report->gpu);
    calls_destroy(report->calls);
    line_counts_destroy(report->line_counts);
    source_texts_destroy(report->texts);
    range_stats_destroy(report->stats);
    free(report);
}

unsigned report_table_count(const struct report *report)
{
    return report->table_count;
}

const struct table *report_table(const struct report *report, unsigned index)
{
    return &report->tables[index];
}

const struct table *report_find(const struct report *report, const char *name)
{
    for (unsigned i = 0; i < report->table_count; i++)
        if (strcmp(report->tables[i].name, name) == 0)
            return &report->tables[i];
    return NULL;
}

const struct report_facts *report_facts(const struct report *report)
{
    return &report->facts;
}

const struct range_stats *report_ranges(const struct report *report)
{
    return report->stats;
}

const struct loop_blocks *report_loops(const struct report *report)
{
    return report->loops;
}

const struct pools *report_pools(const struct report *report)
{
    return pool_tasks_pools(report->tasks);
}
