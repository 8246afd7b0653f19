/* SPDX-License-Identifier: MIT */
/* The headline's sentences about memory: the peak and who held it, the end, and churn. Each is a
 * number of the tables. */
#include "headline.h"
#include "report.h"

#include "code_owner.h"
#include "heap_stats.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <math.h>
#include <stdint.h>

/* Hundredths: holders below the first are left out, as is churn below the second. */
enum { HOLDER_MIN = 10, CHURN_MIN = 25, HOLDERS_MAX = 3 };

/* "104.6 MiB", of estimates "104.6 MiB ± 7.2 MiB". */
static void add_bytes(struct text *text, uint64_t bytes, double variance)
{
    char size[NUMBER_TEXT_SIZE];
    uint64_t deviation = (uint64_t)sqrt(variance);
    text_format(text, "%s", number_size(bytes, size));
    if (deviation > 0)
        text_format(text, " \u00b1 %s", number_size(deviation, size));
}

static void add_place(const struct trace *trace, const struct heap_row *row, struct text *text)
{
    char name[128], place[256];
    code_name(trace, row->label, name, sizeof(name));
    text_format(text, "%s", name);
    if (code_location(trace, row->label, row->line, place, sizeof(place)) > 0)
        text_format(text, " (%s)", place);
}

/* ", in step/load": the ranges that were open at the allocation that made the peak. */
static void add_range(const struct trace *trace, uint32_t path, struct text *text)
{
    enum { RANGES_MAX = 8 };

    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t paths[RANGES_MAX];
    uint32_t count = path ? stacks_paths(stacks, path, paths, RANGES_MAX) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = stacks_get_path(stacks, paths[i])->name;
        text_format(text, "%s%s", i ? "/" : ", in ", trace_string(trace, name)->bytes);
    }
}

/* The largest holder after `before`, at the peak or at the end; NULL: none. */
static const struct heap_row *next_holder(const struct heap_stats *heap, bool at_end,
                                          const struct heap_row *before)
{
    const struct heap_row *rows, *found = NULL;
    uint32_t count = heap_stats_places(heap, &rows);
    for (uint32_t i = 0; i < count; i++) {
        int64_t bytes = at_end ? rows[i].held : rows[i].peak;
        int64_t most = before ? (at_end ? before->held : before->peak) : INT64_MAX;
        bool later = bytes < most || (bytes == most && &rows[i] > before);
        if (rows[i].label && later && (!found || bytes > (at_end ? found->held : found->peak)))
            found = &rows[i];
    }
    return found;
}

/* "; 54.4 MiB of it by a (holder.py:2), 50.3 MiB by c (holder.py:3)" */
static void add_holders(const struct trace *trace, const struct heap_stats *heap, bool at_end,
                        struct text *text)
{
    const struct heap_row *sums = &heap_stats_totals(heap)->sums, *row = NULL;
    double whole = (double)(at_end ? sums->held : sums->peak);
    for (unsigned named = 0; named < HOLDERS_MAX; named++) {
        row = next_holder(heap, at_end, row);
        int64_t bytes = !row ? 0 : at_end ? row->held : row->peak;
        if (bytes <= 0 || (double)bytes * 100 < whole * HOLDER_MIN)
            return;
        text_format(text, named ? ", " : "; ");
        add_bytes(text, (uint64_t)bytes, at_end ? row->held_variance : row->peak_variance);
        text_format(text, named ? " by " : " of it by ");
        add_place(trace, row, text);
    }
}

/* True if a line holds much more at the end than at the peak. */
static bool has_new_holder(const struct heap_stats *heap)
{
    const struct heap_row *rows;
    uint32_t count = heap_stats_places(heap, &rows);
    double least = (double)heap_stats_totals(heap)->sums.held * HOLDER_MIN / 100;
    bool found = false;
    for (uint32_t i = 0; i < count; i++)
        found |= rows[i].label && (double)(rows[i].held - rows[i].peak) >= least;
    return found;
}

/* True if much is still held, and by others than at the peak, or by a killed process. */
static bool names_end(const struct trace *trace, const struct heap_stats *heap)
{
    const struct heap_row *sums = &heap_stats_totals(heap)->sums;
    const struct heap_process *processes;
    bool killed = false;
    uint32_t count = heap_stats_processes(heap, &processes);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t end = trace_process_get(trace, processes[i].sums.process)->end;
        killed |= end == PROCESS_SIGNALED || end == PROCESS_VANISHED;
    }
    return sums->held * 100 >= sums->peak * HOLDER_MIN && (killed || has_new_holder(heap));
}

/* How the process ended whose memory is the last known. */
static const char *end_phrase(const struct trace *trace, uint32_t process)
{
    switch (trace_process_get(trace, process)->end) {
    case PROCESS_SIGNALED:
    case PROCESS_VANISHED:
        return "when it was killed";
    case PROCESS_EXEC:
        return "at its exec";
    case PROCESS_RUNNING:
        return "at the end of the recording";
    default:
        return "when it exited";
    }
}

/* " Held when it was killed: 104.6 MiB ± 7.2 MiB." */
static void add_end(const struct trace *trace, const struct report_facts *facts, struct text *text)
{
    const struct heap_process *processes;
    uint32_t count = heap_stats_processes(facts->heap, &processes);
    const struct heap_totals *totals = heap_stats_totals(facts->heap);
    int64_t at_ns = trace_heap_window(trace)->at_ns;
    char time[NUMBER_TEXT_SIZE];
    if (at_ns)
        text_format(text, " Held after %s: ",
                    number_time_short((uint64_t)(at_ns - facts->totals->begin_ns), time));
    else if (count == 1)
        text_format(text, " Held %s: ", end_phrase(trace, processes[0].sums.process));
    else
        text_format(text, " Held by all processes, each at its end: ");
    add_bytes(text, (uint64_t)totals->sums.held, totals->sums.held_variance);
    if (names_end(trace, facts->heap))
        add_holders(trace, facts->heap, true, text);
    text_format(text, ".");
}

/* " Allocated: 1.0 GiB, 78 % of it freed within 10 ms, most by blocks (alloc.py:21), 838 MiB." */
static void add_churn(const struct trace *trace, const struct heap_stats *heap, struct text *text)
{
    const struct heap_row *rows, *most = NULL, *sums = &heap_stats_totals(heap)->sums;
    uint32_t count = heap_stats_places(heap, &rows);
    char size[NUMBER_TEXT_SIZE], share[NUMBER_TEXT_SIZE];
    text_format(text, " Allocated: %s", number_size(sums->allocated, size));
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].label && (!most || rows[i].temporary > most->temporary))
            most = &rows[i];
    if (most && sums->temporary * 100 >= sums->allocated * CHURN_MIN && sums->temporary > 0) {
        text_format(text, ", %s of it freed within 10 ms, most by ",
                    number_share(sums->temporary, sums->allocated, share));
        add_place(trace, most, text);
        text_format(text, ", %s", number_size(most->temporary, size));
    }
    text_format(text, ".");
}

size_t headline_memory(const struct trace *trace, const struct report_facts *facts, char *buffer,
                       size_t size)
{
    struct text text = text_init(buffer, size);
    char time[NUMBER_TEXT_SIZE];
    if (!facts->heap || heap_stats_totals(facts->heap)->samples == 0)
        return 0;
    const struct heap_totals *totals = heap_stats_totals(facts->heap);
    int64_t since_ns = totals->peak_ns - facts->totals->begin_ns;
    text_format(&text, "Memory: peak ");
    add_bytes(&text, (uint64_t)totals->sums.peak, totals->sums.peak_variance);
    text_format(&text, " after %s",
                number_time_short((uint64_t)(since_ns > 0 ? since_ns : 0), time));
    add_range(trace, totals->peak_path, &text);
    add_holders(trace, facts->heap, false, &text);
    text_format(&text, ".");
    add_end(trace, facts, &text);
    add_churn(trace, facts->heap, &text);
    return text.length;
}
