/* SPDX-License-Identifier: MIT */
/* `annot env`: prints the variables that `annot run` sets, for a shell or a Dockerfile.
 *
 * Users write eval $(annot env) without quotes, so the shell splits the output into words and
 * expands patterns: the output never contains two consecutive blanks, or *, ? or [. */
#include "cmd.h"
#include "job_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct env_values {
    struct job_values job;
    bool dockerfile;
};

static bool is_plain(const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:,=@%";
    return value[strspn(value, plain)] == 0;
}

/* Encodes a value for printf, which decodes octal numbers. The final dot protects trailing newlines
 * from the shell. */
static void print_encoded(const char *name, const char *value)
{
    printf("export %s=\"$(printf %%b '", name);
    for (; *value; value++) {
        char text[2] = {*value, 0};
        if (is_plain(text))
            putchar(*value);
        else
            printf("\\0%03o", (unsigned char)*value);
    }
    printf(".')\"; %s=\"${%s%%.}\";\n", name, name);
}

static void print_export(const struct child_variable *variable)
{
    if (is_plain(variable->value))
        printf("export %s='%s';\n", variable->name, variable->value);
    else
        print_encoded(variable->name, variable->value);
}

/* A line of a Dockerfile ends at a newline, even within quotes. */
static int check_docker(const struct job_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        if (strchr(environment->variables[i].value, '\n'))
            return cmd_fail(CMD_FAILED,
                            "%s has a value of several lines\nno Dockerfile can hold it",
                            environment->variables[i].name);
    return 0;
}

static void print_docker(const struct child_variable *variable)
{
    printf("ENV %s=\"", variable->name);
    for (const char *at = variable->value; *at; at++) {
        if (strchr("\"\\$", *at))
            putchar('\\');
        putchar(*at);
    }
    puts("\"");
}

static int run_env(const struct cmd_call *call)
{
    const struct env_values *values = call->values;
    struct job_environment *environment = calloc(1, sizeof(*environment));
    if (!environment)
        return cmd_fail(CMD_FAILED, "out of memory");
    int status = job_environment(&values->job, CMD_MISUSE, environment);
    if (status == 0 && values->dockerfile)
        status = check_docker(environment);
    for (size_t i = 0; status == 0 && i < environment->count; i++)
        (values->dockerfile ? print_docker : print_export)(&environment->variables[i]);
    free(environment);
    return status;
}

static const struct option_spec options[] = {
    {"dockerfile", 0, OPTION_FLAG, offsetof(struct env_values, dockerfile), NULL,
     "print lines for a Dockerfile", NULL},
    JOB_OPTIONS(offsetof(struct env_values, job)),
    {0},
};

const struct cmd cmd_env = {
    .name = "env",
    .summary = "print the variables that let annot attach record all of a job later",
    .usage = "[OPTIONS]",
    .details = "For a shell: eval \"$(annot env)\". What it starts from then on is as if by annot "
               "run.\n",
    .options = options,
    .values_size = sizeof(struct env_values),
    .operands_max = 0,
    .run = run_env,
};
