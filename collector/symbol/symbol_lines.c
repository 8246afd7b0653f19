/* SPDX-License-Identifier: MIT */
/* The table of address ranges that leads to a compilation unit is missing for what some compilers
 * make; then the units themselves are asked, one after the other. */
#include "symbol_lines.h"

#include <stddef.h>

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct symbol_lines {
    Dwarf *dwarf;
    int fd;
};

struct symbol_lines *symbol_lines_create(int fd)
{
    struct symbol_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return NULL;
    lines->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    lines->dwarf = lines->fd < 0 ? NULL : dwarf_begin(lines->fd, DWARF_C_READ);
    if (lines->dwarf)
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

bool symbol_lines_find(struct symbol_lines *lines, uint64_t address, const char **ret_file,
                       int *ret_line)
{
    Dwarf_Die unit;
    if (!dwarf_addrdie(lines->dwarf, address, &unit) && !search_units(lines->dwarf, address, &unit))
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
