/* SPDX-License-Identifier: MIT */
/* Who had the processors, and for how many of them there was something to do. */
#include "findings_parts.h"
#include "number.h"
#include "text.h"

#include <stdio.h>

/* From so many hundredths on. */
enum {
    HOST_PART = 20,   /* of the wall time */
    CROWD_PART = 30,  /* of the wall time */
    GIL_PART = 30,    /* of the time of busy threads */
    SERIAL_PART = 25, /* of the wall time */
};

void find_host(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct report_facts *facts = &findings->report->facts;
    double wall_ms = (double)wall->wall_ns / 1e6;
    if (!findings_reach(wall->contended_ns, wall->wall_ns, HOST_PART))
        return;
    struct finding *finding = findings_add(findings, "host", wall->contended_ns, wall->wall_ns);
    if (!finding)
        return;
    struct text text = text_init(finding->finding, FINDING_TEXT_SIZE);
    text_format(&text, "of the wall time it waited for a processor");
    if ((facts->others_ms + facts->stolen_ms) * 10 < wall->wall_ns / 1000000)
        text_format(&text, " that others had: programs, the host of a virtual machine, a quota");
    if (facts->others_ms * 10 >= wall->wall_ns / 1000000)
        text_format(&text, ": other programs used %.1f of %u", (double)facts->others_ms / wall_ms,
                    wall->processors);
    if (facts->stolen_ms * 10 >= wall->wall_ns / 1000000)
        text_format(&text, ": the host of the virtual machine took %.1f of %u",
                    (double)facts->stolen_ms / wall_ms, wall->processors);
    text_format(&text, ".");
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try a quiet machine");
}

/* The program's own threads are too many. */
void find_crowd(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    char busy[NUMBER_TEXT_SIZE], ready[NUMBER_TEXT_SIZE];
    if (wall->processors == 0 || !findings_reach(wall->crowded_ns, wall->wall_ns, CROWD_PART) ||
        findings_own(findings)->busy_count <= wall->processors)
        return;
    struct finding *finding =
        findings_add(findings, "oversubscribed", wall->crowded_ns, wall->wall_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the wall time more threads were ready than the %u processors can run.",
             wall->processors);
    snprintf(finding->evidence, FINDING_TEXT_SIZE, "They ran for %s and were ready for another %s.",
             number_time_short(wall->busy_ns, busy),
             number_time_short(wall->thread_ready_ns, ready));
    snprintf(finding->advice, FINDING_TEXT_SIZE,
             "only %u run at once: try fewer workers or threads (OMP_NUM_THREADS, "
             "OPENBLAS_NUM_THREADS for numerical libraries)",
             wall->processors);
}

static bool waits_for_gil(const struct findings *findings)
{
    const struct sample_stats *stats = &findings->report->samples.all;
    uint64_t gil_ns = stats->waits[WAIT_GIL].total_ns;
    return findings_reach(gil_ns, gil_ns + stats->all.cpu_ns, GIL_PART) &&
           stats->all.sample_count >= SAMPLES_FEW;
}

void find_gil(struct findings *findings)
{
    const struct sample_stats *stats = &findings->report->samples.all;
    uint64_t gil_ns = stats->waits[WAIT_GIL].total_ns, busy_ns = gil_ns + stats->all.cpu_ns;
    const struct own_wait *waits;
    uint32_t count = own_time_waits(findings->report->samples.own, &waits);
    char place[FINDING_NAME_SIZE];
    if (!waits_for_gil(findings))
        return;
    struct finding *finding = findings_add(findings, "gil", gil_ns, busy_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of what %u busy threads did was waiting for the GIL, which lets one of "
             "them run Python at a time.",
             findings_own(findings)->busy_count);
    for (uint32_t i = 0; i < count; i++) {
        if (waits[i].reason != WAIT_GIL || waits[i].label == 0)
            continue;
        snprintf(finding->evidence, FINDING_TEXT_SIZE, "Most waited in %s.",
                 findings_place(findings, waits[i].label, waits[i].line, place));
        break;
    }
    snprintf(finding->advice, FINDING_TEXT_SIZE, "try processes in place of threads");
}

/* A program that uses several processors, but not all the time. Amdahl's law: with a serial part s
 * nothing makes it faster than 1 / s times what it would take on one processor. */
void find_serial(struct findings *findings)
{
    const struct wall_totals *wall = wall_totals(findings->report->samples.wall);
    const struct own_row *purposes = findings_own(findings)->purposes, *rows;
    uint64_t begin_ns = purposes[PURPOSE_IMPORT].cpu_ns + purposes[PURPOSE_START_UP].cpu_ns;
    uint64_t single_ns = wall->single_ns > begin_ns ? wall->single_ns - begin_ns : 0;
    char place[FINDING_NAME_SIZE];
    if (waits_for_gil(findings)) /* which lets one of them run */
        return;
    if (wall->processors < 2 || findings_own(findings)->busy_count < 2 || wall->busy_ns == 0 ||
        !findings_reach(single_ns, wall->wall_ns, SERIAL_PART) ||
        !findings_reach(wall->parallel_ns, wall->wall_ns, SERIAL_PART))
        return;
    struct finding *finding = findings_add(findings, "serial", wall->single_ns, wall->wall_ns);
    if (!finding)
        return;
    snprintf(finding->finding, FINDING_TEXT_SIZE,
             "of the wall time only one thread had something to do.");
    snprintf(finding->evidence, FINDING_TEXT_SIZE,
             "So however many processors there are, this program can be at most %.1f "
             "times as fast as on one.",
             (double)wall->busy_ns / (double)wall->single_ns);
    if (own_time_rows(findings->report->samples.own, false, &rows) > 0 && rows[0].label)
        snprintf(finding->advice, FINDING_TEXT_SIZE, "try to share out what %s does",
                 findings_place(findings, rows[0].label, rows[0].line, place));
}
