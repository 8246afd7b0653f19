/* SPDX-License-Identifier: MIT */
/* The sentences of a headline. */
#include "report_print.h"

#include "term.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* In hundredths of the wall: causes below the first are "other waits"; from the second on they name
 * their places, which have at least the third. */
enum { CAUSE_MIN = 1, CAUSE_PLACES = 10, PLACE_MIN = 5, PLACES_MAX = 2, SAMPLES_MIN = 5 };

const char *wait_phrase(unsigned reason)
{
    static const char *const phrases[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = "waiting",
        [WAIT_PREEMPTED] = "ready but without a processor",
        [WAIT_DISK] = "waiting for the disk",
        [WAIT_PAGE_FAULT] = "waiting for memory",
        [WAIT_PIPE] = "waiting for a pipe",
        [WAIT_SOCKET] = "waiting for a socket",
        [WAIT_LOCK] = "waiting for a lock",
        [WAIT_GIL] = "waiting for the GIL",
        [WAIT_SLEEP] = "asleep",
        [WAIT_POLL] = "waiting for events",
        [WAIT_CHILD] = "waiting for a child process",
        [WAIT_TERMINAL] = "waiting for the terminal",
        [WAIT_SIGNAL] = "waiting for a signal",
        [WAIT_OTHER_FILE] = "waiting for a device",
    };
    return phrases[reason < WAIT_REASON_COUNT ? reason : WAIT_UNKNOWN];
}

/* ---- The wall time --------------------------------------------------------------------------- */

/* One part of the sentence. */
struct part {
    unsigned reason; /* WAIT_PREEMPTED: ready; WAIT_REASON_COUNT: other waits */
    uint64_t time_ns;
};

static int largest_first(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return (int)a->reason - (int)b->reason;
}

/* Waits by cause, the longest first, small ones together at the end. Returns how many. */
static unsigned find_parts(const struct report_facts *facts,
                           struct part parts[WAIT_REASON_COUNT + 1])
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    const struct wall_wait *waits;
    uint32_t wait_count = wall_waits(facts->wall, &waits);
    uint64_t sums[WAIT_REASON_COUNT] = {[WAIT_PREEMPTED] = totals->ready_ns}, other_ns = 0;
    unsigned count = 0;
    for (uint32_t i = 0; i < wait_count; i++)
        sums[waits[i].reason] += waits[i].time_ns;
    for (unsigned reason = 0; reason < WAIT_REASON_COUNT; reason++)
        if (sums[reason] * 100 >= totals->wall_ns * CAUSE_MIN && sums[reason] > 0)
            parts[count++] = (struct part){reason, sums[reason]};
        else
            other_ns += sums[reason];
    qsort(parts, count, sizeof(*parts), largest_first);
    if (other_ns > 0)
        parts[count++] = (struct part){WAIT_REASON_COUNT, other_ns};
    return count;
}

/* " (call_api 57 %, query_db 29 %)" */
static void add_places(const struct trace *trace, const struct report_facts *facts,
                       const struct part *part, struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    const struct wall_wait *waits;
    uint32_t count = wall_waits(facts->wall, &waits);
    char name[128], share[NUMBER_TEXT_SIZE];
    unsigned told = 0;
    if (part->time_ns * 100 < totals->wall_ns * CAUSE_PLACES)
        return;
    for (uint32_t i = 0; i < count && told < PLACES_MAX; i++) {
        if (waits[i].reason != part->reason || waits[i].label == 0 ||
            waits[i].time_ns * 100 < totals->wall_ns * PLACE_MIN)
            continue;
        code_name(trace, waits[i].label, name, sizeof(name));
        text_format(text, "%s%s", told++ ? ", " : " (", name);
        if (waits[i].time_ns < part->time_ns)
            text_format(text, " %s", number_share(waits[i].time_ns, totals->wall_ns, share));
    }
    if (told)
        text_format(text, ")");
}

static void add_parts(const struct trace *trace, const struct report_facts *facts,
                      struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    struct part parts[WAIT_REASON_COUNT + 1];
    unsigned count = find_parts(facts, parts);
    char share[NUMBER_TEXT_SIZE];
    text_format(text, "%s running", number_share(totals->running_ns, totals->wall_ns, share));
    if (totals->processors > 1 && totals->full_ns * 100 >= totals->wall_ns)
        text_format(text,
                    totals->processors == 2 ? " (%s on both processors)"
                                            : " (%s on all %u processors)",
                    number_share(totals->full_ns, totals->wall_ns, share), totals->processors);
    for (unsigned i = 0; i < count; i++) {
        bool other = parts[i].reason == WAIT_REASON_COUNT;
        text_format(text, ", %s %s", number_share(parts[i].time_ns, totals->wall_ns, share),
                    other ? "other waits" : wait_phrase(parts[i].reason));
        if (!other)
            add_places(trace, facts, &parts[i], text);
    }
    if (totals->short_ns * 100 >= totals->wall_ns)
        text_format(text, ", %s in short waits",
                    number_share(totals->short_ns, totals->wall_ns, share));
    if (totals->absent_ns * 100 >= totals->wall_ns)
        text_format(text, ", %s without a process",
                    number_share(totals->absent_ns, totals->wall_ns, share));
}

/* Without waits, CPU time is all that is known. */
static void add_cpu(const struct trace *trace, const struct report_facts *facts, struct text *text)
{
    uint64_t wall_ns = (uint64_t)facts->totals->wall_ns, cpu_ns = facts->samples->all.cpu_ns;
    char share[NUMBER_TEXT_SIZE], rest[NUMBER_TEXT_SIZE];
    if (facts->samples->all.sample_count == 0)
        text_format(text, "no CPU time was sampled");
    else if (own_time_totals(facts->own)->busy_count > 1 || cpu_ns > wall_ns)
        text_format(text, "%.2f processors used, on average",
                    wall_ns ? (double)cpu_ns / (double)wall_ns : 0.0);
    else
        text_format(text, "%s running, %s not", number_share(cpu_ns, wall_ns, share),
                    number_share(wall_ns - cpu_ns, wall_ns, rest));
    if (!trace_sampling_get(trace)->off_cpu)
        text_format(text, " (what it waited for was not recorded)");
}

static void add_processors(const struct report_facts *facts, struct text *text)
{
    const struct wall_totals *totals = wall_totals(facts->wall);
    if (totals->processors < 2 || own_time_totals(facts->own)->busy_count < 2)
        return;
    text_format(text, " %.2f of %u processors used.",
                (double)totals->busy_ns / (double)(totals->wall_ns ? totals->wall_ns : 1),
                totals->processors);
}

size_t headline_wall(const struct trace *trace, const struct report_facts *facts, char *buffer,
                     size_t size)
{
    struct text text = text_init(buffer, size);
    char time[NUMBER_TEXT_SIZE];
    text_format(&text, "%s wall: ", number_time_short((uint64_t)facts->totals->wall_ns, time));
    if (facts->wall)
        add_parts(trace, facts, &text);
    else if (facts->own)
        add_cpu(trace, facts, &text);
    else
        text_format(&text, "nothing was sampled");
    text_format(&text, ".");
    if (facts->wall)
        add_processors(facts, &text);
    return text.length;
}

/* ---- The hottest function -------------------------------------------------------------------- */

size_t headline_hottest(const struct trace *trace, const struct report_facts *facts, char *buffer,
                        size_t size)
{
    struct text text = text_init(buffer, size);
    const struct own_row *rows;
    uint32_t count = facts->own ? own_time_rows(facts->own, false, &rows) : 0;
    char name[256], place[512], time[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    if (count == 0 || rows[0].label == 0 || rows[0].sample_count < SAMPLES_MIN)
        return 0;
    uint64_t cpu_ns = own_time_totals(facts->own)->cpu_ns;
    code_name(trace, rows[0].label, name, sizeof(name));
    code_location(trace, rows[0].label, rows[0].line, place, sizeof(place));
    text_format(&text, "%s", name);
    if (place[0])
        text_format(&text, " (%s)", place);
    text_format(&text, ", %s", number_time_short(rows[0].cpu_ns, time));
    text_format(&text, ", %s of", number_share(rows[0].cpu_ns, cpu_ns, share));
    text_format(&text, " %s CPU time.", number_time_short(cpu_ns, time));
    return text.length;
}
