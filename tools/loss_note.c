/* SPDX-License-Identifier: MIT */
/* Lines of loss_note.h. */
#include "loss_note.h"

#include "cmd.h"
#include "missing.h"
#include "number_text.h"

#include <stdio.h>

/* One line of all entries of a kind. */
struct line {
    enum missing_kind kind;
    const char *before;
    bool begun;
};

static void put(void *context, const struct missing *missing)
{
    struct line *line = context;
    char number[NUMBER_TEXT_SIZE];
    if (missing->kind != line->kind)
        return;
    fputs(line->begun ? ", " : line->before, stderr);
    number_count(missing->count, number);
    if (line->kind == MISSING_RECORDS)
        fprintf(stderr, "%s (%s)", number, missing->what);
    else
        fprintf(stderr, "%s %s", number, missing->what);
    line->begun = true;
}

static void print_line(const struct trace *trace, enum missing_kind kind, const char *before)
{
    struct line line = {.kind = kind, .before = before};
    missing_each(trace, NULL, put, &line);
    if (line.begun)
        fputs("\n", stderr);
}

void loss_note_records(const struct trace *trace)
{
    print_line(trace, MISSING_RECORDS, "annot: LOST records: ");
}

void loss_note_samples(const struct trace *trace, const struct sample_wholes *wholes)
{
    if (!sample_loss_any(trace))
        return;
    fputs(sample_loss_counts(trace, wholes) ? "annot: LOST: " : "annot: missing: ", stderr);
    sample_loss_print_short(trace, wholes, stderr);
    fputs("\n", stderr);
}

void loss_note_calls(const struct trace *trace)
{
    print_line(trace, MISSING_CALLS, "annot: remarkable calls: ");
}

void loss_note(const struct trace *trace, const struct sample_wholes *wholes)
{
    char number[NUMBER_TEXT_SIZE];
    uint32_t refused = trace_refusal_count(trace);
    loss_note_records(trace);
    loss_note_samples(trace, wholes);
    if (refused)
        cmd_note("%s %s could not take part\nannot info says why", number_count(refused, number),
                 refused == 1 ? "process" : "processes");
    loss_note_calls(trace);
}
