/* SPDX-License-Identifier: MIT */
/* The `annot` program: finds the subcommand, parses its options by its table, runs it.
 *
 * Exit status: 0 done, 1 could not, 2 wrong command line; `record` has its own (annot-record(1)).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "hints.h"

const struct cmd *const cmd_table[] = {
    &cmd_record,    &cmd_attach, &cmd_run_job, &cmd_env,      &cmd_set,     &cmd_ls,
    &cmd_dump,      &cmd_top,    &cmd_report,  &cmd_diff,     &cmd_stat,    &cmd_kernprof,
    &cmd_query,     &cmd_info,   &cmd_cat,     &cmd_tail,     &cmd_html,    &cmd_flame,
    &cmd_open,      &cmd_export, &cmd_import,  &cmd_snapshot, &cmd_recover, &cmd_merge,
    &cmd_symbolize, &cmd_doctor, &cmd_help,    &cmd_version,
};
const size_t cmd_count = sizeof(cmd_table) / sizeof(cmd_table[0]);

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

/* What other profilers call so, else what looks like it. */
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

static int fail_options(const struct cmd *cmd, const struct options *options)
{
    const char *hint = options->unknown[0] ? hint_find(cmd->name, options->unknown) : NULL;
    if (!hint && options->unknown[0] && !options->near)
        hint = hint_find_near(cmd->name, options->unknown);
    return cmd_fail(cmd->misuse_status ? cmd->misuse_status : CMD_MISUSE, "%s\n%s", options->error,
                    hint ? hint : options->hint);
}

static int check_operands(const struct cmd *cmd, const struct options *options)
{
    int status = cmd->misuse_status ? cmd->misuse_status : CMD_MISUSE;
    if (options->operand_count < cmd->operands_min)
        return cmd_fail(status, "%s missing\nusage: annot %s %s",
                        cmd->command_follows ? "the command to run is" : "an argument is",
                        cmd->name, cmd->usage);
    if (cmd->operands_max >= 0 && options->operand_count > cmd->operands_max)
        return cmd_fail(status, "too many arguments: \"%s\"\nusage: annot %s%s%s",
                        options->operands[cmd->operands_max], cmd->name, cmd->usage[0] ? " " : "",
                        cmd->usage);
    return 0;
}

int cmd_run(const struct cmd *cmd, int argc, char **argv)
{
    cmd_set_name(cmd->name);
    void *values = calloc(1, cmd->values_size + 1);
    if (!values)
        return cmd_fail(CMD_FAILED, "out of memory");
    struct options options = {
        .specs = cmd_options(cmd),
        .values = values,
        .command_follows = cmd->command_follows,
    };
    int status = 0;
    if (options_parse(&options, argc, argv) < 0)
        status = fail_options(cmd, &options);
    else if (options.help)
        cmd_print_help(cmd);
    else
        status = check_operands(cmd, &options);
    if (status == 0 && !options.help) {
        struct cmd_call call = {cmd, values, options.operands, options.operand_count};
        status = cmd->run(&call);
    }
    free(values);
    return status;
}

/* A full disk behind standard output must not look like success. */
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
    if (argc < 2) { /* nothing was asked for: no success either */
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
