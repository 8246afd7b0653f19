/* SPDX-License-Identifier: MIT */
/* `annot info`: how threads were sampled, why not better, and how whole the stacks are. */
#include "info_parts.h"

#include "missing.h"
#include "number_text.h"
#include "record_options.h"
#include "recording.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* For its thread, of which the table grows with the definitions. */
static int count_thread(const struct trace *trace, const struct sample *sample,
                        struct info_sample_counts *counts)
{
    static const struct info_thread_samples none;
    bool cpu = sample_role(trace_sets_get(trace), sample) == SAMPLE_ROLE_CPU;
    int64_t last_ns = sample_told_ns(sample);
    if (!trace_thread_get(trace, sample->thread))
        return 0;
    while (counts->of_thread.count <= sample->thread) {
        if (vec_push(&counts->of_thread, none) != 0)
            return -ENOMEM;
    }
    struct info_thread_samples *thread = &counts->of_thread.items[sample->thread];
    thread->cpu += cpu;
    thread->last_ns = last_ns > thread->last_ns ? last_ns : thread->last_ns;
    return 0;
}

int info_count_samples(const struct trace *trace, const struct sample_batch *batch,
                       struct info_sample_counts *counts)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct sample *sample = &batch->samples[i];
        enum sample_role role = sample_role(trace_sets_get(trace), sample);
        counts->off_cpu += role == SAMPLE_ROLE_OFF_CPU;
        counts->cpu += role == SAMPLE_ROLE_CPU;
        if (count_thread(trace, sample, counts) != 0)
            return -ENOMEM;
        counts->in_range += sample->path != 0;
        counts->native[sample->native_end < STACK_END_COUNT ? sample->native_end : 0]++;
        counts->python[sample->python_end < STACK_END_COUNT ? sample->python_end : 0]++;
    }
    return 0;
}

static void print_way(const struct trace *trace, const struct trace_sampling *sampling)
{
    char text[NUMBER_TEXT_SIZE];
    const char *reason = trace_string(trace, sampling->reason)->bytes;
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    printf("\nsampling   %s", sampling_rung_text(sampling->rung));
    if (sampling->rung > SAMPLING_NONE && sampling->frequency_hz)
        printf(", %u Hz", sampling->frequency_hz);
    if (sampling->rung > SAMPLING_NONE && sampling->off_cpu)
        printf(", off-CPU stretches from %s on",
               number_time_plain((uint64_t)sampling->off_cpu_threshold_ns, text));
    putchar('\n');
    if (*reason) {
        printf("  not better because: ");
        term_print(reason);
        putchar('\n');
    }
    if (*reason && *hint) {
        printf("  remedy: ");
        term_print(hint);
        putchar('\n');
    }
}

enum { NAME_WIDTH = 40 };

static void print_count(const char *name, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    size_t width = term_text_width(name);
    printf("  ");
    term_print(name);
    printf("%*s %12s", (int)(width < NAME_WIDTH ? NAME_WIDTH - width : 0), "",
           number_count(count, text));
}

/* A thread that the interpreter does not know runs no Python: there is no stack to be walked. */
static bool is_walked(unsigned end)
{
    return end != STACK_NO_THREAD;
}

/* How many walks of one kind reached the root, and how the others ended. */
static void print_ends(const char *name, const uint64_t ends[STACK_END_COUNT])
{
    char text[NUMBER_TEXT_SIZE];
    uint64_t walked = 0;
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT; end++)
        walked += is_walked(end) ? ends[end] : 0;
    if (walked == 0)
        return;
    /* 99.999 % are not all */
    double percent = 100.0 * (double)ends[STACK_COMPLETE] / (double)walked;
    if (percent > 99.99 && ends[STACK_COMPLETE] != walked)
        percent = 99.99;
    print_count(name, walked);
    printf(", %.2f %% complete", percent);
    for (unsigned end = STACK_COMPLETE + 1; end < STACK_END_COUNT; end++)
        if (ends[end] && is_walked(end))
            printf(", %s %s", number_count(ends[end], text), stack_end_name(end));
    putchar('\n');
}

/* What the samples themselves say is counted from them; policies are told elsewhere. */
static bool is_counted_here(const char *name)
{
    return strcmp(name, TRACE_FACT_OVERWRITE) == 0 || strcmp(name, TRACE_FACT_WAIT) == 0 ||
           strcmp(name, "samples") == 0 || strncmp(name, "native stacks:", 14) == 0 ||
           strncmp(name, "Python stacks:", 14) == 0;
}

static void print_facts(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const char *name = trace_string(trace, fact->name)->bytes;
        if (fact->kind == FACT_COUNT && fact->value && !is_counted_here(name)) {
            print_count(name, fact->value);
            putchar('\n');
        }
    }
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        char text[NUMBER_TEXT_SIZE];
        if (fact->kind != FACT_NOTE || fact->value == 0)
            continue; /* losses have their section */
        printf("  ");
        term_print(trace_string(trace, fact->name)->bytes);
        if (fact->value > 1)
            printf(" (%s times)", number_count(fact->value, text));
        putchar('\n');
    }
}

/* Whether the ranges that were read with samples are those that the events tell. */
static void print_checks(const struct sample_checks *checks)
{
    char text[NUMBER_TEXT_SIZE];
    if (checks->checked == 0)
        return;
    print_count("compared with the events of their thread", checks->checked);
    if (checks->contradicted)
        printf(", %s contradict them", number_count(checks->contradicted, text));
    if (checks->at_edge)
        printf(", %s within 2 us of an event", number_count(checks->at_edge, text));
    if (checks->unsure)
        printf(", %s where events are missing", number_count(checks->unsure, text));
    putchar('\n');
}

void info_print_sampling(const struct info_options *options,
                         const struct info_sample_counts *counts)
{
    const struct trace *trace = options->trace;
    print_way(trace, trace_sampling_get(trace));
    if (counts->cpu || counts->off_cpu) {
        print_count("samples", counts->cpu);
        if (counts->off_cpu) {
            printf("\n");
            print_count("stretches off the CPU", counts->off_cpu);
        }
        printf("\n");
        print_count("of these in a range", counts->in_range);
        printf("\n");
        print_checks(&counts->checks);
        print_ends("native stacks", counts->native);
        print_ends("Python stacks", counts->python);
        if (counts->python[STACK_NO_THREAD]) {
            print_count("of threads without Python", counts->python[STACK_NO_THREAD]);
            printf("\n");
        }
    }
    print_facts(trace);
}
