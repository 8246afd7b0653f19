/* SPDX-License-Identifier: MIT */
/* The findings of a recording: each with its cost, evidence and advice. */
#include "findings.h"
#include "number.h"
#include "report_build.h"
#include "report_ranges.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Thresholds in hundredths. */
enum {
    START_UP_PART = 30, /* of the time of all threads */
    GC_PART = 5,        /* of the CPU time */
    LOST_PART = 1,      /* of all records */
};

/* ---- Start-up, garbage, losses --------------------------------------------------------------- */

static uint64_t time_of(const struct own_row *row)
{
    return row->cpu_ns + row->blocked_ns + row->runnable_ns;
}

/* Time of imports by process. */
struct importers {
    const struct findings *findings;
    VEC(uint64_t) process_ns;
};

static int add_importer(void *context, const struct own_moment *moment,
                        const struct own_times *times)
{
    struct importers *importers = context;
    const struct own_time *own = importers->findings->report->samples.own;
    const struct trace_thread *thread =
        trace_thread_get(importers->findings->trace, moment->thread);
    int32_t line;
    uint32_t row = own_time_row_of(own, moment->stack, &line);
    if (!thread || row == UINT32_MAX || own_time_row(own, row)->purpose != PURPOSE_IMPORT)
        return 0;
    while (importers->process_ns.count <= thread->process)
        if (vec_push(&importers->process_ns, 0) != 0)
            return -ENOMEM;
    importers->process_ns.items[thread->process] +=
        times->cpu_ns + times->runnable_ns + times->blocked_ns;
    return 0;
}

/* Counts the processes with a relevant part of the imports; 0: out of memory. */
static uint32_t count_importers(const struct findings *findings, uint64_t imports_ns)
{
    struct importers importers = {.findings = findings};
    uint32_t count = 0;
    int error = own_time_each(findings->report->samples.own, add_importer, &importers);
    for (size_t i = 0; i < importers.process_ns.count && !error; i++)
        count += importers.process_ns.items[i] * 20 > imports_ns;
    vec_free(&importers.process_ns);
    return count;
}

static void find_start_up(struct findings *findings)
{
    const struct own_totals *own = findings_own(findings);
    const struct own_row *imports = &own->purposes[PURPOSE_IMPORT];
    const struct own_row *start = &own->purposes[PURPOSE_START_UP];
    uint64_t begin_ns = time_of(imports) + time_of(start);
    uint64_t all_ns = own->cpu_ns + own->blocked_ns + own->runnable_ns;
    bool starts = time_of(start) * 4 > begin_ns;
    char time[NUMBER_TEXT_SIZE];
    if (!findings_reach(begin_ns, all_ns, START_UP_PART) ||
        imports->sample_count + start->sample_count < SAMPLES_FEW / 2)
        return;
    struct finding *finding = findings_add(findings, "imports", begin_ns, all_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE, "of the %s goes to imports%s: %s.",
             findings->report->samples.by_wall ? "wall time" : "time of all threads",
             starts ? " and the start of interpreters" : "", number_time_short(begin_ns, time));
    uint32_t processes = count_importers(findings, time_of(imports));
    uint64_t longest_ns;
    const char *longest = report_longest_import(findings->report->stats, &longest_ns);
    struct text text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    if (processes > 1)
        text_format(&text, "%u processes import, each by itself.%s", processes, longest ? " " : "");
    if (longest)
        text_format(&text, "Longest: import %s, %s with all that it imports.", longest,
                    number_time_short(longest_ns, time));
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try %simporting rarely used modules inside the functions that use them; "
             "annot report --table imports has all of them",
             processes > 1 ? "fewer processes that live longer, or " : "");
}

/* Collections in own code: not those of imports, which create objects once, nor the final one. */
struct collections {
    const struct own_time *own;
    const struct stacks *stacks;
    uint64_t cpu_ns, sample_count;
};

static int add_collection(void *context, const struct own_moment *moment,
                          const struct own_times *times)
{
    struct collections *found = context;
    int32_t line;
    uint32_t row = own_time_row_of(found->own, moment->stack, &line);
    bool in_own = row != UINT32_MAX && own_time_row(found->own, row)->label != 0;
    for (uint32_t at = moment->stack; at != 0 && in_own && times->cpu_ns > 0;) {
        const struct stack *stack = stacks_get_stack(found->stacks, at);
        at = stack->parent;
        if (stacks_get_frame(found->stacks, stack->frame)->kind != FRAME_COLLECTOR)
            continue;
        found->cpu_ns += times->cpu_ns;
        found->sample_count += times->sample_count;
        break;
    }
    return 0;
}

static void find_gc(struct findings *findings)
{
    struct collections gc = {.own = findings->report->samples.own,
                             .stacks = trace_stacks_get(findings->trace)};
    uint64_t all_ns = findings_own(findings)->cpu_ns;
    uint64_t whole_ns = findings->report->samples.all.all.gc_ns;
    char time[NUMBER_TEXT_SIZE];
    own_time_each(gc.own, add_collection, &gc);
    if (!findings_reach(gc.cpu_ns, all_ns, GC_PART) || gc.sample_count < SAMPLES_FEW / 2)
        return;
    struct finding *finding = findings_add(findings, "gc", gc.cpu_ns, all_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the CPU time is Python's garbage collector: %s.",
             number_time_short(gc.cpu_ns, time));
    if (whole_ns > gc.cpu_ns && findings_reach(whole_ns - gc.cpu_ns, all_ns, GC_PART))
        snprintf(finding->evidence, FINDING_TEXT_SIZE,
                 "Another %s goes to collections of imports and of the interpreter's end.",
                 number_time_short(whole_ns - gc.cpu_ns, time));
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try gc.freeze() after start-up, or gc.disable() where many objects are "
             "made");
}

/* Returns advice against the cause of most losses; "": unknown. */
static const char *lost_advice(const uint64_t *lost, enum loss *ret_cause)
{
    static const char *const advice[LOSS_COUNT] = {
        [LOSS_POOL_FULL] = "try record --pool-size 64M, --policy wait, or --disable",
        [LOSS_COLLECTOR_LATE] = "try record --pool-size 64M, or a less busy machine",
        [LOSS_NO_MEMORY] = "try a larger /dev/shm, or a smaller record --pool-size",
        [LOSS_TOO_LARGE] = "try shorter texts in the annotations",
    };
    enum loss most = LOSS_POOL_FULL;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (cause != LOSS_OVERWRITTEN && lost[cause] > lost[most])
            most = (enum loss)cause;
    *ret_cause = most;
    return advice[most] ? advice[most] : "";
}

static void find_lost(struct findings *findings)
{
    enum loss cause;
    const struct report_facts *facts = &findings->report->facts;
    char count[NUMBER_TEXT_SIZE];
    uint64_t lost = facts->lost_count - facts->lost[LOSS_OVERWRITTEN]; /* on request */
    uint64_t all = facts->event_count + lost;
    if (!findings_reach(lost, all, LOST_PART))
        return;
    struct finding *finding = findings_add(findings, "lost", lost, all);
    if (!finding)
        return;
    snprintf(finding->advice, FINDING_TEXT_SIZE, "%s", lost_advice(facts->lost, &cause));
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the records were lost: %s (%s). Counts are too low where that happened.",
             number_count(lost, count), loss_name(cause));
}

/* ---- The table ------------------------------------------------------------------------------- */

enum { KIND, SHARE, COST, WHOLE, FINDING, EVIDENCE, ADVICE };

static const struct table_column columns[] = {
    [KIND] = {.name = "kind", .type = COLUMN_TEXT},
    [SHARE] = {.name = "share", .type = COLUMN_VALUE},
    [COST] = {.name = "cost", .type = COLUMN_COUNT},
    [WHOLE] = {.name = "whole", .type = COLUMN_COUNT},
    [FINDING] = {.name = "finding", .type = COLUMN_TEXT},
    [EVIDENCE] = {.name = "evidence", .type = COLUMN_TEXT},
    [ADVICE] = {.name = "advice", .type = COLUMN_TEXT},
};

static double share_of(const struct finding *finding)
{
    return finding->whole_ns ? (double)finding->cost_ns / (double)finding->whole_ns : 0;
}

static void fill(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct finding *finding = (const struct finding *)table->rows + index;
    row_text(row, KIND, finding->kind);
    row_value(row, SHARE, share_of(finding));
    row_count(row, COST, finding->cost_ns);
    row_count(row, WHOLE, finding->whole_ns);
    row_text(row, FINDING, finding->finding);
    row_text(row, EVIDENCE, finding->evidence);
    row_text(row, ADVICE, finding->advice);
}

static bool is_of_host(const struct finding *finding)
{
    return strcmp(finding->kind, "host") == 0;
}

/* Findings that the program cannot change come last. */
static int largest_first(const void *left, const void *right)
{
    double a = share_of(left), b = share_of(right);
    if (is_of_host(left) != is_of_host(right))
        return is_of_host(left) ? 1 : -1;
    return a < b ? 1 : a > b ? -1 : 0;
}

static bool is_one_of(const struct finding *finding, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (strcmp(finding->kind, *kinds) == 0)
            return true;
    return false;
}

/* If a pool mostly hands over tasks, contention of its threads and a busy parent are consequences:
 * drops those findings. */
static void leave_consequences(struct findings *findings)
{
    static const char *const cause[] = {"overhead", NULL};
    static const char *const of_it[] = {"oversubscribed", "gil", "serial", NULL};
    size_t kept = 0;
    bool overhead = false;
    for (size_t i = 0; i < findings->items.count; i++)
        overhead |= is_one_of(&findings->items.items[i], cause);
    for (size_t i = 0; i < findings->items.count; i++)
        if (!overhead || !is_one_of(&findings->items.items[i], of_it))
            findings->items.items[kept++] = findings->items.items[i];
    findings->items.count = kept;
}

static bool has_data(const struct report *report, enum finding_needs needs)
{
    switch (needs) {
    case FINDING_NEEDS_WAITS:
        return report->facts.wall;
    case FINDING_NEEDS_SAMPLES:
        return report->facts.own;
    case FINDING_NEEDS_GPU:
        return report->facts.gpu;
    default:
        return true;
    }
}

static void apply(struct findings *findings, const struct finding_rule *rules)
{
    for (; rules->find; rules++)
        if (has_data(findings->report, rules->needs))
            rules->find(findings);
}

static int add_tables(struct report *report)
{
    static const struct finding_rule own_rules[] = {
        {FINDING_NEEDS_SAMPLES, find_start_up},
        {FINDING_NEEDS_SAMPLES, find_gc},
        {FINDING_ALWAYS, find_lost},
        {0},
    };
    const struct finding_rule *const all[] = {findings_of_waits, findings_of_processors,
                                              findings_of_pools, own_rules, findings_of_gpu};
    struct findings findings = {.report = report, .trace = report->trace};
    struct table *table = report_add_table(report, "findings", fill);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        apply(&findings, all[i]);
    leave_consequences(&findings);
    if (findings.items.count > 1)
        qsort(findings.items.items, findings.items.count, sizeof(*findings.items.items),
              largest_first);
    table->rows = findings.items.items;
    table->row_count = findings.items.count;
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(table, columns[i]);
    return findings.failed ? -ENOMEM : 0;
}

const struct report_part report_part_findings = {.add_tables = add_tables};
