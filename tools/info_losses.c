/* SPDX-License-Identifier: MIT */
/* `annot info`: what was lost, by cause, and which calls did nothing by contract. */
#include "info_parts.h"

#include "loss_sums.h"
#include "number_text.h"
#include "term.h"

#include <stdio.h>

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

static void print_processes(const struct info_options *options)
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
        print_threads_of(trace, i, &lines);
    }
    if (lines.hidden)
        printf("  (%s more; --limit 0 lists all)\n", number_count(lines.hidden, text));
}

static void print_misuse(const struct trace *trace)
{
    static const char *const names[MISUSE_COUNT] = {
        "pops without a push: ignored",
        "ends of ranges that are not open here: ignored",
        "names cut to 1 KiB",
        "names written in full each time: the name table is full",
    };
    uint64_t counts[MISUSE_COUNT] = {0};
    char text[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        for (unsigned kind = 0; kind < MISUSE_COUNT; kind++)
            counts[kind] += trace_process_get(trace, i)->misuse[kind];
    }
    if (!sum_of(counts, MISUSE_COUNT))
        return;
    printf("\nremarkable calls\n");
    for (unsigned kind = 0; kind < MISUSE_COUNT; kind++) {
        if (counts[kind])
            printf("  %s %s\n", number_count(counts[kind], text), names[kind]);
    }
}

void info_print_losses(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    uint64_t total[LOSS_COUNT];
    char text[NUMBER_TEXT_SIZE];
    uint64_t sum = loss_sums(trace, counts->lost, total);
    printf("\nlost       %s", sum ? number_count(sum, text) : "nothing\n");
    if (sum) {
        printf(sum == 1 ? " record: " : " records: ");
        loss_print(total);
    }
    print_processes(options);
    print_misuse(trace);
}
