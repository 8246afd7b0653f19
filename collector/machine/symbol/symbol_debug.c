/* SPDX-License-Identifier: MIT */
/* Debug files. The path of a module is foreign: it may lead to a pipe, or another file. */
#include "symbol_debug.h"

#include "symbol_module.h"

#include "file_io.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *debug_root = "/usr/lib/debug";

void symbol_debug_set_root(const char *directory)
{
    debug_root = directory ? directory : "/usr/lib/debug";
}

/* True if both have the same build-id. */
static bool same_build(const struct elf_file *a, const struct elf_file *b)
{
    uint8_t id_a[ELF_BUILD_ID_MAX], id_b[ELF_BUILD_ID_MAX];
    size_t size = elf_file_build_id(a, id_a);
    return size > 0 && elf_file_build_id(b, id_b) == size && memcmp(id_a, id_b, size) == 0;
}

static bool has_build_id(const struct elf_file *file)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    return elf_file_build_id(file, id) > 0;
}

int symbol_debug_open_same(const struct elf_file *file, const char *path)
{
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    struct elf_file *other;
    if (fd < 0 || !has_build_id(file))
        return fd;
    bool same = false;
    if (elf_file_open(fd, &other) == 0) {
        same = same_build(file, other);
        elf_file_close(other);
    }
    if (same)
        return fd;
    close(fd);
    return -ENOENT;
}

static bool checksum_is(int fd, uint32_t wanted)
{
    static const size_t part = 256 << 10;
    uint8_t *bytes = malloc(part);
    uLong sum = crc32(0, NULL, 0);
    ssize_t size = -1;
    for (off_t at = 0; bytes && (size = pread(fd, bytes, part, at)) > 0; at += size)
        sum = crc32(sum, bytes, (uInt)size);
    free(bytes);
    return size == 0 && sum == wanted;
}

/* `crc` NULL: the build-id alone decides. If both files have one it is preferred to the sum, which
 * costs reading all of a file of possibly gigabytes. */
static bool try_path(const struct elf_file *file, const char *path, const uint32_t *crc,
                     struct elf_file **ret_file)
{
    struct elf_file *found;
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (fd < 0)
        return false;
    bool good = elf_file_open(fd, &found) == 0;
    if (good) {
        good = same_build(file, found);
        if (!good && crc && !(has_build_id(file) && has_build_id(found)))
            good = checksum_is(fd, *crc);
        if (good)
            *ret_file = found;
        else
            elf_file_close(found);
    }
    close(fd);
    return good;
}

static bool open_by_build_id(const struct elf_file *file, struct elf_file **ret_file,
                             char **ret_path)
{
    uint8_t id[ELF_BUILD_ID_MAX];
    char hex[2 * ELF_BUILD_ID_MAX + 1], *path;
    size_t size = elf_file_build_id(file, id);
    text_hex(hex, id, size);
    if (size < 2 || asprintf(&path, "%s/.build-id/%.2s/%s.debug", debug_root, hex, hex + 2) < 0)
        return false;
    if (try_path(file, path, NULL, ret_file)) {
        *ret_path = path;
        return true;
    }
    free(path);
    return false;
}

static bool open_by_link(struct elf_file *file, const char *path, struct elf_file **ret_file,
                         char **ret_path)
{
    uint32_t crc;
    const char *name = elf_file_debug_link(file, &crc);
    char *real = name ? realpath(path, NULL) : NULL;
    char *slash = real ? strrchr(real, '/') : NULL;
    bool found = false;
    if (slash && !strchr(name, '/')) {
        *slash = '\0';
        for (int i = 0; i < 3 && !found; i++) {
            char *candidate;
            if (asprintf(&candidate, "%s%s%s/%s", i == 2 ? debug_root : "", real,
                         i == 1 ? "/.debug" : "", name) < 0)
                break;
            found = try_path(file, candidate, &crc, ret_file);
            if (found)
                *ret_path = candidate;
            else
                free(candidate);
        }
    }
    free(real);
    return found;
}

bool symbol_debug_open(struct elf_file *file, const char *path, struct elf_file **ret_file,
                       char **ret_path)
{
    return open_by_build_id(file, ret_file, ret_path) ||
           open_by_link(file, path, ret_file, ret_path);
}

/* .gnu_debugdata: an ELF file with more symbols, compressed by xz. */
#ifdef HAVE_LZMA

#include <lzma.h>

enum { UNPACKED_MAX = 128 << 20, MEMORY_MAX = 256 << 20, FIRST_SIZE = 1 << 20 };

/* NULL: damaged, too large, out of memory. */
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
