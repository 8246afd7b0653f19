/* SPDX-License-Identifier: MIT */
/* Labels of functions, and files shortened to the part below a library folder. */
#include "call_label.h"

#include "text.h"

#include <stdbool.h>
#include <string.h>

/* Returns the part of `path` after "/lib/python3.11/" or "/lib64/python3.11/", or NULL. */
static const char *after_stdlib(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/python")); at++) {
        const char *end = at + strlen("/python");
        size_t digits = strspn(end, "0123456789.t");
        bool library = (at - path >= 4 && strncmp(at - 4, "/lib", 4) == 0) ||
                       (at - path >= 6 && strncmp(at - 6, "/lib64", 6) == 0);
        if (library && digits > 0 && end[digits] == '/')
            return end + digits + 1;
    }
    return NULL;
}

static const char *after_libraries(const char *path)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        const char *at = strstr(path, folders[i]);
        if (at)
            return at + strlen(folders[i]);
    }
    const char *rest = after_stdlib(path);
    return rest ? rest : path;
}

static const char *base_name(const char *path)
{
    const char *base = strrchr(path, '/');
    if (!base || !base[1])
        return path;
    if (strncmp(base, "/__", 3) != 0)
        return base + 1;
    const char *folder = memrchr(path, '/', (size_t)(base - path));
    return folder ? folder + 1 : base + 1;
}

static bool is_word(const char *word, const char *prefix, size_t length)
{
    return length == strlen(word) && memcmp(prefix, word, length) == 0;
}

/* Returns the part of `path` below one directory of the list, or `path` itself. */
static const char *after_prefix(const char *path, const char *prefix, size_t length)
{
    if (is_word(CALL_STRIP_LIBRARIES, prefix, length))
        return after_libraries(path);
    if (is_word(CALL_STRIP_FOLDERS, prefix, length))
        return base_name(path);
    while (length > 0 && prefix[length - 1] == '/')
        length--;
    if (length == 0 || strncmp(path, prefix, length) != 0 || path[length] != '/')
        return path;
    return path + length + 1;
}

const char *call_short_path(const char *path, const char *prefixes)
{
    const char *shortest = path;
    while (prefixes && *prefixes) {
        size_t length = strcspn(prefixes, ":");
        const char *rest = after_prefix(path, prefixes, length);
        if (rest > shortest && *rest)
            shortest = rest;
        prefixes += length + (prefixes[length] == ':');
    }
    return shortest;
}

size_t call_label(const struct trace *trace, uint32_t ordinal, const char *prefixes, char *buffer,
                  size_t size)
{
    return call_line_label(trace, &(struct call_place){ordinal, 0}, prefixes, buffer, size);
}

size_t call_line_label(const struct trace *trace, const struct call_place *place,
                       const char *prefixes, char *buffer, size_t size)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, place->label);
    int32_t line = place->line > 0 ? place->line : label->first_line;
    uint32_t path = stacks_get_source(stacks, label->source)->path;
    struct text text = text_init(buffer, size);
    const struct trace_string *function = trace_string(trace, label->text);
    text_add(&text, function->bytes, function->length);
    if ((label->kind != FRAME_PYTHON && place->line <= 0) || !path)
        return text.length;
    text_format(&text, " (%s", call_short_path(trace_string(trace, path)->bytes, prefixes));
    if (line > 0)
        text_format(&text, ":%d", line);
    text_format(&text, ")");
    return text.length;
}

size_t call_frame_label(const struct trace *trace, uint32_t frame, const char *prefixes,
                        char *buffer, size_t size)
{
    uint32_t label = stacks_get_frame(trace_stacks_get(trace), frame)->label;
    if (label == 0) /* in a recording that is followed, the label may come later */
        return trace_frame_place(trace, frame, buffer, size);
    return call_label(trace, label, prefixes, buffer, size);
}

int call_compare_labels(const struct trace *trace, uint32_t a_ordinal, uint32_t b_ordinal)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *a = stacks_get_label(stacks, a_ordinal);
    const struct label *b = stacks_get_label(stacks, b_ordinal);
    const struct code_module *a_module = stacks_get_module(stacks, a->module);
    const struct code_module *b_module = stacks_get_module(stacks, b->module);
    const uint32_t texts[][2] = {
        {a->text, b->text},
        {stacks_get_source(stacks, a->source)->path, stacks_get_source(stacks, b->source)->path},
        {a_module->path, b_module->path},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int order = strcmp(trace_string(trace, texts[i][0])->bytes,
                           trace_string(trace, texts[i][1])->bytes);
        if (order)
            return order;
    }
    if (a->first_line != b->first_line)
        return a->first_line < b->first_line ? -1 : 1;
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    return memcmp(a_module->build_id, b_module->build_id, sizeof(a_module->build_id));
}

uint32_t call_source(const struct trace *trace, uint32_t name, int32_t *ret_line)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, trace_name_label(trace, name));
    *ret_line = label->first_line;
    return stacks_get_source(stacks, label->source)->path;
}

static bool is_native(const struct stacks *stacks, uint32_t frame)
{
    uint8_t kind = stacks_get_frame(stacks, frame)->kind;
    return kind == FRAME_NATIVE || kind == FRAME_KERNEL || kind == FRAME_JIT;
}

uint32_t call_python_frames(const struct stacks *stacks, uint32_t *frames, uint32_t count)
{
    uint32_t kept = 0;
    bool any = false;
    for (uint32_t i = 0; i < count && !any; i++)
        any = stacks_get_frame(stacks, frames[i])->kind == FRAME_PYTHON;
    for (uint32_t i = 0; i < count && any; i++)
        if (!is_native(stacks, frames[i]))
            frames[kept++] = frames[i];
    return any ? kept : count;
}
