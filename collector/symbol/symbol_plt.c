/* SPDX-License-Identifier: MIT */
/* Stubs are found by their one indirect jump, whatever the linker puts around it. */
#include "symbol_parts.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 1 << 20, JUMP_SIZE = 6, NAME_MAX_BYTES = 4096, STUB_SIZE = 16 };

/* A pointer that ld.so fills, and the symbol whose address it gets. */
struct slot {
    uint64_t address;
    uint32_t symbol;
};

struct slots {
    VEC(struct slot) list;
    struct elf_section symbols, names;
};

static int compare_slots(const void *left, const void *right)
{
    uint64_t a = ((const struct slot *)left)->address, b = ((const struct slot *)right)->address;
    return (a > b) - (a < b);
}

static void collect_slots(struct slots *slots, struct elf_file *file, const char *name)
{
    struct elf_section section;
    if (!elf_file_section(file, name, &section))
        return;
    for (size_t at = 0; section.size - at >= sizeof(Elf64_Rela) && slots->list.count < SLOTS_MAX;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela entry;
        memcpy(&entry, section.bytes + at, sizeof(entry));
        uint64_t type = ELF64_R_TYPE(entry.r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        struct slot slot = {entry.r_offset, (uint32_t)ELF64_R_SYM(entry.r_info)};
        if (vec_push(&slots->list, slot) != 0)
            return;
    }
}

/* NULL: no name. */
static const char *name_of(const struct slots *slots, uint32_t symbol, size_t *ret_length)
{
    Elf64_Sym entry;
    if (symbol == 0 || symbol >= slots->symbols.size / sizeof(entry))
        return NULL;
    memcpy(&entry, slots->symbols.bytes + symbol * sizeof(entry), sizeof(entry));
    if (entry.st_name == 0 || entry.st_name >= slots->names.size)
        return NULL;
    const char *name = (const char *)slots->names.bytes + entry.st_name;
    *ret_length = strnlen(name, slots->names.size - entry.st_name);
    return *ret_length < NAME_MAX_BYTES ? name : NULL;
}

/* `stub`: where it lies; `target`: the pointer that it jumps through. */
static void add_stub(struct symbol_table *table, const struct slots *slots,
                     const struct elf_section *stub, uint64_t target)
{
    struct slot key = {target, 0};
    size_t length;
    const struct slot *slot =
        bsearch(&key, slots->list.items, slots->list.count, sizeof(key), compare_slots);
    const char *name = slot ? name_of(slots, slot->symbol, &length) : NULL;
    if (!name)
        return;
    char text[NAME_MAX_BYTES + 8];
    snprintf(text, sizeof(text), "%.*s@plt", (int)length, name);
    symbol_table_add_text(table, stub->address, (uint32_t)stub->size, text);
}

/* Every `jmp *offset(%rip)` of a section. Stubs begin at multiples of 16, or of 8 where there is
 * no endbr64 in front (.plt.got). */
static void add_stubs(struct symbol_table *table, const struct slots *slots, struct elf_file *file,
                      const char *name)
{
    struct elf_section section;
    if (!elf_file_section(file, name, &section))
        return;
    for (size_t at = 0; at + JUMP_SIZE <= section.size; at++) {
        if (section.bytes[at] != 0xff || section.bytes[at + 1] != 0x25)
            continue;
        int32_t offset;
        memcpy(&offset, section.bytes + at + 2, sizeof(offset));
        uint64_t target = section.address + at + JUMP_SIZE + (uint64_t)(int64_t)offset;
        size_t unit = at % STUB_SIZE == 8 ? 8 : STUB_SIZE;
        size_t begin = at - at % unit, rest = section.size - begin;
        struct elf_section stub = {.address = section.address + begin,
                                   .size = rest < unit ? rest : unit};
        add_stub(table, slots, &stub, target);
        at += JUMP_SIZE - 1;
    }
}

void symbol_plt_add(struct symbol_table *table, struct elf_file *file)
{
    static const char *const stubs[] = {".plt", ".plt.sec", ".plt.got"};
    struct slots slots = {0};
    struct elf_section got;
    if (elf_file_machine(file) != EM_X86_64 || !elf_file_section(file, ".dynsym", &slots.symbols) ||
        !elf_file_section(file, ".dynstr", &slots.names))
        return;
    collect_slots(&slots, file, ".rela.plt");
    if (elf_file_section(file, ".plt.got", &got))
        collect_slots(&slots, file, ".rela.dyn");
    if (slots.list.count)
        qsort(slots.list.items, slots.list.count, sizeof(struct slot), compare_slots);
    for (size_t i = 0; slots.list.count && i < sizeof(stubs) / sizeof(*stubs); i++)
        add_stubs(table, &slots, file, stubs[i]);
    vec_free(&slots.list);
}
