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
#include <stddef.h>

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

/* ---- Source lines ---------------------------------------------------------------------------- */

/* Some compilers omit the table from address ranges to compilation units; then the units are
 * searched one after the other. */

#ifdef HAVE_LIBDW

#include "file_io.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct symbol_lines {
    Dwarf *dwarf, *shared; /* shared by several files (dwz), NULL: absent */
    int fd, shared_fd;
};

/* Opens the shared file here, as the library would open any path in the file, and block on a
 * FIFO. */
static bool open_shared(struct symbol_lines *lines)
{
    char own[64], path[PATH_MAX];
    const char *name;
    const void *id;
    if (dwelf_dwarf_gnu_debugaltlink(lines->dwarf, &name, &id) <= 0)
        return true;
    snprintf(own, sizeof(own), "/proc/self/fd/%d", lines->fd);
    ssize_t length = name[0] == '/' ? 0 : readlink(own, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    if (strlen(name) >= sizeof(path) - folder)
        return false;
    memcpy(path + folder, name, strlen(name) + 1);
    lines->shared_fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    if (lines->shared_fd >= 0)
        lines->shared = dwarf_begin(lines->shared_fd, DWARF_C_READ);
    if (lines->shared)
        dwarf_setalt(lines->dwarf, lines->shared);
    return lines->shared != NULL;
}

struct symbol_lines *symbol_lines_create(int fd)
{
    struct symbol_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return NULL;
    lines->shared_fd = -1;
    lines->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    lines->dwarf = lines->fd < 0 ? NULL : dwarf_begin(lines->fd, DWARF_C_READ);
    if (lines->dwarf && open_shared(lines))
        return lines;
    symbol_lines_destroy(lines);
    return NULL;
}

void symbol_lines_destroy(struct symbol_lines *lines)
{
    if (!lines)
        return;
    if (lines->dwarf)
        dwarf_end(lines->dwarf);
    if (lines->shared)
        dwarf_end(lines->shared);
    if (lines->shared_fd >= 0)
        close(lines->shared_fd);
    if (lines->fd >= 0)
        close(lines->fd);
    free(lines);
}

static bool search_units(Dwarf *dwarf, uint64_t address, Dwarf_Die *ret_unit)
{
    Dwarf_Off at = 0, next;
    size_t head_size;
    while (dwarf_nextcu(dwarf, at, &next, &head_size, NULL, NULL, NULL) == 0) {
        if (dwarf_offdie(dwarf, at + head_size, ret_unit) && dwarf_haspc(ret_unit, address) > 0)
            return true;
        at = next;
    }
    return false;
}

bool symbol_lines_unit(struct symbol_lines *lines, uint64_t address, Dwarf_Die *ret_unit)
{
    return dwarf_addrdie(lines->dwarf, address, ret_unit) ||
           search_units(lines->dwarf, address, ret_unit);
}

static int number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 && value <= INT_MAX
               ? (int)value
               : 0;
}

static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));
    return name ? name : dwarf_diename(die);
}

/* From the innermost scope outwards to the function with the code. 0 without that function, or if
 * they do not fit. */
static size_t leave_inlined(Dwarf_Die *scopes, int count, int line, struct symbol_place *places)
{
    size_t found = 0;
    for (int i = 0; i < count && found < SYMBOL_PLACES_MAX; i++) {
        int tag = dwarf_tag(&scopes[i]);
        bool inlined = tag == DW_TAG_inlined_subroutine;
        if (!inlined && tag != DW_TAG_subprogram)
            continue;
        struct symbol_place place = {.file = dwarf_decl_file(&scopes[i]), .line = line};
        if (dwarf_decl_line(&scopes[i], &place.first_line) != 0)
            place.first_line = 0;
        place.name = inlined ? name_of(&scopes[i]) : NULL;
        if (!place.file || line <= 0 || (inlined && !place.name))
            return 0;
        places[found++] = place;
        if (!inlined)
            return found;
        line = number_of(&scopes[i], DW_AT_call_line);
    }
    return 0;
}

size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places)
{
    Dwarf_Die unit, *scopes = NULL, *around = NULL;
    int number;
    if (!symbol_lines_unit(lines, address, &unit))
        return 0;
    Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
    if (!line || dwarf_lineno(line, &number) != 0)
        return 0;
    int count = dwarf_getscopes(&unit, address, &scopes);
    /* The scopes around an inlined function are in the code, not in the source. */
    count = count > 0 ? dwarf_getscopes_die(&scopes[0], &around) : 0;
    size_t found = leave_inlined(around, count, number, places);
    free(around);
    free(scopes);
    return found;
}

bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line)
{
    Dwarf_Die unit;
    if (!symbol_lines_unit(lines, address, &unit))
        return false;
    Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(line, ret_line) != 0 || *ret_line <= 0)
        return false;
    *ret_file = file;
    return true;
}

#else

struct symbol_lines *symbol_lines_create(int fd)
{
    (void)fd;
    return NULL;
}

void symbol_lines_destroy(struct symbol_lines *lines)
{
    (void)lines;
}

size_t symbol_lines_places(struct symbol_lines *lines, uint64_t address,
                           struct symbol_place *places)
{
    (void)lines;
    (void)address;
    (void)places;
    return 0;
}

bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line)
{
    (void)lines;
    (void)address;
    (void)ret_file;
    (void)ret_line;
    return false;
}

#endif
