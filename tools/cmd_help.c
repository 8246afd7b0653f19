/* SPDX-License-Identifier: MIT */
/* `annot help` and `annot version`. */
#include "annot_program.h"
#include "cmd.h"
#include "hints.h"
#include "json_writer.h"

#include <stdio.h>
#include <string.h>

struct help_values {
    bool json;
};

void cmd_print_overview(void)
{
    fputs("annot: a low-overhead profiler for Python and C\n\nusage: annot COMMAND [OPTIONS] "
          "...\n\ncommands:\n",
          stdout);
    for (size_t i = 0; i < cmd_count; i++)
        printf("  %-10s %s\n", cmd_table[i]->name, cmd_table[i]->summary);
    fputs("\nfirst steps:\n"
          "  annot record -o run.annot script.py         record a program and its children\n"
          "  annot report run.annot                      see where the time went\n"
          "  annot export run.annot -o run.pftrace       then open it in ui.perfetto.dev\n\n"
          "\"annot help COMMAND\" describes one command.\n",
          stdout);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_member(struct out_stream *out, const char *key, const char *text)
{
    out_text(out, key);
    json_string(out, text, strlen(text));
}

static void put_bool(struct out_stream *out, const char *key, bool value)
{
    out_text(out, key);
    out_text(out, value ? "true" : "false");
}

static const char *kind_name(enum option_kind kind)
{
    static const char *const names[] = {"flag",   "text", "count",  "time",    "size",
                                        "choice", "list", "number", "command", "parts"};
    return (size_t)kind < sizeof(names) / sizeof(*names) ? names[kind] : "text";
}

/* Writes "path|name" as ["path", "name"]. */
static void put_choices(struct out_stream *out, const char *words)
{
    const char *between = ", \"choices\": [";
    while (*words) {
        size_t length = strcspn(words, "|");
        out_text(out, between);
        json_string(out, words, length);
        words += length + (words[length] == '|');
        between = ", ";
    }
    out_text(out, "]");
}

static void put_option_start(struct out_stream *out, const char *name,
                             const struct option_spec *spec)
{
    const char letter[] = {spec->letter, '\0'};
    put_member(out, "\n    {\"name\": ", name);
    if (spec->letter)
        put_member(out, ", \"letter\": ", letter);
    put_member(out, ", \"kind\": ", kind_name(spec->kind));
    if (spec->kind == OPTION_CHOICE)
        put_choices(out, spec->value_name);
    else if (spec->kind != OPTION_FLAG)
        put_member(out, ", \"value\": ", spec->value_name);
    put_member(out, ", \"help\": ", spec->help);
    if (spec->fallback)
        put_member(out, ", \"default\": ", spec->fallback);
}

/* The parts of an option, which stand anywhere in its table. */
static void put_parts(struct out_stream *out, const struct option_spec *family,
                      const struct option_spec *table)
{
    const char *between = ", \"parts\": [";
    for (const struct option_spec *spec = table; spec->name; spec++) {
        if (!option_is_part(spec, family))
            continue;
        out_text(out, between);
        put_option_start(out, option_part_name(spec), spec);
        out_text(out, "}");
        between = ", ";
    }
    out_text(out, "]");
}

static void put_option(struct out_stream *out, const struct option_spec *spec,
                       const struct option_spec *table, const char *group)
{
    put_option_start(out, spec->name, spec);
    if (spec->kind == OPTION_PARTS)
        put_parts(out, spec, table);
    if (group)
        put_member(out, ", \"group\": ", group);
    out_text(out, "}");
}

static void put_command(struct out_stream *out, const struct cmd *cmd)
{
    static const struct option_spec help = {"help", 'h', OPTION_FLAG, 0, NULL, "print a summary",
                                            NULL};
    put_member(out, "\n {\"name\": ", cmd->name);
    put_member(out, ",\n  \"summary\": ", cmd->summary);
    put_member(out, ",\n  \"usage\": ", cmd->usage);
    put_bool(out, ",\n  \"command_follows\": ", cmd->command_follows);
    out_text(out, ",\n  \"options\": [");
    const char *group = NULL;
    for (const struct option_spec *spec = cmd_options(cmd); spec && spec->name; spec++) {
        if (spec->kind == OPTION_GROUP)
            group = spec->name;
        if (!spec->help || option_part_name(spec))
            continue;
        put_option(out, spec, cmd_options(cmd), group);
        out_text(out, ",");
    }
    put_option(out, &help, NULL, group ? "help" : NULL);
    out_text(out, "]}");
}

/* `annot help --json`: prints commands and their options for programs. Man pages and shell
 * completions are generated from it (annot-help(1) describes it). Members are never removed.
 * Returns the exit status. */
static int print_json(const struct cmd *const *commands, size_t count)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    int error = out_stream_open("-", &options, &out);
    if (error == 0) {
        put_member(out, "{\"version\": ", ANNOT_VERSION);
        out_text(out, ",\n\"commands\": [");
        for (size_t i = 0; i < count; i++) {
            out_text(out, i ? "," : "");
            put_command(out, commands[i]);
        }
        out_text(out, "]}\n");
        error = out_stream_close(out);
    }
    return error == 0
               ? CMD_OK
               : cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error));
}

/* ---- The commands ---------------------------------------------------------------------------- */

static int run_help(const struct cmd_call *call)
{
    const struct help_values *values = call->values;
    const struct cmd *cmd = call->operand_count > 0 ? cmd_find(call->operands[0]) : NULL;
    if (call->operand_count > 0 && !cmd) {
        const char *hint = hint_find(NULL, call->operands[0]);
        return cmd_fail(CMD_MISUSE, "unknown command \"%s\"\n%s", call->operands[0],
                        hint ? hint : "\"annot help\" lists the commands");
    }
    if (values->json)
        return cmd ? print_json(&cmd, 1) : print_json(cmd_table, cmd_count);
    if (cmd)
        cmd_print_help(cmd, false);
    else
        cmd_print_overview();
    return CMD_OK;
}

static const struct option_spec help_options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct help_values, json), NULL,
     "print commands and options as JSON, for programs", NULL},
    {0},
};

const struct cmd cmd_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .usage = "[OPTIONS] [COMMAND]",
    .options = help_options,
    .values_size = sizeof(struct help_values),
    .operands_max = 1,
    .run = run_help,
};

static int run_version(const struct cmd_call *call)
{
    (void)call;
    printf("annot %s\n", ANNOT_VERSION);
    return CMD_OK;
}

const struct cmd cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "",
    .run = run_version,
};
