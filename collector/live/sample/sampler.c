/* SPDX-License-Identifier: MIT */
/* Picks the highest working rung of the ladder and delegates every call to it. Records the rung in
 * the trace, and why a higher one does not work. Thread-safety: one thread per object. */
#include "sampler.h"

#include "ladder.h"
#include "sampler_rung.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    REASON_MAX = 300,
};

static const struct sampler_rung *const rungs[] = {
    &sampler_rung_bpf,
    &sampler_rung_remote,
};

static int emit_string(struct trace *trace, const char *text, uint32_t *ret_string)
{
    int64_t string = trace_string_add(trace, text, strlen(text));
    if (string < 0)
        return (int)string;
    *ret_string = (uint32_t)string;
    return 0;
}

/* Records in the trace the rung, and the obstacle to a higher one. */
static int set_sampling(const struct sampler_options *options, enum sampling_rung rung,
                        const char *reason, const char *hint)
{
    struct trace_sampling *sampling = trace_sampling(options->trace);
    uint32_t reason_string = 0, hint_string = 0;
    int error = emit_string(options->trace, reason, &reason_string);
    if (!error)
        error = emit_string(options->trace, hint, &hint_string);
    sampling->revision++;
    sampling->rung = (uint8_t)rung;
    sampling->off_cpu = options->off_cpu && rung == SAMPLING_BPF;
    sampling->frequency_hz = options->frequency_hz;
    sampling->first_hz = rung > SAMPLING_NONE ? options->first_hz : 0;
    sampling->slowed = false;
    sampling->off_cpu_threshold_ns = options->off_cpu_threshold_ns;
    sampling->reason = reason_string;
    sampling->hint = hint_string;
    return error;
}

/* Annotations have priority: their processes need descriptors, too. */
static bool has_files(char *reason)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= SAMPLER_FILES_LEAST)
        return true;
    snprintf(reason, REASON_MAX, "no more than %u files may be open, and the processes need them",
             (unsigned)files.rlim_cur);
    return false;
}

/* Opens the first rung that works. The reason is that of the highest that does not. */
static int open_rung(struct sampler *sampler, const struct sampler_options *options, char *reason)
{
    reason[0] = 0;
    if (!has_files(reason))
        return 0;
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        char why[REASON_MAX] = "";
        if (options->rung_max && rungs[i]->rung > options->rung_max) {
            if (!reason[0])
                snprintf(reason, REASON_MAX, "not wanted");
            continue;
        }
        int error = rungs[i]->create(options, &sampler->state, why, sizeof(why));
        if (error == -ENOMEM)
            return error;
        if (!error) {
            sampler->rung = rungs[i];
            return 0;
        }
        if (!reason[0])
            memcpy(reason, why, sizeof(why));
    }
    return 0;
}

/* The ladder explains causes and remedies better than the error of one call. */
static const char *explain(enum sampling_rung rung, struct ladder_step steps[LADDER_STEPS],
                           char reason[REASON_MAX])
{
    ladder_try(steps);
    for (size_t i = 0; i < LADDER_STEPS && steps[i].rung > rung; i++) {
        if (steps[i].possible || !steps[i].reason[0])
            continue;
        snprintf(reason, REASON_MAX, "%s", steps[i].reason);
        return steps[i].hint;
    }
    return "";
}

int sampler_create(const struct sampler_options *options, struct sampler **ret_sampler)
{
    struct ladder_step steps[LADDER_STEPS];
    char reason[REASON_MAX];
    struct sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return -ENOMEM;
    int error = open_rung(sampler, options, reason);
    enum sampling_rung rung = sampler->rung ? sampler->rung->rung : SAMPLING_NONE;
    bool limited = options->rung_max && options->rung_max < SAMPLING_BPF;
    const char *hint = rung < SAMPLING_BPF && !limited ? explain(rung, steps, reason) : "";
    if (!error)
        error = set_sampling(options, rung, reason, hint);
    if (error) {
        sampler_destroy(sampler);
        return error;
    }
    *ret_sampler = sampler;
    return 0;
}

void sampler_destroy(struct sampler *sampler)
{
    if (!sampler)
        return;
    if (sampler->rung)
        sampler->rung->destroy(sampler->state);
    free(sampler);
}

int sampler_track(struct sampler *sampler, int32_t pid, unsigned flags)
{
    return sampler->rung ? sampler->rung->track(sampler->state, pid, flags) : 0;
}

int sampler_add_range(struct sampler *sampler, const struct sampler_range_request *wish,
                      struct sampler_range_result *ret_result)
{
    *ret_result = (struct sampler_range_result){0};
    bool can = sampler->rung && sampler->rung->add_range;
    return can ? sampler->rung->add_range(sampler->state, wish, ret_result) : -EOPNOTSUPP;
}

int sampler_fd(const struct sampler *sampler)
{
    return sampler->rung ? sampler->rung->fd(sampler->state) : -1;
}

int sampler_timeout_ms(const struct sampler *sampler)
{
    return sampler->rung ? sampler->rung->timeout_ms(sampler->state) : -1;
}

int sampler_step(struct sampler *sampler)
{
    return sampler->rung ? sampler->rung->step(sampler->state) : 0;
}

int sampler_emit_waiting(struct sampler *sampler)
{
    bool can = sampler->rung && sampler->rung->emit_waiting;
    return can ? sampler->rung->emit_waiting(sampler->state) : 0;
}

int sampler_finish(struct sampler *sampler)
{
    return sampler->rung ? sampler->rung->finish(sampler->state) : 0;
}
