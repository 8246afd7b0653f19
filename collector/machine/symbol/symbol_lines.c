/* SPDX-License-Identifier: MIT */
/* Some compilers omit the table from address ranges to compilation units; then the units are
 * searched one after the other. */
#include "symbol_lines.h"

#include "symbol_module.h"

#include <stddef.h>

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
