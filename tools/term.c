/* SPDX-License-Identifier: MIT */
/* See term.h: numbers by integers and snprintf, never the locale.
 *
 * Own UTF-8 decoding and width ranges: the C library's depend on the locale, which annot leaves
 * alone so that its output is the same everywhere. */
#include "term.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned term_width(int fd)
{
    const char *columns = getenv("COLUMNS");
    unsigned long wanted = columns ? strtoul(columns, NULL, 10) : 0;
    if (wanted >= 20 && wanted <= 10000)
        return (unsigned)wanted;
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col >= 20 ? size.ws_col : 80;
}

bool term_color(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    return isatty(fd) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

/* One character: its bytes (at least 1) and code point; broken bytes and what is hidden give '?'.
 */
static size_t decode(const char *text, uint32_t *ret_point)
{
    const unsigned char *at = (const unsigned char *)text;
    *ret_point = '?';
    if (at[0] < 0x80) {
        *ret_point = at[0];
        return 1;
    }
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    uint32_t point = at[0] & (0x7fu >> length);
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 1;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 1;
        point = point << 6 | (at[i] & 0x3f);
    }
    bool too_long = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    if (too_long || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 1;
    /* C1 controls and the marks that turn the writing direction stay out of terminals. */
    bool hidden = point < 0xa0 || (point >= 0x202a && point <= 0x202e) ||
                  (point >= 0x2066 && point <= 0x2069);
    *ret_point = hidden ? '?' : point;
    return length;
}

struct span {
    uint32_t first, last;
};

static bool is_in(const struct span *spans, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= spans[i].first && point <= spans[i].last)
            return true;
    }
    return false;
}

static size_t point_width(uint32_t point)
{
    static const struct span zero[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                       {0x610, 0x61a},   {0x64b, 0x65f},   {0x200b, 0x200f},
                                       {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
    static const struct span wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
                                       {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    if (point < 0x300)
        return 1;
    if (is_in(zero, sizeof(zero) / sizeof(*zero), point))
        return 0;
    return is_in(wide, sizeof(wide) / sizeof(*wide), point) ? 2 : 1;
}

/* A character as it is shown. */
struct glyph {
    size_t columns, size;
    char bytes[TERM_GLYPH_SIZE];
};

/* As shells write it in $'...'. */
static struct glyph escape(unsigned char byte)
{
    static const char bytes[] = "\a\b\t\n\v\f\r\033", letters[] = "abtnvfre";
    const char *letter = byte ? strchr(bytes, byte) : NULL;
    struct glyph glyph = {0};
    int size = letter ? snprintf(glyph.bytes, sizeof(glyph.bytes), "\\%c", letters[letter - bytes])
                      : snprintf(glyph.bytes, sizeof(glyph.bytes), "\\x%02x", byte);
    glyph.size = glyph.columns = (size_t)size;
    return glyph;
}

/* The first character of a text and behind which byte the next one begins. */
static struct glyph take_glyph(const char **text)
{
    struct glyph glyph = {.size = 1, .bytes = "?"};
    uint32_t point;
    size_t length = decode(*text, &point);
    if (point < 0x20 || point == 0x7f) {
        glyph = escape((unsigned char)point);
    } else {
        glyph.columns = point_width(point);
        if (point != '?') {
            memcpy(glyph.bytes, *text, length);
            glyph.size = length;
        }
    }
    *text += length;
    return glyph;
}

size_t term_text_width(const char *text)
{
    size_t width = 0;
    while (*text)
        width += take_glyph(&text).columns;
    return width;
}

/* Copies whole characters up to `width` columns; returns the end in the buffer. */
static char *copy_clean(const char *text, size_t width, char *to, const char *end)
{
    while (*text) {
        struct glyph glyph = take_glyph(&text);
        if (glyph.columns > width || to + glyph.size >= end)
            break;
        width -= glyph.columns;
        memcpy(to, glyph.bytes, glyph.size);
        to += glyph.size;
    }
    *to = '\0';
    return to;
}

size_t term_shorten(const char *text, size_t width, char *buffer, size_t buffer_size)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    char *end = buffer + buffer_size;
    size_t full = term_text_width(text);
    if (full <= width) {
        copy_clean(text, width, buffer, end);
        return term_text_width(buffer);
    }
    size_t head = (width - 1) / 2, tail = width - 1 - head;
    char *to = copy_clean(text, head, buffer, end);
    if ((size_t)(end - to) > sizeof(ellipsis)) {
        memcpy(to, ellipsis, sizeof(ellipsis));
        to += sizeof(ellipsis) - 1;
    }
    size_t skip = full - tail;
    while (skip > 0 && *text) {
        size_t columns = take_glyph(&text).columns;
        skip = columns < skip ? skip - columns : 0;
    }
    copy_clean(text, tail, to, end);
    return term_text_width(buffer);
}

size_t term_take(const char **text, char bytes[TERM_GLYPH_SIZE])
{
    struct glyph glyph = take_glyph(text);
    memcpy(bytes, glyph.bytes, glyph.size);
    return glyph.size;
}

void term_write(FILE *stream, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end && *text) {
        struct glyph glyph = take_glyph(&text);
        fwrite(glyph.bytes, 1, glyph.size, stream);
    }
}

void term_print(const char *text)
{
    term_write(stdout, text, strlen(text));
}

/* ---- Numbers --------------------------------------------------------------------------------- */

struct unit {
    uint64_t size;
    const char *name;
};

static const struct unit time_units[] = {
    {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};

/* The unit in which the value has an integer part after rounding to four digits. */
static const struct unit *time_unit(uint64_t ns)
{
    const struct unit *unit = time_units;
    while (unit->size > 1 && (double)ns < (double)unit->size * 0.99995)
        unit++;
    return unit;
}

static int time_digits(uint64_t ns, const struct unit *unit, char *buffer)
{
    double value = (double)ns / (double)unit->size;
    int decimals = unit->size == 1 || value >= 999.95 ? 0
                   : value >= 99.995                  ? 1
                   : value >= 9.9995                  ? 2
                                                      : 3;
    return snprintf(buffer, NUMBER_TEXT_SIZE - 4, "%.*f", decimals, value);
}

const char *number_time(uint64_t ns, char *buffer)
{
    const struct unit *unit = time_unit(ns);
    int length = time_digits(ns, unit, buffer);
    snprintf(buffer + length, (size_t)(NUMBER_TEXT_SIZE - length), " %-2s", unit->name);
    return buffer;
}

const char *number_time_plain(uint64_t ns, char *buffer)
{
    const struct unit *unit = time_unit(ns);
    int length = time_digits(ns, unit, buffer);
    snprintf(buffer + length, (size_t)(NUMBER_TEXT_SIZE - length), " %s", unit->name);
    return buffer;
}

const char *number_count(uint64_t count, char *buffer)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    char *to = buffer;
    for (int i = 0; i < length; i++) {
        *to++ = digits[i];
        if (i + 1 < length && (length - i - 1) % 3 == 0)
            *to++ = ',';
    }
    *to = '\0';
    return buffer;
}

const char *number_size(uint64_t bytes, char *buffer)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1023.95 && unit + 1 < sizeof(names) / sizeof(*names); unit++)
        value /= 1024;
    snprintf(buffer, NUMBER_TEXT_SIZE, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
    return buffer;
}

const char *number_percent(uint64_t part, uint64_t whole, char *buffer)
{
    if (!whole) {
        snprintf(buffer, NUMBER_TEXT_SIZE, "-");
        return buffer;
    }
    double percent = 100.0 * (double)part / (double)whole;
    snprintf(buffer, NUMBER_TEXT_SIZE, percent < 999.95 ? "%.1f%%" : "%.0f%%", percent);
    return buffer;
}

const char *number_value(double value, char *buffer)
{
    bool whole = fabs(value) < 1e15 && (fabs(value) >= 1e5 || value == floor(value));
    snprintf(buffer, NUMBER_TEXT_SIZE, whole ? "%.0f" : "%.6g", value);
    return buffer;
}
