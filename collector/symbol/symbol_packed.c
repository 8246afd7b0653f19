/* SPDX-License-Identifier: MIT */
/* .gnu_debugdata: an ELF file with further symbols, packed by xz. Its own file, so that builds
 * without liblzma lack nothing else. */
#include "symbol_debug.h"

#include <stdlib.h>

#ifdef HAVE_LZMA

#include <lzma.h>

enum { UNPACKED_MAX = 128 << 20, MEMORY_MAX = 256 << 20, FIRST_SIZE = 1 << 20 };

/* NULL: damaged, too large, no memory. */
static uint8_t *unpack(const struct elf_section *section, size_t *ret_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, MEMORY_MAX, 0) != LZMA_OK)
        return NULL;
    uint8_t *bytes = NULL;
    size_t capacity = 0;
    lzma_ret state = LZMA_OK;
    stream.next_in = section->bytes;
    stream.avail_in = section->size;
    while (state == LZMA_OK && capacity < UNPACKED_MAX) {
        size_t grown = capacity ? capacity * 2 : FIRST_SIZE;
        uint8_t *more = realloc(bytes, grown);
        if (!more)
            break;
        bytes = more;
        stream.next_out = bytes + capacity;
        stream.avail_out = grown - capacity;
        capacity = grown;
        state = lzma_code(&stream, LZMA_FINISH);
    }
    *ret_size = (size_t)stream.total_out;
    lzma_end(&stream);
    if (state == LZMA_STREAM_END)
        return bytes;
    free(bytes);
    return NULL;
}

bool symbol_debug_open_packed(struct elf_file *file, struct elf_file **ret_file)
{
    struct elf_section section;
    size_t size;
    if (!elf_file_section(file, ".gnu_debugdata", &section))
        return false;
    uint8_t *bytes = unpack(&section, &size);
    bool good = bytes && elf_file_open_image(bytes, size, ret_file) == 0;
    free(bytes);
    return good;
}

#else

bool symbol_debug_open_packed(struct elf_file *file, struct elf_file **ret_file)
{
    (void)file;
    (void)ret_file;
    return false;
}

#endif
