/* SPDX-License-Identifier: MIT */
/* Static probes (USDT): places that a program's source has named, as notes tell that <sys/sdt.h>
 * makes. A note has three addresses, as they were when the file was linked (the second tells by how
 * much it was moved since), and three texts. */
#include "elf_parts.h"

#include <string.h>

enum { NOTE_PROBE = 3, ADDRESSES = 3 };

static const char owner[8] = "stapsdt";

/* The next of the note's texts. NULL: it does not end. */
static const char *next_text(const uint8_t **at, const uint8_t *end)
{
    const char *text = (const char *)*at;
    const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
    *at = zero ? zero + 1 : end;
    return zero ? text : NULL;
}

/* `moved` is where the base lies now; 0: not known. */
static bool read_note(const uint8_t *bytes, size_t size, uint64_t moved, struct elf_probe *probe)
{
    uint64_t addresses[ADDRESSES];
    if (size < sizeof(addresses))
        return false;
    memcpy(addresses, bytes, sizeof(addresses));
    const uint8_t *at = bytes + sizeof(addresses), *end = bytes + size;
    uint64_t shift = moved && addresses[1] ? moved - addresses[1] : 0;
    *probe = (struct elf_probe){.provider = next_text(&at, end),
                                .name = next_text(&at, end),
                                .arguments = next_text(&at, end),
                                .address = addresses[0] + shift,
                                .semaphore = addresses[2] ? addresses[2] + shift : 0};
    return probe->provider && probe->name && probe->arguments;
}

static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

void elf_file_probes(struct elf_file *file, bool (*visit)(void *, const struct elf_probe *),
                     void *context)
{
    struct elf_section notes, base;
    uint64_t moved = elf_file_section(file, ".stapsdt.base", &base) ? base.address : 0;
    if (!elf_file_section(file, ".note.stapsdt", &notes))
        return;
    bool more = true;
    for (size_t at = 0; more && notes.size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr head;
        struct elf_probe probe;
        memcpy(&head, notes.bytes + at, sizeof(head));
        at += sizeof(head);
        size_t text_at = at + padded(head.n_namesz), end = text_at + padded(head.n_descsz);
        if (text_at > notes.size || head.n_descsz > notes.size - text_at)
            return;
        bool ours = head.n_type == NOTE_PROBE && head.n_namesz == sizeof(owner) &&
                    memcmp(notes.bytes + at, owner, sizeof(owner)) == 0;
        if (ours && read_note(notes.bytes + text_at, head.n_descsz, moved, &probe))
            more = visit(context, &probe);
        at = end < notes.size ? end : notes.size;
    }
}
