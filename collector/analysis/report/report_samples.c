/* SPDX-License-Identifier: MIT */
/* Collects the samples of a report. Thread-safety: none. */

#include "report_samples.h"

#include "reader.h"
#include "report_functions.h"

#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY_TRIES = 32 };

int report_samples_begin(struct report_samples *samples, const struct report_options *options)
{
    struct store_info info;
    struct trace *trace = store_reader_trace(options->reader);
    store_reader_info(options->reader, &info);
    *samples = (struct report_samples){.trace = trace,
                                       .selection = options->selection,
                                       .present = info.sample_count > 0 || options->source,
                                       .weight = options->weight,
                                       .range = options->range};
    if (sample_stats_init(&samples->all, trace) != 0 ||
        sample_stats_init(&samples->inside, trace) != 0)
        return -ENOMEM;
    if (!samples->present)
        return 0;
    samples->frames = frame_stats_create(trace, options->weight);
    samples->own = own_time_create(trace);
    samples->wall = wall_create(trace, options->selection);
    bool lines = options->lines || options->callers;
    samples->lines = lines ? line_stats_create(trace, options->weight) : NULL;
    samples->entries = calloc((size_t)samples->all.thread_count + 1, sizeof(*samples->entries));
    bool made = (samples->lines || !lines) && samples->frames && samples->own && samples->wall &&
                samples->entries;
    return made ? 0 : -ENOMEM;
}

void report_samples_fini(struct report_samples *samples)
{
    frame_stats_destroy(samples->frames);
    own_tree_destroy(samples->tree);
    own_time_destroy(samples->own);
    wall_destroy(samples->wall);
    line_stats_destroy(samples->lines);
    path_matches_fini(&samples->matches);
    free(samples->entries);
    sample_stats_fini(&samples->all);
    sample_stats_fini(&samples->inside);
}

/* Returns the outermost function outside of Python's own modules; 0: no Python. */
static uint32_t entry_function(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t found = 0;
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        uint32_t ordinal = stacks_get_stack(stacks, stack)->frame;
        const struct frame *frame = stacks_get_frame(stacks, ordinal);
        uint32_t source = stacks_get_label(stacks, frame->label)->source;
        const char *file = trace_string(trace, stacks_get_source(stacks, source)->path)->bytes;
        if (frame->kind == FRAME_PYTHON && strcmp(text_base_name(file), "threading.py") != 0)
            found = frame->label;
    }
    return found;
}

/* The first samples of a thread may lack its entry function: it was not called yet, or the thread's
 * Python state was unknown. */
static void look_for_entry(struct report_samples *samples, const struct sample *sample)
{
    struct thread_entry *entry = &samples->entries[sample->thread];
    if (entry->label || entry->tries >= ENTRY_TRIES || sample->stack == 0)
        return;
    entry->label = entry_function(samples->trace, sample->stack);
    entry->tries += entry->label == 0;
    entry->stack = sample->stack;
}

/* True if the sample counts for the functions and waits. */
static int is_inside(struct report_samples *samples, const struct sample *sample)
{
    return samples->range
               ? path_matches(&samples->matches, samples->trace, samples->range, sample->path)
               : 1;
}

static int take(void *context, const struct item *item)
{
    struct report_samples *samples = context;
    const struct sample *sample = item->sample;
    sample_stats_add(&samples->all, sample);
    if (sample->thread < samples->all.thread_count)
        look_for_entry(samples, sample);
    int error = wall_add(samples->wall, sample);
    if (error)
        return error;
    int inside = is_inside(samples, sample);
    if (inside != 1)
        return inside;
    sample_stats_add(&samples->inside, sample);
    if (samples->lines)
        line_stats_add(samples->lines, sample);
    if (sample_weight_takes(samples->weight, trace_sets_get(samples->trace), sample))
        frame_stats_add(samples->frames, sample);
    return own_time_add(samples->own, sample);
}

struct sink report_samples_sink(struct report_samples *samples)
{
    uint32_t wants = samples->present ? WANT_SAMPLES | WANT_PATHS : 0;
    return (struct sink){take, samples, wants};
}

/* True if one thread did the work, or several in turns: a script started by a shell. CPU time is an
 * estimate, waits are exact. */
static bool is_sequential(const struct own_totals *own, const struct wall_totals *wall)
{
    uint64_t off_ns = own->runnable_ns + own->blocked_ns;
    uint64_t most_ns = wall->wall_ns + wall->wall_ns / 10;
    return (own->busy_count <= 1 && off_ns <= most_ns) || own->cpu_ns + off_ns <= most_ns;
}

/* CPU time is a poor measure for threads that hardly used it. */
static bool is_mostly_idle(const struct own_totals *own)
{
    return own->cpu_ns * 5 < own->cpu_ns + own->runnable_ns + own->blocked_ns;
}

/* True if the program runs commands, and its own functions show which and when. */
static bool waits_for_commands(const struct own_time *own, const struct wall_totals *wall)
{
    enum { COMMANDS_PART = 3 };

    const struct own_wait *waits;
    uint32_t count = own_time_waits(own, &waits);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        sum_ns += waits[i].label && waits[i].reason == WAIT_CHILD ? waits[i].blocked_ns : 0;
    return sum_ns * COMMANDS_PART > wall->wall_ns;
}

int report_samples_finish(struct report_samples *samples, struct pass *pass,
                          const struct range_totals *totals)
{
    const struct pass_counts *counts = pass_counts(pass);
    samples->off_cpu = counts->stretches > 0 || trace_sampling_get(samples->trace)->off_cpu;
    if (samples->selection->flags) /* a filter leaves gaps in the threads' time */
        samples->off_cpu = false;
    samples->checks = counts->checks;
    samples->late = counts->late;
    if (!samples->present)
        return 0;
    frame_stats_finish(samples->frames);
    int rc = own_time_finish(samples->own);
    if (rc == 0)
        rc = wall_finish(samples->wall, samples->own, totals->begin_ns,
                         totals->begin_ns + totals->wall_ns);
    if (rc != 0)
        return rc;
    samples->by_wall = samples->off_cpu &&
                       is_sequential(own_time_totals(samples->own), wall_totals(samples->wall));
    samples->with_waits =
        samples->by_wall ||
        (samples->off_cpu && (is_mostly_idle(own_time_totals(samples->own)) ||
                              waits_for_commands(samples->own, wall_totals(samples->wall))));
    samples->tree = own_tree_create(samples->own, samples->with_waits);
    rc = samples->tree ? 0 : -ENOMEM;
    if (rc == 0 && samples->lines)
        rc = line_stats_finish(samples->lines, samples->own, samples->with_waits);
    return rc;
}

/* ---- Sums by thread -------------------------------------------------------------------------- */

int sample_stats_init(struct sample_stats *stats, const struct trace *trace)
{
    *stats = (struct sample_stats){.sets = trace_sets_get(trace),
                                   .thread_count = trace_thread_count(trace)};
    stats->threads = calloc((size_t)stats->thread_count + 1, sizeof(*stats->threads));
    return stats->threads ? 0 : -ENOMEM;
}

void sample_stats_fini(struct sample_stats *stats)
{
    free(stats->threads);
    *stats = (struct sample_stats){0};
}

static void add_share(struct thread_share *share, const struct thread_share *more)
{
    share->cpu_ns += more->cpu_ns;
    share->sample_count += more->sample_count;
    share->runnable_ns += more->runnable_ns;
    share->blocked_ns += more->blocked_ns;
    share->short_runnable_ns += more->short_runnable_ns;
    share->short_blocked_ns += more->short_blocked_ns;
    share->gc_ns += more->gc_ns;
    share->gil_ns += more->gil_ns;
}

static unsigned known_end(unsigned end)
{
    return end < STACK_END_COUNT ? end : STACK_NOT_WALKED;
}

/* A thread unknown to the interpreter runs no Python: its stack is complete without. */
static bool is_whole(const struct sample *sample, unsigned native, unsigned python)
{
    return (native == STACK_COMPLETE || native == STACK_NOT_WALKED) &&
           (python == STACK_COMPLETE || python == STACK_NOT_WALKED || python == STACK_NO_THREAD) &&
           sample->stack != 0;
}

static void add_walk(struct sample_stats *stats, const struct sample *sample)
{
    unsigned native = known_end(sample->native_end), python = known_end(sample->python_end);
    stats->ends[0][native]++;
    stats->ends[1][python]++;
    stats->walk_count++;
    stats->complete_count += is_whole(sample, native, python);
}

static void add_wait(struct wait_share *wait, uint64_t time_ns)
{
    wait->count += time_ns > 0;
    wait->total_ns += time_ns;
    if (time_ns > wait->max_ns)
        wait->max_ns = time_ns;
}

static struct thread_share share_of_stretch(struct sample_stats *stats, const struct sample *sample)
{
    struct off_share off = sample_off_share(stats->sets, sample);
    struct thread_share share = {.runnable_ns = off.runnable_ns, .blocked_ns = off.blocked_ns};
    unsigned reason = sample->reason < WAIT_REASON_COUNT ? sample->reason : WAIT_UNKNOWN;
    add_wait(&stats->waits[reason], share.blocked_ns);
    add_wait(&stats->runnable, share.runnable_ns);
    stats->stretch_count++;
    return share;
}

void sample_stats_add(struct sample_stats *stats, const struct sample *sample)
{
    struct thread_share share;
    enum sample_role role = sample_role(stats->sets, sample);
    if (role == SAMPLE_ROLE_OTHER || role > SAMPLE_ROLE_SHORT_WAITS)
        return;
    if (role == SAMPLE_ROLE_OFF_CPU) {
        share = share_of_stretch(stats, sample);
    } else if (role == SAMPLE_ROLE_SHORT_WAITS) {
        struct off_share off = sample_off_share(stats->sets, sample);
        share = (struct thread_share){.short_runnable_ns = off.runnable_ns,
                                      .short_blocked_ns = off.blocked_ns};
    } else {
        uint64_t cpu_ns = sample_cpu_ns(stats->sets, sample);
        share = (struct thread_share){.cpu_ns = cpu_ns, .sample_count = 1};
        share.gc_ns = sample->flags & SAMPLE_GC ? cpu_ns : 0;
        share.gil_ns = sample->flags & SAMPLE_HOLDS_GIL ? cpu_ns : 0;
        stats->cpu_squares += (double)cpu_ns * (double)cpu_ns;
        add_walk(stats, sample);
    }
    add_share(&stats->all, &share);
    if (sample->thread < stats->thread_count)
        add_share(&stats->threads[sample->thread], &share);
}

double sample_stats_weight_ns(const struct sample_stats *stats)
{
    return stats->all.cpu_ns ? stats->cpu_squares / (double)stats->all.cpu_ns : 0;
}
