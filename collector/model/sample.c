/* SPDX-License-Identifier: MIT */
/* Names of what a sample says in numbers. Numbers of later versions have a name as well: unknown.
 * Thread-safety: constant tables. */
#include "sample.h"

const char *wait_reason_name(enum wait_reason reason)
{
    static const char *const names[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = "unknown",     [WAIT_PREEMPTED] = "preempted",
        [WAIT_DISK] = "disk",           [WAIT_PAGE_FAULT] = "page fault",
        [WAIT_PIPE] = "pipe",           [WAIT_SOCKET] = "socket",
        [WAIT_LOCK] = "lock",           [WAIT_GIL] = "the GIL",
        [WAIT_SLEEP] = "sleep",         [WAIT_POLL] = "poll",
        [WAIT_CHILD] = "child process", [WAIT_TERMINAL] = "terminal",
        [WAIT_SIGNAL] = "signal",       [WAIT_OTHER_FILE] = "other file",
    };
    return (unsigned)reason < WAIT_REASON_COUNT ? names[reason] : "unknown";
}

const char *stack_end_name(unsigned end)
{
    static const char *const names[STACK_END_COUNT] = {
        [STACK_NOT_WALKED] = "not walked",
        [STACK_COMPLETE] = "complete",
        [STACK_DEPTH] = "too deep",
        [STACK_NO_MAPPING] = "address in no known mapping",
        [STACK_NO_TABLE] = "no unwind table",
        [STACK_NO_RULE] = "no unwind rule",
        [STACK_FAULT] = "memory not readable",
        [STACK_FRAME_POINTER] = "code without table or frame pointer",
        [STACK_NO_REGISTER] = "a register was lost",
        [STACK_CYCLE] = "stack pointer does not move",
        [STACK_TORN] = "a frame was being made",
        [STACK_NO_THREAD] = "thread unknown to the interpreter",
        [STACK_BAD_FRAME] = "damaged frame",
        [STACK_NO_FILE] = "library not readable",
    };
    return end < STACK_END_COUNT ? names[end] : "unknown";
}

int64_t sample_ready_ns(const struct sample *sample)
{
    int64_t ready_ns = sample->reason == WAIT_PREEMPTED ? sample->time_ns : sample->end_ns;
    if (sample->wake_ns)
        ready_ns = sample->wake_ns;
    if (ready_ns > sample->end_ns)
        ready_ns = sample->end_ns;
    return ready_ns < sample->time_ns ? sample->time_ns : ready_ns;
}

struct off_share sample_off_share(const struct sample *sample)
{
    if (sample->kind != SAMPLE_OFF_CPU || sample->end_ns <= sample->time_ns)
        return (struct off_share){0};
    int64_t ready_ns = sample_ready_ns(sample);
    return (struct off_share){.runnable_ns = (uint64_t)sample->end_ns - (uint64_t)ready_ns,
                              .blocked_ns = (uint64_t)ready_ns - (uint64_t)sample->time_ns};
}

bool sample_cut(struct sample *sample, int64_t from_ns, int64_t to_ns)
{
    if (sample->kind != SAMPLE_OFF_CPU)
        return sample->time_ns >= from_ns && sample->time_ns < to_ns;
    if (sample->end_ns <= from_ns || sample->time_ns >= to_ns)
        return false;
    if (sample->time_ns < from_ns)
        sample->time_ns = from_ns;
    if (sample->wake_ns && sample->wake_ns < from_ns)
        sample->wake_ns = from_ns;
    if (sample->wake_ns >= to_ns) /* not in this part */
        sample->wake_ns = 0;
    if (sample->end_ns > to_ns)
        sample->end_ns = to_ns;
    return true;
}
