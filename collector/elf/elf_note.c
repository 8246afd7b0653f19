/* SPDX-License-Identifier: MIT */
/* The build-id: a note of type NT_GNU_BUILD_ID, in a PT_NOTE segment or, where separate debug files
 * have no bytes for that, in a section. Source: gABI chapter 5, "Note Section". */
#include "elf_private.h"

#include <stdlib.h>
#include <string.h>

enum { NOTES_SIZE_MAX = 1 << 16 };

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Looks through the notes of one stretch. */
static bool find_in(struct elf_file *file, const uint8_t *bytes, uint64_t size, uint64_t alignment)
{
    uint64_t at = 0;
    while (at < size && size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, bytes + at, sizeof(note));
        uint64_t name = at + sizeof(note);
        uint64_t value = align_up(name + note.n_namesz, alignment);
        uint64_t end = value + note.n_descsz;
        if (end > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(bytes + name, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= ELF_BUILD_ID_MAX) {
            memcpy(file->build_id, bytes + value, note.n_descsz);
            file->build_id_size = note.n_descsz;
            return true;
        }
        at = align_up(end, alignment);
    }
    return false;
}

static bool find_at(struct elf_file *file, uint64_t offset, uint64_t size, uint64_t alignment)
{
    if (size == 0 || size > NOTES_SIZE_MAX)
        return false;
    uint8_t *bytes = malloc(size);
    bool found = bytes && elf_file_read(file, offset, bytes, size) &&
                 find_in(file, bytes, size, alignment == 8 ? 8 : 4);
    free(bytes);
    return found;
}

void elf_build_id_find(struct elf_file *file)
{
    for (size_t i = 0; i < file->header_count; i++) {
        const Elf64_Phdr *header = &file->headers[i];
        if (header->p_type == PT_NOTE &&
            find_at(file, header->p_offset, header->p_filesz, header->p_align))
            return;
    }
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if (section->sh_type == SHT_NOTE && !(section->sh_flags & SHF_COMPRESSED) &&
            find_at(file, section->sh_offset, section->sh_size, section->sh_addralign))
            return;
    }
}
