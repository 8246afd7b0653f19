/* SPDX-License-Identifier: MIT */
/* Facts around the results of a comparison: its conditions, and outliers. */
#include "compare_facts.h"

#include "compare.h"
#include "compare_state.h"
#include "compare_stats.h"
#include "compare_test.h"
#include "missing.h"
#include "report.h"
#include "report_samples.h"
#include "sample_weight.h"
#include "stacks.h"
#include "table.h"
#include "trace.h"
#include "wall.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Settings and origins -------------------------------------------------------------------- */

/* Names of the settings and origins of recordings. */

static const char *const fact_names[FACTS] = {
    [FACT_COMMAND] = "command",       [FACT_MACHINE] = "machine",
    [FACT_PROCESSORS] = "processors", [FACT_INTERPRETER] = "interpreter",
    [FACT_WAY] = "sampling",          [FACT_RATE] = "rate of sampling",
    [FACT_WAITS] = "waits",           [FACT_CALLS] = "calls",
    [FACT_MEMORY] = "memory",         [FACT_VERSION] = "version of annot",
};

/* ---- One recording --------------------------------------------------------------------------- */

/* Writes "Python 3.12" for a path with "python3.12" in it. */
static bool find_version(const char *path, char text[FACT_SIZE])
{
    const char *at = strstr(path, "python3.");
    size_t digits = at ? strspn(at + 8, "0123456789") : 0;
    if (digits == 0 || digits > 3 || isalpha((unsigned char)at[8 + digits]))
        return false;
    snprintf(text, FACT_SIZE, "Python 3.%.*s", (int)digits, at + 8);
    return true;
}

/* Uses the file of the sampled interpreter, or of its library. */
static void take_interpreter(const struct trace *trace, char text[FACT_SIZE])
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (uint32_t i = 0; i < stacks_module_count(stacks); i++)
        if (find_version(trace_string(trace, stacks_get_module(stacks, i)->path)->bytes, text))
            return;
}

static const char *way_of(const struct trace *trace, const struct report_facts *facts)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    if (strcmp(trace_string(trace, trace_session_get(trace)->clock)->bytes, "the file's") == 0)
        return "by another tool";
    if (sampling->rung == SAMPLING_BPF || sampling->rung == SAMPLING_REMOTE)
        return sampling_rung_text(sampling->rung);
    return facts->has_samples ? "" : "none";
}

static void take_texts(struct compare_run *run, const struct trace *trace,
                       const struct report_facts *facts)
{
    const struct trace_session *session = trace_session_get(trace);
    const char *texts[FACTS] = {
        [FACT_COMMAND] = trace_string(trace, session->command)->bytes,
        [FACT_MACHINE] = trace_string(trace, session->hostname)->bytes,
        [FACT_WAY] = way_of(trace, facts),
        [FACT_WAITS] = !facts->has_samples ? ""
                       : facts->off_cpu    ? "recorded"
                                           : "not recorded",
        [FACT_CALLS] = facts->calls ? "counted, which slows the program" : "not counted",
        [FACT_MEMORY] = sample_heap_any(trace) ? "recorded" : "not recorded",
        [FACT_VERSION] = trace_string(trace, session->annot_version)->bytes,
    };
    for (int i = 0; i < FACTS; i++)
        snprintf(run->facts[i], FACT_SIZE, "%s", texts[i] ? texts[i] : "");
}

void compare_take_facts(struct compare_run *run, const struct report *report,
                        const struct trace *trace)
{
    const struct report_facts *facts = report_facts(report);
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const struct trace_session *session = trace_session_get(trace);
    static const uint8_t of_recorder[] = {FACT_MACHINE, FACT_CALLS, FACT_MEMORY, FACT_VERSION};
    uint64_t wall_ns = facts->wall ? wall_totals(facts->wall)->wall_ns : 0;
    take_texts(run, trace, facts);
    take_interpreter(trace, run->facts[FACT_INTERPRETER]);
    if (session->processors)
        snprintf(run->facts[FACT_PROCESSORS], FACT_SIZE, "%u", session->processors);
    if (sampling->frequency_hz && facts->has_samples)
        snprintf(run->facts[FACT_RATE], FACT_SIZE,
                 sampling->mixed      ? "%u to %u Hz"
                 : sampling->first_hz ? "%u Hz (at first %u Hz)"
                                      : "%u Hz",
                 sampling->frequency_hz, sampling->first_hz);
    if (session->processors == 0) /* imported: not of this machine or this annot */
        for (size_t i = 0; i < sizeof(of_recorder); i++)
            run->facts[of_recorder[i]][0] = '\0';
    run->period_ns = sample_stats_weight_ns(facts->samples);
    run->others = wall_ns ? 1e6 * (double)facts->others_ms / (double)wall_ns : NAN;
    run->sampled = facts->has_samples && facts->samples->all.sample_count > 0;
    run->waits = facts->off_cpu;
    run->by_wall = facts->by_wall;
    run->processes = trace_process_count(trace);
}

/* ---- Several recordings ---------------------------------------------------------------------- */

/* Returns the fact of the first recording of a side that has one; NULL: not found. */
static const char *fact_of(const struct compare *compare, enum compare_side side, int fact,
                           const char *other_than)
{
    size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    for (size_t i = 0; i < compare->counts[side]; i++) {
        const struct compare_run *run = &compare->runs[from + i];
        if (run->facts[fact][0] && (!other_than || strcmp(run->facts[fact], other_than) != 0))
            return run->facts[fact];
    }
    return NULL;
}

/* If the sides do not differ but A does within itself, `ret_b` is from another recording of A. */
static bool find_difference(const struct compare *compare, int fact, const char **ret_a,
                            const char **ret_b)
{
    *ret_a = fact_of(compare, COMPARE_A, fact, NULL);
    if (!*ret_a)
        return false;
    *ret_b = fact_of(compare, COMPARE_B, fact, *ret_a);
    if (!*ret_b)
        *ret_b = fact_of(compare, COMPARE_A, fact, *ret_a);
    return *ret_b != NULL;
}

size_t compare_differences(const struct compare *compare,
                           struct compare_difference ret_differences[COMPARE_DIFFERENCES_MAX])
{
    size_t count = 0;
    for (int fact = 0; fact < FACTS; fact++) {
        struct compare_difference *difference = &ret_differences[count];
        if (!find_difference(compare, fact, &difference->a, &difference->b))
            continue;
        difference->what = fact_names[fact];
        count++;
    }
    return count;
}

void compare_name_side(struct compare *compare, enum compare_side side, const char *command)
{
    struct compare_run *run = &compare->runs[side == COMPARE_B ? compare->counts[COMPARE_A] : 0];
    snprintf(run->facts[FACT_COMMAND], FACT_SIZE, "%s", command);
}

const char *compare_command(const struct compare *compare, enum compare_side side)
{
    return fact_of(compare, side, FACT_COMMAND, NULL);
}

const char *compare_path(const struct compare *compare, enum compare_side side)
{
    size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
    return compare->counts[side] > 0 ? compare->runs[from].path : NULL;
}

static bool has_property(const struct compare_run *run, enum compare_property property)
{
    switch (property) {
    case COMPARE_SAMPLED:
        return run->sampled;
    case COMPARE_WAITS:
        return run->waits;
    case COMPARE_WALL:
        return run->by_wall;
    default:
        return run->path && !run->facts[FACT_PROCESSORS][0];
    }
}

bool compare_all(const struct compare *compare, enum compare_property property)
{
    for (size_t i = 0; i < compare->counts[COMPARE_A] + compare->counts[COMPARE_B]; i++)
        if (!has_property(&compare->runs[i], property))
            return false;
    return true;
}

double compare_others(const struct compare *compare, enum compare_side side)
{
    size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0, count = 0;
    double sum = 0;
    for (size_t i = 0; i < compare->counts[side]; i++)
        if (!isnan(compare->runs[from + i].others)) {
            sum += compare->runs[from + i].others;
            count++;
        }
    return count ? sum / (double)count : NAN;
}

const char *compare_nothing(const struct compare *compare)
{
    for (int side = 0; side < COMPARE_SIDES; side++) {
        size_t from = side == COMPARE_B ? compare->counts[COMPARE_A] : 0;
        double most = 0;
        for (size_t i = 0; i < compare->lists[0].rows.count; i++)
            for (size_t run = 0; run < compare->counts[side]; run++)
                most = fmax(most, compare->lists[0].rows.items[i].values[from + run]);
        if (!(most > 0))
            return compare_path(compare, (enum compare_side)side);
    }
    return NULL;
}

/* ---- Outliers -------------------------------------------------------------------------------- */

/* Minimum relative distance of an outlier, even among very similar values. */
#define LEAST_OUT 0.05

struct outliers {
    const struct compare *compare;
    struct compare_outlier *items;
    size_t count, limit;
};

static void add_outlier(struct outliers *found, struct compare_outlier outlier)
{
    if (found->count < found->limit)
        found->items[found->count] = outlier;
    found->count++;
}

static void look_at(struct outliers *found, const struct compare_row *row, enum compare_side side)
{
    const struct compare *compare = found->compare;
    size_t count = compare->counts[side], from = side == COMPARE_B ? compare->counts[0] : 0;
    double values[COMPARE_RUNS_MAX], sorted[COMPARE_RUNS_MAX];
    uint8_t out[COMPARE_RUNS_MAX];
    for (size_t i = 0; i < count; i++) {
        values[i] = sorted[i] = row->values[compare_at(compare, 0, from + i)];
        if (isnan(values[i]))
            return;
    }
    if (count == 0 || compare_outliers(values, count, out) == 0)
        return;
    double median = compare_middle(sorted, count, 0.95).median;
    for (size_t i = 0; i < count; i++)
        if (out[i] && fabs(values[i] - median) >= LEAST_OUT * fabs(median))
            add_outlier(found, (struct compare_outlier){
                                   .side = side,
                                   .run = i,
                                   .path = compare->runs[from + i].path,
                                   .name = row->name,
                                   .unit = row->unit,
                                   .value = values[i],
                                   .median = median,
                               });
}

size_t compare_find_outliers(const struct compare *compare, struct compare_outlier *ret_outliers,
                             size_t limit)
{
    const struct compare_list *list = &compare->lists[0];
    struct outliers found = {.compare = compare, .items = ret_outliers, .limit = limit};
    for (size_t i = 0; i < list->rows.count; i++) {
        const struct compare_row *row = &list->rows.items[i];
        if (strcmp(row->name, "user") == 0 || strcmp(row->name, "system") == 0)
            continue; /* parts of the CPU time, from coarse clocks */
        look_at(&found, row, COMPARE_A);
        look_at(&found, row, COMPARE_B);
    }
    return found.count;
}

enum { OUT_SIDE, OUT_RUN, OUT_PATH, OUT_NAME, OUT_VALUE, OUT_MEDIAN };

static void fill_outlier(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare_outlier *outlier = (const struct compare_outlier *)table->context + index;
    row_text(row, OUT_SIDE, outlier->side == COMPARE_A ? "A" : "B");
    row_count(row, OUT_RUN, outlier->run + 1);
    row_text(row, OUT_PATH, outlier->path ? outlier->path : "");
    row_text(row, OUT_NAME, outlier->name);
    row_value(row, OUT_VALUE, outlier->value);
    row_value(row, OUT_MEDIAN, outlier->median);
}

void compare_outliers_table(const struct compare_outlier *outliers, size_t count,
                            struct table *ret_table)
{
    static const struct table_column columns[] = {
        [OUT_SIDE] = {.name = "side", .type = COLUMN_TEXT},
        [OUT_RUN] = {.name = "run", .type = COLUMN_COUNT},
        [OUT_PATH] = {.name = "path", .type = COLUMN_TEXT},
        [OUT_NAME] = {.name = "name", .type = COLUMN_TEXT},
        [OUT_VALUE] = {.name = "value", .type = COLUMN_VALUE},
        [OUT_MEDIAN] = {.name = "median", .type = COLUMN_VALUE},
    };

    *ret_table = (struct table){.name = "outliers", .fill = fill_outlier, .context = outliers};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(ret_table, columns[i]);
    ret_table->row_count = count;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

enum {
    A_RUNS,
    B_RUNS,
    COMMAND_A,
    COMMAND_B,
    UNIT_OF_TEST,
    TESTED,
    POSSIBLE,
    REFERENCES,
    FACT_COLUMNS
};

static void fill_facts(const struct table *table, uint64_t index, struct table_row *row)
{
    const struct compare *compare = table->context;
    size_t possible, tested = compare_tested(compare, &possible);
    (void)index;
    row_count(row, A_RUNS, compare->counts[COMPARE_A]);
    row_count(row, B_RUNS, compare->counts[COMPARE_B]);
    row_text(row, COMMAND_A, compare->runs[0].facts[0]);
    if (compare->counts[COMPARE_B] > 0)
        row_text(row, COMMAND_B, compare->runs[compare->counts[COMPARE_A]].facts[0]);
    row_text(row, UNIT_OF_TEST, compare_is_single(compare) ? "batch" : "run");
    row_count(row, TESTED, tested);
    if (possible < SIZE_MAX)
        row_count(row, POSSIBLE, possible);
    row_count(row, REFERENCES, compare->references);
}

void compare_facts_table(const struct compare *compare, struct table *ret_table)
{
    static const struct table_column columns[FACT_COLUMNS] = {
        [A_RUNS] = {.name = "a_runs", .type = COLUMN_COUNT},
        [B_RUNS] = {.name = "b_runs", .type = COLUMN_COUNT},
        [COMMAND_A] = {.name = "a_command", .type = COLUMN_TEXT},
        [COMMAND_B] = {.name = "b_command", .type = COLUMN_TEXT},
        [UNIT_OF_TEST] = {.name = "measurement", .type = COLUMN_TEXT},
        [TESTED] = {.name = "tested_rows", .type = COLUMN_COUNT},
        [POSSIBLE] = {.name = "sure_rows_possible", .type = COLUMN_COUNT},
        [REFERENCES] = {.name = "speed_reference_count", .type = COLUMN_COUNT},
    };

    *ret_table = (struct table){.name = "comparison", .fill = fill_facts, .context = compare};
    for (size_t i = 0; i < FACT_COLUMNS; i++)
        table_add_column(ret_table, columns[i]);
    ret_table->is_single = true;
    ret_table->row_count = 1;
}

/* ---- Differences between recordings ---------------------------------------------------------- */

enum { DIFFERENT_WHAT, DIFFERENT_A, DIFFERENT_B };

static void fill_difference(const struct table *table, uint64_t index, struct table_row *row)
{
    struct compare_difference found[COMPARE_DIFFERENCES_MAX];
    if (index >= compare_differences(table->context, found))
        return;
    row_text(row, DIFFERENT_WHAT, found[index].what);
    row_text(row, DIFFERENT_A, found[index].a);
    row_text(row, DIFFERENT_B, found[index].b);
}

void compare_differences_table(const struct compare *compare, struct table *ret_table)
{
    static const struct table_column columns[] = {
        [DIFFERENT_WHAT] = {.name = "what", .type = COLUMN_TEXT},
        [DIFFERENT_A] = {.name = "a", .type = COLUMN_TEXT},
        [DIFFERENT_B] = {.name = "b", .type = COLUMN_TEXT},
    };
    struct compare_difference found[COMPARE_DIFFERENCES_MAX];

    *ret_table = (struct table){.name = "unlike", .fill = fill_difference, .context = compare};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        table_add_column(ret_table, columns[i]);
    ret_table->row_count = compare_differences(compare, found);
}
