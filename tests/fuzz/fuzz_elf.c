/* SPDX-License-Identifier: MIT */
/* Arbitrary bytes as an ELF file: calls every query, and reads every byte of every result. */
#include "elf_file.h"
#include "elf_symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void touch(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    sink += sum;
}

static bool on_symbol(void *context, const struct elf_symbol *symbol)
{
    unsigned *count = context;
    touch((const uint8_t *)symbol->name, strlen(symbol->name) + 1);
    sink += symbol->address + symbol->size;
    return ++*count < 100000;
}

static bool on_probe(void *context, const struct elf_probe *probe)
{
    unsigned *count = context;
    touch((const uint8_t *)probe->provider, strlen(probe->provider) + 1);
    touch((const uint8_t *)probe->name, strlen(probe->name) + 1);
    touch((const uint8_t *)probe->arguments, strlen(probe->arguments) + 1);
    sink += probe->address + probe->semaphore;
    return ++*count < 100000;
}

static void ask_sections(struct elf_file *file)
{
    static const char *const names[] = {".text",     ".eh_frame",      ".symtab",    ".debug_str",
                                        ".shstrtab", ".gnu_debuglink", ".debug_made"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct elf_section section, copy;
        bool there = elf_file_section(file, names[i], &section);
        if (elf_file_copy_section(file, names[i], &copy) != there)
            abort();
        if (!there)
            continue;
        if (section.size != copy.size || memcmp(section.bytes, copy.bytes, copy.size) != 0)
            abort();
        touch(section.bytes, section.size);
        free((void *)(uintptr_t)copy.bytes);
    }
}

static void ask_addresses(struct elf_file *file, size_t size)
{
    uint64_t address;
    for (size_t i = 0; i < elf_file_segment_count(file); i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        const size_t sizes[] = {1, 16, 4096, segment.file_size, SIZE_MAX};
        for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
            const uint8_t *bytes = elf_file_at(file, segment.address + k, sizes[k]);
            if (bytes && sizes[k] > size)
                abort();
            if (bytes)
                touch(bytes, sizes[k]);
        }
        sink += elf_file_address(file, segment.offset, &address) ? address : 0;
        sink += elf_file_address(file, segment.offset - 1, &address) ? address : 0;
    }
    struct elf_segment segment;
    sink += elf_file_header(file, PT_TLS, &segment) ? segment.size : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_file *file;
    struct elf_symbol symbol;
    unsigned count = 0;
    uint32_t crc;
    uint8_t id[ELF_BUILD_ID_MAX];
    if (elf_file_open_image(data, size, &file) < 0)
        return 0;
    touch(id, elf_file_build_id(file, id));
    sink += elf_file_machine(file) + elf_file_entry(file);
    ask_addresses(file, size);
    ask_sections(file);
    elf_file_symbols(file, on_symbol, &count);
    elf_file_probes(file, on_probe, &count);
    sink += elf_file_find_symbol(file, "no such symbol", &symbol);
    elf_file_trim(file);
    const char *link = elf_file_debug_link(file, &crc);
    sink += link ? strlen(link) + crc : 0;
    elf_file_close(file);
    return 0;
}
