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
#include "recording.h"

struct values {
    const char *format;
    const char *output;
    bool force;
};

/* What is to be done, decided before anything is opened. */
struct plan {
    const struct exporter *exporter;
    const char *output;
    char *default_output; /* owned */
    struct out_stream_options options;
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
    return cmd_fail(CMD_MISUSE,
                    "the name %s tells no format\nname it with -f perfetto or -f chrome, or end "
                    "the name in .pftrace or .json (and .gz)",
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
    bool text = strcmp(plan->exporter->extension, ".json") == 0;
    if (strcmp(plan->output, "-") == 0 && !text && isatty(STDOUT_FILENO))
        return cmd_fail(CMD_MISUSE,
                        "the %s format is binary and standard output is a terminal\n"
                        "send it to a file: -o FILE, or to another program: | ...",
                        plan->exporter->name);
    return CMD_OK;
}

static int fail_output(const char *output, int error)
{
    const char *hint = "is there room, and may you write there?";
    if (error == -EEXIST)
        return cmd_fail(CMD_FAILED, "%s exists already\n--force replaces it, -o names another",
                        output);
    if (error == -ENOENT)
        hint = "the directory must exist";
    else if (error == -EISDIR)
        hint = "-o names a file, not a directory";
    return cmd_fail(CMD_FAILED, "cannot write %s: %s\n%s", output, strerror(-error), hint);
}

static int read_next(void *context, struct event_batch *ret_batch)
{
    return store_reader_next(context, ret_batch);
}

static int run_export(const struct plan *plan, struct store_reader *reader, const char *recording)
{
    struct out_stream *out;
    int error = out_stream_open(plan->output, &plan->options, &out);
    if (error)
        return fail_output(plan->output, error);
    struct batch_reader batches = {read_next, reader};
    error = export_run(plan->exporter, store_reader_trace(reader), &batches, out);
    int output_error = out_error(out);
    if (error) {
        out_stream_abandon(out);
        return output_error ? fail_output(plan->output, output_error)
                            : recording_fail(recording, error);
    }
    error = out_stream_close(out);
    return error ? fail_output(plan->output, error) : CMD_OK;
}

static int export_recording(const struct cmd_call *call)
{
    const struct values *values = call->values;
    const char *recording = call->operands[0];
    struct plan plan = {0};
    struct store_reader *reader = NULL;
    int status = choose_exporter(&plan, values);
    if (status == CMD_OK)
        status = choose_output(&plan, values, recording);
    if (status != CMD_OK)
        goto out;
    reader = recording_open(recording);
    status = reader ? run_export(&plan, reader, recording) : CMD_FAILED;
    if (status == CMD_OK && recording_note_damage(reader, recording) > 0)
        status = CMD_FAILED;
out:
    if (reader)
        store_reader_close(reader);
    free(plan.default_output);
    return status;
}

static const struct option_spec option_table[] = {
    {"format", 'f', OPTION_CHOICE, offsetof(struct values, format), "perfetto|chrome",
     "the format; default: by the extension of the output, else perfetto; one of", NULL},
    {"output", 'o', OPTION_TEXT, offsetof(struct values, output), "FILE",
     "write to FILE, compressed if it ends in .gz; \"-\" is standard output; default: the "
     "recording's name with the format's extension",
     NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct values, force), NULL, "replace an existing file",
     NULL},
    {0},
};

const struct cmd cmd_export = {
    .name = "export",
    .summary = "write a recording in the format of another viewer",
    .usage = "[OPTIONS] RECORDING",
    .details =
        "Formats:\n"
        "  perfetto  .pftrace, .perfetto-trace  for ui.perfetto.dev; smallest, complete\n"
        "  chrome    .json                      for ui.perfetto.dev, chrome://tracing, ...\n",
    .options = option_table,
    .values_size = sizeof(struct values),
    .operands_min = 1,
    .operands_max = 1,
    .run = export_recording,
};
