/* SPDX-License-Identifier: MIT */
/* Who had the processors, and for how many of them there was something to do. */
#include "findings_parts.h"
#include "number.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

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

/* ---- More threads than processors ------------------------------------------------------------ */

/* Busy threads that a native library began: they never run Python. */
struct native_threads {
    uint32_t count;
    uint32_t module; /* string: what most of them were begun by; of several, the last */
};

/* The outermost frame that is not the C library's. */
static uint32_t beginner_of(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t found = 0;
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
        uint32_t path = stacks_get_module(stacks, frame->module)->path;
        const char *name = text_base_name(trace_string(trace, path)->bytes);
        bool is_libc = strncmp(name, "libc.", 5) == 0 || strncmp(name, "libpthread", 10) == 0;
        if (frame->kind == FRAME_NATIVE && name[0] && !is_libc)
            found = path;
    }
    return found;
}

static struct native_threads find_native_threads(const struct findings *findings)
{
    const struct report_samples *samples = &findings->report->samples;
    struct native_threads found = {0};
    for (uint32_t i = 0; i < samples->all.thread_count; i++) {
        const struct thread_entry *entry = &samples->entries[i];
        uint32_t module = entry->label || !own_time_is_busy(samples->own, i)
                              ? 0
                              : beginner_of(findings->trace, entry->stack);
        const char *path = trace_string(findings->trace, module)->bytes;
        if (module == 0 || !strstr(path, ".so"))
            continue;
        found.count++;
        found.module = module;
    }
    return found;
}

static void advise_crowd(const struct findings *findings, const struct native_threads *native,
                         unsigned processors, struct finding *finding)
{
    const char *path = trace_string(findings->trace, native->module)->bytes;
    struct text text = text_init(finding->advice, FINDING_TEXT_SIZE);
    text_format(&text, "only %u run at once: try ", processors);
    if (native->count * 2 < findings_own(findings)->busy_count)
        text_format(&text, "fewer workers or threads");
    else if (strstr(path, "blas"))
        text_format(&text, "OPENBLAS_NUM_THREADS=1 in processes that work side by side");
    else
        text_format(&text, "fewer threads of that library (OMP_NUM_THREADS=1, "
                           "OPENBLAS_NUM_THREADS=1) in processes that work side by side");
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
    struct native_threads native = find_native_threads(findings);
    struct text text = text_init(finding->evidence, FINDING_TEXT_SIZE);
    text_format(&text, "They ran for %s and were ready for another %s.",
                number_time_short(wall->busy_ns, busy),
                number_time_short(wall->thread_ready_ns, ready));
    if (native.count > 0)
        text_format(&text, " Of %u busy threads, %u are those of %s.",
                    findings_own(findings)->busy_count, native.count,
                    text_base_name(trace_string(findings->trace, native.module)->bytes));
    advise_crowd(findings, &native, wall->processors, finding);
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
