/* SPDX-License-Identifier: MIT */
/* Implements trace_ask.h. Names of programs and their answers are untrusted: cmd_note and
 * term_print escape them. */
#include "trace_ask.h"

#include "cmd.h"
#include "look.h"
#include "look_enter.h"
#include "look_python.h"
#include "proc_info.h"
#include "python_environment.h"
#include "term.h"
#include "text.h"
#include "tracing_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool trace_ask_wanted(const struct tracing_values *values)
{
    return values->functions || values->lines || values->select;
}

bool trace_ask_is_on(const struct tracing_values *values)
{
    return values->lines || (values->functions && !values->off);
}

static struct tracing_values without_off(const struct tracing_values *values)
{
    struct tracing_values copy = *values;
    if (values->off)
        copy.functions = NULL;
    return copy;
}

int trace_ask_check(const struct tracing_values *values, int status)
{
    const struct tracing_values plain = without_off(values);
    return tracing_check(&plain, &(struct python_values){.parts = "default"}, status);
}

static void add_hex(struct text *text, const char *word)
{
    for (; *word; word++)
        text_format(text, "%02x", (unsigned char)*word);
}

/* Imports pyannot from the program's path, else from annot's own folders. */
static void add_search(struct text *code)
{
    static struct python_environment environment;
    size_t count = python_environment(&(struct python_values){.parts = "default"}, &environment);
    const char *folders = "";
    for (size_t i = 0; i < count; i++)
        if (strcmp(environment.variables[i].name, "ANNOT_PYTHON_PATH") == 0)
            folders = environment.variables[i].value;
    text_format(code, "import sys\npath = sys.path\nsys.path = path + bytes.fromhex('");
    add_hex(code, folders);
    text_format(code, "').decode('utf-8', 'surrogateescape').split(':')\n"
                      "try:\n from pyannot import _trace\nfinally:\n sys.path = path\n");
}

/* Composes Python source. */
static void compose(const struct trace_ask *ask, struct text *code)
{
    static struct tracing_environment environment;
    environment.text[0] = '\0';
    if (ask->values) {
        const struct tracing_values plain = without_off(ask->values);
        const char *ranges = ask->ranges ? ask->ranges : "";
        if (plain.functions || plain.lines || *ranges)
            (void)tracing_environment(&plain, ranges, &environment);
    }
    if (ask->enters)
        add_search(code);
    else
        text_format(code, "from pyannot import _trace\n");
    text_format(code, "answer = _trace.request(bytes.fromhex('");
    add_hex(code, environment.text);
    text_format(code, "').decode('utf-8', 'surrogateescape'))");
}

static int fail(const struct trace_ask *ask, const char *comm, int error,
                const struct look_reason *reason)
{
    if (error == -ENOENT && ask->quiet)
        return CMD_FAILED;
    if (error == -ENOENT)
        return cmd_fail(CMD_FAILED,
                        "process %d (%s): pyannot is not in it\nannot attach --inject %d loads it "
                        "into a Python that runs",
                        (int)ask->pid, comm, (int)ask->pid);
    return cmd_fail(CMD_FAILED, "process %d (%s): its tracing %s: %s", (int)ask->pid, comm,
                    error == -EINPROGRESS ? "was not switched yet" : "cannot be switched",
                    reason->text);
}

int trace_ask(const struct trace_ask *ask)
{
    static char bytes[16384];
    struct text code = text_init(bytes, sizeof(bytes));
    struct proc_stat stat = {.comm = "?"};
    struct look_reason reason = {""};
    char answer[LOOK_ANSWER_SIZE];
    int error = proc_check_owner(ask->pid);
    if (error == -EPERM)
        return cmd_fail(CMD_FAILED, "process %d: it runs under another user", (int)ask->pid);
    (void)proc_stat(ask->pid, &stat);
    compose(ask, &code);
    const struct look_python run = {ask->pid, bytes, ask->enters};
    error = look_python_run(&run, answer, &reason);
    if (error != 0)
        return fail(ask, stat.comm, error, &reason);
    if (ask->notes)
        cmd_note("process %d (%s): tracing %s", (int)ask->pid, stat.comm, answer);
    if (ask->quiet || ask->notes)
        return 0;
    printf("process    %d (", (int)ask->pid);
    term_print(stat.comm);
    printf("): tracing ");
    term_print(answer);
    putchar('\n');
    return 0;
}
