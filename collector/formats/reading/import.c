/* SPDX-License-Identifier: MIT */
/* The importers, and what all of them share: see import.h. */
#include "import_parts.h"

#include "number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct importer *const importers[] = {
    &import_chrome, &import_v8,     &import_perfetto, &import_speedscope, &import_pstats,
#ifdef HAVE_SQLITE
    &import_nsys,
#endif
    &import_perf,   &import_folded,
};

enum { IMPORTERS = sizeof(importers) / sizeof(*importers), SNIFF_BYTES = 64 << 10 };

const struct import_format *import_format(unsigned index)
{
    return index < IMPORTERS ? &importers[index]->format : NULL;
}

void import_problem(struct import_sink *sink, const char *problem, uint64_t offset)
{
    struct import_result *result = sink->result;
    char count[NUMBER_TEXT_SIZE];
    if (!result->problem[0])
        snprintf(result->problem, sizeof(result->problem), "%s, at byte %s",
                 problem ? problem : "damaged", number_count(offset, count));
}

/* ---- What was left out ----------------------------------------------------------------------- */

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
    [LEFT_UNLAUNCHED] = "GPU work without the call that launched it",
    [LEFT_OBJECTS] = "left out: lives and snapshots of objects (phases N, O, D)",
    [LEFT_SAMPLES] = "left out: samples without a stack (phase P)",
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
    struct import_result *result = sink->result;
    if (trace_fact_set(sink->trace, FACT_NOTE, text, 1) == -ENOMEM)
        sink->error = -ENOMEM;
    if (result->note_count < IMPORT_NOTES_MAX)
        snprintf(result->notes[result->note_count++], IMPORT_PROBLEM_SIZE, "%s", text);
}

int import_notes_tell(struct import_sink *sink)
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

/* ---- One import ------------------------------------------------------------------------------ */

/* NULL: none. *ret_error: 0 or -errno. */
static const struct importer *choose(struct import_input *input,
                                     const struct import_options *options, int *ret_error)
{
    const char *bytes;
    *ret_error = 0;
    for (unsigned i = 0; options->format && i < IMPORTERS; i++)
        if (strcmp(importers[i]->format.name, options->format) == 0)
            return importers[i];
    if (options->format) {
        *ret_error = -ENOPROTOOPT;
        return NULL;
    }
    int64_t size = import_input_peek(input, SNIFF_BYTES, &bytes);
    if (size < 0)
        *ret_error = (int)size;
    for (unsigned i = 0; size > 0 && i < IMPORTERS; i++)
        if (importers[i]->sniff(bytes, (size_t)size))
            return importers[i];
    if (!*ret_error)
        *ret_error = -ENOMSG;
    return NULL;
}

int import_run(struct import_input *input, const char *output, const struct import_options *options,
               struct import_result *ret_result)
{
    struct import_sink sink;
    int error;
    *ret_result = (struct import_result){0};
    const struct importer *importer = choose(input, options, &error);
    if (importer) {
        ret_result->format = &importer->format;
        error = import_sink_init(&sink, output, options, ret_result);
        if (!error)
            error = importer->read(input, &sink);
        ret_result->bytes = import_input_offset(input);
        if (!error)
            error = import_sink_finish(&sink);
        import_sink_fini(&sink);
    }
    import_input_close(input);
    return error;
}

int import_file(const char *path, const char *output, const struct import_options *options,
                struct import_result *ret_result)
{
    struct import_input *input;
    *ret_result = (struct import_result){0};
    if (!options->overwrite && access(output, F_OK) == 0)
        return -EEXIST;
    int error = import_input_open(path, &input);
    return error ? error : import_run(input, output, options, ret_result);
}
