/* SPDX-License-Identifier: MIT */
/* annot import: converts a file of another tool to a recording, which all other commands read. Main
 * thread only. */
#include "cmd.h"
#include "import.h"
#include "operands.h"
#include "recording.h"
#include "term.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct import_values {
    const char *output, *format, *with;
    int64_t unit_ns;
    bool force;
};

static void list_names(char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    for (unsigned i = 0; import_format(i); i++)
        text_format(&text, "%s%s", i ? ", " : "", import_format(i)->name);
}

static void print_formats(void)
{
    fputs("\nFormats:\n", stdout);
    for (unsigned i = 0; import_format(i); i++)
        printf("  %-10s %s: %s\n", import_format(i)->name, import_format(i)->summary,
               import_format(i)->from);
}

/* "dir/trace.json.gz" gives "dir/trace.annot". NULL: out of memory. */
static char *default_output(const char *path, bool force)
{
    static const char *const endings[] = {".gz", ".zst", ".json", ".txt"};
    size_t length = strlen(path);
    char *name = strdup(path);
    for (size_t i = 0; name && i < sizeof(endings) / sizeof(*endings); i++)
        if (text_ends_with(name, endings[i])) {
            length -= strlen(endings[i]);
            name[length] = 0;
        }
    char *output = name ? output_default(name, length, ".annot", force ? output_any : NULL) : NULL;
    free(name);
    return output;
}

static int fail(const char *path, const char *output, const struct import_result *result, int error)
{
    char names[256];
    list_names(names, sizeof(names));
    if (error == -EEXIST)
        return cmd_fail(CMD_FAILED, "%s exists already\n--force replaces it, -o names another",
                        output);
    if (error == -ENOMSG && text_ends_with(path, ".lprof"))
        return cmd_fail(CMD_FAILED,
                        "cannot import %s: results of line_profiler are read where they lie\n"
                        "give it to any command in place of a recording: annot report %s",
                        path, path);
    if (error == -ENOMSG && text_ends_with(path, ".annot"))
        return cmd_fail(CMD_FAILED, "cannot import %s: it is a recording already\nannot report %s",
                        path, path);
    if (error == -ENOMSG)
        return cmd_fail(CMD_FAILED,
                        "cannot import %s: its format is not known\nannot reads %s; "
                        "--from-format says which it is",
                        path, names);
    return recording_fail_import(path, result, error);
}

static int check_format(const char *format)
{
    char names[256];
    for (unsigned i = 0; format && import_format(i); i++)
        if (strcmp(import_format(i)->name, format) == 0)
            return CMD_OK;
    list_names(names, sizeof(names));
    return format ? cmd_fail(CMD_MISUSE,
                             "option --from-format: there is no format %s\nit is one of %s", format,
                             names)
                  : CMD_OK;
}

static int run_import(const struct cmd_call *call)
{
    const struct import_values *values = call->values;
    const char *path = call->operands[0];
    const char *output = values->output;
    char *made = NULL;
    struct import_result result = {0};
    int status = check_format(values->format);
    if (status == CMD_OK && output)
        status = output_check(output, "annot", CMD_MISUSE);
    if (status != CMD_OK)
        return status;
    if (!output && strcmp(path, "-") == 0)
        return cmd_fail(CMD_MISUSE, "standard input has no name that the recording could get\n"
                                    "-o FILE names it");
    if (!output)
        output = made = default_output(path, values->force);
    const struct import_options options = {.format = values->format,
                                           .with = values->with,
                                           .unit_ns = values->unit_ns,
                                           .source = path,
                                           .version = ANNOT_VERSION,
                                           .overwrite = values->force};
    int error = output ? import_file(path, output, &options, &result) : -ENOMEM;
    if (error)
        status = fail(path, output, &result, error);
    else
        recording_note_import(&result, output);
    if (!error && made)
        recording_note_output(output, NULL);
    free(made);
    return status;
}

#define AT(field) offsetof(struct import_values, field)

static const struct option_spec options[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "where the recording goes (default: the file's name with .annot)", NULL},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {"from-format", 'f', OPTION_TEXT, AT(format), "FORMAT",
     "format of the file (default: detected from its content)", NULL},
    {"name-with", 0, OPTION_TEXT, AT(with), "KEY",
     "make a text value of ranges a part of their names: tables then group by both", NULL},
    {"unit", 0, OPTION_TIME, AT(unit_ns), "TIME",
     "what 1 is in files that do not say it, as collapsed stacks: 1us, 10ms", NULL},
    {0},
};

const struct cmd cmd_import = {
    .name = "import",
    .summary = "turn a trace or profile of another tool into a recording",
    .usage = "[OPTIONS] FILE",
    .print_details = print_formats,
    .options = options,
    .values_size = sizeof(struct import_values),
    .operands_min = 1,
    .operands_max = 1,
    .run = run_import,
};
