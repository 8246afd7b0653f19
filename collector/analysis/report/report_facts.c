/* SPDX-License-Identifier: MIT */
/* The tables of facts about a recording: its sums, its sampling, and its missing data. */
#include "reader.h"
#include "report_build.h"
#include "volumes.h"

#include "missing.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
        FACT("cpu_count", COUNT, trace_session_get(trace)->processors),
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
        FACT("runnable_ns", TIME, all->all.runnable_ns),
        FACT("blocked_ns", TIME, all->all.blocked_ns),
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

static void destroy_missing(struct report *report)
{
    const struct table *table = report_find(report, "missing");
    struct found *found = table ? table->rows : NULL;
    for (uint64_t i = 0; found && i < table->row_count; i++)
        free(found[i].text);
}

const struct report_part report_part_recording = {.add_tables = add_recording};
const struct report_part report_part_sampling = {.add_tables = add_sampling};
const struct report_part report_part_missing = {.add_tables = add_missing,
                                                .destroy = destroy_missing};
