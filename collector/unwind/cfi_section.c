/* SPDX-License-Identifier: MIT */
/* By its name, which may be compressed away or stripped; else by the header for the C++ runtime,
 * which points to .eh_frame but does not tell its size. */
#include "cfi_index.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

static bool find_by_header(struct elf_file *file, struct cfi_section *ret_section)
{
    struct elf_segment header;
    if (!elf_file_header(file, PT_GNU_EH_FRAME, &header) || header.file_size < 8)
        return false;
    const uint8_t *bytes = elf_file_at(file, header.address, 16);
    if (!bytes || bytes[0] != 1)
        return false;
    struct cfi_reader reader = {bytes + 4, bytes + 16, false};
    struct cfi_bases bases = {.place = header.address + 4, .data = header.address};
    uint64_t address = cfi_pointer(&reader, bytes[1], bases);
    size_t count = elf_file_segment_count(file);
    for (size_t i = 0; i < count && !reader.failed; i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if (address < segment.address || address - segment.address >= segment.file_size)
            continue;
        size_t size = segment.file_size - (address - segment.address);
        *ret_section = (struct cfi_section){.bytes = elf_file_at(file, address, size),
                                            .size = size,
                                            .address = address,
                                            .open = true};
        return ret_section->bytes != NULL;
    }
    return false;
}

int cfi_section_open(struct elf_file *file, struct cfi_section *ret_section)
{
    struct elf_section named;
    if (elf_file_machine(file) != EM_X86_64)
        return -ENODATA;
    if (!elf_file_copy_section(file, ".eh_frame", &named)) {
        struct elf_segment header;
        if (find_by_header(file, ret_section))
            return 0;
        return elf_file_header(file, PT_GNU_EH_FRAME, &header) ? -EBADMSG : -ENODATA;
    }
    *ret_section = (struct cfi_section){
        .bytes = named.bytes, .size = named.size, .address = named.address, .owned = true};
    return 0;
}

void cfi_section_close(struct cfi_section *section)
{
    if (section->owned)
        free((void *)(uintptr_t)section->bytes);
}
