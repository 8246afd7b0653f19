/* SPDX-License-Identifier: MIT */
/* `annot info`: the tree of processes, their command lines, and the threads; tracks, units of
 * counters, last words. */
#include "info.h"

#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Selection of processes ------------------------------------------------------------------ */

enum { LABEL_SIZE = 1024, DEPTH_MAX = 32 };

/* The listed processes: among many, those that did hardly anything are hidden, such as the dozens
 * that a shell script starts. Threads of hidden processes, and single threads without records, are
 * hidden as well. */
struct shown {
    uint32_t *order; /* ordinals of the listed processes, in tree order */
    uint32_t count;
    bool *listed;                             /* by ordinal */
    uint32_t *thread_count;                   /* by ordinal */
    uint64_t *cpu_samples;                    /* by ordinal */
    bool sampled, recorded;                   /* there are samples; there are annotations */
    const struct info_sample_counts *samples; /* must outlive this object */
    uint32_t minor_count;                     /* hidden processes */
    uint32_t samples_max;                     /* the most samples of a hidden process */
};

/* Up to FEW processes are all listed. A minor process has at most MINOR_SAMPLES_MAX samples. */
enum { FEW = 16, MINOR_SAMPLES_MAX = 4 };

static bool has_losses(const struct trace_process *process)
{
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (process->lost[cause])
            return true;
    return false;
}

static bool is_minor(const struct shown *shown, const struct trace_process *process,
                     uint32_t ordinal, uint64_t samples)
{
    return process->event_count == 0 && process->peak_bytes == 0 && !process->name &&
           shown->thread_count[ordinal] <= 1 && samples <= MINOR_SAMPLES_MAX &&
           trace_process_exited(process) && !has_losses(process);
}

/* The command's last program image is always listed. */
static bool is_command(const struct trace_process *process)
{
    return process->parent < 0 && process->end != PROCESS_EXEC;
}

static void count_threads(struct shown *shown, const struct trace *trace, uint32_t count)
{
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        uint32_t process = trace_thread_get(trace, i)->process;
        if (process >= count)
            continue;
        shown->thread_count[process]++;
        if (i < shown->samples->of_thread.count)
            shown->cpu_samples[process] += shown->samples->of_thread.items[i].cpu;
    }
}

/* 0 or -ENOMEM; shown_fini accepts a partly initialized object. */
static int shown_init(struct shown *shown, const struct info_options *options,
                      const struct info_sample_counts *samples)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_process_count(trace), kept = 0;
    *shown = (struct shown){
        .order = calloc(count + 1, sizeof(*shown->order)),
        .listed = calloc(count + 1, sizeof(*shown->listed)),
        .thread_count = calloc(count + 1, sizeof(*shown->thread_count)),
        .cpu_samples = calloc(count + 1, sizeof(*shown->cpu_samples)),
        .samples = samples,
        .samples_max = MINOR_SAMPLES_MAX,
        .sampled = samples->cpu + samples->off_cpu > 0,
    };
    if (!shown->order || !shown->listed || !shown->thread_count || !shown->cpu_samples ||
        trace_process_order(trace, shown->order) < 0)
        return -ENOMEM;
    count_threads(shown, trace, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        shown->recorded = shown->recorded || process->event_count || process->peak_bytes ||
                          process->runtime_version || has_losses(process);
    }
    bool all = count <= FEW || options->limit == UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t ordinal = shown->order[i];
        const struct trace_process *process = trace_process_get(trace, ordinal);
        shown->listed[ordinal] = all || is_command(process) ||
                                 !is_minor(shown, process, ordinal, shown->cpu_samples[ordinal]);
        if (shown->listed[ordinal])
            shown->order[kept++] = ordinal;
    }
    shown->count = kept;
    shown->minor_count = count - kept;
    return 0;
}

static void shown_fini(struct shown *shown)
{
    free(shown->order);
    free(shown->listed);
    free(shown->thread_count);
    free(shown->cpu_samples);
}

/* ---- Processes and threads ------------------------------------------------------------------- */

static void add_number(struct grid *table, int64_t number)
{
    char text[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    grid_add(table, text);
}

/* Seconds from the start of the recording. */
static void add_moment(struct grid *table, const struct trace *trace, int64_t time_ns)
{
    char text[NUMBER_TEXT_SIZE];
    if (time_ns)
        snprintf(text, sizeof(text), "%.6f", (double)(time_ns - trace_begin_ns(trace)) / 1e9);
    grid_add(table, time_ns ? text : "-");
}

static uint64_t lost_sum(const uint64_t *lost)
{
    uint64_t sum = 0;
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        sum += lost[cause];
    return sum;
}

/* Number of listed ancestors. */
static unsigned depth_of(const struct trace *trace, const struct shown *shown, uint32_t process)
{
    unsigned depth = 0;
    const struct trace_process *at = trace_process_get(trace, process);
    for (unsigned i = 0; at && at->parent >= 0 && i < DEPTH_MAX; i++) {
        depth += shown->listed[at->parent];
        at = trace_process_get(trace, (uint32_t)at->parent);
    }
    return depth;
}

enum { COLUMNS_MAX = 12 };

/* Columns of a table. Columns that neither samples nor annotations can fill are omitted. */
struct columns {
    struct grid_column items[COLUMNS_MAX];
    size_t count;
};

static void add_columns(struct columns *columns, const struct grid_column *more, size_t count)
{
    memcpy(columns->items + columns->count, more, count * sizeof(*more));
    columns->count += count;
}

static const struct grid_column process_columns[] = {{"process", 0, true},  {"pid", 0, false},
                                                     {"parent", 3, false},  {"start (s)", 2, false},
                                                     {"end (s)", 2, false}, {"threads", 5, false}};
static const struct grid_column sample_columns[] = {{"samples", 1, false}};
static const struct grid_column record_columns[] = {
    {"records", 0, false}, {"lost", 0, false}, {"memory", 4, false}};
static const struct grid_column end_columns[] = {{"ended", 0, true}};

/* A recording with neither shows the columns of records. */
static bool shows_records(const struct shown *shown)
{
    return shown->recorded || !shown->sampled;
}

static void add_process(struct grid *table, const struct trace *trace, const struct shown *shown,
                        uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[LABEL_SIZE], text[NUMBER_TEXT_SIZE];
    unsigned indent = 2 * depth_of(trace, shown, ordinal);
    snprintf(label, sizeof(label), "%*s", (int)indent, "");
    trace_process_label(trace, ordinal, label + indent, sizeof(label) - indent);
    grid_add(table, label);
    add_number(table, process->pid);
    add_number(table, process->ppid);
    add_moment(table, trace, process->start_ns ? process->start_ns : process->fork_ns);
    add_moment(table, trace, process->end_ns);
    grid_add_count(table, shown->thread_count[ordinal]);
    if (shown->sampled)
        grid_add_count(table, shown->cpu_samples[ordinal]);
    if (shows_records(shown)) {
        grid_add_count(table, process->event_count);
        grid_add_count(table, lost_sum(process->lost));
        grid_add(table, number_size(process->peak_bytes, text));
    }
    trace_process_end_label(trace, ordinal, label, sizeof(label));
    grid_add(table, label);
}

static int print_table(const struct info_options *options, struct grid *table)
{
    size_t hidden;
    int rc = grid_print(table, options->width, options->color, &hidden);
    grid_destroy(table);
    return rc;
}

static void print_more(uint64_t count, uint64_t limit)
{
    char text[NUMBER_TEXT_SIZE];
    if (count > limit)
        printf("(%s more; --limit 0 lists all)\n", number_count(count - limit, text));
}

/* A forked child with its parent's command line is skipped. */
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

static void print_minor(const struct shown *shown)
{
    char text[NUMBER_TEXT_SIZE];
    if (shown->minor_count)
        printf("(and %s processes without records and with at most %u samples each; --limit 0 "
               "lists all)\n",
               number_count(shown->minor_count, text), shown->samples_max);
}

static int print_processes(const struct info_options *options, const struct shown *shown)
{
    uint64_t count = shown->count < options->limit ? shown->count : options->limit;
    if (trace_process_count(options->trace) == 0)
        return 0;
    struct columns columns = {.count = 0};
    add_columns(&columns, process_columns, sizeof(process_columns) / sizeof(*process_columns));
    add_columns(&columns, sample_columns, shown->sampled);
    add_columns(&columns, record_columns, shows_records(shown) ? 3 : 0);
    add_columns(&columns, end_columns, 1);
    struct grid *table = grid_create(columns.items, columns.count);
    if (!table)
        return -ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        add_process(table, options->trace, shown, shown->order[i]);
    printf("\n");
    int rc = print_table(options, table);
    print_more(shown->count, count);
    print_minor(shown);
    print_command_lines(options, shown->order, count);
    return rc;
}

static const struct grid_column thread_columns[] = {{"thread", 0, true},
                                                    {"tid", 0, false},
                                                    {"process", 1, true},
                                                    {"first (s)", 3, false},
                                                    {"last (s)", 3, false}};

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

static bool is_listed(const struct shown *shown, const struct trace_thread *thread, bool all)
{
    if (all)
        return true;
    return shown->listed[thread->process] &&
           (shown->thread_count[thread->process] > 1 || thread->event_count);
}

/* Threads in the order of their processes in the table above; the main thread first, then by
 * appearance. NULL if out of memory; the caller frees it. */
static struct thread_place *place_threads(const struct info_options *options,
                                          const struct shown *shown, uint64_t *ret_count)
{
    const struct trace *trace = options->trace;
    uint32_t processes = trace_process_count(trace), count = trace_thread_count(trace);
    uint32_t *rank = calloc(processes + 1, sizeof(*rank));
    struct thread_place *places = calloc(count + 1, sizeof(*places));
    uint64_t kept = 0;
    if (!rank || !places) {
        free(rank);
        free(places);
        return NULL;
    }
    for (uint32_t i = 0; i < shown->count; i++)
        rank[shown->order[i]] = i;
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        const struct trace_process *process = trace_process_get(trace, thread->process);
        if (process && !is_listed(shown, thread, processes <= 1 || shown->minor_count == 0))
            continue;
        places[kept].thread = i;
        places[kept].process = process ? rank[thread->process] : UINT32_MAX;
        places[kept++].main = process && thread->tid == process->pid;
    }
    qsort(places, kept, sizeof(*places), compare_places);
    free(rank);
    *ret_count = kept;
    return places;
}

/* The end of a thread that outlived the recording is unknown; its last sample is used. */
static void add_thread(struct grid *table, const struct trace *trace, const struct shown *shown,
                       uint32_t ordinal)
{
    struct info_thread_samples samples = {0};
    if (ordinal < shown->samples->of_thread.count)
        samples = shown->samples->of_thread.items[ordinal];
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    char label[LABEL_SIZE];
    trace_thread_label(trace, ordinal, label, sizeof(label));
    grid_add(table, label);
    add_number(table, thread->tid);
    trace_process_label(trace, thread->process, label, sizeof(label));
    grid_add(table, label);
    add_moment(table, trace, thread->first_ns);
    add_moment(table, trace, thread->last_ns > samples.last_ns ? thread->last_ns : samples.last_ns);
    if (shown->sampled)
        grid_add_count(table, samples.cpu);
    if (!shows_records(shown))
        return;
    grid_add_count(table, thread->event_count);
    grid_add_count(table, lost_sum(thread->lost));
}

static int print_threads(const struct info_options *options, const struct shown *shown)
{
    uint64_t count = 0;
    struct thread_place *places = place_threads(options, shown, &count);
    struct columns columns = {.count = 0};
    add_columns(&columns, thread_columns, sizeof(thread_columns) / sizeof(*thread_columns));
    add_columns(&columns, sample_columns, shown->sampled);
    add_columns(&columns, record_columns, shows_records(shown) ? 2 : 0);
    struct grid *table = places ? grid_create(columns.items, columns.count) : NULL;
    if (!table || count == 0) {
        bool failed = !table;
        grid_destroy(table);
        free(places);
        return failed ? -ENOMEM : 0;
    }
    uint64_t listed = count < options->limit ? count : options->limit;
    for (uint64_t i = 0; i < listed; i++)
        add_thread(table, options->trace, shown, places[i].thread);
    free(places);
    printf("\n");
    int rc = print_table(options, table);
    print_more(count, listed);
    return rc;
}

/* ---- Tracks, units, last words --------------------------------------------------------------- */

static const struct grid_column track_columns[] = {
    {"track", 0, true},  {"process", 1, true},    {"ranges", 0, false},
    {"marks", 2, false}, {"first (s)", 3, false}, {"last (s)", 3, false},
};

static void add_track(struct grid *table, const struct trace *trace, uint32_t ordinal,
                      const struct info_track *track)
{
    char label[LABEL_SIZE];
    trace_lane_path(trace, ordinal, label, sizeof(label));
    grid_add(table, label);
    trace_process_label(trace, trace_lane_get(trace, ordinal)->process, label, sizeof(label));
    grid_add(table, label);
    grid_add_count(table, track->range_count);
    grid_add_count(table, track->mark_count);
    add_moment(table, trace, track->first_ns);
    add_moment(table, trace, track->last_ns);
}

/* Lanes without events only appear in the names of those below them. */
static int print_tracks(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    uint64_t used = 0;
    struct grid *table = grid_create(track_columns, sizeof(track_columns) / sizeof(*track_columns));
    if (!table)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        if (counts->tracks[i].first_ns == 0 || used++ >= options->limit)
            continue;
        add_track(table, trace, i, &counts->tracks[i]);
    }
    size_t hidden;
    if (used > 0)
        printf("\n");
    int rc = used > 0 ? grid_print(table, options->width, options->color, &hidden) : 0;
    grid_destroy(table);
    print_more(used, options->limit);
    return rc;
}

void info_print_units(const struct info_options *options)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_unit_count(trace);
    if (count > 0)
        printf("\nunits of counters\n");
    for (uint32_t i = 0; i < count && i < options->limit; i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        printf("  ");
        if (unit->domain) {
            term_print(trace_string(trace, unit->domain)->bytes);
            putchar(':');
        }
        term_print(trace_string(trace, unit->counter)->bytes);
        printf(": ");
        term_print(trace_string(trace, unit->unit)->bytes);
        putchar('\n');
    }
    print_more(count, options->limit);
}

static void print_note(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[LABEL_SIZE];
    trace_process_label(trace, ordinal, label, sizeof(label));
    printf("  process %d (", process->pid);
    term_print(label);
    printf(")");
    if (process->note_thread) {
        trace_thread_label(trace, process->note_thread - 1, label, sizeof(label));
        printf(", thread ");
        term_print(label);
    }
    printf(", at %.6f s: ", (double)(process->note_ns - trace_begin_ns(trace)) / 1e9);
    term_print(trace_string(trace, process->note)->bytes);
    putchar('\n');
}

void info_print_notes(const struct info_options *options)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace_process_count(options->trace); i++) {
        if (!trace_process_get(options->trace, i)->note || count++ >= options->limit)
            continue;
        if (count == 1)
            printf("\nlast words\n");
        print_note(options->trace, i);
    }
    print_more(count, options->limit);
}

int info_print_lists(const struct info_options *options, const struct info_counts *counts,
                     const struct info_sample_counts *samples)
{
    struct shown shown;
    int rc = shown_init(&shown, options, samples);
    if (rc == 0)
        rc = print_processes(options, &shown);
    if (rc == 0)
        rc = print_threads(options, &shown);
    if (rc == 0 && counts->tracks)
        rc = print_tracks(options, counts);
    shown_fini(&shown);
    return rc;
}
