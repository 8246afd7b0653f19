/* SPDX-License-Identifier: MIT */
/* Explains why a flame graph is empty, and suggests alternatives. Implements no_samples.h. */
#include "no_samples.h"

#include "call_counts.h"
#include "cmd.h"
#include "reader.h"
#include "recording.h"
#include "selection.h"

#include <stdio.h>

static int fail_calls(const struct no_samples *f, const char *quoted)
{
    return calls_any(store_reader_trace(f->reader))
               ? cmd_fail(CMD_FAILED,
                          "no call is in what was chosen of %s\nannot report --table calls %s "
                          "lists all of them",
                          f->recording, quoted)
               : cmd_fail(CMD_FAILED,
                          "%s has no counts of calls: samples say how long functions ran, not "
                          "how often\nannot record --trace-functions=aggregate counts them; "
                          "annot flame %s draws samples",
                          f->recording, quoted);
}

int no_samples_fail(const struct no_samples *f)
{
    const struct trace_sampling *sampling = trace_sampling_get(store_reader_trace(f->reader));
    const char *reason = trace_string(store_reader_trace(f->reader), sampling->reason)->bytes;
    char quoted[256];
    cmd_quote(f->recording, quoted, sizeof(quoted));
    if (f->gpu)
        return cmd_fail(CMD_FAILED, "%s has no work of GPUs%s\nannot record --gpu records it",
                        f->recording, selection_is_all(f->selection) ? "" : " in what was chosen");
    if (f->calls)
        return fail_calls(f, quoted);
    if (f->lines)
        return cmd_fail(CMD_FAILED,
                        "%s has no lines that were counted%s\nannot record --trace-lines counts "
                        "them; annot report --source shows sampled ones",
                        f->recording, selection_is_all(f->selection) ? "" : ", in what was chosen");
    if (f->memory)
        return cmd_fail(CMD_FAILED,
                        "%s has no samples of memory%s\nannot record --memory takes them",
                        f->recording, selection_is_all(f->selection) ? "" : " in what was chosen");
    if (f->off_cpu && !sampling->off_cpu)
        return cmd_fail(CMD_FAILED,
                        "%s has no data about time off the CPU\nannot record "
                        "--off-cpu records it",
                        f->recording);
    if (f->value)
        return cmd_fail(CMD_FAILED,
                        "no sample of %s has %s, in what was chosen\nannot info %s "
                        "lists the values of samples",
                        f->recording, f->value, quoted);
    bool sampled = sampling->rung != SAMPLING_OFF;
    struct store_info info;
    store_reader_info(f->reader, &info);
    if (f->values->range || (info.sample_count > 0 && !selection_is_all(f->selection)))
        return cmd_fail(CMD_FAILED,
                        "no sample of %s is in what was chosen%s%s\nannot report %s "
                        "lists the ranges, annot info %s the threads",
                        f->recording, f->values->range ? ": range " : "",
                        f->values->range ? f->values->range : "", quoted, quoted);
    if (!sampled)
        return cmd_fail(CMD_FAILED,
                        "%s has no samples: it was recorded without sampling\n"
                        "annot record takes samples without --sampling none",
                        f->recording);
    if (sampling->rung == SAMPLING_REMOTE)
        return cmd_fail(
            CMD_FAILED,
            "%s has no samples: no Python code ran while it was sampled\nwithout eBPF only "
            "Python functions are sampled; annot doctor tells what would allow more",
            f->recording);
    if (sampling->rung == SAMPLING_BPF && !f->off_cpu)
        return cmd_fail(CMD_FAILED,
                        sampling->off_cpu
                            ? "%s has no samples: hardly any CPU time was used\nannot flame "
                              "--off-cpu %s shows what was waited for"
                            : "%s has no samples: hardly any CPU time was used\n--rate "
                              "999 looks more often; without --off-cpu=none annot record also "
                              "records waits",
                        f->recording, quoted);
    return cmd_fail(CMD_FAILED, "%s has no %s%s%s\nannot info %s tells how it was recorded",
                    f->recording, f->off_cpu ? "waits" : "samples", reason[0] ? ": " : "", reason,
                    quoted);
}
