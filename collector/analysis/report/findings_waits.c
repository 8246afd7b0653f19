/* SPDX-License-Identifier: MIT */
/* One own function waits, while nothing else of the program runs. */
#include "findings_parts.h"
#include "number.h"

#include <stdio.h>

/* From so many hundredths of the wall time on. */
enum { WAIT_PART = 20, FAULT_PART = 10 };

/* So many waits say something of their mean. */
enum { WAITS_FEW = 3 };

/* Short sleeps in one place. */
enum { POLLS_FEW = 50, POLL_NS = 20000000 };

struct wait_words {
    const char *does, *advice;
};

/* Waits that somebody can do something about: not those for events or other threads. */
static const struct wait_words wait_words[WAIT_REASON_COUNT] = {
    [WAIT_SLEEP] = {"sleeps", ""},
    [WAIT_SOCKET] = {"waits for the network", ""},
    [WAIT_DISK] = {"waits for the disk",
                   "try fewer and larger reads, writes and syncs, or another thread for them"},
    [WAIT_PIPE] = {"waits for a pipe", "the time is spent by the program at its other end"},
    [WAIT_CHILD] = {"waits for a child process", "the time is spent in that process"},
    [WAIT_LOCK] = {"waits for a lock", "try to hold it for less time, or a lock for each part of "
                                       "the data"},
    [WAIT_TERMINAL] = {"waits for the terminal", ""},
};

/* What is known of all waits of that cause in that function. */
static struct own_wait find_wait(const struct findings *findings, const struct wall_wait *wanted)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label == wanted->label && waits[i].kind == wanted->kind)
            return waits[i];
    return (struct own_wait){0};
}

/* Other threads wait for a lock in the function that waits: does it hold the lock meanwhile? */
static const struct own_wait *find_convoy(const struct findings *findings,
                                          const struct wall_wait *wait)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count && wait->reason != WAIT_LOCK; i++)
        if (waits[i].label == wait->label && waits[i].kind == WAIT_LOCK &&
            findings_reach(waits[i].waiting_ns, findings_wall_ns(findings), 2 * WAIT_PART))
            return &waits[i];
    return NULL;
}

static void tell_convoy(const struct findings *findings, const struct own_wait *lock,
                        struct finding *finding)
{
    char count[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE], place[FINDING_NAME_SIZE];
    snprintf(finding->evidence, FINDING_TEXT_SIZE,
             "Meanwhile others wait for a lock in %s: %s times, %s "
             "each.",
             findings_place(findings, lock->label, lock->line, place),
             number_count(lock->count, count),
             number_time_short(lock->waiting_ns / (lock->count ? lock->count : 1), mean));
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try to wait without holding the lock");
}

static const char *advice_of(const struct findings *findings, const struct own_wait *all)
{
    bool outside = all->reason == WAIT_SLEEP || all->reason == WAIT_SOCKET;
    if (all->count < WAITS_FEW)
        return "";
    if (all->reason == WAIT_SLEEP && all->count >= POLLS_FEW &&
        all->waiting_ns / all->count < POLL_NS)
        return "if it asks again and again for something, try waiting for that (Event, Condition, "
               "join)";
    if (outside && findings->report->samples.by_wall)
        return "try several at once (threads, asyncio), if one does not need the other";
    return wait_words[all->reason].advice;
}

static void tell_wait(struct findings *findings, const struct wall_wait *wait)
{
    const struct wait_words *words = &wait_words[wait->reason];
    struct own_wait all = find_wait(findings, wait);
    char place[FINDING_NAME_SIZE], mean[NUMBER_TEXT_SIZE], count[NUMBER_TEXT_SIZE];
    struct finding *finding =
        findings_add(findings, "blocked", wait->time_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    findings_place(findings, wait->label, all.line ? all.line : wait->line, place);
    if (all.count < WAITS_FEW)
        snprintf(finding->finding, FINDING_TEXT_SIZE, "of the wall time %s in %s.", words->does,
                 place);
    else
        snprintf(finding->finding, FINDING_TEXT_SIZE,
                 "of the wall time %s in %s: %s times, %s each%s.", words->does, place,
                 number_count(all.count, count),
                 number_time_short(all.waiting_ns / all.count, mean),
                 findings->report->samples.by_wall ? ", one by one" : "");
    const struct own_wait *convoy = find_convoy(findings, wait);
    if (convoy)
        tell_convoy(findings, convoy, finding);
    else
        snprintf(finding->advice, FINDING_TEXT_SIZE, "%s", advice_of(findings, &all));
}

void find_waits(struct findings *findings)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(findings->report->samples.wall, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label != 0 &&
            !findings_block_loop(findings, waits[i].label, waits[i].time_ns) &&
            wait_words[waits[i].reason].does &&
            findings_reach(waits[i].time_ns, findings_wall_ns(findings), WAIT_PART))
            tell_wait(findings, &waits[i]);
}

void find_faults(struct findings *findings)
{
    const struct wait_share *wait = &findings->report->samples.all.waits[WAIT_PAGE_FAULT];
    char count[NUMBER_TEXT_SIZE], time[NUMBER_TEXT_SIZE];
    if (!findings_reach(wait->total_ns, findings_wall_ns(findings), FAULT_PART))
        return;
    struct finding *finding =
        findings_add(findings, "page_faults", wait->total_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the wall time waits for memory to be read from disk: %s times, %s.",
             number_count(wait->count, count), number_time_short(wait->total_ns, time));
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try less memory at once; the machine may be swapping");
}
