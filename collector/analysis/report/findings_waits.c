/* SPDX-License-Identifier: MIT */
/* Waits of a single own function, while no other thread of the program runs. */
#include "findings.h"

#include "number.h"
#include "report_samples.h"
#include "text.h"

#include <stdio.h>

/* ---- Event loops ----------------------------------------------------------------------------- */

/* Blocked event loops: a turn kept other tasks waiting. */

/* Hundredths of the wall time; or a single turn long enough to be noticed. */
enum { LOOP_PART = 5, LOOP_LONG_NS = 500000000 };

/* The same for awaits in one place, and their minimum number. */
enum { AWAIT_PART = 20, AWAITS_FEW = 3 };

static uint64_t longest_ns(const struct loop_place *places, uint32_t count)
{
    uint64_t max_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        max_ns = places[i].max_ns > max_ns ? places[i].max_ns : max_ns;
    return max_ns;
}

/* Writes "read_settings (a.py:11)"; "its tasks" without a sample. */
static const char *name_place(const struct findings *findings, const struct loop_place *place,
                              char *buffer)
{
    if (place->label)
        return findings_place(findings, place->label, place->line, buffer);
    snprintf(buffer, FINDING_NAME_SIZE, "%s",
             place->purpose ? code_purpose_name(place->purpose) : "its tasks");
    return buffer;
}

static void report_places(const struct findings *findings, const struct loop_place *places,
                          uint32_t count, struct finding *finding)
{
    char place[FINDING_NAME_SIZE], times[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE],
        longest[NUMBER_TEXT_SIZE];
    struct text text = text_init(finding->finding, FINDING_TEXT_SIZE);
    text_format(&text, "of the wall time the event loop was blocked by %s: ",
                name_place(findings, &places[0], place));
    if (places[0].count == 1)
        text_format(&text, "once, %s", number_time_short(places[0].max_ns, longest));
    else
        text_format(&text, "%s times, %s each, at most %s", number_count(places[0].count, times),
                    number_time_short(places[0].time_ns / places[0].count, mean),
                    number_time_short(places[0].max_ns, longest));
    text_format(&text, count > 1 ? "; %s by %s." : ".",
                number_time_short(count > 1 ? places[1].time_ns : 0, mean),
                count > 1 ? name_place(findings, &places[1], place) : "");
}

static void report_loop(struct findings *findings, const struct loop_totals *totals)
{
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    struct finding *finding =
        findings_add(findings, "loop", totals->time_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    report_places(findings, places, count, finding);
    struct text text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    text_format(&text, "Meanwhile %s%u other %s could not go on.",
                totals->waiting > 1 ? "up to " : "", totals->waiting,
                totals->waiting > 1 ? "tasks" : "task");
    if (totals->loops > 1)
        text_format(&text, " The same in %u event loops: the share is that of the worst.",
                    totals->loops);
    bool waits = places[0].blocked_ns * 2 > places[0].time_ns;
    snprintf(finding->advice, FINDING_TEXT_SIZE, "%s",
             waits && places[0].reason == WAIT_SLEEP
                 ? "try await asyncio.sleep, or asyncio.to_thread"
             : waits ? "try its asynchronous counterpart, or asyncio.to_thread"
                     : "try a process pool (loop.run_in_executor), or smaller steps with await "
                       "asyncio.sleep(0) between them");
}

static void find_loop(struct findings *findings)
{
    const struct loop_totals *totals = loop_blocks_totals(findings->report->loops);
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    bool much = findings_reach(totals->time_ns, findings_wall_ns(findings), LOOP_PART);
    if (count > 0 && (much || longest_ns(places, count) >= LOOP_LONG_NS))
        report_loop(findings, totals);
}

/* Returns true if more than half of the waits in that function blocked an event loop. */
static bool findings_block_loop(const struct findings *findings, uint32_t label, uint64_t time_ns)
{
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    for (uint32_t i = 0; i < count; i++)
        if (label != 0 && places[i].label == label && places[i].blocked_ns * 2 > time_ns)
            return true;
    return false;
}

/* ---- Awaits ---------------------------------------------------------------------------------- */

static uint64_t polled_ns(const struct findings *findings)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(findings->report->samples.wall, &waits);
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        sum_ns += waits[i].reason == WAIT_POLL ? waits[i].time_ns : 0;
    return sum_ns;
}

static void report_await(struct findings *findings, const struct await_place *place)
{
    char where[FINDING_NAME_SIZE], count[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE];
    struct finding *finding =
        findings_add(findings, "blocked", place->total_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    code_file_location(findings->trace, place->file, place->line, where, sizeof(where));
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the wall time %s (%s) awaits %s: %s times, %s each, one by one.",
             trace_string(findings->trace, place->function)->bytes, where,
             trace_string(findings->trace, place->awaits)->bytes, number_count(place->count, count),
             number_time_short(place->total_ns / place->count, mean));
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "try several at once (asyncio.gather, TaskGroup), if one does not need the other");
}

/* The loop is idle while one task after the other awaits an operation in one place; awaits of
 * concurrent tasks would add up to more than the loop's waits. */
static void find_awaits(struct findings *findings)
{
    enum { ALONE_TENTHS = 11 };

    const struct await_place *places;
    uint32_t count = awaits_places(findings->report->awaits, &places);
    uint64_t wall_ns = findings_wall_ns(findings), loop_ns = polled_ns(findings), all_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!awaits_names_inside(trace_string(findings->trace, places[i].awaits)->bytes))
            all_ns += places[i].total_ns;
    if (all_ns * 10 > loop_ns * ALONE_TENTHS)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (places[i].function != 0 && places[i].count >= AWAITS_FEW &&
            !awaits_names_inside(trace_string(findings->trace, places[i].awaits)->bytes) &&
            findings_reach(places[i].total_ns, wall_ns, AWAIT_PART))
            report_await(findings, &places[i]);
}

/* Hundredths of the wall time. */
enum { WAIT_PART = 20, FAULT_PART = 10 };

/* Minimum number of waits for a statement about their mean. */
enum { WAITS_FEW = 3 };

/* Polling: short sleeps in one place. */
enum { POLLS_FEW = 50, POLL_NS = 20000000 };

struct wait_words {
    const char *does, *advice;
};

/* Waits that the user can reduce: not those for events or other threads. */
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

/* Returns the sum of all waits of that cause in that function. */
static struct own_wait find_wait(const struct findings *findings, const struct wall_wait *wanted)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label == wanted->label && waits[i].kind == wanted->kind)
            return waits[i];
    return (struct own_wait){0};
}

/* Finds waits of other threads for a lock in the same function, which may hold the lock while it
 * waits. */
static const struct own_wait *find_convoy(const struct findings *findings,
                                          const struct wall_wait *wait)
{
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    for (uint32_t i = 0; i < count && wait->reason != WAIT_LOCK; i++)
        if (waits[i].label == wait->label && waits[i].kind == WAIT_LOCK &&
            findings_reach(waits[i].blocked_ns, findings_wall_ns(findings), 2 * WAIT_PART))
            return &waits[i];
    return NULL;
}

static void report_convoy(const struct findings *findings, const struct own_wait *lock,
                          struct finding *finding)
{
    char count[NUMBER_TEXT_SIZE], mean[NUMBER_TEXT_SIZE], place[FINDING_NAME_SIZE];
    snprintf(finding->evidence, FINDING_TEXT_SIZE,
             "Meanwhile others wait for a lock in %s: %s times, %s "
             "each.",
             findings_place(findings, lock->label, lock->line, place),
             number_count(lock->count, count),
             number_time_short(lock->blocked_ns / (lock->count ? lock->count : 1), mean));
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try to wait without holding the lock");
}

static const char *advice_of(const struct findings *findings, const struct own_wait *all)
{
    bool outside = all->reason == WAIT_SLEEP || all->reason == WAIT_SOCKET;
    if (all->count < WAITS_FEW)
        return "";
    if (all->reason == WAIT_SLEEP && all->count >= POLLS_FEW &&
        all->blocked_ns / all->count < POLL_NS)
        return "if it asks again and again for something, try waiting for that (Event, Condition, "
               "join)";
    if (outside && findings->report->samples.by_wall)
        return "try several at once (threads, asyncio), if one does not need the other";
    return wait_words[all->reason].advice;
}

static void report_wait(struct findings *findings, const struct wall_wait *wait)
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
                 number_time_short(all.blocked_ns / all.count, mean),
                 findings->report->samples.by_wall ? ", one by one" : "");
    const struct own_wait *convoy = find_convoy(findings, wait);
    if (convoy)
        report_convoy(findings, convoy, finding);
    else
        snprintf(finding->advice, FINDING_TEXT_SIZE, "%s", advice_of(findings, &all));
}

static void find_waits(struct findings *findings)
{
    const struct wall_wait *waits;
    uint32_t count = wall_waits(findings->report->samples.wall, &waits);
    for (uint32_t i = 0; i < count; i++)
        if (waits[i].label != 0 &&
            !findings_block_loop(findings, waits[i].label, waits[i].time_ns) &&
            wait_words[waits[i].reason].does &&
            findings_reach(waits[i].time_ns, findings_quiet_ns(findings), WAIT_PART))
            report_wait(findings, &waits[i]);
}

static void find_faults(struct findings *findings)
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

const struct finding_rule findings_of_waits[] = {
    {FINDING_NEEDS_WAITS, find_waits},
    {FINDING_NEEDS_WAITS, find_awaits},
    {FINDING_NEEDS_WAITS, find_faults},
    {FINDING_NEEDS_SAMPLES, find_loop},
    {0},
};
