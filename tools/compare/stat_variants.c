/* SPDX-License-Identifier: MIT */
/* Implements stat_variants.h. */
#include "stat_variants.h"

#include "cmd.h"
#include "compare_variants.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Commands -------------------------------------------------------------------------------- */

/* Splits "./b -x 'a b'" as a shell would. */
static int take_text(struct stat_variants *variants, const char *text)
{
    int rc = wordexp(text, &variants->expanded, WRDE_NOCMD | WRDE_UNDEF);
    if (rc != 0 || variants->expanded.we_wordc == 0)
        return cmd_fail(CMD_MISUSE,
                        "--vs \"%s\": not a command of plain words\nquote what a shell would take "
                        "for something else; with pipes: --vs \"sh -c '...'\"",
                        text);
    variants->commands[variants->command_count++] = variants->expanded.we_wordv;
    return CMD_OK;
}

/* "--vs" among the words of a command starts the next one. If the option precedes the commands, it
 * is an ordinary word there. */
static int take_commands(struct stat_variants *variants, char **operands, const char *vs)
{
    variants->commands[variants->command_count++] = operands;
    if (vs)
        return take_text(variants, vs);
    for (int i = 1; operands[i]; i++) {
        if (strcmp(operands[i], "--vs") != 0)
            continue;
        operands[i] = NULL;
        if (operands[i + 1] && strcmp(operands[i + 1], "--") == 0)
            operands[++i] = NULL;
        if (!operands[i + 1] || strcmp(operands[i + 1], "--vs") == 0)
            return cmd_fail(CMD_MISUSE, "no command after --vs\nannot stat -- ./old --vs ./new");
        if (variants->command_count == STAT_COMMANDS_MAX)
            return cmd_fail(CMD_MISUSE,
                            "more than %d commands\n--vary runs one with several values",
                            STAT_COMMANDS_MAX);
        variants->commands[variants->command_count++] = operands + i + 1;
        i++;
    }
    return CMD_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static bool is_name(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_')
            return false;
    return length > 0 && !isdigit((unsigned char)name[0]);
}

static int fail_vary(const char *text, const char *what)
{
    return cmd_fail(CMD_MISUSE,
                    "--vary \"%s\": %s\nas in: annot stat --vary n=1,2,4 -- prog --workers={n}",
                    text, what);
}

/* "workers=1,2,4" */
static int take_parameter(struct stat_variants *variants, const char *text)
{
    struct stat_parameter *parameter = &variants->varied[variants->parameters.count];
    const char *equals = strchr(text, '=');
    if (!equals || !is_name(text, (size_t)(equals - text)))
        return fail_vary(text, "no NAME=VALUE,VALUE");
    parameter->text = strdup(text);
    if (!parameter->text)
        return cmd_fail(CMD_FAILED, "out of memory");
    parameter->text[equals - text] = '\0';
    if (compare_is_variant_column(parameter->text))
        return fail_vary(text, "the table has a column of that name; take another one");
    for (size_t i = 0; i < variants->parameters.count; i++)
        if (strcmp(variants->parameters.names[i], parameter->text) == 0)
            return fail_vary(text, "the name is given twice");
    for (char *at = parameter->text + (equals - text) + 1; at; parameter->count++) {
        char *comma = strchr(at, ',');
        if (parameter->count == STAT_VALUES_MAX)
            return fail_vary(text, "too many values");
        if (comma)
            *comma = '\0';
        parameter->values[parameter->count] = at;
        at = comma ? comma + 1 : NULL;
    }
    variants->parameters.names[variants->parameters.count++] = parameter->text;
    return CMD_OK;
}

/* A parameter that occurs in no command would produce equal variants. */
static int check_used(const struct stat_variants *variants)
{
    for (size_t i = 0; i < variants->parameters.count; i++) {
        char braced[STAT_LABEL_SIZE];
        bool used = false;
        snprintf(braced, sizeof(braced), "{%s}", variants->parameters.names[i]);
        for (size_t k = 0; k < variants->command_count; k++)
            for (char **word = variants->commands[k]; *word; word++)
                used = used || strstr(*word, braced);
        if (!used)
            return cmd_fail(CMD_MISUSE,
                            "--vary %s: no word of the command has %s\nas in: annot stat --vary "
                            "n=1,2,4 -- prog --workers={n}",
                            variants->parameters.names[i], braced);
    }
    return CMD_OK;
}

/* ---- Variants -------------------------------------------------------------------------------- */

/* If a parameter in braces stands at `at`, returns its value and length; else NULL. */
static const char *value_at(const struct stat_variants *variants,
                            const struct stat_variant *variant, const char *at, size_t *ret_length)
{
    for (size_t i = 0; i < variants->parameters.count && *at == '{'; i++) {
        size_t length = strlen(variants->parameters.names[i]);
        if (strncmp(at + 1, variants->parameters.names[i], length) != 0 || at[1 + length] != '}')
            continue;
        *ret_length = length + 2;
        return variant->values[i];
    }
    return NULL;
}

/* Replaces the parameters of a word. The caller frees it; NULL: out of memory. */
static char *fill_in(const struct stat_variants *variants, const struct stat_variant *variant,
                     const char *word)
{
    char *made = NULL;
    size_t size = 0, length;
    FILE *out = open_memstream(&made, &size);
    if (!out)
        return NULL;
    while (*word) {
        const char *value = value_at(variants, variant, word, &length);
        fputs(value ? value : "", out);
        if (!value)
            fputc(*word, out);
        word += value ? length : 1;
    }
    return fclose(out) == 0 ? made : NULL;
}

static int make_words(const struct stat_variants *variants, struct stat_variant *variant,
                      char **words)
{
    size_t count = 0;
    while (words[count])
        count++;
    variant->words = calloc(count + 1, sizeof(*variant->words));
    for (size_t i = 0; i < count && variant->words; i++) {
        variant->words[i] = fill_in(variants, variant, words[i]);
        if (!variant->words[i])
            return cmd_fail(CMD_FAILED, "out of memory");
    }
    return variant->words ? CMD_OK : cmd_fail(CMD_FAILED, "out of memory");
}

static void make_label(const struct stat_variants *variants, struct stat_variant *variant,
                       size_t command)
{
    struct text text = text_init(variant->label, sizeof(variant->label));
    bool lettered = variants->command_count > 1 || variants->parameters.count == 0;
    if (lettered)
        text_format(&text, "%c", (char)('A' + command));
    for (size_t i = 0; i < variants->parameters.count; i++)
        text_format(&text, "%s%s=%s", lettered || i ? " " : "", variants->parameters.names[i],
                    variant->values[i]);
    text = text_init(variant->command, sizeof(variant->command));
    for (char **word = variant->program.argv; *word; word++) {
        char quoted[STAT_COMMAND_SIZE];
        cmd_quote(*word, quoted, sizeof(quoted));
        text_format(&text, "%s%s", word == variant->program.argv ? "" : " ", quoted);
    }
}

/* The last parameter varies fastest. */
static int make_variant(struct stat_variants *variants, size_t command, size_t combination)
{
    struct stat_variant *variant = &variants->items[variants->count++];
    for (size_t i = variants->parameters.count; i-- > 0;) {
        const struct stat_parameter *parameter = &variants->varied[i];
        variant->values[i] = parameter->values[combination % parameter->count];
        combination /= parameter->count;
    }
    int status = make_words(variants, variant, variants->commands[command]);
    if (status == CMD_OK)
        status = program_choose(&variant->program, variant->words);
    if (status == CMD_OK)
        make_label(variants, variant, command);
    return status;
}

static int make_variants(struct stat_variants *variants)
{
    size_t combinations = 1;
    int status = CMD_OK;
    for (size_t i = 0; i < variants->parameters.count; i++)
        combinations *= variants->varied[i].count;
    if (combinations * variants->command_count > STAT_VARIANTS_MAX)
        return cmd_fail(CMD_MISUSE, "%zu variants, more than %d\nleave out some of the values",
                        combinations * variants->command_count, STAT_VARIANTS_MAX);
    variants->items = calloc(STAT_VARIANTS_MAX, sizeof(*variants->items));
    if (!variants->items)
        return cmd_fail(CMD_FAILED, "out of memory");
    for (size_t i = 0; i < combinations * variants->command_count && status == CMD_OK; i++)
        status = make_variant(variants, i / combinations, i % combinations);
    return status;
}

int stat_variants_init(struct stat_variants *variants, char **operands, const char *vs,
                       const struct option_list *vary)
{
    int status = take_commands(variants, operands, vs);
    if (status == CMD_OK && vary->count > COMPARE_PARAMETERS_MAX)
        status = cmd_fail(CMD_MISUSE, "--vary: more than %d of them", COMPARE_PARAMETERS_MAX);
    for (uint32_t i = 0; i < vary->count && status == CMD_OK; i++)
        status = take_parameter(variants, vary->items[i].text);
    variants->parameters.commands = variants->command_count > 1;
    if (status == CMD_OK)
        status = check_used(variants);
    return status == CMD_OK ? make_variants(variants) : status;
}

void stat_variants_fini(struct stat_variants *variants)
{
    for (size_t i = 0; i < variants->count; i++) {
        struct stat_variant *variant = &variants->items[i];
        program_fini(&variant->program);
        for (char **word = variant->words; word && *word; word++)
            free(*word);
        free(variant->words);
    }
    for (size_t i = 0; i < COMPARE_PARAMETERS_MAX; i++)
        free(variants->varied[i].text);
    free(variants->items);
    if (variants->expanded.we_wordv)
        wordfree(&variants->expanded);
}
