/* SPDX-License-Identifier: MIT */
/* annot flame: where the samples of a recording fall, as one SVG file.
 *
 * A front of the exporter of flame graphs; what is drawn and how is decided before the output is
 * opened. A damaged recording is drawn as far as it is whole, with
 * status 1. Main thread only. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_label.h"
#include "cmd.h"
#include "export.h"
#include "flame_svg.h"
#include "number_text.h"
#include "output_name.h"
#include "recording.h"
#include "recording_source.h"
#include "selection.h"
#include "text.h"

struct flame_values {
    const char *output, *by, *title, *strip_prefix, *min_width;
    struct selection_values selection;
    bool python, off_cpu, inverted, force;
};

struct flame {
    const struct flame_values *values;
    const char *recording;
    struct store_reader *reader;
    const struct trace *trace;
    struct selection selection;
    double min_width;
    char *default_output; /* owned */
    const char *output;
};

/* ---- What is wanted -------------------------------------------------------------------------- */

static int choose_output(struct flame *f)
{
    f->output = f->values->output;
    if (f->output)
        return output_check(f->output, "svg", CMD_MISUSE);
    size_t length = strlen(f->recording);
    if (length > 6 && strcmp(f->recording + length - 6, ".annot") == 0)
        length -= strlen(".annot");
    if (asprintf(&f->default_output, "%.*s.svg", (int)length, f->recording) < 0)
        return cmd_fail(CMD_FAILED, "out of memory");
    f->output = f->default_output;
    return CMD_OK;
}

static int choose_width(struct flame *f)
{
    char *end;
    f->min_width = strtod(f->values->min_width, &end);
    if (end != f->values->min_width && !*end && isfinite(f->min_width) && f->min_width > 0)
        return CMD_OK;
    return cmd_fail(CMD_MISUSE,
                    "option --min-width: \"%s\" is no width\nit is a number of pixels "
                    "above 0, as 0.1 or 2",
                    f->values->min_width);
}

/* ---- Nothing to draw ----------------------------------------------------------------------------
 */

/* There is nothing to draw: says why, as far as that is known. */
static int fail_empty(const struct flame *f)
{
    const struct trace_sampling *sampling = trace_sampling_get(f->trace);
    const char *reason = trace_string(f->trace, sampling->reason)->bytes;
    char quoted[256];
    cmd_quote(f->recording, quoted, sizeof(quoted));
    if (f->values->off_cpu && !sampling->off_cpu)
        return cmd_fail(CMD_FAILED,
                        "%s knows nothing of the time off the CPU\nannot record "
                        "--off-cpu records it",
                        f->recording);
    bool sampled = sampling->rung != SAMPLING_OFF;
    struct store_info info;
    store_reader_info(f->reader, &info);
    if (f->values->selection.range || (info.sample_count > 0 && !selection_is_all(&f->selection)))
        return cmd_fail(CMD_FAILED,
                        "no sample of %s is in what was chosen%s%s\nannot report %s "
                        "lists the ranges, annot info %s the threads",
                        f->recording, f->values->selection.range ? ": range " : "",
                        f->values->selection.range ? f->values->selection.range : "", quoted,
                        quoted);
    if (!sampled)
        return cmd_fail(CMD_FAILED,
                        "%s has no samples: it was recorded without sampling\n"
                        "annot record takes samples unless told --no-sample",
                        f->recording);
    if (sampling->rung == SAMPLING_REMOTE)
        return cmd_fail(CMD_FAILED,
                        "%s has no samples: no Python code was seen to run\nwithout eBPF only "
                        "Python functions are sampled; annot doctor tells what would allow more",
                        f->recording);
    if (sampling->rung == SAMPLING_BPF && !f->values->off_cpu)
        return cmd_fail(CMD_FAILED,
                        sampling->off_cpu
                            ? "%s has no samples: hardly any CPU time was used\nannot flame "
                              "--off-cpu %s shows what was waited for"
                            : "%s has no samples: hardly any CPU time was used\nannot record "
                              "--off-cpu records what is waited for, --sample 999 looks more often",
                        f->recording, quoted);
    return cmd_fail(CMD_FAILED, "%s has no %s%s%s\nannot info %s tells how it was recorded",
                    f->recording, f->values->off_cpu ? "stretches off the CPU" : "samples",
                    reason[0] ? ": " : "", reason, quoted);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void describe_choice(const struct flame *f, struct text *text)
{
    const struct flame_values *values = f->values;

    text->length = selection_describe(&values->selection, text->buffer, text->size);
    if (values->by)
        text_format(text, "%sby %s", text->length ? ", " : "", values->by);
    if (values->python)
        text_format(text, "%sPython functions, with the native code that they call",
                    text->length ? ", " : "");
}

static void note_folded(const struct flame *f, const struct flame_counts *counts)
{
    char count[NUMBER_TEXT_SIZE], cut[NUMBER_TEXT_SIZE];
    if (counts->min_width > f->min_width)
        cmd_note("%s: too many functions; those narrower than %.2g pixels are together in "
                 "\"(other)\": %s",
                 f->output, counts->min_width, number_count(counts->folded, count));
    if (counts->cut)
        cmd_note("%s: too many different stacks; the inner frames of some samples are left out: %s",
                 f->output, number_count(counts->cut, cut));
}

static enum export_group group_of(const char *by)
{
    return !by          ? EXPORT_TOGETHER
           : *by == 'p' ? EXPORT_BY_PROCESS
           : *by == 't' ? EXPORT_BY_THREAD
                        : EXPORT_BY_RANGE;
}

static int fail(const struct flame *f, int error, int output_error)
{
    if (output_error)
        return recording_fail_output(f->output, output_error);
    return error == -ENODATA ? fail_empty(f) : recording_fail(f->recording, error);
}

static int write_flame(const struct flame *f)
{
    const struct flame_values *values = f->values;
    char subtitle[1024];
    struct text text = text_init(subtitle, sizeof(subtitle));
    describe_choice(f, &text);
    struct flame_counts counts;
    const struct export_options options = {
        .python = values->python,
        .group = group_of(values->by),
        .strip_prefix = values->strip_prefix,
        .off_cpu = values->off_cpu,
        .root_at_bottom = values->inverted,
        .title = values->title,
        .subtitle = text.length ? subtitle : NULL,
        .min_width = f->min_width,
        .ret_flame = &counts,
    };
    const struct out_stream_options out_options = {.overwrite = values->force};
    const struct pass_source source = recording_pass_source(f->reader);
    struct export_job job = {&source, &f->selection.chosen, &options, NULL};
    int error = out_stream_open(f->output, &out_options, &job.out);
    if (error)
        return recording_fail_output(f->output, error);
    error = export_run(&export_flame, &job, NULL);
    if (error) {
        int output_error = out_error(job.out);
        out_stream_abandon(job.out);
        return fail(f, error, output_error);
    }
    error = out_stream_close(job.out);
    if (error)
        return recording_fail_output(f->output, error);
    note_folded(f, &counts);
    if (f->default_output)
        recording_note_output(f->output, "in a browser");
    return CMD_OK;
}

static int draw(struct flame *f)
{
    int status = selection_check_recording(&f->values->selection, f->reader, f->recording);
    if (status == CMD_OK)
        status = selection_init(&f->selection, &f->values->selection, f->trace, f->recording);
    if (status != CMD_OK)
        return status;
    status = write_flame(f);
    uint32_t damage = recording_note_damage(f->reader, f->recording);
    return status == CMD_OK && damage > 0 ? CMD_FAILED : status;
}

static int run_flame(const struct cmd_call *call)
{
    char name[RECORDING_NAME_SIZE];
    struct flame f = {.values = call->values, .recording = recording_choose(call, name)};
    int status = f.recording ? choose_width(&f) : CMD_FAILED;
    if (status == CMD_OK)
        status = selection_check(&f.values->selection);
    if (status == CMD_OK)
        status = choose_output(&f);
    if (status != CMD_OK)
        return status;
    f.reader = recording_open(f.recording);
    if (f.reader) {
        f.trace = store_reader_trace(f.reader);
        status = draw(&f);
        store_reader_close(f.reader);
    } else {
        status = CMD_FAILED;
    }
    selection_fini(&f.selection);
    free(f.default_output);
    return status;
}

#define AT(field) offsetof(struct flame_values, field)

static const struct option_spec flame_options[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE; \"-\" is standard output; default: the recording's name with .svg", NULL},
    {"by", 'b', OPTION_CHOICE, AT(by), "process|thread|range",
     "put these around the stacks of each", NULL},
    SELECTION_RANGE(offsetof(struct flame_values, selection)),
    SELECTION_PROCESS(offsetof(struct flame_values, selection)),
    SELECTION_THREAD(offsetof(struct flame_values, selection)),
    SELECTION_TIMES(offsetof(struct flame_values, selection)),
    {"python", 0, OPTION_FLAG, offsetof(struct flame_values, python), NULL,
     "Python functions only: native code counts for the one that calls it", NULL},
    {"off-cpu", 0, OPTION_FLAG, AT(off_cpu), NULL,
     "time in which threads did not run, by what they waited for", NULL},
    {"inverted", 0, OPTION_FLAG, AT(inverted), NULL, "the root at the bottom, as flames rise",
     NULL},
    {"title", 0, OPTION_TEXT, AT(title), "TEXT", "title; default: the recorded command", NULL},
    {"strip-prefix", 0, OPTION_TEXT, AT(strip_prefix), "DIR[:DIR...]",
     "shorten file names by these; \"lib\": where Python's libraries are", CALL_STRIP_LIBRARIES},
    {"min-width", 0, OPTION_TEXT, AT(min_width), "PIXELS",
     "functions narrower than that are put together", "0.1"},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {0},
};

static const char flame_details[] = RECORDING_CHOICE_HELP
    "The picture needs no other file and no network. In a browser a click zooms, Escape shows "
    "all,\n"
    "/ searches, and the arrow keys walk.\n"
    "\n"
    "exit status: 0; 1 if there is nothing to draw, or the recording is damaged; 2 wrong command\n"
    "line\n";

const struct cmd cmd_flame = {
    .name = "flame",
    .summary = "draw the samples of a recording as a flame graph",
    .usage = "[OPTIONS] [FILE]",
    .details = flame_details,
    .options = flame_options,
    .values_size = sizeof(struct flame_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_flame,
};
