/* SPDX-License-Identifier: MIT */
/* `annot info`: the tree of processes, their command lines, and the threads. */
#include "info_parts.h"

#include "number_text.h"
#include "table.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_SIZE = 1024, DEPTH_MAX = 32 };

static void add_count(struct table *table, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    table_add(table, number_count(count, text));
}

static void add_number(struct table *table, int64_t number)
{
    char text[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    table_add(table, text);
}

/* Seconds from the start of the recording. */
static void add_moment(struct table *table, const struct trace *trace, int64_t time_ns)
{
    char text[NUMBER_TEXT_SIZE];
    if (time_ns)
        snprintf(text, sizeof(text), "%.6f", (double)(time_ns - trace_begin_ns(trace)) / 1e9);
    table_add(table, time_ns ? text : "-");
}

static uint64_t lost_sum(const uint64_t *lost)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        sum += lost[cause];
    return sum;
}

static unsigned depth_of(const struct trace *trace, uint32_t process)
{
    unsigned depth = 0;
    for (const struct trace_process *at = trace_process_get(trace, process);
         at && at->parent >= 0 && depth < DEPTH_MAX; depth++)
        at = trace_process_get(trace, (uint32_t)at->parent);
    return depth;
}

static const struct table_column process_columns[] = {
    {"process", 0, true},  {"pid", 0, false},     {"parent", 3, false},  {"start (s)", 2, false},
    {"end (s)", 2, false}, {"threads", 5, false}, {"records", 0, false}, {"lost", 0, false},
    {"memory", 4, false},  {"ended", 0, true},
};

static void add_process(struct table *table, const struct trace *trace, uint32_t ordinal,
                        uint32_t thread_count)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[LABEL_SIZE], text[NUMBER_TEXT_SIZE];
    unsigned indent = 2 * depth_of(trace, ordinal);
    snprintf(label, sizeof(label), "%*s", (int)indent, "");
    trace_process_label(trace, ordinal, label + indent, sizeof(label) - indent);
    table_add(table, label);
    add_number(table, process->pid);
    add_number(table, process->ppid);
    add_moment(table, trace, process->start_ns ? process->start_ns : process->fork_ns);
    add_moment(table, trace, process->end_ns);
    add_count(table, thread_count);
    add_count(table, process->event_count);
    add_count(table, lost_sum(process->lost));
    table_add(table, number_size(process->peak_bytes, text));
    trace_process_end_label(trace, ordinal, label, sizeof(label));
    table_add(table, label);
}

static int print_table(const struct info_options *options, struct table *table)
{
    size_t hidden;
    int rc = table_print(table, options->width, options->color, &hidden);
    table_destroy(table);
    return rc;
}

static void print_more(uint64_t count, uint64_t limit)
{
    char text[NUMBER_TEXT_SIZE];
    if (count > limit)
        printf("(%s more; --limit 0 lists all)\n", number_count(count - limit, text));
}

/* A forked child shares its parent's command line: shown once. */
static void print_command_lines(const struct info_options *options, const uint32_t *order,
                                uint64_t count)
{
    const struct trace *trace = options->trace;
    const char *title = "\ncommand lines\n";
    for (uint64_t i = 0; i < count; i++) {
        const struct trace_process *process = trace_process_get(trace, order[i]);
        const struct trace_process *parent =
            process->parent < 0 ? NULL : trace_process_get(trace, (uint32_t)process->parent);
        if (!process->cmdline || (parent && process->forked && parent->cmdline == process->cmdline))
            continue;
        printf("%s  %d: ", title, process->pid);
        term_print(trace_string(trace, process->cmdline)->bytes);
        putchar('\n');
        title = "";
    }
}

int info_print_processes(const struct info_options *options)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_process_count(trace);
    uint64_t shown = count < options->limit ? count : options->limit;
    uint32_t *order = calloc(count + 1, sizeof(*order));
    uint32_t *threads = calloc(count + 1, sizeof(*threads));
    struct table *table = NULL;
    int rc = order && threads ? trace_process_order(trace, order) : -ENOMEM;
    if (rc < 0 || !count)
        goto out;
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        uint32_t process = trace_thread_get(trace, i)->process;
        if (process < count)
            threads[process]++;
    }
    table = table_create(process_columns, sizeof(process_columns) / sizeof(*process_columns));
    rc = table ? 0 : -ENOMEM;
    if (!table)
        goto out;
    for (uint64_t i = 0; i < shown; i++)
        add_process(table, trace, order[i], threads[order[i]]);
    printf("\n");
    rc = print_table(options, table);
    print_more(count, shown);
    print_command_lines(options, order, shown);
out:
    free(order);
    free(threads);
    return rc;
}

static const struct table_column thread_columns[] = {
    {"thread", 0, true},    {"tid", 0, false},     {"process", 1, true}, {"first (s)", 3, false},
    {"last (s)", 3, false}, {"records", 0, false}, {"lost", 0, false},
};

struct thread_place {
    uint32_t process, thread;
    bool main;
};

static int compare_places(const void *left, const void *right)
{
    const struct thread_place *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->main != b->main)
        return a->main ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Threads as their processes stand in the table above; the main thread first, then by appearance.
 * NULL without memory; to be freed. */
static struct thread_place *place_threads(const struct trace *trace)
{
    uint32_t processes = trace_process_count(trace), count = trace_thread_count(trace);
    uint32_t *order = calloc(processes + 1, sizeof(*order));
    uint32_t *rank = calloc(processes + 1, sizeof(*rank));
    struct thread_place *places = calloc(count + 1, sizeof(*places));
    if (!order || !rank || !places || trace_process_order(trace, order) < 0) {
        free(places);
        places = NULL;
        goto out;
    }
    for (uint32_t i = 0; i < processes; i++)
        rank[order[i]] = i;
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        const struct trace_process *process = trace_process_get(trace, thread->process);
        places[i].thread = i;
        places[i].process = process ? rank[thread->process] : UINT32_MAX;
        places[i].main = process && thread->tid == process->pid;
    }
    qsort(places, count, sizeof(*places), compare_places);
out:
    free(order);
    free(rank);
    return places;
}

static void add_thread(struct table *table, const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    char label[LABEL_SIZE];
    trace_thread_label(trace, ordinal, label, sizeof(label));
    table_add(table, label);
    add_number(table, thread->tid);
    trace_process_label(trace, thread->process, label, sizeof(label));
    table_add(table, label);
    add_moment(table, trace, thread->first_ns);
    add_moment(table, trace, thread->last_ns);
    add_count(table, thread->event_count);
    add_count(table, lost_sum(thread->lost));
}

int info_print_threads(const struct info_options *options)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_thread_count(trace);
    uint64_t shown = count < options->limit ? count : options->limit;
    if (!count)
        return 0;
    struct thread_place *places = place_threads(trace);
    struct table *table =
        places ? table_create(thread_columns, sizeof(thread_columns) / sizeof(*thread_columns))
               : NULL;
    if (!table) {
        free(places);
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < shown; i++)
        add_thread(table, trace, places[i].thread);
    free(places);
    printf("\n");
    int rc = print_table(options, table);
    print_more(count, shown);
    return rc;
}
