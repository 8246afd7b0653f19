/* SPDX-License-Identifier: MIT */
/* Sections by name. A file whose table of sections is damaged or cut off counts as one without. */
#include "elf_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SECTIONS_MAX = 1 << 17, NAMES_MAX = 16 << 20, LINK_NAME_MAX = 4096 };

/* Numbers that do not fit the file's head stand in section 0. */
static bool extended_numbers(const struct elf_file *file, size_t *count, size_t *names_index)
{
    Elf64_Shdr first;
    *count = file->head.e_shnum;
    *names_index = file->head.e_shstrndx;
    if (*count != 0 && *names_index != SHN_XINDEX)
        return true;
    if (!elf_file_read(file, file->head.e_shoff, &first, sizeof(first)))
        return false;
    if (*count == 0)
        *count = first.sh_size;
    if (*names_index == SHN_XINDEX)
        *names_index = first.sh_link;
    return true;
}

static int load_names(struct elf_file *file, const Elf64_Shdr *section)
{
    if (section->sh_type != SHT_STRTAB || section->sh_size > NAMES_MAX ||
        !elf_file_holds(file, section->sh_offset, section->sh_size))
        return -EBADMSG;
    file->section_names_size = section->sh_size;
    file->section_names = malloc(section->sh_size + 1);
    if (!file->section_names)
        return -ENOMEM;
    file->section_names[section->sh_size] = 0;
    return elf_file_read(file, section->sh_offset, file->section_names, section->sh_size)
               ? 0
               : -EBADMSG;
}

static int load_table(struct elf_file *file)
{
    size_t count, names_index;
    if (file->head.e_shoff == 0 || file->head.e_shentsize != sizeof(Elf64_Shdr) ||
        !extended_numbers(file, &count, &names_index))
        return -EBADMSG;
    if (count > SECTIONS_MAX || names_index >= count)
        return -EBADMSG;
    int error = elf_file_table(file, file->head.e_shoff, count, sizeof(Elf64_Shdr),
                               (void **)&file->sections);
    if (error)
        return error;
    file->section_count = count;
    return load_names(file, &file->sections[names_index]);
}

int elf_sections_load(struct elf_file *file)
{
    int error = load_table(file);
    if (error)
        file->section_count = 0;
    return error == -ENOMEM ? error : 0;
}

static const Elf64_Shdr *section_named(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_name < file->section_names_size && section->sh_type != SHT_NOBITS &&
            section->sh_type != SHT_NULL &&
            strcmp(file->section_names + section->sh_name, name) == 0)
            return section;
    }
    return NULL;
}

static struct elf_section section_of(const Elf64_Shdr *section, const uint8_t *bytes, size_t size)
{
    return (struct elf_section){.bytes = bytes,
                                .size = size,
                                .address = section->sh_flags & SHF_ALLOC ? section->sh_addr : 0,
                                .flags = section->sh_flags};
}

bool elf_file_section(struct elf_file *file, const char *name, struct elf_section *ret_section)
{
    const Elf64_Shdr *section = section_named(file, name);
    const struct elf_piece *piece = section ? elf_piece_of_section(file, section, true) : NULL;
    if (!piece)
        return false;
    *ret_section = section_of(section, piece->bytes, piece->size);
    return true;
}

bool elf_file_copy_section(struct elf_file *file, const char *name, struct elf_section *ret_section)
{
    const Elf64_Shdr *section = section_named(file, name);
    struct elf_piece *piece = section ? elf_piece_of_section(file, section, false) : NULL;
    if (!piece)
        return false;
    size_t size = piece->size;
    memmove(piece, piece->bytes, size); /* the caller frees the bytes, so they stand first */
    *ret_section = section_of(section, (const uint8_t *)piece, size);
    return true;
}

const char *elf_file_debug_link(struct elf_file *file, uint32_t *ret_crc)
{
    struct elf_section section;
    if (!elf_file_section(file, ".gnu_debuglink", &section) || section.size < 8 ||
        section.size > LINK_NAME_MAX)
        return NULL;
    const char *name = (const char *)section.bytes;
    size_t length = strnlen(name, section.size);
    size_t place = (length + 4) & ~(size_t)3; /* of the checksum: behind the name and its zero */
    if (length == 0 || place > section.size - 4)
        return NULL;
    memcpy(ret_crc, section.bytes + place, sizeof(*ret_crc));
    return name;
}
