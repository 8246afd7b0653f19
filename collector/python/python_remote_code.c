/* SPDX-License-Identifier: MIT */
/* Code objects of another process, read once each. An address may be used again by another code
 * object: names and lines then lie elsewhere too, which a read of a few words tells.
 * Foreign bytes: bounded. Thread-safety: one thread per object. */
#include "python_remote_private.h"

#include "python_stack.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096, LINES_MAX = 1 << 20, HEADER_MAX = 128 };

static bool read_pointer(const struct python_remote *remote, uint64_t address, uint64_t *ret)
{
    return remote_read(remote, address, ret, sizeof(*ret));
}

/* The text of a unicode object; "?" if there is none. NULL: out of memory. */
static char *read_text(const struct python_remote *remote, uint64_t address)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint8_t object[HEADER_MAX + TEXT_MAX];
    char text[TEXT_MAX];
    uint64_t length = 0;
    size_t size = o->unicode_ascii_data;
    if (size > HEADER_MAX || !remote_read(remote, address, object, size) ||
        !read_pointer(remote, address + o->unicode_length, &length))
        return strdup("?");
    if (length > TEXT_MAX / 4)
        length = TEXT_MAX / 4;
    /* How long it is depends on its kind; longer reads may leave the mapping: the longest first. */
    static const uint8_t widths[] = {4, 2, 1, 0};
    for (size_t i = 0; i < sizeof(widths); i++) {
        size_t more = (widths[i] ? o->unicode_compact_data - o->unicode_ascii_data : 0) +
                      (size_t)length * (widths[i] ? widths[i] : 1);
        if (size + more > sizeof(object) || !remote_read(remote, address, object, size + more))
            continue;
        if (python_text(o, object, size + more, text, sizeof(text)) == 0)
            break;
        return strdup(text);
    }
    return strdup("?");
}

static void read_lines(const struct python_remote *remote, struct remote_code *code)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint64_t size = 0;
    if (!read_pointer(remote, code->lines_at + o->bytes_size, &size) || size > LINES_MAX)
        return;
    code->lines = malloc(size ? (size_t)size : 1);
    if (code->lines && remote_read(remote, code->lines_at + o->bytes_data, code->lines, size))
        code->lines_size = (size_t)size;
}

static void free_code(struct remote_code *code)
{
    free(code->function);
    free(code->file);
    free(code->lines);
    free(code);
}

/* What tells it apart. */
static bool read_identity(const struct python_remote *remote, struct remote_code *code)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint16_t name = o->code_qualname == PYTHON_OFFSET_NONE ? o->code_name : o->code_qualname;
    return read_pointer(remote, code->code + name, &code->name) &&
           read_pointer(remote, code->code + o->code_lines, &code->lines_at) &&
           remote_read(remote, code->code + o->code_first_line, &code->first_line,
                       sizeof(code->first_line));
}

static struct remote_code *read_code(const struct python_remote *remote,
                                     const struct remote_code *identity)
{
    uint64_t file = 0;
    struct remote_code *code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    *code = *identity;
    read_pointer(remote, code->code + remote->runtime.offsets.code_filename, &file);
    code->function = read_text(remote, code->name);
    code->file = read_text(remote, file);
    read_lines(remote, code);
    if (code->function && code->file)
        return code;
    free_code(code);
    return NULL;
}

const struct remote_code *remote_code_get(struct python_remote *remote, uint64_t address)
{
    struct remote_code identity = {.code = address};
    if (!address || !read_identity(remote, &identity))
        return NULL;
    uint64_t *found = map64_find(&remote->codes, address);
    struct remote_code *newest = found ? (struct remote_code *)(uintptr_t)*found : NULL;
    for (struct remote_code *code = newest; code; code = code->next)
        if (code->name == identity.name && code->lines_at == identity.lines_at &&
            code->first_line == identity.first_line)
            return code;
    identity.next = newest;
    struct remote_code *code = read_code(remote, &identity);
    if (code && map64_put(&remote->codes, address, (uintptr_t)code) < 0) {
        free_code(code);
        return NULL;
    }
    return code;
}

void remote_codes_free(struct python_remote *remote)
{
    for (size_t i = 0; i < remote->codes.capacity; i++) {
        struct remote_code *code = (struct remote_code *)(uintptr_t)remote->codes.entries[i].value;
        while (remote->codes.entries[i].key && code) {
            struct remote_code *next = code->next;
            free_code(code);
            code = next;
        }
    }
    map64_free(&remote->codes);
}
