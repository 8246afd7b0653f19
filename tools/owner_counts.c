/* SPDX-License-Identifier: MIT */
/* Implements owner_counts.h. */
#include "owner_counts.h"

#include "launch.h"
#include "number.h"
#include "stacks.h"

#include <stdlib.h>

void count_add(struct text *text, const char *before, uint64_t count, const char *what)
{
    char number[NUMBER_TEXT_SIZE];
    const char *many = count == 1 ? "" : text_ends_with(what, "s") ? "es" : "s";
    text_format(text, "%s%s %s%s", before, number_count(count, number), what, many);
}

/* Appends, in parentheses, the processes excluded from the number before. */
static void add_others(struct text *text, uint32_t launched, uint64_t unseen)
{
    char number[NUMBER_TEXT_SIZE];
    if (launched)
        text_format(text, " (and %s of the start of the command", number_count(launched, number));
    if (unseen)
        text_format(text, "%s%s without a sample", launched ? ", " : " (and ",
                    number_count(unseen, number));
    if (launched || unseen)
        text_format(text, ")");
}

void owner_counts_add(struct text *text, const struct trace *trace, bool is_short)
{
    uint64_t unseen = is_short ? 0 : trace_fact_value(trace, TRACE_FACT_UNSEEN);
    struct launch_counts launch;
    free(launch_find(trace, &launch));
    count_add(text, "", trace_process_count(trace) - launch.processes, "process");
    add_others(text, launch.processes, unseen);
    count_add(text, ", ", trace_thread_count(trace) - launch.threads, "thread");
}
