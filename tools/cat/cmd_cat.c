/* SPDX-License-Identifier: MIT */
/* annot cat: prints the events of a recording in order of time, one per line, for grep, awk and jq.
 *
 * Streams: a line is written once nothing earlier can come. Of a damaged recording the intact part
 * is printed, with status 1. A reader that closes the pipe (`| head`) is no failure. Main thread
 * only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_label.h"
#include "cmd.h"
#include "line.h"
#include "line_reader.h"
#include "pass.h"
#include "reader.h"
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
    struct store_reader *again; /* with --samples: reads the events of the lines */
    struct pass_source events;
    struct sample_feed *samples;
};

static int put_line(void *context, const struct line *line)
{
    struct cat *cat = context;
    if (line_printer_takes(&cat->printer, line))
        cat->printer.format(&cat->printer.writer, line);
    return out_error(cat->printer.writer.out);
}

static int next_events(void *context, struct event_batch *ret_batch)
{
    const struct cat *cat = context;
    return cat->events.next_events(cat->events.context, ret_batch);
}

static int seek_events(void *context, int64_t from_ns, bool nested, bool in_time)
{
    const struct cat *cat = context;
    return cat->events.seek(cat->events.context, from_ns, nested, in_time);
}

static int next_samples(void *context, struct sample_batch *ret_batch)
{
    const struct cat *cat = context;
    return sample_feed_next(cat->samples, ret_batch);
}

static int run_lines(const struct line_reader_options *options)
{
    struct line_reader *reader;
    int error = line_reader_create(options, &reader);
    if (!error)
        error = line_reader_finish(reader);
    uint64_t late = error ? 0 : line_reader_late_count(reader);
    line_reader_destroy(reader);
    if (late)
        cmd_note("lines out of order: %llu; too many events came at once\nsort them by their time",
                 (unsigned long long)late);
    return error;
}

static int open_samples(struct cat *cat, const struct pass_selection *selection)
{
    const struct pass_source stored = recording_pass_source(cat->reader);
    int error = store_reader_again(cat->reader, &cat->again);
    if (error)
        return error;
    cat->events = recording_pass_source(cat->again);
    cat->samples = sample_feed_create(&stored, selection);
    return cat->samples ? 0 : -ENOMEM;
}

static int write_lines(struct cat *cat)
{
    const bool samples = cat->values->lines.samples;
    struct trace *trace = store_reader_trace(cat->reader);
    const struct line_reader_options options = {
        .source = {.trace = trace,
                   .next_events = next_events,
                   .next_samples = samples ? next_samples : NULL,
                   .context = cat,
                   .seek = seek_events},
        .selection = cat->selection.chosen,
        .sink = {.trace = trace,
                 .complete = cat->values->lines.complete,
                 .put = put_line,
                 .context = cat},
    };
    cat->events = recording_pass_source(cat->reader);
    int error = samples ? open_samples(cat, &options.selection) : 0;
    if (!error)
        error = run_lines(&options);
    sample_feed_destroy(cat->samples);
    store_reader_close(cat->again);
    return error;
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
        error = write_lines(cat);
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
    OPTIONS_GROUP("what to print"),
    LINE_OPTIONS(offsetof(struct cat_values, lines)),
    OPTIONS_GROUP("of which part"),
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
    .examples = "  annot cat -c run.annot\n"
                "  annot cat --samples --from 2s --to 3s run.annot\n"
                "  annot cat --json --name 'load*' run.annot\n",
    .options = cat_options,
    .values_size = sizeof(struct cat_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_cat,
};
