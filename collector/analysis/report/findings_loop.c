/* SPDX-License-Identifier: MIT */
/* An event loop could not go on, while tasks of it were there to wait. */
#include "findings_parts.h"
#include "number.h"
#include "text.h"

#include <stdio.h>

/* Hundredths of the wall time; or one turn alone, which somebody feels. */
enum { LOOP_PART = 5, LOOP_LONG_NS = 500000000 };

/* The same of awaits in one place, and so many of them. */
enum { AWAIT_PART = 20, AWAITS_FEW = 3 };

static uint64_t longest_ns(const struct loop_place *places, uint32_t count)
{
    uint64_t max_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        max_ns = places[i].max_ns > max_ns ? places[i].max_ns : max_ns;
    return max_ns;
}

/* "read_settings (a.py:11)"; "its tasks": no sample shows what. */
static const char *name_place(const struct findings *findings, const struct loop_place *place,
                              char *buffer)
{
    if (place->label)
        return findings_place(findings, place->label, place->line, buffer);
    snprintf(buffer, FINDING_NAME_SIZE, "%s",
             place->purpose ? code_purpose_name(place->purpose) : "its tasks");
    return buffer;
}

static void tell_places(const struct findings *findings, const struct loop_place *places,
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

static void tell_loop(struct findings *findings, const struct loop_totals *totals)
{
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    struct finding *finding =
        findings_add(findings, "loop", totals->time_ns, findings_wall_ns(findings));
    if (!finding)
        return;
    tell_places(findings, places, count, finding);
    struct text text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    text_format(&text, "Meanwhile %s%u other %s could not go on.",
                totals->waiting > 1 ? "up to " : "", totals->waiting,
                totals->waiting > 1 ? "tasks" : "task");
    if (totals->loops > 1)
        text_format(&text, " The same in %u event loops: the share is that of the worst.",
                    totals->loops);
    bool waits = places[0].waiting_ns * 2 > places[0].time_ns;
    snprintf(finding->advice, FINDING_TEXT_SIZE, "%s",
             waits && places[0].reason == WAIT_SLEEP
                 ? "try await asyncio.sleep, or asyncio.to_thread"
             : waits ? "try its asynchronous counterpart, or asyncio.to_thread"
                     : "try a process pool (loop.run_in_executor), or smaller steps with await "
                       "asyncio.sleep(0) between them");
}

void find_loop(struct findings *findings)
{
    const struct loop_totals *totals = loop_blocks_totals(findings->report->loops);
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    bool much = findings_reach(totals->time_ns, findings_wall_ns(findings), LOOP_PART);
    if (count > 0 && (much || longest_ns(places, count) >= LOOP_LONG_NS))
        tell_loop(findings, totals);
}

bool findings_block_loop(const struct findings *findings, uint32_t label, uint64_t time_ns)
{
    const struct loop_place *places;
    uint32_t count = loop_blocks_places(findings->report->loops, &places);
    for (uint32_t i = 0; i < count; i++)
        if (label != 0 && places[i].label == label && places[i].waiting_ns * 2 > time_ns)
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

static void tell_await(struct findings *findings, const struct await_place *place)
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

/* The loop has nothing to do while one task after the other awaits something in one place: awaits
 * of several tasks at once are together longer than the loop waits. */
void find_awaits(struct findings *findings)
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
            tell_await(findings, &places[i]);
}
