/* SPDX-License-Identifier: MIT */
/* Flows, tracks, key-values, structs, groups of counters, units, functions: records composed by
 * hand are converted to events, including records that libannot never writes. */
#include "schema.h"
#include "segment_maker.h"
#include "test.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

static struct maker_events seen;
static struct maker *maker;
static struct annot_block *block;

static void begin(void)
{
    maker = maker_create();
    block = maker_block(maker, 0, 1, 0, ANNOT_BLOCK_RELEASED);
}

static void drain(void)
{
    maker_attach(&seen, maker);
    drain_visit(seen.drain, DRAIN_RELEASED);
}

static void end(void)
{
    maker_detach(&seen);
    maker_destroy(maker);
}

static const char *text(uint32_t ordinal)
{
    return trace_string(seen.trace, ordinal)->bytes;
}

static uint32_t name_of(const char *bytes)
{
    return maker_string(maker, ANNOT_STRING_NAME, 0, bytes);
}

static void mark(uint64_t time)
{
    maker_record(block, (struct annot_record){.time = time, .kind = ANNOT_REC_MARK}, NULL, 0);
}

static void payload(uint32_t key, uint8_t kind, uint64_t bits)
{
    struct annot_record record = {
        .time = bits, .kind = ANNOT_REC_PAYLOAD, .level = (uint8_t)(kind << 3), .name = key};
    maker_record(block, record, NULL, 0);
}

static void payload_bytes(uint32_t key, uint8_t kind, const void *bytes, uint32_t size)
{
    struct annot_record record = {.time = size,
                                  .kind = ANNOT_REC_PAYLOAD,
                                  .flags = ANNOT_FLAG_VALUE_STRING,
                                  .level = (uint8_t)(kind << 3),
                                  .name = key};
    maker_record(block, record, bytes, size);
}

static void flow(uint64_t time, uint8_t kind, uint64_t id, uint32_t name)
{
    struct annot_id part = {.id = id};
    struct annot_record record = {.time = time, .kind = kind, .flags = ANNOT_FLAG_ID, .name = name};
    maker_record(block, record, &part, sizeof(part));
}

struct track {
    uint64_t id, parent;
    uint32_t name, parent_name;
};

static void track(uint64_t time, uint8_t kind, const struct track *on, uint32_t name)
{
    struct {
        struct annot_attr attr;
        struct annot_id id;
    } parts = {{.value = on->name | (uint64_t)on->parent_name << 32}, {on->id, on->parent}};

    bool ends = kind == ANNOT_REC_TRACK_END;
    struct annot_record record = {.time = time,
                                  .kind = kind,
                                  .flags = ANNOT_FLAG_ID | (ends ? 0 : ANNOT_FLAG_ATTR),
                                  .name = name};
    const void *from = ends ? (const void *)&parts.id : &parts;
    maker_record(block, record, from, ends ? sizeof(parts.id) : sizeof(parts));
}

static const struct event *event_at(unsigned index, uint8_t kind)
{
    CHECK(index < seen.count);
    CHECK_INT(seen.events[index].kind, kind);
    return &seen.events[index];
}

static const struct arg *arg_at(unsigned index, const char *key, uint8_t kind)
{
    CHECK(index < seen.arg_count);
    CHECK_STR(text(seen.args[index].key), key);
    CHECK_INT(seen.args[index].kind, kind);
    return &seen.args[index];
}

static void check_text_value(unsigned index, const char *key, const char *value)
{
    CHECK_STR(text(arg_at(index, key, VALUE_STRING)->value.string), value);
}

static void check_number(unsigned index, const char *key, uint8_t kind, uint64_t bits)
{
    CHECK_INT(arg_at(index, key, kind)->value.uint64, bits);
}

static void check_lost(unsigned index, enum loss cause, uint64_t count)
{
    const struct event *event = event_at(index, EVENT_LOST);
    CHECK_INT(event->level, cause);
    CHECK_INT(event->value.uint64, count);
}

/* ---- Flows and tracks ------------------------------------------------------------------------ */

TEST(flows_have_their_id_and_name)
{
    begin();
    flow(2000, ANNOT_REC_FLOW_BEGIN, UINT64_MAX, name_of("request"));
    flow(2001, ANNOT_REC_FLOW_STEP, 7, 0);
    flow(2002, ANNOT_REC_FLOW_END, 7, 0);
    flow(2003, ANNOT_REC_FLOW_END, 0, 0); /* not a flow */
    drain();
    CHECK_INT(event_at(0, EVENT_FLOW_BEGIN)->id, UINT64_MAX);
    CHECK_STR(text(seen.events[0].name), "request");
    CHECK_INT(event_at(1, EVENT_FLOW_STEP)->id, 7);
    CHECK_INT(event_at(2, EVENT_FLOW_END)->time_ns, 2002);
    check_lost(3, LOSS_CORRUPT, 1);
    CHECK_INT(seen.count, 4);
    end();
}

TEST(tracks_are_entries_of_the_trace_with_names_and_parents)
{
    begin();
    struct track request = {.id = 70, .parent = 71};
    uint32_t work = name_of("work");
    request.name = name_of("request 17");
    request.parent_name = name_of("requests");
    track(2000, ANNOT_REC_TRACK_BEGIN, &request, work);
    track(2001, ANNOT_REC_TRACK_MARK, &request, work);
    track(2002, ANNOT_REC_TRACK_END, &request, 0);
    drain();
    CHECK_INT(seen.count, 3);
    uint64_t ordinal = event_at(0, EVENT_TRACK_BEGIN)->lane;
    CHECK_STR(text(seen.events[0].name), "work");
    CHECK_INT(seen.events[0].value_kind, VALUE_NONE);
    CHECK_INT(seen.events[0].value.uint64, 0);
    CHECK_INT(event_at(1, EVENT_TRACK_MARK)->lane, ordinal);
    CHECK_INT(event_at(2, EVENT_TRACK_END)->lane, ordinal);
    CHECK_INT(trace_lane_find(seen.trace, 70), ordinal);
    const struct trace_lane *child = trace_lane_get(seen.trace, (uint32_t)ordinal);
    CHECK_STR(text(child->name), "request 17");
    const struct trace_lane *parent = trace_lane_get(seen.trace, child->parent - 1);
    CHECK_INT(parent->id, 71);
    CHECK_STR(text(parent->name), "requests"); /* although it never emitted an event */
    CHECK_INT(parent->parent, 0);
    end();
}

TEST(track_whose_first_record_is_an_end_gets_its_name_later)
{
    begin();
    struct track late = {.id = 5, .parent = 6}, above = {.id = 6, .parent = 7};
    track(2000, ANNOT_REC_TRACK_END, &late, 0);
    late.name = name_of("late"), late.parent_name = name_of("above");
    track(2001, ANNOT_REC_TRACK_BEGIN, &late, name_of("work"));
    track(2002, ANNOT_REC_TRACK_BEGIN, &above, 0); /* its own parent has the larger ordinal */
    drain();
    const struct trace_lane *entry =
        trace_lane_get(seen.trace, (uint32_t)trace_lane_find(seen.trace, 5));
    CHECK_STR(text(entry->name), "late");
    entry = trace_lane_get(seen.trace, (uint32_t)trace_lane_find(seen.trace, 6));
    CHECK_STR(text(entry->name), "above");
    CHECK_INT(entry->parent, 1 + trace_lane_find(seen.trace, 7));
    end();
}

TEST(track_range_that_the_filter_holds_back_is_hidden)
{
    begin();
    struct annot_id part = {.id = 9};
    struct annot_record record = {.time = 2000,
                                  .kind = ANNOT_REC_TRACK_BEGIN,
                                  .flags = ANNOT_FLAG_ID,
                                  .name = name_of("secret")};
    maker_record(block, record, &part, sizeof(part));
    drain();
    CHECK_INT(event_at(0, EVENT_TRACK_HIDDEN)->name, 0);
    CHECK_INT(seen.events[0].lane, trace_lane_find(seen.trace, 9));
    end();
}

TEST(parents_never_go_round)
{
    begin();
    for (uint64_t i = 0; i < 3; i++) {
        struct track ring = {.id = 10 + i, .parent = 10 + (i + 1) % 3};
        track(2000 + i, ANNOT_REC_TRACK_BEGIN, &ring, 0);
    }
    struct track self = {.id = 20, .parent = 20};
    track(2010, ANNOT_REC_TRACK_BEGIN, &self, 0);
    drain();
    CHECK_INT(trace_lane_count(seen.trace), 4);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t at = i + 1, steps = 0;
        for (; at != 0; steps++)
            at = trace_lane_get(seen.trace, at - 1)->parent;
        CHECK(steps <= 3);
    }
    end();
}

TEST(tracks_beyond_the_limit_are_losses)
{
    begin();
    struct track one = {.id = 1}, two = {.id = 2};
    track(2000, ANNOT_REC_TRACK_BEGIN, &one, 0);
    track(2001, ANNOT_REC_TRACK_BEGIN, &two, 0);
    payload(name_of("key"), ANNOT_VALUE_INT64, 1);
    track(2005, ANNOT_REC_TRACK_END, &two, 0);
    track(2006, ANNOT_REC_TRACK_END, &one, 0);
    maker_attach(&seen, maker);
    seen.drain->decoder.track_count = DECODE_TRACKS_MAX - 1;
    drain_visit(seen.drain, DRAIN_RELEASED);
    CHECK_INT(seen.count, 3);
    check_lost(1, LOSS_THREAD_LIMIT, 2);
    CHECK_INT(seen.events[1].time_ns, 2001);
    CHECK_INT(seen.events[1].end_ns, 2005);
    event_at(2, EVENT_TRACK_END);
    CHECK_INT(trace_lane_count(seen.trace), 1);
    end();
}

/* ---- Key-values ------------------------------------------------------------------------------ */

TEST(key_values_follow_their_event)
{
    begin();
    uint32_t key = name_of("key");
    double half = 0.5;
    uint64_t bits;
    memcpy(&bits, &half, sizeof(bits));
    mark(2000);
    payload(key, ANNOT_VALUE_INT64, (uint64_t)-3);
    payload(key, ANNOT_VALUE_UINT64, UINT64_MAX);
    payload(key, ANNOT_VALUE_DOUBLE, bits);
    payload(key, ANNOT_VALUE_BOOL, 1);
    payload_bytes(key, ANNOT_VALUE_STRING, "seventeen letters", 17);
    mark(2001);
    drain();
    CHECK_INT(seen.count, 2);
    CHECK_INT(seen.events[0].arg_count, 5);
    check_number(0, "key", VALUE_INT64, (uint64_t)-3);
    check_number(1, "key", VALUE_UINT64, UINT64_MAX);
    check_number(2, "key", VALUE_DOUBLE, bits);
    check_number(3, "key", VALUE_BOOL, 1);
    check_text_value(4, "key", "seventeen letters");
    CHECK_INT(seen.drain->threads.items[0].decode.record_count, 2);
    end();
}

TEST(key_that_stands_in_the_record)
{
    begin();
    struct annot_record record = {.time = 5,
                                  .kind = ANNOT_REC_PAYLOAD,
                                  .flags = ANNOT_FLAG_NAME_INLINE | ANNOT_FLAG_VALUE_STRING,
                                  .level = ANNOT_VALUE_STRING << 3,
                                  .name = 6};
    mark(2000);
    maker_record(block, record, "inline\0\0\0\0\0\0\0\0\0\0value", 21);
    drain();
    check_text_value(0, "inline", "value");
    end();
}

TEST(key_values_without_an_event_are_losses_and_cost_nothing_else)
{
    begin();
    payload(0, ANNOT_VALUE_INT64, 1);
    payload(0, ANNOT_VALUE_INT64, 2);
    mark(2000);
    payload(0, ANNOT_VALUE_INT64, 3);
    drain();
    CHECK_INT(seen.count, 2);
    check_lost(0, LOSS_CORRUPT, 2);
    CHECK_INT(event_at(1, EVENT_MARK)->arg_count, 1);
    check_number(0, "", VALUE_INT64, 3);
    end();
}

TEST(key_values_of_a_later_versions_record_go_with_it)
{
    begin();
    maker_record(block, (struct annot_record){.time = 2000, .kind = 200}, NULL, 0);
    payload(0, ANNOT_VALUE_INT64, 1);
    mark(2001);
    drain();
    CHECK_INT(seen.count, 1);
    CHECK_INT(event_at(0, EVENT_MARK)->arg_count, 0);
    end();
}

TEST(key_value_that_is_longer_than_its_record_ends_the_block)
{
    begin();
    mark(2000);
    payload_bytes(0, ANNOT_VALUE_STRING, "0123456789abcdef", 16);
    ((struct annot_record *)((uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE))[1].time = 17;
    mark(2001);
    drain();
    check_lost(1, LOSS_CORRUPT, 1);
    end();
}

/* ---- Structs --------------------------------------------------------------------------------- */

struct sample_struct {
    int8_t small;
    uint16_t half[2];
    float ratio;
    double exact;
    uint8_t flag;
    char label[7];
    void *where;
    int64_t deep;
};

static const char sample_schema[] = "point\x1f"
                                    "48\x1e"
                                    "small\x1f"
                                    "1\x1f"
                                    "0\x1f"
                                    "1\x1f\x1e"
                                    "half\x1f"
                                    "6\x1f"
                                    "2\x1f"
                                    "2\x1fms\x1e"
                                    "ratio\x1f"
                                    "9\x1f"
                                    "8\x1f"
                                    "0\x1f\x1e"
                                    "exact\x1f"
                                    "10\x1f"
                                    "16\x1f"
                                    "1\x1f\x1e"
                                    "flag\x1f"
                                    "11\x1f"
                                    "24\x1f"
                                    "1\x1f\x1e"
                                    "label\x1f"
                                    "12\x1f"
                                    "25\x1f"
                                    "7\x1f\x1e"
                                    "where\x1f"
                                    "13\x1f"
                                    "32\x1f"
                                    "1\x1f\x1e"
                                    "deep\x1f"
                                    "4\x1f"
                                    "40\x1f"
                                    "1\x1f"
                                    "bytes\x1e"
                                    "later\x1f"
                                    "99\x1f"
                                    "0\x1f"
                                    "9\x1f";

TEST(struct_becomes_one_key_value_for_each_field)
{
    begin();
    struct sample_struct value = {.small = -2,
                                  .half = {3, 65535},
                                  .ratio = 0.25f,
                                  .exact = DBL_MAX,
                                  .flag = 2,
                                  .label = {'a', 'b'},
                                  .where = (void *)0xabc0,
                                  .deep = INT64_MIN};
    _Static_assert(sizeof(value) == 48, "as the schema says");
    double quarter = 0.25;
    uint64_t bits, exact;
    memcpy(&bits, &quarter, sizeof(bits));
    memcpy(&exact, &value.exact, sizeof(exact));
    maker_string(maker, ANNOT_STRING_SCHEMA, 3, sample_schema);
    mark(2000);
    payload_bytes(3, ANNOT_VALUE_STRUCT, &value, sizeof(value));
    mark(2001);
    drain();
    CHECK_INT(seen.count, 2);
    check_number(0, "small", VALUE_INT64, (uint64_t)-2);
    check_number(1, "half[0] [ms]", VALUE_UINT64, 3);
    check_number(2, "half[1] [ms]", VALUE_UINT64, 65535);
    check_number(3, "ratio", VALUE_DOUBLE, bits);
    check_number(4, "exact", VALUE_DOUBLE, exact);
    check_number(5, "flag", VALUE_BOOL, 1);
    check_text_value(6, "label", "ab");
    check_text_value(7, "where", "0xabc0");
    check_number(8, "deep [bytes]", VALUE_INT64, (uint64_t)INT64_MIN);
    CHECK_INT(seen.drain->decoder.misuse[MISUSE_SCHEMA], 0);
    end();
}

/* The schema is wrong, does not match the bytes, or is missing: shows bytes, and counts it. */
TEST(struct_that_is_not_its_schema_is_shown_as_bytes)
{
    static const char *const lies[] = {
        "lie\x1f"
        "8\x1e"
        "a\x1f"
        "4\x1f"
        "1\x1f"
        "1\x1f", /* ends after the struct */
        "lie\x1f"
        "8\x1e"
        "a\x1f"
        "5\x1f"
        "0\x1f"
        "9\x1f", /* an array that ends after it */
        "lie\x1f"
        "8\x1e"
        "a\x1f"
        "5\x1f"
        "9\x1f"
        "1\x1f", /* begins after it */
        "lie\x1f"
        "9\x1e"
        "a\x1f"
        "5\x1f"
        "0\x1f"
        "1\x1f", /* a size that differs from the bytes */
        "lie\x1f"
        "99999999999999999999\x1e"
        "a\x1f"
        "5\x1f", /* not a number */
        "lie\x1f"
        "8\x1e"
        "a", /* without fields' parts */
        "lie",
    };
    begin();
    unsigned count = sizeof(lies) / sizeof(*lies);
    for (unsigned i = 0; i <= count; i++) { /* the last one has no schema */
        if (i < count)
            maker_string(maker, ANNOT_STRING_SCHEMA, (uint16_t)(i + 1), lies[i]);
        mark(2000);
        payload_bytes(i + 1, ANNOT_VALUE_STRUCT, "\x01\x02\x03\x04\x05\x06\x07\xff", 8);
    }
    drain();
    CHECK_INT(seen.count, count + 1);
    for (unsigned i = 0; i <= count; i++)
        check_text_value(i, i < count ? "lie" : "struct", "01020304050607ff");
    CHECK_INT(seen.drain->decoder.misuse[MISUSE_SCHEMA], count + 1);
    end();
}

TEST(array_that_is_too_long_to_be_shown_is_cut_and_counted)
{
    static uint8_t bytes[3000];
    begin();
    maker_string(maker, ANNOT_STRING_SCHEMA, 1,
                 "large\x1f"
                 "3000\x1e"
                 "a\x1f"
                 "5\x1f"
                 "0\x1f"
                 "3000\x1f");
    mark(2000);
    payload_bytes(1, ANNOT_VALUE_STRUCT, bytes, sizeof(bytes));
    payload_bytes(2, ANNOT_VALUE_STRUCT, bytes, sizeof(bytes));
    mark(2001);
    drain();
    CHECK_INT(seen.count, 2);
    CHECK_INT(seen.events[0].arg_count, SCHEMA_VALUES_MAX + 1 + 1);
    check_number(SCHEMA_VALUES_MAX - 1, "a[255]", VALUE_UINT64, 0);
    check_text_value(SCHEMA_VALUES_MAX, "...", "2744 more values");
    CHECK(strstr(text(seen.args[SCHEMA_VALUES_MAX + 1].value.string), "... (3000 bytes)"));
    CHECK_INT(seen.drain->decoder.misuse[MISUSE_PAYLOAD_CUT], 1);
    CHECK_INT(seen.drain->decoder.misuse[MISUSE_SCHEMA], 1);
    end();
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void group(uint64_t time, uint32_t name)
{
    struct annot_attr attr = {.domain = 3};
    struct annot_record record = {
        .time = time, .kind = ANNOT_REC_COUNTER_GROUP, .flags = ANNOT_FLAG_ATTR, .name = name};
    maker_record(block, record, &attr, sizeof(attr));
}

TEST(group_of_counters_is_one_counter_for_each_series)
{
    begin();
    maker_string(maker, ANNOT_STRING_DOMAIN, 3, "io");
    uint32_t queue = name_of("queue"), depth = name_of("depth"), age = name_of("age");
    for (uint64_t i = 0; i < 2; i++) {
        group(2000 + i, queue);
        payload(depth, ANNOT_VALUE_INT64, i);
        payload(age, ANNOT_VALUE_UINT64, 5);
    }
    group(2002, queue);
    payload_bytes(age, ANNOT_VALUE_STRING, "no number", 9);
    mark(2003);
    drain();
    CHECK_INT(seen.count, 5);
    for (unsigned i = 0; i < 4; i++) {
        const struct event *event = event_at(i, EVENT_COUNTER);
        CHECK_STR(text(event->name), i % 2 ? "queue/age" : "queue/depth");
        CHECK_STR(text(trace_scope_domain(seen.trace, event->scope)), "io");
        CHECK_INT(event->value_kind, i % 2 ? VALUE_UINT64 : VALUE_INT64);
        CHECK_INT(event->value.uint64, i % 2 ? 5 : i / 2);
        CHECK_INT(event->time_ns, 2000 + i / 2);
    }
    check_lost(4, LOSS_CORRUPT, 1);
    end();
}

TEST(units_of_counters_are_in_the_trace)
{
    begin();
    maker_string(maker, ANNOT_STRING_DOMAIN, 3, "io");
    maker_string(maker, ANNOT_STRING_COUNTER_UNIT, 3, "queue/age\x1fms");
    maker_string(maker, ANNOT_STRING_COUNTER_UNIT, 0,
                 "memory\x1f"
                 "bytes");
    maker_string(maker, ANNOT_STRING_COUNTER_UNIT, 0,
                 "\x1f"
                 "of nothing");
    drain();
    CHECK_INT(names_walk(&seen.drain->decoder.names), 0);
    uint32_t io = (uint32_t)trace_string_add(seen.trace, "io", 2);
    uint32_t age = (uint32_t)trace_string_add(seen.trace, "queue/age", 9);
    uint32_t memory = (uint32_t)trace_string_add(seen.trace, "memory", 6);
    CHECK_STR(text(trace_unit_find(seen.trace, io, age)), "ms");
    CHECK_STR(text(trace_unit_find(seen.trace, 0, memory)), "bytes");
    CHECK_INT(trace_unit_count(seen.trace), 2);
    end();
}

/* ---- Functions ------------------------------------------------------------------------------- */

static size_t call_it(void *context, const struct names_function *function, char *name)
{
    if (strcmp(function->file, "/bin/known") != 0)
        return 0;
    return (size_t)snprintf(name, NAMES_FUNCTION_MAX, "f%llx of %d, %llu%s",
                            (unsigned long long)function->offset, function->pid,
                            (unsigned long long)function->inode, (const char *)context);
}

static void push(uint32_t name)
{
    maker_record(block, (struct annot_record){.time = 1, .kind = ANNOT_REC_PUSH, .name = name},
                 NULL, 0);
}

TEST(functions_are_named_by_the_callback_or_by_their_place)
{
    static const char *const texts[] = {
        "/bin/known\0371a2b",       "/usr/lib/libx.so\0371a2b",
        "/bin/known\037number",     "nothing",
        "/bin/known\0371a2b\03777", "/bin/known\0371a2b\0377 and more",
    };
    begin();
    uint32_t ids[sizeof(texts) / sizeof(texts[0])];
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        push(ids[i] = maker_string(maker, ANNOT_STRING_FUNCTION, 0, texts[i]));
    push(maker_string(maker, ANNOT_STRING_NAME, 0, "a range"));
    push(ids[0]); /* its name is known by now */
    maker_attach(&seen, maker);
    char context[] = "!";
    seen.drain->decoder.names.pid = 12;
    seen.drain->decoder.names.function = call_it;
    seen.drain->decoder.names.function_context = context;
    drain_visit(seen.drain, DRAIN_RELEASED);
    static const char *const named[] = {"f1a2b of 12, 0!", "libx.so+0x1a2b",   "known",
                                        "nothing",         "f1a2b of 12, 77!", "known"};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        CHECK_STR(text(seen.events[i].name), named[i]);
    CHECK_STR(text(seen.events[7].name), named[0]);
    for (size_t i = 0; i < 8; i++)
        CHECK_INT(trace_scope(seen.trace, seen.events[i].scope)->observer,
                  i == 6 ? OBSERVER_PROGRAM : OBSERVER_NATIVE_CALLS);
    end();
}
