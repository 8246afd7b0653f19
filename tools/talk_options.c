/* SPDX-License-Identifier: MIT */
/* See talk_options.h. */
#include "talk_options.h"

#include "cmd.h"
#include "missing.h"
#include "number_text.h"
#include "sampling_options.h"
#include "term.h"

#include <stdio.h>

int talk_begin(const struct talk_values *values, int status)
{
    if (values->quiet && values->verbose)
        return cmd_fail(status, "options --quiet and --verbose: one of them\n--quiet prints errors "
                                "and losses only");
    cmd_set_quiet(values->quiet);
    return 0;
}

static void print_text(const struct trace *trace, uint32_t text)
{
    const struct trace_string *string = trace_string(trace, text);
    term_write(stderr, string->bytes, string->length);
}

void talk_tell_start(const struct talk_values *values, const struct trace *trace,
                     const char *output)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    char text[NUMBER_TEXT_SIZE];
    if (!values->verbose)
        return;
    fputs("annot: the recording is ", stderr);
    term_write(stderr, output, SIZE_MAX);
    fprintf(stderr, "\nannot: sampling: %s", sampling_rung_text(sampling->rung));
    if (sampling->rung > SAMPLING_NONE)
        fprintf(stderr, ", %u times a second", sampling->frequency_hz);
    if (sampling->rung > SAMPLING_NONE && sampling->off_cpu)
        fprintf(stderr, ", and stretches off the CPU from %s on",
                number_time_plain((uint64_t)sampling->off_cpu_threshold_ns, text));
    if (sampling->reason) {
        fputs("; not better because: ", stderr);
        print_text(trace, sampling->reason);
    }
    fputc('\n', stderr);
}

void talk_tell_facts(const struct talk_values *values, const struct trace *trace)
{
    char text[NUMBER_TEXT_SIZE];
    for (uint32_t i = 0; values->verbose && i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (fact->value == 0 || fact->kind == FACT_LOSS)
            continue;
        fputs("annot: ", stderr);
        print_text(trace, fact->name);
        if (fact->kind == FACT_COUNT)
            fprintf(stderr, ": %s", number_count(fact->value, text));
        fputc('\n', stderr);
    }
}
