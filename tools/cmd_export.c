/* SPDX-License-Identifier: MIT */
/* annot export: a recording in the formats of other people's viewers.
 *
 * The format comes from -f or from the output's extension, the output's name from the recording's.
 * A damaged recording is exported as far as it is whole: the export is complete as a file, what is
 * missing is named, and the status is 1. Main thread only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "export.h"
#include "loss_note.h"
#include "recording.h"
#include "recording_source.h"
#include "selection.h"

struct values {
    const char *format;
    const char *output;
    const char *by;
    const char *strip_prefix;
    bool flame_chart;
    bool python;
    bool force;
    struct selection_values selection;
};

/* What is to be done, decided before anything is opened. */
struct plan {
    const struct exporter *exporter;
    const char *output;
    char *default_output; /* owned */
    struct out_stream_options options;
    struct export_options wanted;
    struct selection selection;
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

static int choose_exporter(struct plan *plan, const struct values *values)
{
    if (values->format)
        plan->exporter = exporter_by_name(values->format);
    else if (values->output && strcmp(values->output, "-") != 0)
        plan->exporter = exporter_by_path(values->output);
    else
        plan->exporter = exporters[0];
    if (plan->exporter)
        return CMD_OK;
    if (values->output && ends_with(values->output, ".svg"))
        return cmd_fail(CMD_MISUSE,
                        "an SVG file is no format of this command\nannot flame draws "
                        "one of the samples: annot flame -o %s RECORDING",
                        values->output);
    return cmd_fail(
        CMD_MISUSE,
        "the name %s tells no format\nname it with -f perfetto, chrome or folded, or end "
        "the name in .pftrace, .json or .folded (and .gz)",
        values->output);
}

/* "dir/x.annot" gives "dir/x.pftrace". */
static int choose_output(struct plan *plan, const struct values *values, const char *recording)
{
    plan->output = values->output;
    if (!plan->output) {
        size_t length = strlen(recording);
        if (ends_with(recording, ".annot"))
            length -= strlen(".annot");
        if (asprintf(&plan->default_output, "%.*s%s", (int)length, recording,
                     plan->exporter->extension) < 0)
            return cmd_fail(CMD_FAILED, "out of memory");
        plan->output = plan->default_output;
    }
    plan->options.overwrite = values->force;
    plan->options.gzip = ends_with(plan->output, ".gz");
    plan->options.gzip_level = EXPORT_GZIP_LEVEL;
    if (strcmp(plan->output, "-") == 0 && plan->exporter->binary && isatty(STDOUT_FILENO))
        return cmd_fail(CMD_MISUSE,
                        "the %s format is binary and standard output is a terminal\n"
                        "send it to a file: -o FILE, or to another program: | ...",
                        plan->exporter->name);
    return CMD_OK;
}

static uint64_t sum_of_events(const struct pass_counts *counts)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < EVENT_KINDS; i++)
        sum += counts->events[i];
    return sum;
}

/* A viewer shows nothing of an export of nothing, without a word. */
static void note_written(const struct plan *plan, const struct trace *trace,
                         const struct pass_counts *read, const char *recording)
{
    bool folded = strcmp(plan->exporter->name, "folded") == 0;
    const char *what = selection_is_all(&plan->selection) ? "" : "what was chosen of ";
    const struct sample_wholes wholes = {read->samples, read->stretches};
    if (folded) /* the others tell it themselves */
        loss_note(trace, &wholes);
    if (folded && read->samples == 0)
        cmd_note("nothing to write: %s%s has no samples of CPU time", what, recording);
    else if (read->samples + read->stretches + sum_of_events(read) == 0)
        cmd_note("nothing to show: %s%s has no samples and no events", what, recording);
    if (plan->default_output)
        recording_note_output(plan->output, folded ? NULL : "at ui.perfetto.dev");
}

static int run_export(const struct plan *plan, struct store_reader *reader, const char *recording)
{
    const struct pass_source source = recording_pass_source(reader);
    struct export_job job = {&source, &plan->selection.chosen, &plan->wanted, NULL};
    struct pass_counts read;
    int error = out_stream_open(plan->output, &plan->options, &job.out);
    if (error)
        return recording_fail_output(plan->output, error);
    error = export_run(plan->exporter, &job, &read);
    int output_error = out_error(job.out);
    if (error) {
        out_stream_abandon(job.out);
        return output_error ? recording_fail_output(plan->output, output_error)
                            : recording_fail(recording, error);
    }
    error = out_stream_close(job.out);
    if (error)
        return recording_fail_output(plan->output, error);
    note_written(plan, source.trace, &read, recording);
    return CMD_OK;
}

static int export_recording(const struct cmd_call *call)
{
    const struct values *values = call->values;
    char name[RECORDING_NAME_SIZE];
    const char *recording = recording_choose(call, name);
    struct plan plan = {0};
    struct store_reader *reader = NULL;
    if (!recording)
        return CMD_FAILED;
    plan.wanted.flame_chart = values->flame_chart;
    plan.wanted.python = values->python;
    plan.wanted.strip_prefix = values->strip_prefix;
    if (values->by)
        plan.wanted.group = values->by[0] == 'p' ? EXPORT_BY_PROCESS : EXPORT_BY_THREAD;
    int status = selection_check(&values->selection);
    if (status == CMD_OK)
        status = choose_exporter(&plan, values);
    if (status == CMD_OK)
        status = choose_output(&plan, values, recording);
    if (status != CMD_OK)
        goto out;
    reader = recording_open(recording);
    status = reader ? selection_check_recording(&values->selection, reader, recording) : CMD_FAILED;
    if (status == CMD_OK)
        status = selection_init(&plan.selection, &values->selection, store_reader_trace(reader),
                                recording);
    if (status == CMD_OK)
        status = run_export(&plan, reader, recording);
    if (status == CMD_OK && recording_note_damage(reader, recording) > 0)
        status = CMD_FAILED;
out:
    if (reader)
        store_reader_close(reader);
    selection_fini(&plan.selection);
    free(plan.default_output);
    return status;
}

static const struct option_spec option_table[] = {
    {"format", 'f', OPTION_CHOICE, offsetof(struct values, format), "perfetto|chrome|folded",
     "the format; default: by the extension of the output, else perfetto; one of", NULL},
    {"output", 'o', OPTION_TEXT, offsetof(struct values, output), "FILE",
     "write to FILE, compressed if it ends in .gz; \"-\" is standard output; default: the "
     "recording's name with the format's extension",
     NULL},
    {"flame-chart", 0, OPTION_FLAG, offsetof(struct values, flame_chart), NULL,
     "perfetto, chrome: a track per thread of what was on its stack, as far as samples tell", NULL},
    {"by", 'b', OPTION_CHOICE, offsetof(struct values, by), "process|thread",
     "folded: begin each stack with these", NULL},
    {"python", 0, OPTION_FLAG, offsetof(struct values, python), NULL,
     "folded, --flame-chart: Python functions only: native code counts for the one that "
     "calls it",
     NULL},
    {"strip-prefix", 0, OPTION_TEXT, offsetof(struct values, strip_prefix), "DIR[:DIR...]",
     "shorten file names of functions by these; \"lib\": where Python's libraries are, \"base\": "
     "all folders",
     NULL},
    SELECTION_RANGE(offsetof(struct values, selection)),
    SELECTION_PROCESS(offsetof(struct values, selection)),
    SELECTION_THREAD(offsetof(struct values, selection)),
    SELECTION_TIMES(offsetof(struct values, selection)),
    {"force", 0, OPTION_FLAG, offsetof(struct values, force), NULL, "replace an existing file",
     NULL},
    {0},
};

const struct cmd cmd_export = {
    .name = "export",
    .summary = "write a recording in the format of another viewer",
    .usage = "[OPTIONS] [FILE]",
    .details = RECORDING_CHOICE_HELP
    "Formats:\n"
    "  perfetto  .pftrace, .perfetto-trace  for ui.perfetto.dev; smallest, complete\n"
    "  chrome    .json                      for ui.perfetto.dev, chrome://tracing, ...\n"
    "  folded    .folded                    collapsed stacks of the samples, in microseconds\n"
    "                                       of CPU time, for flame graph tools\n",
    .options = option_table,
    .values_size = sizeof(struct values),
    .operands_min = 0,
    .operands_max = 1,
    .run = export_recording,
};
