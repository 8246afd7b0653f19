/* SPDX-License-Identifier: MIT */
/* Counters of the kernel's part and of ours, as facts of the trace: what was taken, how stacks
 * ended, what was lost and why. Thread-safety: one thread per object. */
#include "sampler_state.h"

#include <errno.h>
#include <stdio.h>

static const char *const loss_names[SAMPLER_LOSS_COUNT] = {
    [SAMPLER_LOSS_RING_FULL_SAMPLE] = "samples: the ring was full",
    [SAMPLER_LOSS_RING_FULL_STACK] = "stacks: the ring was full",
    [SAMPLER_LOSS_RING_FULL_SWITCH] = "context switches: the ring was full",
    [SAMPLER_LOSS_RING_FULL_LIFE] = "starts and ends of processes: the ring was full",
    [SAMPLER_LOSS_RING_FULL_CODE] = "names of Python functions: the ring was full",
    [SAMPLER_LOSS_SWITCH_RATE] = "context switches: above the rate limit",
    [SAMPLER_LOSS_SWITCH_TABLE] = "context switches: more threads than the table holds",
    [SAMPLER_LOSS_PROCESS_TABLE] = "processes: more than the table holds",
    [SAMPLER_LOSS_BUSY] = "samples: taken while another was being taken",
    [SAMPLER_LOSS_OTHER_UID] = "processes: became another user's",
    [SAMPLER_LOSS_UID_SAMPLE] = "samples: the thread had become another user's",
    [SAMPLER_LOSS_UID_SWITCH] = "context switches: the thread had become another user's",
    [SAMPLER_LOSS_MALFORMED] = "records: damaged",
    [SAMPLER_LOSS_SKIPPED] = "starts and ends of processes: skipped by the kernel",
};

static int write_losses(struct trace *trace, const uint64_t counters[SAMPLER_COUNTERS])
{
    int error = 0;
    for (size_t i = 0; i < SAMPLER_LOSS_COUNT && !error; i++)
        error = trace_fact_set(trace, FACT_LOSS, loss_names[i], counters[i]);
    return error;
}

static int write_ends(struct trace *trace, const char *what, const uint64_t ends[STACK_END_COUNT])
{
    char name[96];
    int error = 0;
    for (unsigned end = STACK_COMPLETE; end < STACK_END_COUNT && !error; end++) {
        if (ends[end] == 0)
            continue;
        snprintf(name, sizeof(name), "%s stacks: %s", what, stack_end_name(end));
        error = trace_fact_set(trace, FACT_COUNT, name, ends[end]);
    }
    return error;
}

struct fact {
    enum fact_kind kind;
    const char *name;
    uint64_t value;
};

static int write_own(struct bpf_sampler *sampler)
{
    const struct sampler_counts *counts = &sampler->counts;
    const uint64_t *unread = sampler->modules.unread;
    const struct fact facts[] = {
        {FACT_COUNT, "samples", counts->samples},
        {FACT_COUNT, "context switches", counts->switches},
        {FACT_COUNT, "stacks that were different", sampler->join.joined},
        {FACT_COUNT, "stacks unwound by the collector", counts->copies},
        {FACT_COUNT, "threads that slept at the start: woke while they were read",
         counts->asleep_moved},
        {FACT_COUNT, "Python frames placed by order", sampler->join.unplaced},
        {FACT_COUNT, "mappings read from /proc because the kernel's telling was lost",
         counts->notes_lost},
        {FACT_COUNT, TRACE_FACT_UNSEEN, lives_unseen(sampler->options.lives)},
        {FACT_COUNT, "unwind rows", sampler->modules.rows.rows_used},
        {FACT_LOSS, "stacks: a part did not arrive", counts->stacks_missing},
        {FACT_LOSS, "stacks: taken during an exec", counts->stacks_stale},
        {FACT_LOSS, "stacks: cut, a library had taken the place of another",
         counts->stacks_replaced},
        {FACT_LOSS, "names of Python functions: not readable", counts->code_unread},
        {FACT_LOSS, "ranges of samples: the name did not arrive", sampler->queue.unnamed},
        {FACT_LOSS, "processes: their start was not told", counts->adopted},
        {FACT_LOSS, "processes: their end was not told", counts->ends_untold},
        {FACT_LOSS, "processes: their exec was not told", counts->execs_untold},
        {FACT_LOSS, "processes: ended before their mappings were read", counts->maps_unread},
        {FACT_LOSS, "threads that slept at the start: could not be looked for",
         counts->asleep_denied},
        {FACT_LOSS, "mappings of processes: more than the table holds", counts->stuck_lists},
        {FACT_LOSS, "unwind tables: more rows than the memory holds",
         sampler->modules.tables_refused},
        {FACT_LOSS, "unwind tables: damaged", sampler->modules.tables_damaged},
        {FACT_LOSS, "libraries not read: too many open files", unread[MODULE_LOSS_FILES]},
        {FACT_LOSS, "libraries not read: deleted or replaced", unread[MODULE_LOSS_GONE]},
        {FACT_LOSS, "libraries not read: no right to", unread[MODULE_LOSS_RIGHT]},
        {FACT_LOSS, "libraries not read: damaged", unread[MODULE_LOSS_DAMAGED]},
        {FACT_LOSS, "unwind rules: more than the table holds", sampler->modules.rows.rules_refused},
    };
    int error = 0;
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !error; i++)
        error =
            trace_fact_set(sampler->options.trace, facts[i].kind, facts[i].name, facts[i].value);
    return error;
}

static int write_interpreters(struct bpf_sampler *sampler)
{
    char name[256];
    if (sampler->finder.unknown == 0)
        return 0;
    snprintf(name, sizeof(name), "Python frames of some processes are not shown: %s",
             sampler->finder.reason);
    return trace_fact_set(sampler->options.trace, FACT_NOTE, name, sampler->finder.unknown);
}

static int write_costs(struct trace *trace, const uint64_t counters[SAMPLER_COUNTERS])
{
    uint64_t samples = counters[SAMPLER_COUNT_SAMPLES], switches = counters[SAMPLER_COUNT_SWITCHES];
    int error = 0;
    if (samples)
        error = trace_fact_set(trace, FACT_COUNT, "ns per sample in the kernel",
                               counters[SAMPLER_COUNT_NS] / samples);
    if (!error)
        error = trace_fact_set(trace, FACT_LOSS,
                               "stretches off the CPU: the kernel did not tell their end",
                               counters[SAMPLER_COUNT_UNTOLD]);
    if (!error)
        error = trace_fact_set(trace, FACT_LOSS,
                               "stretches off the CPU: their kernel stack was mistaken",
                               counters[SAMPLER_COUNT_SLEEPERS_MISTAKEN]);
    if (!error && counters[SAMPLER_COUNT_REASONED])
        error = trace_fact_set(trace, FACT_COUNT,
                               "ends of stretches found by CPU time, not told by the kernel",
                               counters[SAMPLER_COUNT_REASONED]);
    if (!error && switches)
        error = trace_fact_set(trace, FACT_COUNT, "ns per context switch in the kernel",
                               counters[SAMPLER_COUNT_SWITCH_NS] / switches);
    if (!error && switches)
        error = trace_fact_set(trace, FACT_COUNT, "context switches below the threshold",
                               counters[SAMPLER_COUNT_SHORT]);
    return error;
}

int sampler_write_facts(struct bpf_sampler *sampler)
{
    struct trace *trace = sampler->options.trace;
    uint64_t counters[SAMPLER_COUNTERS] = {0};
    bpf_program_counters(sampler->program, counters);
    counters[SAMPLER_LOSS_MALFORMED] += sampler->counts.damaged;
    int error = write_own(sampler);
    if (!error)
        error = write_losses(trace, counters);
    if (!error)
        error = write_ends(trace, "native", sampler->counts.native_end);
    if (!error)
        error = write_ends(trace, "Python", sampler->counts.python_end);
    if (!error)
        error = write_costs(trace, counters);
    if (!error && bpf_program_user_is_unsafe())
        error =
            trace_fact_set(trace, FACT_NOTE,
                           "of threads in the kernel and off the CPU the kernel's part is known "
                           "only: reading more can freeze this Linux (5.18 to 6.3)",
                           1);
    if (error || !sampler->finished) /* the note's text may still change */
        return error;
    return write_interpreters(sampler);
}
