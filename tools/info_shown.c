/* SPDX-License-Identifier: MIT */
/* `annot info`: which processes are worth a line. A launcher that is a shell script starts fifty
 * processes before the program; a line each would bury it. */
#include "info_parts.h"

#include <errno.h>
#include <stdlib.h>

/* So many processes are listed whatever they did. A minor one has at most so many samples. */
enum { FEW = 16, MINOR_SAMPLES_MAX = 4 };

static bool has_losses(const struct trace_process *process)
{
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (process->lost[cause])
            return true;
    return false;
}

static bool is_minor(const struct info_shown *shown, const struct trace_process *process,
                     uint32_t ordinal, uint64_t samples)
{
    bool went_well = process->end != PROCESS_SIGNALED && process->end != PROCESS_VANISHED &&
                     process->end != PROCESS_RUNNING;
    return process->event_count == 0 && process->peak_bytes == 0 && !process->name &&
           shown->thread_count[ordinal] <= 1 && samples <= MINOR_SAMPLES_MAX && went_well &&
           !has_losses(process);
}

/* The command itself, what it became at last, is always worth it. */
static bool is_command(const struct trace_process *process)
{
    return process->parent < 0 && process->end != PROCESS_EXEC;
}

static void count_threads(struct info_shown *shown, const struct trace *trace, uint32_t count)
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

int info_shown_init(struct info_shown *shown, const struct info_options *options,
                    const struct info_sample_counts *samples)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_process_count(trace), kept = 0;
    *shown = (struct info_shown){
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

void info_shown_fini(struct info_shown *shown)
{
    free(shown->order);
    free(shown->listed);
    free(shown->thread_count);
    free(shown->cpu_samples);
}
