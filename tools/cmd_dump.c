/* SPDX-License-Identifier: MIT */
/* `annot dump`: the present stack of each thread of a process, its state and its open ranges.
 *
 * Frames stand as in a debugger: the innermost first. Names are foreign: printed without control
 * characters. */
#include "cmd.h"
#include "dump_print.h"
#include "look.h"
#include "operands.h"
#include "record_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct dump_values {
    const char *pids, *rung;
    bool json;
};

static int fail(int32_t pid, int error)
{
    if (error == -ESRCH)
        return cmd_fail(CMD_FAILED,
                        "process %d: there is none\n\"pgrep -a NAME\" finds the one you mean",
                        (int)pid);
    if (error == -EPERM || error == -EACCES)
        return cmd_fail(CMD_FAILED,
                        "process %d: its memory may not be read: it runs under another user, or "
                        "the system protects it\nsudo annot dump -p %d",
                        (int)pid, (int)pid);
    return cmd_fail(CMD_FAILED, "process %d: %s", (int)pid, strerror(-error));
}

static int dump(const struct dump_values *values, int32_t pid, bool first)
{
    struct look *look;
    struct look_options options = {.pid = pid, .rung_max = sampling_rung_max(values->rung)};
    int error = look_at(&options, &look);
    if (error != 0)
        return fail(pid, error);
    if (values->json) {
        error = dump_print_json(look, pid);
    } else {
        printf("%s", first ? "" : "\n");
        dump_print(look, pid);
        if (look->python_reason[0])
            cmd_note("process %d: its Python frames cannot be read: %s", (int)pid,
                     look->python_reason);
    }
    look_destroy(look);
    return error == 0 ? CMD_OK : cmd_fail(CMD_FAILED, "cannot write: %s", strerror(-error));
}

static int run_dump(const struct cmd_call *call)
{
    const struct dump_values *values = call->values;
    struct pid_list pids;
    struct rlimit files;
    int status = pid_list_parse(values->pids, &pids);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max; /* programs' files are held open for their names */
    setrlimit(RLIMIT_NOFILE, &files);
    for (uint32_t i = 0; status == 0 && i < pids.count; i++)
        status = dump(values, pids.items[i], i == 0);
    return status;
}

static const struct option_spec options[] = {
    {"pid", 'p', OPTION_TEXT, offsetof(struct dump_values, pids), "PID[,PID...]", "the processes",
     NULL},
    {"json", 0, OPTION_FLAG, offsetof(struct dump_values, json), NULL,
     "one JSON object per process and line", NULL},
    {"rung", 0, OPTION_CHOICE, offsetof(struct dump_values, rung), "bpf|remote|none",
     "best way of sampling to try", "bpf"},
    {0},
};

const struct cmd cmd_dump = {
    .name = "dump",
    .summary = "show what each thread of a process is doing now",
    .usage = "-p PID[,PID...] [OPTIONS]",
    .details = "Nothing is paused. The innermost frame is first.\n",
    .options = options,
    .values_size = sizeof(struct dump_values),
    .operands_min = 0,
    .operands_max = 0,
    .run = run_dump,
};
