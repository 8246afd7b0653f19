/* SPDX-License-Identifier: MIT */
/* `annot help` and `annot version`, and the help that the option tables print. */
#include "cmd.h"
#include "hints.h"
#include "json_writer.h"

#include <stdio.h>
#include <string.h>

struct help_values {
    bool json;
};

enum { HELP_WIDTH = 100, HELP_COLUMN = 28 };

/* Words of `text` from the present column on, broken at HELP_WIDTH, indented by HELP_COLUMN. */
static void print_wrapped(const char *text)
{
    size_t column = HELP_COLUMN;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

/* "path|name" as "path, name". */
static void list_words(const char *words, char *buffer, size_t size)
{
    size_t used = 0;
    for (; *words && used + 3 < size; words++) {
        if (*words != '|') {
            buffer[used++] = *words;
            continue;
        }
        buffer[used++] = ',';
        buffer[used++] = ' ';
    }
    buffer[used] = '\0';
}

static void print_option(const struct option_spec *spec)
{
    char left[160], choices[256] = "", text[512];
    const char *value = spec->kind == OPTION_FLAG     ? ""
                        : spec->kind == OPTION_CHOICE ? "WORD"
                        : spec->kind == OPTION_MODE   ? "[=WORD]"
                                                      : spec->value_name;
    if (spec->kind == OPTION_CHOICE || spec->kind == OPTION_MODE)
        list_words(spec->value_name, choices, sizeof(choices));
    int used = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", spec->letter ? '-' : ' ',
                        spec->letter ? spec->letter : ' ', spec->letter ? ',' : ' ', spec->name,
                        value[0] && value[0] != '[' ? " " : "", value);
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", spec->help, choices[0] ? ": " : "", choices,
             spec->fallback ? " (default " : "", spec->fallback ? spec->fallback : "",
             spec->fallback ? ")" : "");
    if (used > HELP_COLUMN - 2)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(text);
}

void cmd_print_help(const struct cmd *cmd)
{
    printf("annot %s: %s\n\nusage: annot %s%s%s\n\noptions:\n", cmd->name, cmd->summary, cmd->name,
           cmd->usage[0] ? " " : "", cmd->usage);
    for (const struct option_spec *spec = cmd_options(cmd); spec && spec->name; spec++)
        if (spec->help)
            print_option(spec);
    print_option(&(struct option_spec){"help", 'h', OPTION_FLAG, 0, NULL, "print this text", NULL});
    if (cmd->details)
        printf("\n%s", cmd->details);
    if (cmd->print_details)
        cmd->print_details();
}

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
                                        "choice", "list", "number", "command", "mode"};
    return (size_t)kind < sizeof(names) / sizeof(*names) ? names[kind] : "text";
}

/* "path|name" as ["path", "name"]. */
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

static void put_option(struct out_stream *out, const struct option_spec *spec)
{
    const char letter[] = {spec->letter, '\0'};
    put_member(out, "\n    {\"name\": ", spec->name);
    if (spec->letter)
        put_member(out, ", \"letter\": ", letter);
    put_member(out, ", \"kind\": ", kind_name(spec->kind));
    if (spec->kind == OPTION_CHOICE || spec->kind == OPTION_MODE)
        put_choices(out, spec->value_name);
    else if (spec->kind != OPTION_FLAG)
        put_member(out, ", \"value\": ", spec->value_name);
    put_member(out, ", \"help\": ", spec->help);
    if (spec->fallback)
        put_member(out, ", \"default\": ", spec->fallback);
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
    for (const struct option_spec *spec = cmd_options(cmd); spec && spec->name; spec++) {
        if (!spec->help)
            continue;
        put_option(out, spec);
        out_text(out, ",");
    }
    put_option(out, &help);
    out_text(out, "]}");
}

/* `annot help --json`: commands and their options for programs. Man pages and the completions of
 * shells are made of it (annot-help(1) describes it). Members are only ever added. Returns the exit
 * status. */
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
        cmd_print_help(cmd);
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
