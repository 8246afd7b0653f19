/* SPDX-License-Identifier: MIT */
/* Shortens names of kernels. See gpu_name.h. */
#include "gpu_name.h"

#include "text.h"

#include <string.h>

static const char anonymous[] = "(anonymous namespace)";

/* Returns the length of "operator<<" and the like, as their signs are not brackets. */
static size_t operator_length(const char *name, const char *at)
{
    static const char word[] = "operator";
    bool begins = at == name || strchr(": ", at[-1]);
    if (!begins || strncmp(at, word, sizeof(word) - 1) != 0)
        return 0;
    const char *signs = at + sizeof(word) - 1;
    size_t length = strncmp(signs, "()", 2) == 0 ? 2 : strspn(signs, "<>-=");
    return length > 0 ? sizeof(word) - 1 + length : 0;
}

/* Returns the position after the bracket that closes the one at `at`, or the end. */
static const char *after_bracket(const char *name, const char *at)
{
    unsigned depth = 0;
    for (; *at; at++) {
        size_t length = operator_length(name, at);
        if (length > 0)
            at += length - 1;
        else if (*at == '<' || *at == '(')
            depth++;
        else if ((*at == '>' && at[-1] != '-') || *at == ')')
            depth--;
        if (depth == 0)
            return at + 1;
    }
    return at;
}

/* Returns the start of the arguments, or the end. */
static const char *find_arguments(const char *name)
{
    for (const char *at = name; *at; at++) {
        size_t length = operator_length(name, at);
        if (length > 0)
            at += length - 1;
        else if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
            at += sizeof(anonymous) - 2;
        else if (*at == '<')
            at = after_bracket(name, at) - 1;
        else if (*at == '(')
            return at;
    }
    return name + strlen(name);
}

/* Skips the result type: returns the position after the last blank outside of brackets. */
static const char *skip_result(const char *name, const char *end)
{
    const char *begin = name;
    for (const char *at = name; at < end; at++) {
        if (strncmp(at, anonymous, sizeof(anonymous) - 1) == 0)
            at += sizeof(anonymous) - 2;
        else if (*at == '<' && operator_length(name, at) == 0)
            at = after_bracket(name, at) - 1;
        else if (operator_length(name, at) > 0)
            at += operator_length(name, at) - 1;
        else if (*at == ' ')
            begin = at + 1;
    }
    return begin < end ? begin : name;
}

/* Adds a template parameter, with its own angle brackets elided. */
static void add_parameter(struct text *text, const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    const char *name = at, *name_end = at;
    while (name_end < end && *name_end != '<') {
        bool is_anonymous = strncmp(name_end, anonymous, sizeof(anonymous) - 1) == 0;
        if (*name_end == '(' && name_end != at && !is_anonymous)
            break;
        if (strncmp(name_end, "::", 2) == 0)
            name = name_end + 2;
        name_end += is_anonymous ? sizeof(anonymous) - 1 : 1;
    }
    if (name < name_end && name_end <= end)
        text_add(text, name, (size_t)(name_end - name));
    if (name_end < end && *name_end == '<')
        text_format(text, "<\xe2\x80\xa6>");
}

static void add_parameters(struct text *text, const char *at, const char *end)
{
    text_add(text, "<", 1);
    for (const char *from = at; at < end; at++) {
        if (*at == '<' || *at == '(')
            at = after_bracket(from, at) - 1;
        bool last = at + 1 >= end, comma = at < end && *at == ',';
        if (!comma && !last)
            continue;
        add_parameter(text, from, comma ? at : end);
        text_format(text, "%s", last ? "" : ", ");
        from = at + 1;
    }
    text_add(text, ">", 1);
}

static void add_name(const char *name, bool parameters, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    const char *end = find_arguments(name);
    if (end == name)
        end = name + strlen(name);
    bool whole = *end == '\0'; /* not a C++ function with its result */
    for (const char *at = whole ? name : skip_result(name, end); at < end;) {
        size_t length = operator_length(name, at);
        if (length > 0) {
            text_add(&text, at, length);
            at += length;
        } else if (*at == '<') {
            const char *rest = after_bracket(name, at);
            if (parameters && rest[-1] == '>')
                add_parameters(&text, at + 1, rest - 1);
            else
                text_format(&text, "<\xe2\x80\xa6>");
            at = rest;
        } else {
            text_add(&text, at++, 1);
        }
    }
}

void gpu_short_name(const char *name, char *buffer, size_t size)
{
    add_name(name, false, buffer, size);
}

void gpu_longer_name(const char *name, char *buffer, size_t size)
{
    add_name(name, true, buffer, size);
}
