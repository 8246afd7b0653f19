/* SPDX-License-Identifier: MIT */
/* The one reading of a report, and access to its tables. */
#include "reader.h"
#include "report_build.h"
#include "report_functions.h"
#include "report_gpu.h"
#include "report_lines.h"
#include "report_ranges.h"
#include "report_samples.h"
#include "volumes.h"

#include "pass.h"

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

/* ---- The report --------------------------------------------------------------------------------
 */

/* Called when a range ends: passes it to the GPU statistics and to the caller's watch. */
static int report_range(void *context, uint32_t row, const struct item *span)
{
    struct report *report = context;
    const struct range_watch *watch = &report->options.range_watch;
    int rc = report->gpu ? gpu_stats_ended(report->gpu, row, span) : 0;
    return rc == 0 && watch->ended ? watch->ended(watch->context, row, span) : rc;
}

static unsigned add_sinks(struct report *report, struct sink *sinks)
{
    unsigned count = 0;
    sinks[count++] = range_stats_sink(report->stats);
    sinks[count++] = report_samples_sink(&report->samples);
    for (const struct report_part *const *part = report_parts; *part; part++) {
        sinks[count] = (*part)->sink ? (*part)->sink(report) : (struct sink){0};
        count += sinks[count].take != NULL;
    }
    for (unsigned i = 0; i < report->options.sink_count && i < REPORT_SINKS_MAX; i++)
        sinks[count++] = report->options.sinks[i];
    return count;
}

/* One reading for all tables. The parts finish after the pass has freed its memory. */
static int read_all(struct report *report)
{
    const struct pass_source stored = recording_pass_source(report->options.reader);
    const struct pass_source source = report->options.source ? *report->options.source : stored;
    struct sink sinks[2 + REPORT_PARTS_MAX + REPORT_SINKS_MAX];
    unsigned count = add_sinks(report, sinks);
    struct pass *pass = pass_create(&source, report->options.selection, sinks, count);
    int rc = pass ? pass_run(pass) : -ENOMEM;
    if (rc == 0)
        rc = range_stats_finish(report->stats, pass);
    if (rc == 0)
        rc = report_samples_finish(&report->samples, pass, range_stats_totals(report->stats));
    pass_destroy(pass);
    for (const struct report_part *const *part = report_parts; *part && rc == 0; part++)
        if ((*part)->finish)
            rc = (*part)->finish(report);
    return rc;
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
    facts->heap = report->heap;
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
    int rc = 0;
    for (const struct report_part *const *part = report_parts; *part && rc == 0; part++)
        rc = (*part)->add_tables(report);
    return rc;
}

/* Creates all objects of the statistics. 0 or -ENOMEM. */
static int create_parts(struct report *report)
{
    const struct report_options *options = &report->options;
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
    int rc = report->stats ? report_samples_begin(&report->samples, options) : -ENOMEM;
    for (const struct report_part *const *part = report_parts; *part && rc == 0; part++)
        if ((*part)->create)
            rc = (*part)->create(report);
    return rc;
}

int report_create(const struct report_options *options, struct report **ret_report)
{
    struct report *report = calloc(1, sizeof(*report));
    if (!report)
        return -ENOMEM;
    report->options = *options;
    report->trace = store_reader_trace(options->reader);
    int rc = create_parts(report);
    if (rc == 0)
        rc = read_all(report);
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
    for (const struct report_part *const *part = report_parts; *part; part++)
        if ((*part)->destroy)
            (*part)->destroy(report);
    for (unsigned i = 0; i < report->table_count; i++)
        table_fini(&report->tables[i]);
    free(report->nothing);
    report_samples_fini(&report->samples);
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
