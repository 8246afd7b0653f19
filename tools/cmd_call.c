/* SPDX-License-Identifier: MIT */
/* Runs a command: parses its options by its table, checks its operands, prints its help.
 *
 * Exit status: 0 success, 1 failure, 2 wrong command line; `record` has its own
 * (annot-record(1)). */
#include "cmd.h"
#include "hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Help ---- */

enum { HELP_WIDTH = 100, HELP_COLUMN = 28 };

/* Prints `text`, wrapped at HELP_WIDTH; the cursor is at column `indent` already. */
static void print_wrapped(const char *text, size_t indent)
{
    size_t column = indent;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length > HELP_WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

/* The longest list of choices that names the value: "--color auto|always|never". */
enum { CHOICES_SHOWN_MAX = 32 };

/* Returns the name of an option's value in the help; "" if it has none. */
static const char *value_label(const struct option_spec *spec)
{
    if (spec->kind == OPTION_FLAG)
        return "";
    bool is_long = spec->kind == OPTION_CHOICE && strlen(spec->value_name) > CHOICES_SHOWN_MAX;
    return is_long ? "WORD" : spec->value_name;
}

/* Converts "path|name" to "path, name". */
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
    const char *value = value_label(spec);
    if (spec->kind == OPTION_CHOICE && value != spec->value_name)
        list_words(spec->value_name, choices, sizeof(choices));
    int used = snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", spec->letter ? '-' : ' ',
                        spec->letter ? spec->letter : ' ', spec->letter ? ',' : ' ', spec->name,
                        value[0] == '\0' || value[0] == '[' ? ""
                        : option_part_name(spec)            ? "="
                                                            : " ",
                        value);
    snprintf(text, sizeof(text), "%s%s%s%s%s%s", spec->help, spec->fallback ? " (default: " : "",
             spec->fallback ? spec->fallback : "", spec->fallback ? ")" : "",
             choices[0] ? "; WORD: " : "", choices);
    if (used > HELP_COLUMN - 2)
        printf("%s\n%*s", left, HELP_COLUMN, "");
    else
        printf("%-*s", HELP_COLUMN, left);
    print_wrapped(text, HELP_COLUMN);
}

static bool is_group(const struct option_spec *spec)
{
    return spec && spec->name && spec->kind == OPTION_GROUP;
}

/* Returns true if the row after `spec` is a part of the same option. */
static bool is_next_part(const struct option_spec *spec)
{
    const char *part = option_part_name(spec), *next = option_part_name(spec + 1);
    return part && next && part - spec->name == next - spec[1].name &&
           memcmp(spec->name, spec[1].name, (size_t)(part - spec->name)) == 0;
}

/* Prints the names of the options of a group, which begins at `spec`: "--gpu=nodes, events
 * --no-source". Returns its last row. */
static const struct option_spec *list_group(const struct option_spec *spec)
{
    char names[2048] = "";
    size_t used = 0;
    for (; spec[1].name && !is_group(spec + 1); spec++) {
        const char *part = is_next_part(spec) ? option_part_name(spec + 1) : NULL;
        if (spec[1].help && used + 64 < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.50s",
                                     part   ? ", "
                                     : used ? " --"
                                            : "--",
                                     part ? part : spec[1].name);
    }
    printf("  ");
    print_wrapped(names, 2);
    return spec;
}

/* Returns true if groups were listed by names. */
static bool print_options(const struct option_spec *spec, bool all)
{
    bool shortened = false;
    if (!is_group(spec))
        printf("\noptions:\n");
    for (; spec && spec->name; spec++) {
        if (is_group(spec)) {
            bool listed = spec->value_name && !all;
            printf("\n%s:\n", spec->name);
            spec = listed ? list_group(spec) : spec;
            shortened = shortened || listed;
        } else if (spec->help) {
            print_option(spec);
        }
    }
    return shortened;
}

void cmd_print_help(const struct cmd *cmd, bool all)
{
    const struct option_spec *specs = cmd_options(cmd);
    printf("annot %s: %s\n\nusage: annot %s%s%s\n", cmd->name, cmd->summary, cmd->name,
           cmd->usage[0] ? " " : "", cmd->usage);
    bool shortened = print_options(specs, all);
    if (is_group(specs))
        printf("\nhelp:\n");
    print_option(&(struct option_spec){"help", 'h', OPTION_FLAG, 0, NULL, "print this text", NULL});
    if (shortened)
        print_option(&(struct option_spec){"help-all", 0, OPTION_FLAG, 0, NULL,
                                           "describe all options", NULL});
    if (cmd->details)
        printf("\n%s", cmd->details);
    if (cmd->print_details)
        cmd->print_details();
    if (cmd->examples)
        printf("\nexamples:\n%s", cmd->examples);
}

/* ---- Running --------------------------------------------------------------------------------- */

static int fail_options(const struct cmd *cmd, const struct options *options)
{
    const char *hint = options->unknown[0] ? hint_find(cmd->name, options->unknown) : NULL;
    if (!hint && options->unknown[0] && !options->near)
        hint = hint_find_near(cmd->name, options->unknown);
    if (options->choice[0])
        hint = hint_find_choice(cmd->name, options->choice);
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
        cmd_print_help(cmd, options.help_all);
    else
        status = check_operands(cmd, &options);
    if (status == 0 && !options.help) {
        struct cmd_call call = {cmd, values, options.operands, options.operand_count, &options};
        status = cmd->run(&call);
    }
    free(values);
    return status;
}
