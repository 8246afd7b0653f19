/* SPDX-License-Identifier: MIT */
/* The option tables as JSON (annot-help(1) describes it). Members are only ever added. */
#include "help_json.h"

#include "json_writer.h"

#include <string.h>

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
    static const char *const names[] = {"flag", "text",   "count", "time",
                                        "size", "choice", "list",  "number"};
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
    if (spec->kind == OPTION_CHOICE)
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
        put_option(out, spec);
        out_text(out, ",");
    }
    put_option(out, &help);
    out_text(out, "]}");
}

int help_print_json(const struct cmd *const *commands, size_t count)
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
