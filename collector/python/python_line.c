/* SPDX-License-Identifier: MIT */
/* Line tables of code objects: which line an instruction is of. Three formats in six versions.
 * Sources: Objects/lnotab_notes.txt of 3.9 and 3.10, InternalDocs/code_objects.md of 3.13.
 * Foreign bytes: bounded. Thread-safety: none needed. */
#include "python_stack.h"

/* A line that a table can come to; 0 for all else. */
static int plausible(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (int)line : 0;
}

/* 3.9: pairs of address and line increments, each from where the one before came to. */
static int line_of_lnotab(const uint8_t *lines, size_t size, int64_t line, int instruction)
{
    int64_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += lines[i];
        if (address > instruction)
            break;
        line += (int8_t)lines[i + 1];
    }
    return plausible(line);
}

/* 3.10 (PEP 626): pairs of a range's length and its line increment; -128: code of no line. */
static int line_of_ranges(const uint8_t *lines, size_t size, int64_t line, int instruction)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t increment = (int8_t)lines[i + 1];
        end += lines[i];
        if (increment != -128)
            line += increment;
        if (end > instruction)
            return increment == -128 ? 0 : plausible(line);
    }
    return 0;
}

/* Six bits a byte, least significant first; the sign is the lowest bit of the whole. */
static int64_t signed_number(const uint8_t *bytes, size_t size, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < size && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(bytes[at] & 0x3f) << shift;
        if (!(bytes[at] & 0x40))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* 3.11 on (PEP 657): entries begin with a byte that has its top bit set: what kind of location, and
 * for how many instruction units of two bytes. */
enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14, LOCATION_NONE = 15 };

static int line_of_locations(const uint8_t *lines, size_t size, int64_t line, int instruction)
{
    int64_t end = 0;
    for (size_t at = 0; at < size;) {
        unsigned kind = lines[at] >> 3 & 15;
        end += INT64_C(2) * ((lines[at] & 7) + 1);
        if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
            line += signed_number(lines, size, at + 1);
        else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
            line += kind - LOCATION_ONE_LINE;
        if (end > instruction)
            return kind == LOCATION_NONE ? 0 : plausible(line);
        for (at++; at < size && !(lines[at] & 0x80);)
            at++;
    }
    return 0;
}

int python_line(uint32_t version, const uint8_t *lines, size_t size, int first_line,
                int instruction)
{
    if (instruction < 0)
        return plausible(first_line);
    if (version >= 0x030b)
        return line_of_locations(lines, size, first_line, instruction);
    if (version >= 0x030a)
        return line_of_ranges(lines, size, first_line, instruction);
    return line_of_lnotab(lines, size, first_line, instruction);
}
