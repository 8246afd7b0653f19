/* SPDX-License-Identifier: MIT */
/* Shared by the programs under test: a clock, a pace, and an account of emitted events.
 *
 * The account is JSON lines on standard output, written by the program itself and not by annot.
 * Times are CLOCK_MONOTONIC nanoseconds, taken just before and just after an event: the recorded
 * time must lie between them. */
#ifndef ANNOT_TEST_ACCOUNT_H
#define ANNOT_TEST_ACCOUNT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static inline int64_t emit_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void emit_sleep_until(int64_t time_ns)
{
    struct timespec until = {time_ns / 1000000000, time_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static inline void emit_sleep_ms(int64_t milliseconds)
{
    emit_sleep_until(emit_now() + milliseconds * 1000000);
}

/* At most `per_second` steps: reads the clock every 128. */
struct emit_pace {
    int64_t begin;
    uint64_t steps, per_second;
};

static inline struct emit_pace emit_pace_begin(uint64_t per_second)
{
    return (struct emit_pace){emit_now(), 0, per_second};
}

static inline void emit_pace_step(struct emit_pace *pace)
{
    if (++pace->steps % 128 != 0)
        return;
    int64_t due = pace->begin + (int64_t)(pace->steps * 1000000000 / pace->per_second);
    if (due > emit_now())
        emit_sleep_until(due);
}

#endif
