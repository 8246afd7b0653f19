/* SPDX-License-Identifier: MIT */
/* `annot info`: what was lost, by cause, and which calls did nothing by contract. */
#include "info_parts.h"

#include "losses.h"
#include "missing.h"
#include "number_text.h"
#include "term.h"

#include <stdio.h>
#include <time.h>

enum { LABEL_SIZE = 512 };

static uint64_t sum_of(const uint64_t *numbers, unsigned count)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}

/* Lines of processes and threads, so that 64,000 losing threads don't bury the rest. */
struct lines {
    uint64_t left, hidden;
};

static bool take_line(struct lines *lines)
{
    lines->hidden += lines->left == 0;
    lines->left -= lines->left > 0;
    return lines->hidden == 0;
}

static void print_threads_of(const struct trace *trace, uint32_t process, struct lines *lines)
{
    char label[LABEL_SIZE];
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        const struct trace_thread *thread = trace_thread_get(trace, i);
        if (thread->process != process || !sum_of(thread->lost, LOSS_COUNT) || !take_line(lines))
            continue;
        trace_thread_label(trace, i, label, sizeof(label));
        printf("    thread %d (", thread->tid);
        term_print(label);
        printf("): ");
        loss_print(thread->lost);
    }
}

/* Of a flight recorder: from when on it has all. */
static void print_since(const struct trace *trace, int64_t whole_ns)
{
    const struct trace_session *session = trace_session_get(trace);
    int64_t since_ns = whole_ns - session->begin_ns;
    char date[32] = "";
    time_t seconds = (time_t)((session->begin_realtime_ns + since_ns) / 1000000000);
    struct tm parts;
    if (session->begin_realtime_ns > 0 && gmtime_r(&seconds, &parts))
        strftime(date, sizeof(date), " (%H:%M:%S UTC)", &parts);
    printf("    overwritten until %.6f%s; all is here since\n", (double)since_ns / 1e9, date);
}

static void print_processes(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    struct lines lines = {options->limit, 0};
    char label[LABEL_SIZE], text[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        if (!sum_of(process->lost, LOSS_COUNT) || !take_line(&lines))
            continue;
        trace_process_label(trace, i, label, sizeof(label));
        printf("  process %d (", process->pid);
        term_print(label);
        printf("): ");
        loss_print(process->lost);
        if (counts->whole_ns && counts->whole_ns[i] != 0)
            print_since(trace, counts->whole_ns[i]);
        print_threads_of(trace, i, &lines);
    }
    if (lines.hidden)
        printf("  (%s more; --limit 0 lists all)\n", number_count(lines.hidden, text));
}

static void print_call(void *context, const struct missing *missing)
{
    bool *begun = context;
    char text[NUMBER_TEXT_SIZE];
    if (missing->kind != MISSING_CALLS)
        return;
    if (!*begun)
        printf("\nremarkable calls\n");
    *begun = true;
    printf("  %s %s\n", number_count(missing->count, text), missing->what);
}

/* Whether nothing but records was looked for, or what else is missing. */
static const char *without_records(const struct trace *trace)
{
    uint64_t calls[MISUSE_COUNT];
    if (trace_unwatched(trace))
        return "nobody knows how much:";
    if (sample_loss_any(trace))
        return "no records, but";
    return misuse_sums(trace, calls) ? "no records, but see the remarkable calls" : "nothing";
}

void info_print_losses(const struct info_options *options, const struct info_counts *counts,
                       const struct info_sample_counts *samples)
{
    const struct trace *trace = options->trace;
    const struct sample_wholes wholes = {samples->cpu, samples->off_cpu};
    uint64_t total[LOSS_COUNT];
    char text[NUMBER_TEXT_SIZE];
    uint64_t sum = loss_sums(trace, counts->lost, total);
    if (sum == 0)
        printf("\nlost       %s\n", without_records(trace));
    else
        printf("\nlost       %s", number_count(sum, text));
    if (sum) {
        printf(sum == 1 ? " record: " : " records: ");
        loss_print(total);
    }
    sample_loss_print(trace, &wholes);
    print_processes(options, counts);
    bool begun = false;
    missing_each(trace, total, print_call, &begun);
}
