/* SPDX-License-Identifier: MIT */
/* `annot info`: tracks, units of counters, last words. */
#include "info_parts.h"

#include "grid.h"
#include "number_text.h"
#include "term.h"

#include <errno.h>
#include <stdio.h>

enum { LABEL_SIZE = 1024 };

static void add_count(struct grid *table, uint64_t count)
{
    char text[NUMBER_TEXT_SIZE];
    grid_add(table, number_count(count, text));
}

static void add_moment(struct grid *table, const struct trace *trace, int64_t time_ns)
{
    char text[NUMBER_TEXT_SIZE];
    snprintf(text, sizeof(text), "%.6f", (double)(time_ns - trace_begin_ns(trace)) / 1e9);
    grid_add(table, text);
}

static void print_more(uint64_t count, uint64_t limit)
{
    char text[NUMBER_TEXT_SIZE];
    if (count > limit)
        printf("(%s more; --limit 0 lists all)\n", number_count(count - limit, text));
}

static const struct grid_column track_columns[] = {
    {"track", 0, true},  {"process", 1, true},    {"ranges", 0, false},
    {"marks", 2, false}, {"first (s)", 3, false}, {"last (s)", 3, false},
};

static void add_track(struct grid *table, const struct trace *trace, uint32_t ordinal,
                      const struct info_track *track)
{
    char label[LABEL_SIZE];
    trace_track_path(trace, ordinal, label, sizeof(label));
    grid_add(table, label);
    trace_process_label(trace, trace_track_get(trace, ordinal)->process, label, sizeof(label));
    grid_add(table, label);
    add_count(table, track->range_count);
    add_count(table, track->mark_count);
    add_moment(table, trace, track->first_ns);
    add_moment(table, trace, track->last_ns);
}

/* Those on which nothing happened stand before the names of those below them. */
int info_print_tracks(const struct info_options *options, const struct info_counts *counts)
{
    const struct trace *trace = options->trace;
    uint64_t used = 0;
    struct grid *table = grid_create(track_columns, sizeof(track_columns) / sizeof(*track_columns));
    if (!table)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace_track_count(trace); i++) {
        if (counts->tracks[i].first_ns == 0 || used++ >= options->limit)
            continue;
        add_track(table, trace, i, &counts->tracks[i]);
    }
    size_t hidden;
    if (used > 0)
        printf("\n");
    int rc = used > 0 ? grid_print(table, options->width, options->color, &hidden) : 0;
    grid_destroy(table);
    print_more(used, options->limit);
    return rc;
}

void info_print_units(const struct info_options *options)
{
    const struct trace *trace = options->trace;
    uint32_t count = trace_unit_count(trace);
    if (count > 0)
        printf("\nunits of counters\n");
    for (uint32_t i = 0; i < count && i < options->limit; i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        printf("  ");
        if (unit->domain) {
            term_print(trace_string(trace, unit->domain)->bytes);
            putchar(':');
        }
        term_print(trace_string(trace, unit->counter)->bytes);
        printf(": ");
        term_print(trace_string(trace, unit->unit)->bytes);
        putchar('\n');
    }
    print_more(count, options->limit);
}

static void print_note(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[LABEL_SIZE];
    trace_process_label(trace, ordinal, label, sizeof(label));
    printf("  process %d (", process->pid);
    term_print(label);
    printf(")");
    if (process->note_thread) {
        trace_thread_label(trace, process->note_thread - 1, label, sizeof(label));
        printf(", thread ");
        term_print(label);
    }
    printf(", at %.6f s: ", (double)(process->note_ns - trace_begin_ns(trace)) / 1e9);
    term_print(trace_string(trace, process->note)->bytes);
    putchar('\n');
}

void info_print_notes(const struct info_options *options)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace_process_count(options->trace); i++) {
        if (!trace_process_get(options->trace, i)->note || count++ >= options->limit)
            continue;
        if (count == 1)
            printf("\nlast words\n");
        print_note(options->trace, i);
    }
    print_more(count, options->limit);
}
