/* SPDX-License-Identifier: MIT */
/* How threads are sampled: from the command line to the collector, and back to the user. */
#include "sampling_options.h"

#include "cmd.h"

#include <string.h>

enum {
    FREQUENCY_MAX = 10000, /* each sample takes some microseconds of the thread it interrupts */
    FREQUENCY_SENSIBLE = 1000,
    RATE_MAX = 100000000,
};

int sampling_check(const struct sampling_values *values, int status)
{
    if (values->frequency_hz == 0)
        return cmd_fail(status,
                        "option --sample: 0 samples a second are none\n"
                        "a number from 1 to %d; the default is 99",
                        FREQUENCY_MAX);
    if (values->frequency_hz > FREQUENCY_MAX)
        return cmd_fail(status,
                        "option --sample: at most %d samples a second\n--sample 999 shows what "
                        "takes milliseconds; for less, annotate it",
                        FREQUENCY_MAX);
    if (values->rate == 0 || values->rate > RATE_MAX)
        return cmd_fail(status,
                        "option --off-cpu-rate: a number from 1 to %d\nthe default is "
                        "500000 stretches a second",
                        RATE_MAX);
    if (values->frequency_hz > FREQUENCY_SENSIBLE && !values->none)
        cmd_note("%u samples a second slow busy threads down, and the recording shows it\n"
                 "--sample 999 costs some 2 %%",
                 (unsigned)values->frequency_hz);
    return 0;
}

void sampling_apply(const struct sampling_values *values, struct collector_options *options)
{
    options->sample_hz = values->none ? 0 : (uint32_t)values->frequency_hz;
    options->off_cpu = values->off_cpu && !values->none;
    options->off_cpu_threshold_ns = values->threshold_ns;
    options->off_cpu_rate_max = (uint32_t)values->rate;
    options->rung_max = sampling_rung_max(values->rung);
}

enum sampling_rung sampling_rung_max(const char *word)
{
    if (strcmp(word, "remote") == 0)
        return SAMPLING_REMOTE;
    return strcmp(word, "none") == 0 ? SAMPLING_NONE : SAMPLING_BPF;
}

void sampling_note(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    const char *reason = trace_string(trace, sampling->reason)->bytes;
    const char *hint = trace_string(trace, sampling->hint)->bytes;
    const char *what =
        sampling->rung == SAMPLING_REMOTE
            ? "sampled by reading memory: Python stacks only, no other code, no waits"
            : "threads were not sampled";
    if (sampling->rung == SAMPLING_OFF || sampling->rung == SAMPLING_BPF)
        return;
    if (*hint)
        cmd_note("%s: %s\n%s", what, *reason ? reason : "reason unknown", hint);
    else
        cmd_note("%s: %s", what, *reason ? reason : "reason unknown");
}
