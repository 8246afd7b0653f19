/* SPDX-License-Identifier: MIT */
/* annot cat: the events of a recording in order of time, a line each, for grep, awk and jq.
 *
 * Streams: a line is written when nothing earlier can come. A damaged recording is told as far as
 * it is whole, with status 1. A reader that has enough (`| head`) is no failure. Main thread only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_label.h"
#include "cmd.h"
#include "line_options.h"
#include "line_source.h"
#include "recording.h"
#include "selection.h"
#include "text.h"

struct cat_values {
    struct line_values lines;
    struct selection_values selection;
};

struct cat {
    const struct cat_values *values;
    const char *recording;
    struct store_reader *reader;
    struct selection selection;
    struct line_printer printer;
    struct sample_walk *walk;
};

static int put_line(void *context, const struct line *line)
{
    struct cat *cat = context;
    if (line_printer_takes(&cat->printer, line))
        cat->printer.format(&cat->printer.writer, line);
    return out_error(cat->printer.writer.out);
}

static int next_batch(void *context, struct event_batch *ret_batch)
{
    const struct cat *cat = context;
    return store_reader_next(cat->reader, ret_batch);
}

static int next_sample(void *context, const struct sample **ret_samples, uint32_t *ret_count)
{
    const struct cat *cat = context;
    *ret_count = 1;
    return sample_walk_next(cat->walk, ret_samples);
}

static int run_lines(struct cat *cat)
{
    const struct line_source_options options = {
        .trace = store_reader_trace(cat->reader),
        .events = {.next = next_batch, .context = cat},
        .samples = {.next = cat->walk ? next_sample : NULL, .context = cat},
        .selection = &cat->selection.chosen,
        .complete = cat->values->lines.complete,
        .put = put_line,
        .context = cat,
    };
    struct line_source *source;
    int error = line_source_create(&options, &source);
    if (!error)
        error = line_source_run(source);
    if (!error)
        error = line_source_finish(source);
    uint64_t late = error ? 0 : line_source_late_count(source);
    line_source_destroy(source);
    if (late)
        cmd_note("lines that stand behind later ones: %llu; too many events came at once\n"
                 "sort them by their time",
                 (unsigned long long)late);
    return error;
}

/* Samples get their ranges, which takes a pass over the events. */
static int open_samples(struct cat *cat)
{
    const struct sample_source source = recording_source(cat->reader);
    const struct sample_filter filter = {.range = cat->selection.chosen.range, .pattern = true};
    return cat->values->lines.samples ? sample_walk_create(&source, &filter, &cat->walk) : 0;
}

static int print_lines(struct cat *cat)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    int error = out_stream_open("-", &options, &out);
    if (error)
        return recording_fail_output("-", error);
    error =
        line_printer_init(&cat->printer, &cat->values->lines, store_reader_trace(cat->reader), out);
    if (!error)
        error = open_samples(cat);
    if (!error)
        error = run_lines(cat);
    sample_walk_destroy(cat->walk);
    line_printer_fini(&cat->printer);
    int output_error = out_error(out);
    int closed = out_stream_close(out);
    if (output_error == -EPIPE || closed == -EPIPE)
        return CMD_OK;
    if (output_error || closed)
        return line_printer_fail_output(output_error ? output_error : closed);
    return error ? recording_fail(cat->recording, error) : CMD_OK;
}

static int run_cat(const struct cmd_call *call)
{
    char name[RECORDING_NAME_SIZE];
    struct cat cat = {.values = call->values};
    int status = selection_check(&cat.values->selection);
    if (status != CMD_OK)
        return status;
    cat.recording = recording_choose(call, name);
    cat.reader = cat.recording ? recording_open(cat.recording) : NULL;
    if (!cat.reader)
        return CMD_FAILED;
    status = selection_check_recording(&cat.values->selection, cat.reader, cat.recording);
    if (status == CMD_OK)
        status = selection_init(&cat.selection, &cat.values->selection,
                                store_reader_trace(cat.reader), cat.recording);
    if (status == CMD_OK)
        status = print_lines(&cat);
    if (status == CMD_OK && recording_note_damage(cat.reader, cat.recording) > 0)
        status = CMD_FAILED;
    selection_fini(&cat.selection);
    store_reader_close(cat.reader);
    return status;
}

static const struct option_spec cat_options[] = {
    LINE_OPTIONS(offsetof(struct cat_values, lines)),
    SELECTION_RANGE(offsetof(struct cat_values, selection)),
    SELECTION_PROCESS(offsetof(struct cat_values, selection)),
    SELECTION_THREAD(offsetof(struct cat_values, selection)),
    SELECTION_TIMES(offsetof(struct cat_values, selection)),
    {0},
};

const struct cmd cmd_cat = {
    .name = "cat",
    .summary = "print the events of a recording in order of time, as text or JSON lines",
    .usage = "[OPTIONS] [FILE]",
    .details = RECORDING_CHOICE_HELP
    "A line is: seconds since the begin, PID/TID, what happened, its name, key=value...\n"
    "With --json it is an object, with times in nanoseconds; annot-cat(1) lists the keys.\n"
    "\n"
    "exit status: 0; 1 if the recording could not be read or is damaged; 2 wrong command line\n",
    .options = cat_options,
    .values_size = sizeof(struct cat_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_cat,
};
