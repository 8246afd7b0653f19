/* SPDX-License-Identifier: MIT */
/* A subcommand, and the functions that all subcommands use.
 *
 * To add one: a file cmd_NAME.c with a `const struct cmd cmd_NAME`, its line in cmd_table.c and in
 * meson.build, a golden case in tests/cli, a man page (docs/extending.md). Data goes to standard
 * output, messages to standard error through cmd_fail and cmd_note. Thread-safety: the main thread
 * only. */
#ifndef ANNOT_CMD_H
#define ANNOT_CMD_H

#include "options.h"

enum cmd_status {
    CMD_OK = 0,
    CMD_FAILED = 1, /* failed, or the data are damaged */
    CMD_MISUSE = 2, /* wrong command line */
};

struct cmd_call {
    const struct cmd *cmd;
    const void *values; /* the command's own struct, filled by its options table */
    char **operands;    /* NULL-terminated, inside main's argv */
    int operand_count;
    const struct options *options; /* for options_given() */
};

struct cmd {
    const char *name;
    const char *summary;               /* one line without a full stop */
    const char *usage;                 /* the part after the name: "[OPTIONS] FILE" */
    const char *details;               /* lines below the options in the help; NULL: empty */
    const char *examples;              /* command lines at the end of the help; NULL: empty */
    const struct option_spec *options; /* NULL: only --help */
    /* Alternative to `options`: a table composed of others; and lines below the details. Or
     * NULL. */
    const struct option_spec *(*make_options)(void);
    void (*print_details)(void);
    size_t values_size;
    int operands_min, operands_max; /* max -1: any number */
    bool command_follows;           /* the operands are a command line */
    int misuse_status;              /* exit status of a wrong command line; 0: CMD_MISUSE */
    /* Returns the exit status. */
    int (*run)(const struct cmd_call *call);
};

/* All subcommands, in the order of the help: cmd_table.c. */
extern const struct cmd *const cmd_table[];
extern const size_t cmd_count;
const struct option_spec *cmd_options(const struct cmd *cmd);

/* Prints "annot NAME: TEXT" and, if the format has a newline, "hint: TEXT" with the part after it,
 * on standard error. Control characters of the arguments are escaped. Returns `status`:
 *
 *     return cmd_fail(CMD_FAILED, "cannot open %s: %s\nis the directory writable?", ...); */
__attribute__((format(printf, 2, 3))) int cmd_fail(int status, const char *format, ...);

/* Prints a warning or a remark in the same format. Silent with --quiet. */
__attribute__((format(printf, 1, 2))) void cmd_note(const char *format, ...);

/* --quiet: print only errors. */
void cmd_set_quiet(bool quiet);
bool cmd_is_quiet(void);

/* Parses the words after the command's name, reordering them, and runs it. Returns the exit
 * status. */
int cmd_run(const struct cmd *cmd, int argc, char **argv);

/* The name in messages; set by cmd_run. NULL: plain "annot". */
void cmd_set_name(const char *name);
/* The command's name in messages: "attach". */
const char *cmd_name(void);

/* Quotes a word of a suggested command line for the shell if needed. `size` >= 1. */
void cmd_quote(const char *word, char *buffer, size_t size);

/* Prints usage, options, details and examples of one command to standard output. Without `all`, it
 * only lists the names of rarely used options. */
void cmd_print_help(const struct cmd *cmd, bool all);

/* Prints all commands to standard output. */
void cmd_print_overview(void);

extern const struct cmd cmd_attach, cmd_cat, cmd_diff, cmd_doctor, cmd_dump, cmd_env, cmd_export,
    cmd_flame, cmd_help, cmd_html, cmd_import, cmd_info, cmd_ls, cmd_merge, cmd_open, cmd_query,
    cmd_record, cmd_kernprof, cmd_recover, cmd_report, cmd_run_job, cmd_set, cmd_snapshot, cmd_stat,
    cmd_symbolize, cmd_tail, cmd_top, cmd_version;

#endif
