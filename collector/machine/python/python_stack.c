/* SPDX-License-Identifier: MIT */
/* Texts, lines, and the join of native and Python frames. Foreign bytes: bounded. Thread-safety:
 * any thread, no state. */
#include "python_stack.h"

#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Converts unicode objects of CPython (PEP 393) to UTF-8. Foreign bytes: bounded.
 * Thread-safety: any thread. */

enum { COMPACT = 1u << 3, ASCII = 1u << 4, KIND = 7 };

/* Kind, compact and ascii, at this build's bit position: it moved when `interned` got a separate
 * byte in builds without a GIL, and wrong positions contain 0. */
static uint32_t text_flags(uint32_t state)
{
    static const uint8_t shifts[] = {2, 8, 16};
    for (size_t i = 0; i < sizeof(shifts); i++)
        if (state >> shifts[i] & 0x3f)
            return state >> shifts[i];
    return 0;
}

static uint32_t character(const uint8_t *at, size_t kind)
{
    uint32_t value = 0;
    memcpy(&value, at, kind);
    return value;
}

/* Bytes written; surrogates and invalid characters become U+FFFD. */
static size_t encode(uint32_t value, char *text)
{
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000) || value == 0)
        value = 0xfffd;
    if (value < 0x80) {
        text[0] = (char)value;
        return 1;
    }
    if (value < 0x800) {
        text[0] = (char)(0xc0 | value >> 6);
        text[1] = (char)(0x80 | (value & 0x3f));
        return 2;
    }
    if (value < 0x10000) {
        text[0] = (char)(0xe0 | value >> 12);
        text[1] = (char)(0x80 | (value >> 6 & 0x3f));
        text[2] = (char)(0x80 | (value & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | value >> 18);
    text[1] = (char)(0x80 | (value >> 12 & 0x3f));
    text[2] = (char)(0x80 | (value >> 6 & 0x3f));
    text[3] = (char)(0x80 | (value & 0x3f));
    return 4;
}

enum { ELLIPSIS_SIZE = 3, CHARACTER_MAX = 4 };

/* The available characters; `cut`: the text has more. */
struct characters {
    const uint8_t *data;
    size_t kind, count;
    bool cut;
};

static size_t encode_all(struct characters from, char *text, size_t size)
{
    size_t used = 0, keep = 0; /* the length to keep if the rest does not fit */
    char one[CHARACTER_MAX];
    for (size_t i = 0; i < from.count; i++) {
        size_t width = encode(character(from.data + i * from.kind, from.kind), one);
        if (used + width >= size) {
            from.cut = true;
            break;
        }
        memcpy(text + used, one, width);
        used += width;
        if (used + ELLIPSIS_SIZE < size)
            keep = used;
    }
    if (from.cut && keep + ELLIPSIS_SIZE < size) {
        memcpy(text + keep, "\xe2\x80\xa6", ELLIPSIS_SIZE);
        used = keep + ELLIPSIS_SIZE;
    }
    text[used] = 0;
    return used;
}

struct header {
    uint64_t length;
    size_t kind, data; /* bytes of a character; their offset, if they follow the header */
    bool is_compact;
};

static bool read_header(const struct python_offsets *offsets, const uint8_t *object, size_t size,
                        struct header *ret)
{
    uint32_t state;
    if (size < (size_t)offsets->unicode_length + sizeof(ret->length) ||
        size < (size_t)offsets->unicode_state + sizeof(state))
        return false;
    memcpy(&ret->length, object + offsets->unicode_length, sizeof(ret->length));
    memcpy(&state, object + offsets->unicode_state, sizeof(state));
    uint32_t flags = text_flags(state);
    ret->kind = flags & KIND;
    ret->is_compact = flags & COMPACT;
    ret->data = ret->is_compact && flags & ASCII ? offsets->unicode_ascii_data
                                                 : offsets->unicode_compact_data;
    return (ret->kind == 1 || ret->kind == 2 || ret->kind == 4) && size >= ret->data;
}

static size_t encode_text(const struct header *header, const uint8_t *data, size_t data_size,
                          char *text, size_t size)
{
    size_t there = data_size / header->kind;
    bool cut = header->length > there;
    return encode_all((struct characters){data, header->kind, cut ? there : header->length, cut},
                      text, size);
}

size_t python_text(const struct python_offsets *offsets, const uint8_t *object, size_t object_size,
                   char *text, size_t size)
{
    struct header header;
    if (!size)
        return 0;
    text[0] = 0;
    if (!read_header(offsets, object, object_size, &header) || !header.is_compact)
        return 0;
    return encode_text(&header, object + header.data, object_size - header.data, text, size);
}

size_t python_text_bytes(const struct python_offsets *offsets, const uint8_t *object,
                         size_t object_size)
{
    struct header header;
    if (!read_header(offsets, object, object_size, &header) || !header.is_compact ||
        header.length > SIZE_MAX / 8)
        return 0;
    return header.data + (size_t)header.length * header.kind;
}

size_t python_text_apart(const struct python_offsets *offsets, const uint8_t *object,
                         size_t object_size, uint64_t *ret_data)
{
    struct header header;
    *ret_data = 0;
    if (!read_header(offsets, object, object_size, &header) || header.is_compact ||
        object_size < header.data + sizeof(*ret_data))
        return 0;
    memcpy(ret_data, object + header.data, sizeof(*ret_data));
    return header.length < SIZE_MAX / header.kind ? header.length * header.kind : 0;
}

size_t python_text_of_apart(const struct python_offsets *offsets, const uint8_t *object,
                            struct python_characters characters, char *text, size_t size)
{
    struct header header;
    text[0] = 0;
    if (!read_header(offsets, object, offsets->unicode_compact_data, &header))
        return 0;
    return encode_text(&header, characters.bytes, characters.size, text, size);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Line tables of code objects map instructions to lines. Three formats in six versions. Sources:
 * Objects/lnotab_notes.txt of 3.9 and 3.10, InternalDocs/code_objects.md of 3.13.
 * Foreign bytes: bounded. Thread-safety: any thread. */

/* The line, if in the valid range; else 0. */
static int plausible(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (int)line : 0;
}

/* 3.9: pairs of address and line increments, each relative to the previous pair. */
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

/* 3.10 (PEP 626): pairs of a range's length and its line increment; -128: code without a line, such
 * as a jump back to a loop's head, which counts to the line before it. */
static int line_of_ranges(const uint8_t *lines, size_t size, int64_t line, int instruction)
{
    int64_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t increment = (int8_t)lines[i + 1];
        end += lines[i];
        if (increment != -128)
            line += increment;
        if (end > instruction)
            return plausible(line);
    }
    return 0;
}

/* Six bits a byte, least significant first, at most 36 bits. *at moves past it. */
static uint64_t number(const uint8_t *bytes, size_t size, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < size && shift < 36; shift += 6) {
        uint8_t byte = bytes[(*at)++];
        value |= (uint64_t)(byte & 0x3f) << shift;
        if (!(byte & 0x40))
            break;
    }
    return value;
}

/* The sign is the lowest bit. */
static int64_t signed_number(const uint8_t *bytes, size_t size, size_t *at)
{
    uint64_t value = number(bytes, size, at);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* 3.11 on (PEP 657): each entry begins with a byte that has its top bit set, with the kind of
 * location and the number of instruction units of two bytes. Code without a line (15) counts to the
 * line before. */
enum { LOCATION_ONE_LINE = 10, LOCATION_NO_COLUMNS = 13, LOCATION_LONG = 14 };

/* From columns that count from 0. */
static struct source_place place_of(int64_t line, uint64_t column, uint64_t end)
{
    bool known = column < UINT16_MAX;
    bool end_known = known && end >= column && end < UINT16_MAX;
    return (struct source_place){.line = plausible(line),
                                 .column = known ? (uint16_t)(column + 1) : 0,
                                 .end_column = end_known ? (uint16_t)(end + 1) : 0};
}

/* The columns of an entry: `at` is after its first byte, and after its number of lines. */
static struct source_place place_of_entry(const uint8_t *lines, size_t size, size_t at,
                                          unsigned kind, int64_t line)
{
    uint64_t first = at < size ? lines[at] : 0;
    if (kind == LOCATION_LONG) {
        bool ends_here = number(lines, size, &at) == 0;
        uint64_t column = number(lines, size, &at), end = number(lines, size, &at);
        /* Columns count from 1 here; 0 means absent. */
        return place_of(line, column - 1, ends_here ? end - 1 : UINT64_MAX);
    }
    if (kind >= LOCATION_NO_COLUMNS || at >= size)
        return place_of(line, UINT64_MAX, UINT64_MAX);
    if (kind >= LOCATION_ONE_LINE)
        return place_of(line, first, at + 1 < size ? lines[at + 1] : UINT64_MAX);
    return place_of(line, kind << 3 | first >> 4, (kind << 3 | first >> 4) + (first & 15));
}

static struct source_place place_in_locations(const uint8_t *lines, size_t size, int64_t line,
                                              int instruction)
{
    int64_t end = 0;
    for (size_t at = 0; at < size;) {
        unsigned kind = lines[at] >> 3 & 15;
        end += INT64_C(2) * ((lines[at++] & 7) + 1);
        if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
            line += signed_number(lines, size, &at);
        else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
            line += kind - LOCATION_ONE_LINE;
        if (end > instruction)
            return place_of_entry(lines, size, at, kind, line);
        while (at < size && !(lines[at] & 0x80))
            at++;
    }
    return (struct source_place){0};
}

struct source_place python_source_place(uint32_t version, const uint8_t *lines, size_t size,
                                        int first_line, int instruction)
{
    if (instruction < 0)
        return (struct source_place){.line = plausible(first_line)};
    if (version >= 0x030b)
        return place_in_locations(lines, size, first_line, instruction);
    int line = version >= 0x030a ? line_of_ranges(lines, size, first_line, instruction)
                                 : line_of_lnotab(lines, size, first_line, instruction);
    return (struct source_place){.line = line};
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* Joins native and Python frames of one thread into one stack.
 *
 * Python frames come in segments, one per call of the eval function; each belongs in the place of
 * the native frame of that call. The segment's mark is an address inside that native frame's
 * memory, which pairs them exactly, for any layout of the function. Segments without such a mark
 * are paired with eval frames by order. Thread-safety: any thread, no state. */

enum { UNPLACED = UINT32_MAX };

struct segment {
    uint32_t begin, end; /* frames */
    uint64_t anchor;
    uint32_t native; /* index; native_count: after all */
};

struct joining {
    const struct python_join *join;
    uint32_t native_count, frame_count;
    uint32_t segment_count;
    struct segment segments[PYTHON_JOIN_MAX];
};

static bool is_eval(const struct python_join *join, uint32_t native)
{
    uint64_t address = join->natives[native].address;
    return address >= join->eval && address <= join->eval_end && join->eval;
}

static void split(struct joining *joining)
{
    const struct python_join *join = joining->join;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < joining->frame_count; i++) {
        bool last = i + 1 == joining->frame_count;
        if (!last && !(join->frames[i].flags & (PYTHON_FRAME_ENTRY | PYTHON_FRAME_SHIM)))
            continue;
        joining->segments[joining->segment_count++] =
            (struct segment){begin, i + 1, join->frames[i].anchor, UNPLACED};
        begin = i + 1;
    }
}

/* From 3.15 on the outermost mark of every thread is not a call: it lies in the thread state. */
static void drop_base(struct joining *joining)
{
    if (!joining->segment_count)
        return;
    const struct segment *last = &joining->segments[joining->segment_count - 1];
    if (last->end - last->begin == 1 &&
        joining->join->frames[last->begin].flags & PYTHON_FRAME_SHIM)
        joining->segment_count--;
}

/* Segments and native frames are mostly both in the order of the C stack, so one pass finds all.
 * After a frame of unknown extent (a signal's) the stack may be another one. */
static void place_by_address(struct joining *joining)
{
    const struct python_join *join = joining->join;
    struct segment *segments = joining->segments;
    uint32_t segment = 0;
    uint64_t begin = join->native_begin;
    for (uint32_t i = 0; i < joining->native_count; i++) {
        uint64_t end = join->natives[i].cfa;
        for (uint32_t s = segment; end && s < joining->segment_count; s++) {
            uint64_t anchor = segments[s].anchor;
            if (segments[s].native != UNPLACED || !anchor || anchor < begin || anchor >= end)
                continue;
            segments[s].native = i;
            break;
        }
        while (segment < joining->segment_count && segments[segment].native != UNPLACED)
            segment++;
        begin = end;
    }
}

/* Sorts interpreters that call each other by their place, regardless of the caller. */
static void order_by_place(struct joining *joining)
{
    struct segment *segments = joining->segments;
    for (uint32_t i = 1; i < joining->segment_count; i++) {
        struct segment moved = segments[i];
        uint32_t at = i;
        for (; at > 0 && moved.native != UNPLACED && segments[at - 1].native != UNPLACED &&
               segments[at - 1].native > moved.native;
             at--)
            segments[at] = segments[at - 1];
        segments[at] = moved;
    }
}

/* The unplaced segments [first, last) lie between native frames (after, before). Pairs them with
 * the eval frames there. Returns the number of guessed frames: 0 if the counts agree, or, in a
 * whole stack, with one more eval frame: a call gets its Python frame late and loses it early. */
static uint32_t place_between(struct joining *joining, uint32_t first, uint32_t last,
                              uint32_t after, uint32_t before)
{
    uint32_t places = 0, guessed = 0, segment = first, wanted = last - first;
    for (uint32_t i = after; i < before; i++)
        places += is_eval(joining->join, i);
    bool late = places == wanted + 1;
    for (uint32_t i = after, skip = late; i < before && segment < last; i++) {
        if (!is_eval(joining->join, i))
            continue;
        if (skip)
            skip = 0;
        else
            joining->segments[segment++].native = i;
    }
    for (; segment < last; segment++)
        joining->segments[segment].native = before;
    if (places == wanted || (late && wanted == joining->segment_count))
        return 0;
    for (uint32_t s = first; s < last; s++)
        guessed += joining->segments[s].end - joining->segments[s].begin;
    return guessed;
}

static uint32_t place_by_order(struct joining *joining)
{
    uint32_t guessed = 0, after = 0;
    for (uint32_t s = 0; s < joining->segment_count;) {
        if (joining->segments[s].native != UNPLACED) {
            after = joining->segments[s++].native + 1;
            continue;
        }
        uint32_t last = s;
        while (last < joining->segment_count && joining->segments[last].native == UNPLACED)
            last++;
        uint32_t before =
            last < joining->segment_count ? joining->segments[last].native : joining->native_count;
        guessed += place_between(joining, s, last, after, before);
        s = last;
    }
    return guessed;
}

/* Writes the segment's frames without its mark. */
static uint32_t write_segment(const struct joining *joining, const struct segment *segment,
                              struct python_joint *ret, uint32_t count)
{
    for (uint32_t i = segment->begin; i < segment->end; i++)
        if (!(joining->join->frames[i].flags & PYTHON_FRAME_SHIM))
            ret[count++] = (struct python_joint){true, i};
    return count;
}

uint32_t python_stack_join(const struct python_join *join, struct python_joint *ret,
                           uint32_t *ret_unplaced)
{
    struct joining joining = {.join = join};
    uint32_t count = 0, segment = 0;
    joining.native_count =
        join->native_count < PYTHON_JOIN_MAX ? join->native_count : PYTHON_JOIN_MAX;
    joining.frame_count = join->frame_count < PYTHON_JOIN_MAX ? join->frame_count : PYTHON_JOIN_MAX;
    split(&joining);
    drop_base(&joining);
    place_by_address(&joining);
    order_by_place(&joining);
    *ret_unplaced = place_by_order(&joining);
    for (uint32_t i = 0; i <= joining.native_count; i++) {
        bool replaced = false;
        /* A guessed segment may belong further out than the next one: it is written anyway. */
        for (; segment < joining.segment_count && joining.segments[segment].native <= i;
             segment++) {
            replaced = true;
            count = write_segment(&joining, &joining.segments[segment], ret, count);
        }
        if (i < joining.native_count && !replaced)
            ret[count++] = (struct python_joint){false, i};
    }
    return count;
}
