/* SPDX-License-Identifier: MIT */
/* Each note goes to the recording, as a fact, and to the result, for the command's messages. */

#include "import_notes.h"

#include "import.h"
#include "number.h"
#include "sink.h"
#include "sorter.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void import_problem(struct import_sink *sink, const char *problem, uint64_t offset)
{
    struct import_result *result = sink->result;
    char count[NUMBER_TEXT_SIZE];
    if (!result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "%s, at byte %s",
                 problem ? problem : "damaged", number_count(offset, count));
}

static void set_fact(struct import_sink *sink, enum fact_kind kind, const char *text,
                     uint64_t count)
{
    if (trace_fact_set(sink->trace, kind, text, count) == -ENOMEM)
        sink->error = -ENOMEM;
}

static void say(struct import_result *result, const char *text)
{
    if (result->note_count < IMPORT_NOTES_MAX)
        snprintf(result->notes[result->note_count++], IMPORT_PROBLEM_SIZE, "%s", text);
}

void import_cut(struct import_sink *sink, uint64_t offset)
{
    if (sink->cut)
        return;
    sink->cut = true;
    sink->cut_offset = offset;
}

int import_cut_check(struct import_sink *sink)
{
    char text[IMPORT_PROBLEM_SIZE], count[NUMBER_TEXT_SIZE];
    if (!sink->cut)
        return 0;
    if (!sorter_count(sink->events) && !sink->samples) {
        import_problem(sink, "the file ends in the middle", sink->cut_offset);
        return -EBADMSG;
    }
    set_fact(sink, FACT_LOSS, "files: cut, their rest is missing", 1);
    snprintf(text, sizeof(text),
             "the file ends in the middle, at byte %s: all before that was read, what would follow "
             "is missing",
             number_count(sink->cut_offset, count));
    say(sink->result, text);
    return sink->error;
}

/* ---- Omitted items --------------------------------------------------------------------------- */

static const char *const left_texts[LEFT_COUNT] = {
    [LEFT_MALFORMED] = "left out: events without what they need, or with impossible times",
    [LEFT_UNKNOWN] = "left out: events of kinds that recordings do not have",
    [LEFT_END_ALONE] = "left out: ends of ranges without a begin",
    [LEFT_OPEN] = "ranges without an end, which are shown as unfinished",
    [LEFT_OVERLAPPING] = "ranges that don't nest on their thread: they are ranges of the process",
    [LEFT_CLIPPED] = "ranges that ended up to 1 us behind the one around them: they end with it",
    [LEFT_TEXTS] = "texts beyond the first 1,048,576 or 64 MiB, which are \"[other text]\"",
    [LEFT_EVENT_STACKS] = "left out: stacks of events that are no samples",
    [LEFT_DEEP] = "left out: outer frames of stacks of more than 1,024",
    [LEFT_LONG] = "left out: ends of texts behind 1 MiB",
    [LEFT_STACKS] = "left out: inner frames of stacks beyond 2,097,152 different ones",
    [LEFT_VALUES] = "left out: values that are too long, too many, or no numbers",
    [LEFT_AT_ONCE] = "ranges that were open beside a million others, which are shown as unfinished",
    [LEFT_THREADS] = "events of threads beyond the first 131,072, which are of \"[other threads]\"",
    [LEFT_TRACKS] =
        "events on tracks beyond the first 262,144, whose ranges are of a process \"trace\"",
    [LEFT_RECORDS] = "left out: records of perf that are no samples (PERF_RECORD_...)",
    [LEFT_FLOWS_OPEN] = "flows that begin and arrive nowhere",
    [LEFT_FLOWS_ALONE] = "points of flows that begin nowhere",
    [LEFT_UNLAUNCHED] = "GPU work without the call that launched it",
    [LEFT_OBJECTS] = "left out: lives and snapshots of objects (phases N, O, D)",
    [LEFT_SAMPLES] = "left out: samples without a stack, or of no profile (phase P)",
    [LEFT_DUMPS] = "left out: memory dumps (phases v, V)",
    [LEFT_CONTEXTS] = "left out: contexts of other events (phases \"(\", \")\")",
    [LEFT_CLOCKS] = "left out: synchronizations of clocks (phase c)",
};

enum import_left import_left_of_phase(char phase)
{
    static const struct {
        const char *phases;
        enum import_left left;
    } known[] = {{"NOD", LEFT_OBJECTS},
                 {"P", LEFT_SAMPLES},
                 {"vV", LEFT_DUMPS},
                 {"()", LEFT_CONTEXTS},
                 {"c", LEFT_CLOCKS}};

    for (size_t i = 0; phase && i < sizeof(known) / sizeof(*known); i++)
        if (strchr(known[i].phases, phase))
            return known[i].left;
    return LEFT_UNKNOWN;
}

void import_note(struct import_sink *sink, const char *text)
{
    set_fact(sink, FACT_NOTE, text, 1);
    say(sink->result, text);
}

void import_lost(struct import_sink *sink, const char *what, uint64_t count)
{
    char text[IMPORT_PROBLEM_SIZE], number[NUMBER_TEXT_SIZE];
    if (!count)
        return;
    set_fact(sink, FACT_LOSS, what, count);
    snprintf(text, sizeof(text), "%s: %s", what, number_count(count, number));
    say(sink->result, text);
}

int import_notes_emit(struct import_sink *sink)
{
    char count[NUMBER_TEXT_SIZE], note[IMPORT_PROBLEM_SIZE];
    for (unsigned i = 0; i < LEFT_COUNT; i++) {
        if (!sink->left[i] || !left_texts[i])
            continue;
        snprintf(note, sizeof(note), "%s: %s", left_texts[i], number_count(sink->left[i], count));
        import_note(sink, note);
    }
    return sink->error;
}
