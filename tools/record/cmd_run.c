/* SPDX-License-Identifier: MIT */
/* `annot run`: executes a command whose processes `annot attach` can later record in full.
 *
 * It sets variables and calls exec: the command keeps the process number, and annot leaves no
 * process. */
#include "child.h"
#include "cmd.h"
#include "job_environment.h"
#include "record_program.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { STATUS_FAILED = 125 };

static int become(struct program *program, const struct job_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        if (setenv(environment->variables[i].name, environment->variables[i].value, 1) != 0)
            return cmd_fail(STATUS_FAILED, "out of memory");
    execvp(program->argv[0], program->argv);
    return program_fail(program->argv[0], -errno);
}

static int run_job(const struct cmd_call *call)
{
    struct job_environment *environment = calloc(1, sizeof(*environment));
    struct program program = {0};
    if (!environment)
        return cmd_fail(STATUS_FAILED, "out of memory");
    int status = job_environment(call->values, STATUS_FAILED, environment);
    if (status == 0)
        status = program_choose(&program, call->operands);
    if (status == 0)
        status = become(&program, environment);
    program_fini(&program);
    free(environment);
    return status;
}

static const struct option_spec options[] = {
    {"module", 'm', OPTION_COMMAND, 0, "MODULE [ARGUMENT...]",
     "run a Python module, as python3 -m does", NULL},
    {"code", 'c', OPTION_COMMAND, 0, "CODE [ARGUMENT...]", "run Python code, as python3 -c does",
     NULL},
    JOB_OPTIONS(0),
    {0},
};

const struct cmd cmd_run_job = {
    .name = "run",
    .summary = "run a command so that annot attach can record all of it later",
    .usage = "[OPTIONS] COMMAND|FILE.py [ARGUMENT...]",
    .details = "Nothing is recorded. annot's libraries are in the command's processes and do "
               "nothing until\nannot attach records one of them. To do the same to a shell or a "
               "container: annot env.\n",
    .options = options,
    .values_size = sizeof(struct job_values),
    .operands_min = 1,
    .operands_max = -1,
    .command_follows = true,
    .misuse_status = STATUS_FAILED,
    .run = run_job,
};
