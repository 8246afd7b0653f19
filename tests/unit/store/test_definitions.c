/* SPDX-License-Identifier: MIT */
/* Definitions of every kind are read back field by field; unknown ones are skipped, missing ones
 * are invented, dangling references are dropped. Driven by the field tables themselves. */
#include "definitions.h"
#include "fields.h"
#include "stacks.h"
#include "test.h"
#include "varint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 40, ENTRY_MAX = 1024 };

static uint64_t state;

static uint64_t random_bits(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return state >> 20;
}

/* A valid random value of a field of the entry at `ordinal`. */
static uint64_t random_value(const struct field *field, uint32_t ordinal)
{
    uint64_t value = random_bits() >> random_bits() % 44;
    if (field->kind == FIELD_FLAG)
        return value & 1;
    if (field->reference == REFERENCE_SIGNED)
        return ordinal ? value % ordinal : UINT64_MAX;
    if (field->reference == REFERENCE_NEXT)
        return ordinal ? value % ordinal : 0;
    if (field->refers > STORE_DEFINE_STRING)
        return value % (ordinal + 1) / 2;
    return field->width == 1 ? value % 4 : field->refers ? 1 + ordinal * 7 : value;
}

static void make_entry(const struct table *table, uint32_t ordinal, uint8_t *entry)
{
    static char texts[ROWS + 1][32];
    memset(entry, 0, ENTRY_MAX);
    for (unsigned i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        uint8_t *place = entry + field->offset;
        for (unsigned e = 0; e < (field->count ? field->count : 1u); e++) {
            uint64_t value = random_value(field, ordinal);
            if (table == &definition_tables[STORE_DEFINE_PATH] && i == 2)
                value %= RANGE_PATH_INHERITED + 1;
            if (field->kind != FIELD_TEXT)
                memcpy(place + (size_t)e * field->width, &value,
                       field->width < sizeof(value) ? field->width : sizeof(value));
        }
        if (field->kind != FIELD_TEXT)
            continue;
        char *text = texts[ordinal % (ROWS + 1)];
        int length = snprintf(text, sizeof(texts[0]), "text %u", ordinal * 37);
        memcpy(place, &(struct trace_string){text, (uint32_t)length}, sizeof(struct trace_string));
    }
}

static void fill_table(struct trace *trace, const struct table *table)
{
    _Alignas(16) uint8_t entry[ENTRY_MAX];
    for (uint32_t i = table->count(trace); i < ROWS; i++) {
        make_entry(table, i, entry);
        CHECK_INT(table->put(trace, i, entry), 0);
    }
}

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    for (unsigned i = 0; i < STORE_DEFINE_COUNT; i++)
        if (definition_tables[i].fields && definition_tables[i].count(trace) < 2)
            fill_table(trace, &definition_tables[i]);
    CHECK_INT(definitions_check(trace), 0);
    return trace;
}

static void check_field(const struct field *field, const uint8_t *actual, const uint8_t *expected)
{
    if (field->kind != FIELD_TEXT) {
        CHECK(memcmp(actual + field->offset, expected + field->offset,
                     (size_t)field->width * (field->count ? field->count : 1u)) == 0);
        return;
    }
    struct trace_string a, b;
    memcpy(&a, actual + field->offset, sizeof(a));
    memcpy(&b, expected + field->offset, sizeof(b));
    CHECK_STR(a.bytes, b.bytes);
}

static void check_same(const struct trace *actual, const struct trace *expected)
{
    for (unsigned n = 0; n < STORE_DEFINE_COUNT; n++) {
        const struct table *table = &definition_tables[n];
        if (!table->fields)
            continue;
        CHECK_INT(table->count(actual), table->count(expected));
        for (uint32_t i = table->first; i < table->count(expected); i++)
            for (unsigned f = 0; f < table->field_count; f++)
                check_field(&table->fields[f], table->get(actual, i), table->get(expected, i));
    }
}

static uint64_t move(const struct trace *from, struct definitions_state *written, struct trace *to,
                     struct definitions_holes *holes)
{
    struct definitions_buffer buffer = {0};
    CHECK_INT(definitions_collect(from, written, 1 << 20, &buffer), 0);
    CHECK_INT(definitions_apply(to, holes, buffer.bytes.items, buffer.bytes.count), 0);
    uint64_t count = buffer.count;
    definitions_buffer_free(&buffer);
    return count;
}

TEST(every_kind_comes_back_and_only_what_changed_again)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        state = seed;
        struct trace *trace = make_trace(), *copy = trace_create();
        struct definitions_state written = {0};
        struct definitions_holes holes = {0};
        CHECK(move(trace, &written, copy, &holes) >= 10);
        CHECK_INT(definitions_check(copy), 0);
        check_same(copy, trace);
        CHECK_INT(move(trace, &written, copy, &holes), 0);
        trace_process(trace, 3)->end_value = 7;
        trace_process(trace, 3)->revision++;
        trace_string_append(trace, "more", 4);
        CHECK_INT(move(trace, &written, copy, &holes), 2);
        check_same(copy, trace);
        definitions_state_free(&written);
        trace_destroy(trace);
        trace_destroy(copy);
    }
}

TEST(what_did_not_fit_one_chunk_comes_with_the_next)
{
    struct trace *trace = make_trace(), *copy = trace_create();
    struct definitions_state written = {0};
    struct definitions_holes holes = {0};
    struct definitions_buffer buffer = {0};
    int more = 1;
    unsigned chunks = 0;
    for (; more == 1; chunks++) {
        buffer.bytes.count = 0;
        more = definitions_collect(trace, &written, 16, &buffer);
        CHECK_INT(definitions_apply(copy, &holes, buffer.bytes.items, buffer.bytes.count), 0);
    }
    CHECK_INT(more, 0);
    CHECK(chunks > 8);
    check_same(copy, trace);
    definitions_buffer_free(&buffer);
    definitions_state_free(&written);
    trace_destroy(trace);
    trace_destroy(copy);
}

static int apply(struct trace *trace, const uint8_t *bytes, size_t size)
{
    struct definitions_holes holes = {0};
    return definitions_apply(trace, &holes, bytes, size);
}

#define APPLY(trace, ...)                                                                          \
    apply(trace, (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

TEST(what_damage_took_is_made_up)
{
    struct trace *trace = trace_create();
    CHECK_INT(APPLY(trace, STORE_DEFINE_STRING, 5, 3, 1, 2, 1, 'x'), 0);
    CHECK_INT(trace_string_count(trace), 4);
    CHECK_STR(trace_string(trace, 2)->bytes, "<unknown name 2>");
    CHECK_STR(trace_string(trace, 3)->bytes, "x");
    CHECK_INT(APPLY(trace, STORE_DEFINE_THREAD, 4, 2, 1, 1, 10), 0);
    CHECK_INT(trace_thread_count(trace), 3);
    CHECK_INT(trace_process_count(trace), 6); /* the one that is referenced, and those before it */
    CHECK_INT(trace_process_get(trace, 2)->parent, -1);
    CHECK_INT(APPLY(trace, STORE_DEFINE_STACK, 6, 3, 1, 1, 18, 1, 4), 0);
    CHECK_INT(stacks_stack_count(trace_stacks_get(trace)), 4);
    CHECK_INT(stacks_get_stack(trace_stacks_get(trace), 3)->parent, 0);
    CHECK_INT(stacks_get_stack(trace_stacks_get(trace), 3)->frame, 0);
    trace_destroy(trace);
}

TEST(references_to_nowhere_are_none)
{
    struct trace *trace = trace_create();
    /* Process 0: parent 9, forked by thread 9. Process 1: its own parent. */
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 27, 0, 2, /* rows */
                    2, 2, 0, 0, 0, 0, 0, 0,                /* pid ... host */
                    2, 18, 15,                             /* parents 9 and 1 */
                    0, 0, 0, 0, 2, 20, 0, 0, 0, 0, 0, 0, 0, 0),
              0);
    CHECK_INT(trace_process_get(trace, 0)->parent, 9);
    CHECK_INT(trace_process_get(trace, 0)->fork_thread, 10);
    CHECK_INT(definitions_check(trace), 0);
    CHECK_INT(trace_process_get(trace, 0)->parent, -1);
    CHECK_INT(trace_process_get(trace, 1)->parent, -1);
    CHECK_INT(trace_process_get(trace, 0)->fork_thread, 0);
    trace_destroy(trace);
}

TEST(an_entry_cannot_define_more_than_it_has_bytes)
{
    struct trace *trace = trace_create();
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 4, 0, 2, 1, 2), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 3, 0, 1, 0), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 5, 0, 1, 9, 2, 2), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 9, 0, 1), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_STRING, 5, 1, 1, 2, 3, 'x'), -EBADMSG);
    CHECK_INT(trace_process_count(trace), 0);
    uint8_t *many = calloc(1, 8192), *at = many;
    at = varint_put(at, STORE_DEFINE_PROCESS);
    at = varint_put(at, 1 + 2 + 2 + STORE_ROWS_MAX + 1);
    at = varint_put(at, 0);
    at = varint_put(at, STORE_ROWS_MAX + 1);
    at = varint_put(at, STORE_ROWS_MAX + 1);
    CHECK_INT(apply(trace, many, (size_t)(at - many) + STORE_ROWS_MAX + 1), -EBADMSG);
    free(many);
    trace_destroy(trace);
}

TEST(ordinals_run_ahead_only_as_far_as_damage_explains)
{
    struct trace *trace = trace_create();
    CHECK_INT(APPLY(trace, STORE_DEFINE_PROCESS, 7, 0xff, 0xff, 0xff, 0x7f, 1, 1, 2), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_FACT, 5, 0xff, 0x7f, 1, 1, 2), -EBADMSG);
    CHECK_INT(APPLY(trace, STORE_DEFINE_LANE, 7, 0xff, 0xff, 0xff, 0x7f, 1, 1, 2), -EBADMSG);
    CHECK_INT(trace_process_count(trace) + trace_lane_count(trace), 0);
    trace_destroy(trace);
}

TEST(later_kinds_fields_and_lists_are_skipped)
{
    struct trace *trace = trace_create();
    CHECK_INT(APPLY(trace, 99, 3, 1, 2, 3,                                        /* a later kind */
                    STORE_DEFINE_UNIT, 13, 0, 1, 1, 2, 1, 4, 1, 6, 3, 9, 9, 9, 0, /* columns */
                    STORE_DEFINE_PATH, 9, 1, 1, 1, 0, 1, 2, 2, 0x9a, 1),          /* kind 77 */
              0);
    CHECK_INT(trace_unit_find(trace, 2, 1), 3);
    const struct range_path *path = stacks_get_path(trace_stacks_get(trace), 1);
    CHECK_INT(path->name, 1);
    CHECK_INT(path->kind, RANGE_PATH_THREAD);
    trace_destroy(trace);
}
