/* SPDX-License-Identifier: MIT */
/* annot flame: the flame graph of a recording, as a page (page_file.h), or as the picture that
 * annot export writes. Main thread only. */
#include "cmd.h"
#include "cmd_export.h"
#include "export_options.h"
#include "operands.h"
#include "page_file.h"
#include "recording.h"
#include "selection.h"
#include "text.h"

#include <string.h>

/* ---- The page -------------------------------------------------------------------------------- */

/* The page has its own controls for drawing stacks. Two of these options have defaults and no
 * effect on the page. */
static const struct option_spec page_options[] = {
    {"title", 0, OPTION_TEXT, EXPORT_AT(title), NULL, NULL, NULL},
    {"strip-prefix", 0, OPTION_TEXT, EXPORT_AT(strip_prefix), NULL, NULL, NULL},
    {"gpu", 0, OPTION_FLAG, EXPORT_AT(gpu), NULL, NULL, NULL},
    {"min-width", 0, OPTION_NUMBER, EXPORT_AT(min_width), NULL, NULL, NULL},
    {0},
};

static const struct exporter page_format = {.name = "html", .options = page_options};

/* Unless the output's name decides, an option that only pictures have selects a picture. */
static bool wants_page(const struct export_values *values)
{
    const char *output = values->output ? values->output : "-";
    if (values->format)
        return strcmp(values->format, page_format.name) == 0;
    if (text_ends_with(output, ".html") || text_ends_with(output, export_svg.extension))
        return text_ends_with(output, ".html");
    return !export_refuses(&page_format, &values->wanted);
}

static int write_page(const struct cmd_call *call)
{
    const struct export_values *values = call->values;
    const struct page_file wanted = {
        .output = values->output,
        .title = values->wanted.title,
        .selection = &values->selection,
        .force = values->force,
        .flame = true,
        .gpu = values->wanted.gpu,
    };
    const char *refused = export_refuses(&page_format, &values->wanted);
    char name[RECORDING_NAME_SIZE];
    int status = output_check(values->output, page_format.name, CMD_MISUSE);
    if (status == CMD_OK)
        status = selection_check(&values->selection);
    if (status != CMD_OK)
        return status;
    if (refused)
        return cmd_fail(CMD_MISUSE,
                        "a page has no option --%s\nit has switches for what is drawn; the "
                        "option is one of pictures: -o x.svg",
                        refused);
    const char *recording = recording_choose(call, name);
    return recording ? page_file_write(&wanted, recording) : CMD_FAILED;
}

static int run_flame(const struct cmd_call *call)
{
    return wants_page(call->values) ? write_page(call) : export_as(call, &export_svg);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const char flame_details[] = RECORDING_CHOICE_HELP
    "The page needs no other file and no network: a click zooms, Escape shows all, / searches,\n"
    "and the arrow keys walk. The picture is for documents; it has no script.\n"
    "\n"
    "exit status: 0; 1 if there is nothing to draw, or the recording is damaged; 2 wrong command\n"
    "line\n";

const struct cmd cmd_flame = {
    .name = "flame",
    .summary = "draw the samples of a recording as a flame graph",
    .usage = "[OPTIONS] [FILE]",
    .details = flame_details,
    .examples = "  annot flame run.annot\n"
                "  annot flame --off-cpu -o waits.svg run.annot\n"
                "  annot flame --range load --python-only -o load.svg run.annot\n",
    .make_options = export_options_of_flame,
    .values_size = sizeof(struct export_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_flame,
};
