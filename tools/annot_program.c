/* SPDX-License-Identifier: MIT */
/* The `annot` program: finds the subcommand by its name and runs it. */
#include "annot_program.h"

#include "cmd.h"
#include "hints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; i < cmd_count; i++) {
        if (strcmp(cmd_table[i]->name, name) == 0)
            return cmd_table[i];
    }
    return NULL;
}

static const struct cmd *nearest(const char *name)
{
    const struct cmd *best = NULL;
    unsigned best_distance = options_near_limit(name) + 1;
    for (size_t i = 0; i < cmd_count; i++) {
        const struct cmd *cmd = cmd_table[i];
        bool starts = name[0] && name[1] && strncmp(cmd->name, name, strlen(name)) == 0;
        unsigned distance = starts ? 0 : options_distance(name, cmd->name);
        if (distance < best_distance) {
            best = cmd;
            best_distance = distance;
        }
    }
    return best;
}

/* Suggests the equivalent of another profiler's command, else a command with a similar name. */
static int fail_unknown_command(const char *name)
{
    char buffer[1536];
    const char *hint = hint_for_operand(name, buffer, sizeof(buffer));
    if (!hint)
        hint = hint_find(NULL, name[0] == '-' ? "" : name);
    const char *what = name[0] == '-' ? "option" : "command";
    if (hint)
        return cmd_fail(CMD_MISUSE, "unknown %s \"%s\"\n%s", what, name, hint);
    if (name[0] == '-')
        return cmd_fail(CMD_MISUSE,
                        "unknown option \"%s\"\noptions follow the command: annot COMMAND "
                        "[OPTIONS]; \"annot --help\" lists the commands",
                        name);
    const struct cmd *cmd = nearest(name);
    if (!cmd)
        return cmd_fail(CMD_MISUSE, "unknown command \"%s\"\n\"annot --help\" lists the commands",
                        name);
    return cmd_fail(CMD_MISUSE, "unknown command \"%s\"\ndid you mean \"annot %s\"?", name,
                    cmd->name);
}

/* A write error of standard output, such as a full disk, must not look like success. */
static int close_output(int status)
{
    int failed = ferror(stdout);
    errno = 0;
    if (fflush(stdout) != 0 || failed)
        return status ? status
                      : cmd_fail(CMD_FAILED, "cannot write to standard output: %s",
                                 errno ? strerror(errno) : "an earlier write failed");
    return status;
}

int annot_main(int argc, char **argv)
{
    if (argc < 2) { /* without arguments: an overview, but no success */
        cmd_print_overview();
        return close_output(CMD_MISUSE);
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    const struct cmd *cmd = cmd_find(word);
    return cmd ? close_output(cmd_run(cmd, argc - 2, argv + 2)) : fail_unknown_command(word);
}
