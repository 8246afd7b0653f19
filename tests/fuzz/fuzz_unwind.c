/* SPDX-License-Identifier: MIT */
/* Arbitrary bytes as the .eh_frame of a module: the table must always be in order, and walks with
 * it, over memory made of the same bytes, must end. */
#include "unwind_stack.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Frames are in the middle of the code, so that distances in both directions stay inside. */
enum { FRAMES_ADDRESS = 0x10000000, CODE_SIZE = 0x20000000, DEPTH = 256, WALKS = 16 };

static const char names[] = "\0.eh_frame\0.shstrtab";

struct image {
    Elf64_Ehdr head;
    Elf64_Phdr code;
    Elf64_Shdr sections[3];
    char names[sizeof(names)];
    uint8_t frames[];
};

struct memory {
    const uint8_t *bytes;
    size_t size;
    const struct unwind_table *table;
};

static struct elf_file *open_frames(const uint8_t *data, size_t size)
{
    struct elf_file *file = NULL;
    struct image *image = calloc(1, sizeof(*image) + size);
    if (!image)
        return NULL;
    image->head =
        (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_DYN,
                     .e_machine = EM_X86_64,
                     .e_version = EV_CURRENT,
                     .e_entry = 0x1000,
                     .e_phoff = offsetof(struct image, code),
                     .e_shoff = offsetof(struct image, sections),
                     .e_phentsize = sizeof(Elf64_Phdr),
                     .e_phnum = 1,
                     .e_shentsize = sizeof(Elf64_Shdr),
                     .e_shnum = 3,
                     .e_shstrndx = 2};
    image->code = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = CODE_SIZE};
    image->sections[1] = (Elf64_Shdr){.sh_name = 1,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_flags = SHF_ALLOC,
                                      .sh_addr = FRAMES_ADDRESS,
                                      .sh_offset = sizeof(*image),
                                      .sh_size = size};
    image->sections[2] = (Elf64_Shdr){.sh_name = 11,
                                      .sh_type = SHT_STRTAB,
                                      .sh_offset = offsetof(struct image, names),
                                      .sh_size = sizeof(names)};
    memcpy(image->names, names, sizeof(names));
    memcpy(image->frames, data, size);
    if (elf_file_open_image(image, sizeof(*image) + size, &file) < 0)
        abort();
    free(image);
    return file;
}

static void check_order(const struct unwind_table *table, size_t size)
{
    if (table->row_count == 0 || table->rule_count == 0 || table->end <= table->base ||
        table->row_count > 4 * size || table->rules[0].cfa != UNWIND_CFA_UNKNOWN)
        abort();
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct unwind_row *row = &table->rows[i];
        if (row->rule >= table->rule_count || (i > 0 && row[-1].address >= row->address))
            abort();
        uint64_t address = table->base + row->address;
        const struct unwind_rule *rule = unwind_table_find(table, address);
        if (address < table->end && rule != &table->rules[row->rule])
            abort();
    }
    for (uint32_t i = 0; i < table->rule_count; i++) {
        const struct unwind_rule *rule = &table->rules[i];
        if (rule->cfa > UNWIND_CFA_SCRATCH || rule->rbp > UNWIND_SAVE_LOST ||
            rule->rbx > UNWIND_SAVE_LOST || rule->scratch >= UNWIND_SCRATCH_COUNT)
            abort();
    }
    if (unwind_table_find(table, table->base - 1) || unwind_table_find(table, table->end))
        abort();
}

static bool find(void *context, uint64_t address, struct unwind_place *ret_place)
{
    const struct memory *memory = context;
    *ret_place = (struct unwind_place){.table = address % 7 ? memory->table : NULL};
    return address < CODE_SIZE;
}

/* Small addresses lead into code, large ones back to the stack. */
static bool read_word(void *context, uint64_t address, uint64_t *ret_value)
{
    const struct memory *memory = context;
    uint64_t value = 0, place = address % (memory->size + 1);
    size_t left = memory->size - place;
    memcpy(&value, memory->bytes + place, left < 8 ? left : 8);
    *ret_value =
        value & 1 ? memory->table->base + (value >> 1) % (CODE_SIZE / 16) : address + value % 4096;
    return address % 61 != 0;
}

static void walk(const struct memory *memory)
{
    struct unwind_frame frames[DEPTH];
    for (uint64_t i = 0; i < WALKS; i++) {
        uint64_t row = i * memory->table->row_count / WALKS;
        enum stack_end end = STACK_END_COUNT;
        struct unwind_request request = {
            .registers = {.rip = memory->table->base + memory->table->rows[row].address,
                          .rsp = 0x7fff00000000 + i * 8,
                          .rbp = 0x7fff00000100,
                          .rbx = UINT64_MAX - 8 * i,
                          .scratch_known = i % 2 == 0,
                          .scratch = {8, 0x7fff00001000, 0, UINT64_MAX}},
            .find = find,
            .read = read_word,
            .context = (void *)(uintptr_t)memory};
        uint32_t count = unwind_stack(&request, frames, DEPTH, &end);
        if (count == 0 || count > DEPTH || end >= STACK_END_COUNT || end == STACK_NOT_WALKED)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unwind_table *table = NULL;
    struct elf_file *file = open_frames(data, size);
    if (!file)
        return 0;
    int error = unwind_table_build(file, &table);
    elf_file_close(file);
    if (error != 0 && error != -ENODATA && error != -EBADMSG && error != -EFBIG)
        abort();
    if (error)
        return 0;
    check_order(table, size);
    struct memory memory = {data, size, table};
    walk(&memory);
    unwind_table_destroy(table);
    return 0;
}
