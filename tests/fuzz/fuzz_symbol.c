/* SPDX-License-Identifier: MIT */
/* Names from foreign bytes. The first byte chooses the kind of the rest: 'E' an ELF image, 'J' a
 * map of a JIT compiler, else a mangled name. */
#include "symbol_module.h"
#include "symbol_name.h"
#include "symbol_other.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_name(const char *name)
{
    if (strlen(name) >= SYMBOL_NAME_SIZE)
        abort();
}

static void ask(struct symbol_module *module, uint64_t address)
{
    struct symbol symbol;
    if (!symbol_module_find(module, address, &symbol))
        return;
    must_be_name(symbol.name);
    if (symbol.begin > address || (!symbol.guessed && symbol.end && symbol.end <= address))
        abort();
}

static void try_image(const uint8_t *data, size_t size)
{
    struct elf_file *file;
    if (elf_file_open_image(data, size, &file) != 0)
        return;
    struct symbol_module *module = symbol_module_create(file, "/nonexistent/image");
    for (size_t i = 0; module && i < elf_file_segment_count(file) && i < 16; i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        for (uint64_t part = 0; part < 64; part++)
            ask(module, segment.address + segment.size / 64 * part);
    }
    for (uint64_t at = 0; module && at < 0x3000; at += 0x11)
        ask(module, at);
    symbol_module_destroy(module);
    elf_file_close(file);
}

static char map_path[64];

static void remove_map(void)
{
    unlink(map_path);
}

static void try_map(const uint8_t *data, size_t size)
{
    if (!map_path[0]) {
        snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
        atexit(remove_map);
    }
    int fd = open(map_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    struct symbol_jit *jit = symbol_jit_create(getpid(), getpid(), 0);
    for (uint64_t at = 0; jit && at < 0x4000; at += 0x40) {
        const char *name = symbol_jit_find(jit, at);
        if (name)
            must_be_name(name);
    }
    symbol_jit_destroy(jit);
}

static void try_name(const uint8_t *data, size_t size)
{
    char buffer[SYMBOL_NAME_SIZE], *name = strndup((const char *)data, size);
    if (name && symbol_demangle(name, buffer) != strlen(buffer))
        abort();
    must_be_name(buffer);
    free(name);
    if (symbol_clean((const char *)data, size, buffer) != strlen(buffer))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 'E')
        try_image(data + 1, size - 1);
    else if (size && data[0] == 'J')
        try_map(data + 1, size - 1);
    else
        try_name(data, size);
    return 0;
}
