/* SPDX-License-Identifier: MIT */
/* `annot html`: writes a recording as one page for browsers, or only the page's data. */
#include "cmd.h"
#include "operands.h"
#include "page_file.h"
#include "recording.h"
#include "selection.h"

struct html_values {
    const char *output, *title, *compare;
    struct selection_values selection; /* its range applies to samples only */
    bool force, data, no_source;
};

static int run_html(const struct cmd_call *call)
{
    const struct html_values *values = call->values;
    const struct page_file wanted = {
        .output = values->output,
        .title = values->title,
        .selection = &values->selection,
        .compare = values->compare,
        .force = values->force,
        .data = values->data,
        .no_source = values->no_source,
    };
    char name[RECORDING_NAME_SIZE];
    int status = selection_check(&values->selection);
    if (status == CMD_OK && !values->data)
        status = output_check(values->output, "html", CMD_MISUSE);
    if (status != CMD_OK)
        return status;
    const char *recording = recording_choose(call, name);
    return recording ? page_file_write(&wanted, recording) : CMD_FAILED;
}

#define AT(field) offsetof(struct html_values, field)

static const struct option_spec html_options[] = {
    OPTIONS_GROUP("what to write"),
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE; \"-\" is standard output (default: the recording's name with .html)", NULL},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {"title", 0, OPTION_TEXT, AT(title), "TEXT", "title (default: the program's name)", NULL},
    {"compare", 0, OPTION_TEXT, AT(compare), "FILE",
     "what became better or worse since that recording: the tables of annot diff", NULL},
    {"data", 0, OPTION_FLAG, AT(data), NULL,
     "the data of the page alone, as JSON, to standard output", NULL},
    {"no-source", 0, OPTION_FLAG, AT(no_source), NULL, "without the text of source files", NULL},
    OPTIONS_GROUP("of which part"),
    {"range", 'r', OPTION_TEXT, AT(selection.range), "NAME",
     "calls, functions and waits inside ranges of this name only; *, ? and [] as in a shell", NULL},
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    SELECTION_GIL(AT(selection)),
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
    .examples = "  annot html run.annot\n"
                "  annot html --compare before.annot -o after.html after.annot\n",
    .options = html_options,
    .values_size = sizeof(struct html_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_html,
};
