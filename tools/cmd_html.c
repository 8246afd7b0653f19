/* SPDX-License-Identifier: MIT */
/* `annot html`: a recording as one page for browsers (collector/page), or the data of that alone.
 * A damaged recording is shown as far as it is whole, with exit 1. Main thread only. */
#include "cmd.h"
#include "operands.h"
#include "page.h"
#include "recording.h"
#include "report_print.h"
#include "selection.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct html_values {
    const char *output, *title;
    struct selection_values selection; /* its range: of samples only */
    bool force, data, no_source;
};

struct job {
    const struct html_values *values;
    const char *recording, *output;
    char *default_output; /* owned */
    struct store_reader *reader;
    struct selection selection;
    char only[1024], ending[1024];
};

/* "dir/x.annot" gives "dir/x.html". */
static int choose_output(struct job *job)
{
    size_t length = strlen(job->recording);
    job->output = job->values->output ? job->values->output : job->values->data ? "-" : NULL;
    if (job->output)
        return CMD_OK;
    if (text_ends_with(job->recording, ".annot"))
        length -= strlen(".annot");
    if (asprintf(&job->default_output, "%.*s.html", (int)length, job->recording) < 0) {
        job->default_output = NULL;
        return cmd_fail(CMD_FAILED, "out of memory");
    }
    job->output = job->default_output;
    return CMD_OK;
}

static int write_page(struct job *job, struct page *page)
{
    const struct out_stream_options options = {.overwrite = job->values->force};
    struct out_stream *out;
    int error = out_stream_open(job->output, &options, &out);
    if (error)
        return recording_fail_output(job->output, error);
    error = job->values->data ? page_write_data(page, out) : page_write(page, out);
    if (error) {
        out_stream_abandon(out);
        return recording_fail(job->recording, error);
    }
    if (job->values->data)
        out_text(out, "\n");
    error = out_stream_close(out);
    if (error == -EPIPE && strcmp(job->output, "-") == 0)
        return CMD_OK;
    if (error)
        return recording_fail_output(job->output, error);
    if (job->default_output)
        recording_note_output(job->output, "in a browser");
    return CMD_OK;
}

static int make_page(struct job *job)
{
    const struct page_options options = {
        .report = {.path = job->recording,
                   .only = job->only,
                   .reader = job->reader,
                   .selection = &job->selection.chosen,
                   .sort = RANGE_COLUMN_SELF,
                   .range = job->values->selection.range,
                   .limit = UINT64_MAX,
                   .functions = UINT64_MAX,
                   .all = true,
                   .lines = true},
        .title = job->values->title,
        .ending = job->ending,
        .no_source = job->values->no_source,
    };
    struct page *page;
    selection_describe(&job->values->selection, job->only, sizeof(job->only));
    command_ending(store_reader_trace(job->reader), job->ending, sizeof(job->ending));
    int error = page_create(&options, &page);
    if (error)
        return recording_fail(job->recording, error);
    int status = write_page(job, page);
    page_destroy(page);
    return status;
}

static int open_and_make(struct job *job)
{
    const struct selection_values *values = &job->values->selection;
    struct selection_values chosen = *values;
    chosen.range = NULL;
    job->reader = recording_open(job->recording);
    if (!job->reader)
        return CMD_FAILED;
    int status = selection_check_recording(values, job->reader, job->recording);
    if (status == CMD_OK)
        status = selection_init(&job->selection, &chosen, store_reader_trace(job->reader),
                                job->recording);
    if (status == CMD_OK)
        status = make_page(job);
    uint32_t damage = recording_note_damage(job->reader, job->recording);
    selection_fini(&job->selection);
    return status == CMD_OK && damage > 0 ? CMD_FAILED : status;
}

static int run_html(const struct cmd_call *call)
{
    struct job job = {.values = call->values};
    char name[RECORDING_NAME_SIZE];
    int status = selection_check(&job.values->selection);
    if (status == CMD_OK && !job.values->data)
        status = output_check(job.values->output, "html", CMD_MISUSE);
    if (status != CMD_OK)
        return status;
    job.recording = recording_choose(call, name);
    if (!job.recording)
        return CMD_FAILED;
    status = choose_output(&job);
    if (status == CMD_OK)
        status = open_and_make(&job);
    store_reader_close(job.reader);
    free(job.default_output);
    return status;
}

#define AT(field) offsetof(struct html_values, field)

static const struct option_spec html_options[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE; \"-\" is standard output; default: the recording's name with .html", NULL},
    {"title", 0, OPTION_TEXT, AT(title), "TEXT", "title; default: the program's name", NULL},
    {"data", 0, OPTION_FLAG, AT(data), NULL,
     "the data of the page alone, as JSON, to standard output", NULL},
    {"no-source", 0, OPTION_FLAG, AT(no_source), NULL, "without the text of source files", NULL},
    {"range", 'r', OPTION_TEXT, AT(selection.range), "NAME",
     "functions and waits of samples inside ranges of this name only; *, ? and [] as in a shell",
     NULL},
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    SELECTION_GIL(AT(selection)),
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {0},
};

static const char html_details[] = RECORDING_CHOICE_HELP
    "The page is one file of at most 5 MB. It needs no network, and its numbers are those of\n"
    "annot report.\n"
    "\n"
    "exit status: 0; 1 if the recording could not be read or is damaged; 2 wrong command line\n";

const struct cmd cmd_html = {
    .name = "html",
    .summary = "show a recording on one page in a browser",
    .usage = "[OPTIONS] [FILE]",
    .details = html_details,
    .options = html_options,
    .values_size = sizeof(struct html_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_html,
};
