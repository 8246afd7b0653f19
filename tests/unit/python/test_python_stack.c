/* SPDX-License-Identifier: MIT */
/* Lines and texts compared with each interpreter's own; joining by addresses and by order. */
#include "interpreters.h"
#include "python_runtime.h"
#include "python_stack.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Lines and texts ------------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 1 << 20 };

struct described {
    struct python_offsets offsets;
    uint32_t version;
    uint8_t *bytes; /* of the present table or object */
    size_t size;
    int first_line;
    size_t codes, ranges, texts;
};

static size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t size = 0;
    unsigned value;
    for (; hex[0] != '-' && sscanf(hex, "%2x", &value) == 1; hex += 2)
        bytes[size++] = (uint8_t)value;
    return size;
}

static void check_range(struct described *d, int begin, int end, struct source_place place)
{
    const int places[] = {begin, begin + (end - begin) / 4 * 2, end - 2};
    for (size_t i = 0; i < 3; i++) {
        struct source_place found =
            python_source_place(d->version, d->bytes, d->size, d->first_line, places[i]);
        if (found.line != place.line || found.column != place.column ||
            found.end_column != place.end_column)
            test_fail(__FILE__, __LINE__,
                      "%x: code of line %d, instruction %d: %d:%d-%d, not %d:%d-%d", d->version,
                      d->first_line, places[i], found.line, found.column, found.end_column,
                      place.line, place.column, place.end_column);
    }
    /* A table cut anywhere gives a line or no line, without an overrun. */
    uint8_t *cut = malloc(d->size / 2 + 1);
    memcpy(cut, d->bytes, d->size / 2);
    python_source_place(d->version, cut, d->size / 2, d->first_line, begin);
    free(cut);
    d->ranges++;
}

static void check_text(struct described *d, const char *object, const char *utf8)
{
    static uint8_t expected[4096];
    char text[4096], small[16];
    d->size = from_hex(object, d->bytes);
    size_t length = from_hex(utf8, expected);
    expected[length] = 0;
    CHECK_INT(python_text(&d->offsets, d->bytes, d->size, text, sizeof(text)), length);
    CHECK_STR(text, (char *)expected);
    size_t cut = python_text(&d->offsets, d->bytes, d->size, small, sizeof(small));
    if (length >= sizeof(small))
        CHECK(cut < sizeof(small) && strstr(small, "\xe2\x80\xa6"));
    for (size_t size = 0; size < d->size && size < 100; size++)
        python_text(&d->offsets, d->bytes, size, text, sizeof(text));
    d->texts++;
}

/* The offsets needed for texts, before the process's own are known. Every object begins with a
 * header, of 16 bytes except in builds without a GIL. */
static void take_version(struct described *d, uint32_t version, unsigned header)
{
    const struct python_offsets *table = python_offsets_table(version > 0x030c ? 0x030c : version);
    CHECK(table);
    d->version = version;
    d->offsets = *table;
    d->offsets.unicode_length += header - 16;
    d->offsets.unicode_state += header - 16;
    d->offsets.unicode_ascii_data += header - 16;
    d->offsets.unicode_compact_data += header - 16;
}

static void take_line(struct described *d, char *line)
{
    static char object[LINE_MAX_BYTES], utf8[LINE_MAX_BYTES];
    unsigned version, header;
    struct source_place place = {0};
    int begin, end;
    if (sscanf(line, "version %u %u", &version, &header) == 2) {
        take_version(d, version, header);
    } else if (sscanf(line, "code %d %s", &d->first_line, object) == 2) {
        d->size = from_hex(object, d->bytes);
        d->codes++;
        CHECK_INT(python_source_place(d->version, d->bytes, d->size, d->first_line, -1).line,
                  d->first_line > 0 ? d->first_line : 0);
    } else if (sscanf(line, "range %d %d %d %hu %hu", &begin, &end, &place.line, &place.column,
                      &place.end_column) == 5) {
        check_range(d, begin, end, place);
    } else if (sscanf(line, "text %s %s", object, utf8) == 2) {
        check_text(d, object, utf8);
    } else {
        test_fail(__FILE__, __LINE__, "not understood: %.60s", line);
    }
}

TEST_TIMEOUT(lines_and_texts_are_those_that_each_interpreter_tells, 120)
{
    struct interpreter found[INTERPRETERS_MAX];
    size_t count = interpreters_find(found);
    static char line[LINE_MAX_BYTES];
    if (!count)
        test_skip("no CPython 3.9 or later here");
    for (size_t i = 0; i < count; i++) {
        struct described d = {.bytes = malloc(LINE_MAX_BYTES)};
        char command[2048];
        snprintf(command, sizeof(command), "'%.500s' '%.1000s'", found[i].command,
                 getenv("ANNOT_TEST_DESCRIBE"));
        FILE *pipe = popen(command, "r");
        CHECK(pipe);
        while (fgets(line, sizeof(line), pipe))
            take_line(&d, line);
        CHECK_INT(pclose(pipe), 0);
        printf("  %s: %zu code objects, %zu ranges, %zu texts\n", found[i].text, d.codes, d.ranges,
               d.texts);
        CHECK(d.codes > 500 && d.ranges > 5000 && d.texts > 5);
        free(d.bytes);
    }
}

/* ---- Joining --------------------------------------------------------------------------------- */

enum { EVAL = 0x1000, EVAL_END = 0x2000, E = 0x1800, C = 0x9000, STACK = 0x7000 };

enum { SHIM = PYTHON_FRAME_SHIM, ENTRY = PYTHON_FRAME_ENTRY };

/* The result as text: "P0 N1 P2", frames by kind and index. */
static const char *join_text(const struct python_native *natives, uint32_t native_count,
                             const struct python_frame *frames, uint32_t frame_count,
                             uint32_t *ret_unplaced)
{
    static char text[1024];
    struct python_joint joints[64];
    struct python_join join = {.eval = EVAL,
                               .eval_end = EVAL_END,
                               .natives = natives,
                               .native_count = native_count,
                               .native_begin = STACK,
                               .frames = frames,
                               .frame_count = frame_count};
    uint32_t count = python_stack_join(&join, joints, ret_unplaced);
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%u", i ? " " : "",
                                 joints[i].python ? 'P' : 'N', joints[i].index);
    return text;
}

#define JOIN(natives, frames, unplaced)                                                            \
    join_text(natives, sizeof(natives) / sizeof(natives[0]), frames,                               \
              sizeof(frames) / sizeof(frames[0]), unplaced)

TEST(shims_say_which_native_frame_is_theirs)
{
    uint32_t unplaced;
    /* A C function called by Python, called by C (through code split off by the compiler, far from
     * the eval function's symbol), called by Python. */
    static const struct python_native natives[] = {
        {C, STACK + 0x10}, {E, STACK + 0x100}, {C, STACK + 0x120}, {C, STACK + 0x200}, {C, 0}};
    static const struct python_frame frames[] = {
        {0, 0}, {0, 0}, {STACK + 0x80, SHIM}, {0, 0}, {STACK + 0x1c0, SHIM}};
    CHECK_STR(JOIN(natives, frames, &unplaced), "N0 P0 P1 N2 P3 N4");
    CHECK_INT(unplaced, 0);
}

TEST(an_eval_frame_without_python_frames_stays_and_shifts_nobody)
{
    uint32_t unplaced;
    static const struct python_native natives[] = {
        {E, STACK + 0x100}, {C, STACK + 0x120}, {E, STACK + 0x200}, {C, 0}};
    static const struct python_frame shims[] = {{0, 0}, {STACK + 0x1c0, SHIM}};
    static const struct python_frame cframes[] = {{STACK + 0x1c0, 0}, {STACK + 0x1c0, ENTRY}};
    static const struct python_frame plain[] = {{0, ENTRY}};
    CHECK_STR(JOIN(natives, shims, &unplaced), "N0 N1 P0 N3");
    CHECK_INT(unplaced, 0);
    CHECK_STR(JOIN(natives, cframes, &unplaced), "N0 N1 P0 P1 N3");
    CHECK_INT(unplaced, 0);
    /* Without addresses: only the innermost call can lack a frame. */
    CHECK_STR(JOIN(natives, plain, &unplaced), "N0 N1 P0 N3");
    CHECK_INT(unplaced, 0);
}

TEST(interpreters_in_the_wrong_order_are_put_right)
{
    uint32_t unplaced;
    static const struct python_native natives[] = {{C, STACK + 0x10},  {E, STACK + 0x100},
                                                   {C, STACK + 0x120}, {E, STACK + 0x200},
                                                   {E, STACK + 0x300}, {C, 0}};
    static const struct python_frame frames[] = {
        {0, 0}, {STACK + 0x1c0, SHIM}, {0, 0}, {STACK + 0x80, SHIM}, {0, 0}, {STACK + 0x2c0, SHIM}};
    CHECK_STR(JOIN(natives, frames, &unplaced), "N0 P2 N2 P0 P4 N5");
    CHECK_INT(unplaced, 0);
}

TEST(a_mark_outside_the_stack_is_no_call)
{
    uint32_t unplaced;
    static const struct python_native natives[] = {
        {C, STACK + 0x10}, {E, STACK + 0x100}, {C, STACK + 0x120}, {C, 0}};
    static const struct python_frame below[] = {{0, 0}, {STACK + 0x80, SHIM}, {8, SHIM}};
    static const struct python_frame above[] = {{0, 0}, {STACK + 0x80, SHIM}, {STACK * 8, SHIM}};
    static const struct python_frame alone[] = {{8, SHIM}};
    CHECK_STR(JOIN(natives, below, &unplaced), "N0 P0 N2 N3");
    CHECK_INT(unplaced, 0);
    CHECK_STR(JOIN(natives, above, &unplaced), "N0 P0 N2 N3");
    CHECK_INT(unplaced, 0);
    CHECK_STR(JOIN(natives, alone, &unplaced), "N0 N1 N2 N3");
    CHECK_INT(unplaced, 0);
}

TEST(without_addresses_order_is_exact_while_the_counts_agree)
{
    uint32_t unplaced;
    static const struct python_native natives[] = {
        {C, STACK + 8}, {E, STACK + 0x100}, {E, STACK + 0x120}, {C, STACK + 0x200}, {E, 0}};
    static const struct python_frame three[] = {{0, ENTRY}, {0, ENTRY}, {0, ENTRY}};
    static const struct python_frame four[] = {{0, ENTRY}, {0, ENTRY}, {0, ENTRY}, {0, ENTRY}};
    CHECK_STR(JOIN(natives, three, &unplaced), "N0 P0 P1 N3 P2");
    CHECK_INT(unplaced, 0);
    CHECK_STR(JOIN(natives, four, &unplaced), "N0 P0 P1 N3 P2 P3");
    CHECK_INT(unplaced, 4);
}

TEST(frames_cut_off_from_their_mark_keep_their_order)
{
    uint32_t unplaced;
    static const struct python_native natives[] = {
        {E, STACK + 0x100}, {C, STACK + 0x120}, {E, STACK + 0x200}, {C, 0}};
    static const struct python_frame cut[] = {{0, 0}, {STACK + 0x80, SHIM}, {0, 0}, {0, 0}};
    CHECK_STR(JOIN(natives, cut, &unplaced), "P0 N1 P2 P3 N3");
    CHECK_INT(unplaced, 0);
    /* A native stack that ended early: the rest is appended. */
    static const struct python_native few[] = {{C, STACK + 8}};
    CHECK_STR(JOIN(few, cut, &unplaced), "N0 P0 P2 P3");
    CHECK_INT(unplaced, 4);
    CHECK_STR(join_text(NULL, 0, cut, 4, &unplaced), "P0 P2 P3");
    CHECK_STR(join_text(few, 1, NULL, 0, &unplaced), "N0");
}

TEST(a_handler_on_a_stack_of_its_own_hides_nothing)
{
    uint32_t unplaced;
    /* Leaf: a handler on an alternate stack (lower or higher), its trampoline of unknown extent,
     * the interrupted code. */
    static const struct python_native natives[] = {
        {C, STACK + 0x10}, {C, 0}, {E, STACK - 0x1000}, {E, STACK - 0x500}, {C, 0}};
    static const struct python_frame frames[] = {
        {0, 0}, {STACK - 0x1040, SHIM}, {0, 0}, {STACK - 0x600, SHIM}};
    CHECK_STR(JOIN(natives, frames, &unplaced), "N0 N1 P0 P2 N4");
    CHECK_INT(unplaced, 0);
}
