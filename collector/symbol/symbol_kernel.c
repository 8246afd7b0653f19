/* SPDX-License-Identifier: MIT */
/* /proc/kallsyms: read once, functions only. 8 bytes a symbol and its name. */
#include "symbol_other.h"
#include "vec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A function that ends nowhere must not name everything behind it. */
static const uint64_t REACH_MAX = 1 << 20;

enum { SYMBOLS_MAX = 1 << 21, NAMES_MAX = 128 << 20, BUFFER_SIZE = 256 << 10 };

struct kernel_entry {
    uint32_t offset; /* from base, half way around it */
    uint32_t name;   /* in names */
};

struct symbol_kernel {
    bool loaded;
    uint64_t base;
    VEC(struct kernel_entry) entries;
    VEC(char) names;
};

struct symbol_kernel *symbol_kernel_create(void)
{
    return calloc(1, sizeof(struct symbol_kernel));
}

void symbol_kernel_destroy(struct symbol_kernel *kernel)
{
    if (!kernel)
        return;
    vec_free(&kernel->entries);
    vec_free(&kernel->names);
    free(kernel);
}

/* All that a kernel has lies within 2 GiB around its text, by the code model it is compiled for. */
static bool offset_of(const struct symbol_kernel *kernel, uint64_t address, uint32_t *ret_offset)
{
    uint64_t offset = address - kernel->base + (1u << 31);
    *ret_offset = (uint32_t)offset;
    return offset <= UINT32_MAX;
}

static int add(struct symbol_kernel *kernel, uint64_t address, const char *name, size_t length)
{
    uint32_t offset;
    if (kernel->entries.count == 0)
        kernel->base = address;
    if (!offset_of(kernel, address, &offset))
        return 0;
    if (kernel->entries.count == SYMBOLS_MAX || kernel->names.count + length >= NAMES_MAX ||
        vec_reserve(&kernel->names, length + 1) != 0)
        return -1;
    struct kernel_entry entry = {offset, (uint32_t)kernel->names.count};
    memcpy(kernel->names.items + kernel->names.count, name, length);
    kernel->names.items[kernel->names.count + length] = '\0';
    kernel->names.count += length + 1;
    return vec_push(&kernel->entries, entry);
}

/* "ffffffff81000000 T _stext", "ffffffffc0201000 t fn\t[module]". 0 or -1: no room. */
static int take_line(struct symbol_kernel *kernel, const char *line)
{
    char *at;
    uint64_t address = strtoull(line, &at, 16);
    if (address == 0 || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
        return 0;
    const char *name = at + 3;
    size_t length = strcspn(name, "\t ");
    return length > 0 ? add(kernel, address, name, length) : 0;
}

/* The bytes of a beginning line that stay in the buffer; SIZE_MAX: no room for more. */
static size_t take_lines(struct symbol_kernel *kernel, char *buffer, size_t size)
{
    char *line = buffer, *end;
    while ((end = memchr(line, '\n', size - (size_t)(line - buffer))) != NULL) {
        *end = '\0';
        if (take_line(kernel, line) != 0)
            return SIZE_MAX;
        line = end + 1;
    }
    size_t rest = size - (size_t)(line - buffer);
    memmove(buffer, line, rest);
    return rest;
}

static int compare(const void *left, const void *right)
{
    const struct kernel_entry *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name); /* as they stood in the file */
}

static void load(struct symbol_kernel *kernel)
{
    kernel->loaded = true;
    int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    char *buffer = fd < 0 ? NULL : malloc(BUFFER_SIZE);
    size_t have = 0;
    ssize_t size;
    while (buffer && have < BUFFER_SIZE &&
           (size = read(fd, buffer + have, BUFFER_SIZE - have)) > 0) {
        have = take_lines(kernel, buffer, have + (size_t)size);
    }
    free(buffer);
    if (fd >= 0)
        close(fd);
    if (kernel->entries.count)
        qsort(kernel->entries.items, kernel->entries.count, sizeof(struct kernel_entry), compare);
}

const char *symbol_kernel_find(struct symbol_kernel *kernel, uint64_t address)
{
    uint32_t offset;
    if (!kernel->loaded)
        load(kernel);
    if (kernel->entries.count == 0 || !offset_of(kernel, address, &offset))
        return NULL;
    size_t low = 0, high = kernel->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kernel->entries.items[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const struct kernel_entry *entry = &kernel->entries.items[low - 1];
    if (offset - entry->offset > REACH_MAX)
        return NULL;
    while (entry > kernel->entries.items && entry[-1].offset == entry->offset)
        entry--; /* of several names the first */
    return kernel->names.items + entry->name;
}
