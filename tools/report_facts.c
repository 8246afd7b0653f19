/* SPDX-License-Identifier: MIT */
/* What a report says about the sampling: how, how much, and what is missing. */
#include "missing.h"
#include "number_text.h"
#include "report_functions.h"
#include "sample_loss.h"
#include "term.h"

#include <stdio.h>

static const char *rung_name(unsigned rung)
{
    switch (rung) {
    case SAMPLING_REMOTE:
        return "by reading Python's memory";
    case SAMPLING_BPF:
        return "by eBPF";
    default:
        return "in a way that this annot does not know";
    }
}

static void print_text(const struct trace *trace, const char *before, uint32_t text)
{
    printf("%s", before);
    term_print(trace_string(trace, text)->bytes);
    printf("\n");
}

/* Why not a higher rung, and what lifts it. */
static void print_reason(const struct trace *trace, const struct trace_sampling *sampling)
{
    if (sampling->reason && sampling->rung != SAMPLING_NONE)
        print_text(trace, "           not by eBPF: ", sampling->reason);
    if (sampling->hint)
        print_text(trace, "           hint: ", sampling->hint);
}

/* What is almost all is not all. */
static const char *complete_text(const struct sample_stats *stats, char *buffer)
{
    uint64_t whole = stats->walk_count, part = stats->complete_count;
    if (part < whole && part * 2000 >= whole * 1999)
        return "99.9%";
    return number_percent(part, whole, buffer);
}

void report_sampling_print(const struct trace *trace, const struct report_samples *samples)
{
    char a[NUMBER_TEXT_SIZE], b[NUMBER_TEXT_SIZE], c[NUMBER_TEXT_SIZE];
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const struct sample_stats *all = &samples->all;
    if (sampling->rung == SAMPLING_OFF && !samples->present)
        return;
    if (sampling->rung == SAMPLING_NONE) {
        print_text(trace, "sampled    nothing: ", sampling->reason);
        print_reason(trace, sampling);
        return;
    }
    printf("sampled    %s of CPU time: %s %s", number_time_plain(all->all.cpu_ns, a),
           number_count(all->all.sample_count, b),
           all->all.sample_count == 1 ? "sample" : "samples");
    if (sampling->frequency_hz)
        printf(" at %s Hz", number_count(sampling->frequency_hz, c));
    if (sampling->rung != SAMPLING_OFF)
        printf(" %s", rung_name(sampling->rung));
    if (all->walk_count)
        printf(", %s of stacks complete", complete_text(all, a));
    printf("\n");
    if (samples->off_cpu)
        printf("off CPU    %s blocked and %s runnable in %s stretches\n",
               number_time_plain(all->all.blocked_ns, a),
               number_time_plain(all->all.runnable_ns, b), number_count(all->stretch_count, c));
    print_reason(trace, sampling);
}

static struct sample_wholes wholes_of(const struct report_samples *samples)
{
    return (struct sample_wholes){samples->all.all.sample_count, samples->all.stretch_count};
}

const char *report_lost_text(const struct trace *trace, const struct report_samples *samples)
{
    const struct sample_wholes wholes = wholes_of(samples);
    uint64_t calls[MISUSE_COUNT];
    if (!sample_loss_any(trace))
        return misuse_sums(trace, calls) ? "no records, but see the remarkable calls" : "nothing";
    if (trace_unwatched(trace))
        return "what processes did when nobody recorded them any more (see the end)";
    return sample_loss_counts(trace, &wholes)
               ? "no records, but samples miss something (see the end)"
               : "no records, and little of what was sampled (see the end)";
}

static void print_call(void *context, const struct missing *missing)
{
    const char **before = context;
    char text[NUMBER_TEXT_SIZE];
    if (missing->kind != MISSING_CALLS)
        return;
    printf("%s%s %s", *before, number_count(missing->count, text), missing->what);
    *before = ", ";
}

void report_missing_print(const struct trace *trace)
{
    static const char first[] = "remarkable calls: ";
    const char *before = first;
    char text[NUMBER_TEXT_SIZE];
    uint32_t refused = trace_refusal_count(trace);
    if (refused)
        printf("refused    %s %s could not take part; annot info says why\n",
               number_count(refused, text), refused == 1 ? "process" : "processes");
    missing_each(trace, NULL, print_call, &before);
    if (before != first)
        printf("\n");
}

const char *report_nothing_text(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    switch (sampling->rung) {
    case SAMPLING_BPF:
        return sampling->off_cpu
                   ? "Nothing was seen: hardly any CPU time was used, and no wait began or ended. "
                     "annot "
                     "dump\n-p PID shows what threads wait for at present."
                   : "Nothing was seen: hardly any CPU time was used. annot record --off-cpu shows "
                     "what is\nwaited for, --sample 999 looks more often.";
    case SAMPLING_REMOTE:
        return "Nothing was seen: no Python code ran for long, and without eBPF no other code is "
               "sampled.";
    default:
        return "There are no events: the program is not annotated, or its annotations were off.";
    }
}

static void print_checks(const struct sample_checks *checks)
{
    char text[NUMBER_TEXT_SIZE], all[NUMBER_TEXT_SIZE];
    if (checks->contradicted)
        printf("\n%s of %s samples contradict the events of their threads. They count for the "
               "ranges that the\nevents tell.\n",
               number_count(checks->contradicted, text), number_count(checks->checked, all));
}

void report_facts_print(const struct trace *trace, const struct report_samples *samples)
{
    char text[NUMBER_TEXT_SIZE];
    const struct sample_wholes wholes = wholes_of(samples);
    if (sample_loss_any(trace))
        printf(trace_unwatched(trace) ? "\nMissing:\n" : "\nMissing from the samples:\n");
    sample_loss_print(trace, &wholes);
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->kind == FACT_NOTE && fact->value > 0)
            print_text(trace, "\n", fact->name);
    }
    print_checks(&samples->checks);
    if (samples->late)
        printf("\nSamples that came too late to be given their ranges exactly: %s.\n",
               number_count(samples->late, text));
}
