/* SPDX-License-Identifier: MIT */
/* `annot kernprof`: runs a program under `annot record --trace-lines`, for users of line_profiler's
 * kernprof; then writes its file of results and, on request, prints the annotated source.
 *
 * It runs the commands record, export and report one after the other. */
#include "cmd.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_FAILED = 125, OWN_WORDS = 6, PATTERNS_SIZE = 2048 };

struct kernprof_values {
    bool line_by_line, view;
    const char *output;
    struct option_list modules;
};

struct kernprof {
    const struct kernprof_values *values;
    char output[PATH_MAX], recording[PATH_MAX];
    char patterns[PATTERNS_SIZE];
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

/* x.py gives x.py.lprof, as with kernprof, and x.py.annot. */
static int choose_files(struct kernprof *k, char **operands)
{
    const char *script = strcmp(operands[0], "-m") == 0 && operands[1] ? operands[1] : operands[0];
    struct text output = text_init(k->output, sizeof(k->output));
    struct text recording = text_init(k->recording, sizeof(k->recording));
    if (strcmp(script, "-c") == 0)
        script = "code";
    if (k->values->output)
        text_format(&output, "%s", k->values->output);
    else
        text_format(&output, "%s.lprof", text_base_name(script));
    size_t length = strlen(k->output);
    if (ends_with(k->output, ".lprof"))
        length -= strlen(".lprof");
    text_format(&recording, "%.*s.annot", (int)length, k->output);
    if (ends_with(k->output, ".annot"))
        return cmd_fail(STATUS_FAILED, "option -o: a file for line_profiler, x.lprof; the "
                                       "recording is beside it, x.annot");
    return 0;
}

static int choose_patterns(struct kernprof *k)
{
    struct text patterns = text_init(k->patterns, sizeof(k->patterns));
    text_format(&patterns, "--trace-lines=@profile");
    for (uint32_t i = 0; i < k->values->modules.count; i++) {
        const char *name = k->values->modules.items[i].text;
        name += strncmp(name, "./", 2) == 0 ? 2 : 0;
        if (patterns.length + strlen(name) + 2 > sizeof(k->patterns))
            return cmd_fail(STATUS_FAILED, "option -p: the names are too long");
        text_format(&patterns, ",%s", name);
    }
    return 0;
}

static int record(struct kernprof *k, const struct cmd_call *call)
{
    static char force[] = "--force", quiet[] = "--quiet", bare[] = "--sampling=none", to[] = "-o";
    char *own[OWN_WORDS] = {force, quiet, bare, k->patterns, to, k->recording};
    size_t count = OWN_WORDS + (size_t)call->operand_count;
    char **words = calloc(count + 1, sizeof(*words));
    if (!words)
        return cmd_fail(STATUS_FAILED, "out of memory");
    memcpy(words, own, sizeof(own));
    memcpy(words + OWN_WORDS, call->operands, (size_t)call->operand_count * sizeof(*words));
    (void)unlink(k->recording); /* a file found afterwards is of this run */
    int status = cmd_run(&cmd_record, (int)count, words);
    cmd_set_name("kernprof");
    cmd_set_quiet(false);
    free(words);
    return status;
}

/* Returns the status of the first command that fails. */
static int write_results(struct kernprof *k)
{
    static char force[] = "--force", as[] = "--format=lprof", to[] = "-o";
    static char source[] = "--source", all[] = "--all";
    char *export[] = {force, as, to, k->output, k->recording, NULL};
    char *report[] = {source, all, k->recording, NULL};
    int status = cmd_run(&cmd_export, (int)(sizeof(export) / sizeof(*export)) - 1, export);
    if (status == CMD_OK && k->values->view)
        status = cmd_run(&cmd_report, (int)(sizeof(report) / sizeof(*report)) - 1, report);
    cmd_set_name("kernprof");
    return status == CMD_OK ? 0 : STATUS_FAILED;
}

static int run_kernprof(const struct cmd_call *call)
{
    struct kernprof *k = calloc(1, sizeof(*k));
    if (!k)
        return cmd_fail(STATUS_FAILED, "out of memory");
    k->values = call->values;
    int status = choose_files(k, call->operands);
    if (status == 0)
        status = choose_patterns(k);
    if (status == 0) {
        status = record(k, call);
        int written = access(k->recording, F_OK) == 0 ? write_results(k) : 0;
        status = status ? status : written;
    }
    free(k);
    return status;
}

#define AT(field) offsetof(struct kernprof_values, field)

static const struct option_spec options[] = {
    {"module", 'm', OPTION_COMMAND, 0, "MODULE [ARGUMENT...]",
     "run a Python module, as python3 -m does", NULL},
    {"line-by-line", 'l', OPTION_FLAG, AT(line_by_line), NULL,
     "count lines: nothing else is done here, with or without this option", NULL},
    {"view", 'v', OPTION_FLAG, AT(view), NULL, "print the annotated source afterwards", NULL},
    {"outfile", 'o', OPTION_TEXT, AT(output), "FILE",
     "the results, for line_profiler (default: SCRIPT.lprof here); the recording is beside them",
     NULL},
    {"prof-mod", 'p', OPTION_LIST, AT(modules), "NAME[,NAME...]",
     "also functions that are not decorated: of a script, a module, a class, or one function",
     NULL},
    {0},
};

const struct cmd cmd_kernprof = {
    .name = "kernprof",
    .summary = "count lines as line_profiler's kernprof does, and write its file",
    .usage = "[OPTIONS] FILE.py [ARGUMENT...]",
    .details = "Counted are functions with the decorator @profile (a builtin, or from "
               "line_profiler, installed\nor not) or @pyannot.lines, and those of --prof-mod, in "
               "all processes and threads.\nThe file is read by python3 -m line_profiler FILE; the "
               "recording by all commands of annot.\nThe exit status is the program's; annot's "
               "own failures: 125.\n",
    .options = options,
    .values_size = sizeof(struct kernprof_values),
    .operands_min = 1,
    .operands_max = -1,
    .command_follows = true,
    .misuse_status = STATUS_FAILED,
    .run = run_kernprof,
};
