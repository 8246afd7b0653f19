/* SPDX-License-Identifier: MIT */
/* Messages of all subcommands: one line with the failure, one with a hint.
 *
 * Arguments (file names, command lines) are untrusted: control characters in them never reach the
 * terminal. Main thread only. */
#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term.h"

static const char *message_name;
static bool is_quiet;

void cmd_set_name(const char *name)
{
    message_name = name;
}

const char *cmd_name(void)
{
    return message_name ? message_name : "";
}

void cmd_set_quiet(bool quiet)
{
    is_quiet = quiet;
}

bool cmd_is_quiet(void)
{
    return is_quiet;
}

const struct option_spec *cmd_options(const struct cmd *cmd)
{
    return cmd->make_options ? cmd->make_options() : cmd->options;
}

/* Returns the length of the message before the hint. It is found by formatting the part before the
 * format's newline, since arguments may contain newlines too. */
static size_t text_length(const char *format, va_list arguments)
{
    char head[512];
    size_t length = strcspn(format, "\n");
    if (length >= sizeof(head))
        return 0;
    memcpy(head, format, length);
    head[length] = '\0';
    /* clang-tidy 14 does not see the callers' va_start. NOLINTNEXTLINE(clang-analyzer-valist*) */
    int printed = vsnprintf(NULL, 0, head, arguments);
    return printed > 0 ? (size_t)printed : 0;
}

static void message(const char *format, va_list arguments)
{
    char text[4096];
    va_list again;
    va_copy(again, arguments);
    size_t length = text_length(format, again);
    va_end(again);
    /* NOLINTNEXTLINE(clang-analyzer-valist*) */
    vsnprintf(text, sizeof(text), format, arguments);
    size_t total = strlen(text);
    if (length > total)
        length = total;

    fflush(stdout);
    bool color = term_color(STDERR_FILENO, NULL);
    fputs(color ? "\033[1m" : "", stderr);
    fprintf(stderr, message_name ? "annot %s:" : "annot:", message_name);
    fputs(color ? "\033[0m " : " ", stderr);
    term_write(stderr, text, length);
    fputc('\n', stderr);
    if (length + 1 >= total)
        return;
    fputs(color ? "\033[36mhint:\033[0m " : "hint: ", stderr);
    term_write(stderr, text + length + 1, total - length - 1);
    fputc('\n', stderr);
}

int cmd_fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(format, arguments);
    va_end(arguments);
    return status;
}

void cmd_note(const char *format, ...)
{
    va_list arguments;
    if (is_quiet)
        return;
    va_start(arguments, format);
    message(format, arguments);
    va_end(arguments);
}

void cmd_quote(const char *word, char *buffer, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (word[0] && word[strspn(word, plain)] == '\0') {
        snprintf(buffer, size, "%s", word);
        return;
    }
    size_t used = 0;
    if (size > 8)
        buffer[used++] = '\'';
    for (const char *at = word; *at && used + 8 < size; at++) {
        const char *part = *at == '\'' ? "'\\''" : NULL;
        used += (size_t)(part ? snprintf(buffer + used, size - used, "%s", part)
                              : snprintf(buffer + used, size - used, "%c", *at));
    }
    snprintf(buffer + used, size - used, "'");
}
