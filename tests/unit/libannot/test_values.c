/* SPDX-License-Identifier: MIT */
/* Key-values, structs, schemas and counter groups, checked by a strict reader. */
#include "arena.h"
#include "test.h"

#include <annot/annot.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 800 };

struct list {
    struct seen_record records[LIST_MAX];
    uint32_t count;
};

static struct list list;
static struct seen seen;

static void keep(const struct seen_record *record, void *context)
{
    (void)context;
    CHECK(list.count < LIST_MAX);
    list.records[list.count++] = *record;
}

static void read_all(void)
{
    list.count = 0;
    arena_read(getpid(), &seen, keep, NULL);
}

static void finish(void)
{
    arena_end();
    arena_clean();
}

static void mark_with(const struct annot_value *values, uint64_t count)
{
    annot_mark_event(
        &(struct annot_event){.text = "event", .values = values, .value_count = count});
}

static void check_value(uint32_t index, const char *key, uint32_t kind, uint64_t bits)
{
    CHECK(index < list.count);
    CHECK_INT(list.records[index].kind, ANNOT_REC_PAYLOAD);
    CHECK_STR(list.records[index].text, key);
    CHECK_INT(list.records[index].value_kind, kind);
    CHECK(list.records[index].value == bits);
}

TEST(every_kind_of_value_arrives_behind_its_event)
{
    const double pi = 3.25;
    uint64_t pi_bits;
    memcpy(&pi_bits, &pi, sizeof(pi));
    arena_begin(NULL);
    struct annot_value by_name = annot_value_int64("loses", -2);
    by_name.key_name = annot_name_intern("wins");
    const struct annot_value values[] = {
        annot_value_int64("int", -1),    annot_value_uint64("uint", UINT64_MAX),
        annot_value_double("pi", pi),    annot_value_bool("yes", 17),
        annot_value_string("who", "me"), by_name,
    };
    annot_push_event(&(struct annot_event){.text = "event",
                                           .payload_kind = ANNOT_PAYLOAD_INT64,
                                           .payload = {.int64 = 42},
                                           .values = values,
                                           .value_count = 6});
    annot_pop();
    read_all();
    CHECK_INT(list.count, 8);
    CHECK_INT(list.records[0].kind, ANNOT_REC_PUSH);
    CHECK_INT(list.records[0].value, 42);
    check_value(1, "int", ANNOT_VALUE_INT64, UINT64_MAX);
    check_value(2, "uint", ANNOT_VALUE_UINT64, UINT64_MAX);
    check_value(3, "pi", ANNOT_VALUE_DOUBLE, pi_bits);
    check_value(4, "yes", ANNOT_VALUE_BOOL, 1);
    check_value(5, "who", ANNOT_VALUE_STRING, 2);
    CHECK_STR(list.records[5].string, "me");
    check_value(6, "wins", ANNOT_VALUE_INT64, (uint64_t)-2);
    CHECK_INT(list.records[7].kind, ANNOT_REC_POP);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_PAYLOAD_CUT], 0);
    finish();
}

TEST(values_of_an_end_arrive_behind_it)
{
    const struct annot_value values[] = {annot_value_string("exception", "KeyError"),
                                         annot_value_int64("status", 3)};
    arena_begin(NULL);
    struct annot_track track = annot_track_create("track", NULL);
    annot_push("range");
    annot_pop_values(values, 2);
    annot_end_values(annot_start("free"), values, 1);
    annot_end_values(0, values, 1);
    annot_track_begin(&track, "on it");
    annot_track_end_values(&track, values, 1);
    annot_track_end_values(NULL, values, 1);
    annot_push("again");
    annot_pop_values(NULL, 1);
    annot_pop_values(values, 2); /* without an open range */
    read_all();
    CHECK_INT(seen.records, 8);
    CHECK_INT(list.count, 12);
    CHECK_INT(list.records[1].kind, ANNOT_REC_POP);
    check_value(2, "exception", ANNOT_VALUE_STRING, 8);
    CHECK_STR(list.records[2].string, "KeyError");
    check_value(3, "status", ANNOT_VALUE_INT64, 3);
    CHECK_INT(list.records[5].kind, ANNOT_REC_RANGE_END);
    check_value(6, "exception", ANNOT_VALUE_STRING, 8);
    CHECK_INT(list.records[8].kind, ANNOT_REC_TRACK_END);
    check_value(9, "exception", ANNOT_VALUE_STRING, 8);
    CHECK_INT(list.records[11].kind, ANNOT_REC_POP);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_POP_EMPTY], 1);
    finish();
}

/* A record that does not fit the block is written to the next one, with all its values. */
TEST(values_of_an_end_do_not_tear_it_from_its_range)
{
    static char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    const struct annot_value values[] = {annot_value_string("a", text),
                                         annot_value_string("b", text)};
    arena_begin(NULL);
    for (int i = 0; i < 50; i++) {
        annot_push("range");
        annot_pop_values(values, 2);
    }
    read_all();
    CHECK_INT(seen.records, 100);
    CHECK_INT(list.count, 200);
    CHECK_INT(seen.lost_total, 0);
    CHECK(seen.blocks > 10);
    for (uint32_t i = 0; i < list.count; i += 4) {
        CHECK_INT(list.records[i].kind, ANNOT_REC_PUSH);
        CHECK_INT(list.records[i + 1].kind, ANNOT_REC_POP);
        CHECK_STR(list.records[i + 3].string, text);
    }
    finish();
}

TEST(misused_values_are_harmless)
{
    struct annot_value values[4] = {annot_value_string(NULL, NULL), annot_value_int64("k", 1)};
    values[1].kind = 99;
    values[2] = annot_value_struct(0, NULL, 4);
    values[3] = annot_value_string("bytes", "\xff\xfe");
    arena_begin(NULL);
    mark_with(values, 4);
    mark_with(NULL, 4);
    mark_with(values, 0);
    annot_mark_event(NULL);
    read_all();
    CHECK_INT(seen.records, 4);
    CHECK_INT(list.count, 8);
    check_value(1, "(null)", ANNOT_VALUE_STRING, 6);
    CHECK_STR(list.records[1].string, "(null)");
    check_value(2, "k", ANNOT_VALUE_NONE, 0);
    CHECK_INT(list.records[3].value_kind, ANNOT_VALUE_STRUCT);
    CHECK_INT(list.records[3].value, 0);
    CHECK_STR(list.records[4].string, "\xff\xfe");
    finish();
}

/* ---- Size ------------------------------------------------------------------------------------ */

TEST(more_values_than_a_record_holds_are_cut_and_counted)
{
    static struct annot_value values[400];
    for (int i = 0; i < 400; i++)
        values[i] = annot_value_int64("key", i);
    arena_begin(NULL);
    mark_with(values, 256);
    read_all();
    CHECK_INT(list.count, 257);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_PAYLOAD_CUT], 0);
    mark_with(values, 257);
    mark_with(values, UINT64_MAX); /* the limit is applied before reading */
    read_all();
    CHECK_INT(list.count, 3 * 257);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_PAYLOAD_CUT], 2);
    check_value(3 * 257 - 1, "key", ANNOT_VALUE_INT64, 255);
    CHECK_INT(seen.lost_total, 0);
    finish();
}

/* Values of maximum length, also at the end of a block: each event is recorded with all its
 * values. */
TEST(largest_events_are_whole_wherever_a_block_ends)
{
    static char text[2000], bytes[3072];
    memset(text, 'x', sizeof(text) - 1);
    const struct annot_value values[] = {
        annot_value_struct(1, bytes, sizeof(bytes)),
        annot_value_string("k", text),
    };
    struct annot_event event = {.text = text,
                                .domain = 1,
                                .payload_kind = ANNOT_PAYLOAD_STRING,
                                .payload = {.string = text},
                                .values = values,
                                .value_count = 1};
    /* With a full table, names are stored in the records. */
    arena_begin(&(struct arena_options){.strings_size = 4096});
    for (int i = 0; i < 4; i++) {
        text[0] = (char)('a' + i);
        annot_mark(text);
    }
    text[0] = 'x';
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < i; k++)
            annot_mark("m");
        annot_push_event(&event);
        event.value_count = 2;
        annot_end(annot_start_event(&event));
        event.value_count = 1;
        annot_pop();
    }
    static struct seen last;
    arena_read(getpid(), &last, NULL, NULL);
    CHECK_INT(last.kinds[ANNOT_REC_PUSH], 60);
    CHECK_INT(last.kinds[ANNOT_REC_RANGE_START], 60);
    CHECK_INT(last.kinds[ANNOT_REC_PAYLOAD], 60 + 60);
    CHECK(last.misuse[ANNOT_MISUSE_NAME_INLINE] >= 120);
    CHECK_INT(last.misuse[ANNOT_MISUSE_PAYLOAD_CUT],
              60); /* struct and string are too large together */
    CHECK_INT(last.lost_total, 0);
    finish();
}

TEST(struct_that_is_too_large_is_cut_and_counted)
{
    static char bytes[5000];
    memset(bytes, 7, sizeof(bytes));
    const struct annot_value value = annot_value_struct(1, bytes, sizeof(bytes));
    arena_begin(NULL);
    mark_with(&value, 1);
    read_all();
    CHECK_INT(list.count, 2);
    CHECK_INT(list.records[1].value, 3072);
    CHECK(list.records[1].flags & ANNOT_FLAG_VALUE_CUT);
    CHECK_INT(list.records[1].string[3071], 7);
    CHECK_INT(seen.misuse[ANNOT_MISUSE_PAYLOAD_CUT], 1);
    finish();
}

/* ---- Schemas ---------------------------------------------------------------------------------
 */

struct packet {
    uint32_t size;
    double load[2];
    char name[8];
};

static const struct annot_field packet_fields[] = {
    {.name = "size",
     .unit = "bytes",
     .offset = offsetof(struct packet, size),
     .kind = ANNOT_FIELD_UINT32},
    {.name = "load",
     .offset = offsetof(struct packet, load),
     .count = 2,
     .kind = ANNOT_FIELD_DOUBLE},
    {.name = "na\x1fme",
     .offset = offsetof(struct packet, name),
     .count = 8,
     .kind = ANNOT_FIELD_CHARS},
};

static int has_string(uint8_t kind, uint16_t number, const char *text)
{
    char names[4][64];
    struct mapped mapped;
    int found = 0;
    CHECK_INT(arena_list(names, 4), 1);
    CHECK(arena_map(names[0], &mapped));
    for (uint32_t at = 16; at < mapped.shared->string_used;) {
        const struct annot_string *string = (const void *)(mapped.strings + at);
        found += string->ready == 1 && string->kind == kind && string->number == number &&
                 string->length == strlen(text) && memcmp(string + 1, text, strlen(text)) == 0;
        at += 16u + (string->length + 15u) / 16 * 16;
    }
    arena_unmap(&mapped);
    return found;
}

TEST(schema_is_told_before_the_struct_that_needs_it)
{
    struct packet packet = {.size = 5};
    arena_begin(NULL);
    annot_mark("joined");
    annot_schema schema = annot_schema_create("packet", sizeof(packet), packet_fields, 3);
    CHECK(schema != 0);
    CHECK_INT(annot_schema_create("packet", sizeof(packet), packet_fields, 3), schema);
    CHECK(annot_schema_create("packet", sizeof(packet), packet_fields, 2) != schema);
    const struct annot_value value = annot_value_struct(schema, &packet, sizeof(packet));
    mark_with(&value, 1);
    read_all();
    CHECK_INT(list.records[2].name, schema);
    CHECK_INT(list.records[2].value, sizeof(packet));
    CHECK(memcmp(list.records[2].string, &packet, sizeof(packet)) == 0);
    CHECK_INT(has_string(ANNOT_STRING_SCHEMA, schema,
                         "packet\x1f"
                         "32\x1esize\x1f"
                         "7\x1f"
                         "0\x1f"
                         "1\x1f"
                         "bytes"
                         "\x1eload\x1f"
                         "10\x1f"
                         "8\x1f"
                         "2\x1f"
                         "\x1ena me\x1f"
                         "12\x1f"
                         "24\x1f"
                         "8\x1f"),
              1);
    finish();
}

TEST(impossible_schemas_are_none)
{
    struct annot_field field = {.name = "x", .offset = 4, .kind = ANNOT_FIELD_UINT32};
    char name[1100];
    CHECK(annot_schema_create("s", 8, &field, 1) != 0);
    CHECK_INT(annot_schema_create("s", 7, &field, 1), 0);
    field.count = 65535;
    field.kind = ANNOT_FIELD_DOUBLE;
    field.offset = 65535;
    CHECK_INT(annot_schema_create("s", 8, &field, 1), 0);
    field = (struct annot_field){.name = "x"};
    CHECK_INT(annot_schema_create("s", 8, &field, 1), 0); /* without a kind */
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = 0;
    CHECK_INT(annot_schema_create(name, 8, NULL, 0), 0);
    name[1000 - 2] = 0;
    CHECK(annot_schema_create(name, 8, NULL, 0) != 0);
    name[1000 - 2] = 'n';
    name[1000 - 1] = 0;
    CHECK_INT(annot_schema_create(name, 8, NULL, 0), 0);
    CHECK(annot_schema_create(NULL, 0, NULL, 5) != 0);
}

/* ---- Counters -------------------------------------------------------------------------------- */

TEST(counter_group_is_one_record_with_its_series)
{
    struct annot_value values[] = {annot_value_int64("user", 3), annot_value_double("system", 0.5),
                                   annot_value_bool("on", 1), annot_value_string("text", "x"),
                                   annot_value_struct(9, "abcd", 4)};
    arena_begin(NULL);
    annot_counters("cpu", values, 5);
    annot_counters("cpu", values, 0);
    annot_counters("cpu", NULL, 5);
    read_all();
    CHECK_INT(seen.records, 1);
    CHECK_INT(list.count, 6);
    CHECK_INT(list.records[0].kind, ANNOT_REC_COUNTER_GROUP);
    CHECK_STR(list.records[0].text, "cpu");
    check_value(1, "user", ANNOT_VALUE_INT64, 3);
    CHECK_INT(list.records[2].value_kind, ANNOT_VALUE_DOUBLE);
    check_value(3, "on", ANNOT_VALUE_INT64, 1);
    check_value(4, "text", ANNOT_VALUE_INT64, 0);
    check_value(5, "(null)", ANNOT_VALUE_INT64, 0); /* a struct has no key */
    finish();
}

TEST(counter_group_may_have_a_domain_and_a_level)
{
    const struct annot_value values[] = {annot_value_int64("used", 3),
                                         annot_value_int64("free", 4)};
    struct annot_event event = {.text = "memory", .level = 2, .values = values, .value_count = 2};
    arena_begin(NULL);
    event.domain = annot_domain_create("heap");
    annot_counter_event(&event);
    event.payload_kind = ANNOT_PAYLOAD_INT64; /* a counter with key-values, not a group */
    annot_counter_event(&event);
    read_all();
    CHECK_INT(list.count, 6);
    CHECK_INT(list.records[0].kind, ANNOT_REC_COUNTER_GROUP);
    CHECK_INT(list.records[0].domain, event.domain);
    CHECK_INT(list.records[0].level, 2);
    check_value(1, "used", ANNOT_VALUE_INT64, 3);
    check_value(2, "free", ANNOT_VALUE_INT64, 4);
    CHECK_INT(list.records[3].kind, ANNOT_REC_COUNTER);
    finish();
}

TEST(unit_of_a_counter_is_told_before_and_while_a_recording_runs)
{
    char much[1030];
    memset(much, 'x', sizeof(much));
    much[1029] = 0;
    annot_domain domain = annot_domain_create("net");
    annot_counter_unit(0, "heap", "bytes");
    arena_begin(NULL);
    annot_counter("heap", 1);
    annot_counter_unit(domain, "heap", "pages");
    annot_counter_unit(domain, much, "too long");
    CHECK_INT(has_string(ANNOT_STRING_COUNTER_UNIT, 0,
                         "heap\x1f"
                         "bytes"),
              1);
    CHECK_INT(has_string(ANNOT_STRING_COUNTER_UNIT, domain, "heap\x1fpages"), 1);
    annot_counter_unit(domain, "heap", "bytes"); /* the same text for another domain */
    CHECK_INT(has_string(ANNOT_STRING_COUNTER_UNIT, domain,
                         "heap\x1f"
                         "bytes"),
              1);
    finish();
}

/* ---- Filters --------------------------------------------------------------------------------- */

TEST(domains_and_categories_share_their_numbers)
{
    annot_domain domain = annot_domain_create("shared numbers");
    annot_category category = annot_category_create(domain, "one");
    annot_domain next = annot_domain_create("shared numbers, next");
    CHECK_INT(category, domain + 1);
    CHECK_INT(next, domain + 2);
    struct arena_options options = {.mask = {UINT64_C(1) << (category & 63)}};
    arena_begin(&options);
    annot_mark("default");
    annot_mark_event(&(struct annot_event){.text = "domain", .domain = domain});
    annot_mark_event(
        &(struct annot_event){.text = "category", .domain = domain, .category = category});
    read_all();
    CHECK_INT(seen.records, 1);
    CHECK_STR(list.records[0].text, "category");
    finish();
}
