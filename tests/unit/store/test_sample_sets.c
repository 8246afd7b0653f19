/* SPDX-License-Identifier: MIT */
/* Sets and value types defined by a recording are read back with their names; unknown or damaged
 * ones are preserved and not mistaken for others. */
#include "reader.h"
#include "sample_events.h"
#include "store.h"
#include "test.h"
#include "writer.h"

#include <stdio.h>

static const char *file_path(void)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/sets.annot", test_directory());
    return path;
}

static uint32_t text(struct trace *trace, const char *bytes)
{
    return (uint32_t)trace_string_add(trace, bytes, strlen(bytes));
}

static struct store_writer *create_writer(const struct trace *trace)
{
    struct store_writer *writer;
    struct store_writer_options options = {.overwrite = true};
    CHECK_INT(store_writer_create(file_path(), trace, &options, &writer), 0);
    return writer;
}

static void add(struct store_writer *writer, struct sample sample, const int64_t *values,
                uint8_t count)
{
    sample.values = values;
    sample.value_count = count;
    CHECK_INT(store_writer_add_samples(writer, &sample, 1), 0);
}

static struct store_reader *open_reader(void)
{
    struct store_reader *reader;
    CHECK_INT(store_reader_open(file_path(), &reader), 0);
    return reader;
}

/* Reads all samples; they stay valid until the next read. */
static uint32_t read_all(struct store_reader *reader, const struct sample **ret_samples)
{
    uint32_t count = 0;
    CHECK_INT(store_reader_next_samples(reader, ret_samples, &count), 1);
    return count;
}

/* A possible later version: a heap, a call tree, and a set with a new flag. */
struct later {
    struct trace *trace;
    unsigned pages, heap, calls, strange;
};

static struct later make_later(void)
{
    struct later later = {.trace = sample_trace(1, 2, 4)};
    struct sample_sets *sets = trace_sets(later.trace);
    const struct value_type pages = {text(later.trace, "pages"), text(later.trace, "4 KiB"),
                                     VALUE_SUM_ADDS};
    later.pages = (unsigned)value_types_add(sets, &pages);
    const struct sample_set heap = {.name = text(later.trace, "alloc"),
                                    .flags = SAMPLE_SET_EXACT | SAMPLE_SET_HEAP,
                                    .count = 2,
                                    .types = {VALUE_TYPE_ALLOC_BYTES, (uint16_t)later.pages}};
    const struct sample_set calls = {.name = text(later.trace, "calls"),
                                     .flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                     .count = 3,
                                     .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL, VALUE_TYPE_CPU}};
    const struct sample_set strange = {
        .name = text(later.trace, "strange"), .flags = 128, .count = 1, .types = {VALUE_TYPE_CPU}};
    later.heap = (unsigned)sample_sets_add(sets, &heap);
    later.calls = (unsigned)sample_sets_add(sets, &calls);
    later.strange = (unsigned)sample_sets_add(sets, &strange);
    CHECK_INT(later.heap, SAMPLE_SET_OWN);
    CHECK_INT(later.pages, VALUE_TYPE_OWN);
    return later;
}

static void write_later(const struct later *later)
{
    struct store_writer *writer = create_writer(later->trace);
    const struct sample block = {
        .set = (uint16_t)later->heap, .time_ns = 1000, .id = UINT64_MAX - 7, .thread = 1};
    const struct sample node = {
        .set = (uint16_t)later->calls, .time_ns = 500, .end_ns = 2500, .thread = 1};
    add(writer, block, (const int64_t[]){4096, 1}, 2);
    add(writer, node, (const int64_t[]){7, 900, 400}, 3);
    add(writer, (struct sample){.set = (uint16_t)later->strange, .time_ns = 3000},
        (const int64_t[]){11}, 1);
    add(writer, (struct sample){.set = 9, .time_ns = 3100}, (const int64_t[]){5, 6, 7, 8}, 4);
    add(writer, (struct sample){.set = SAMPLE_SET_CPU, .time_ns = 3200}, (const int64_t[]){99}, 1);
    CHECK_INT(store_writer_close(writer), 0);
}

TEST(sets_and_types_of_a_recording_come_back_with_their_names)
{
    struct later later = make_later();
    write_later(&later);
    struct store_reader *reader = open_reader();
    const struct trace *trace = store_reader_trace(reader);
    const struct sample_set *heap = sample_set_get(trace_sets_get(trace), later.heap);
    const struct sample *samples;
    char name[16];
    CHECK_INT(read_all(reader, &samples), 5);
    CHECK_STR(trace_set_name(trace, later.heap, name), "alloc");
    CHECK_STR(trace_value_name(trace, later.pages, name), "pages");
    CHECK_STR(trace_value_unit(trace, later.pages), "4 KiB");
    CHECK_INT(heap->flags, SAMPLE_SET_EXACT | SAMPLE_SET_HEAP);
    CHECK_INT(heap->types[1], later.pages);
    CHECK(samples[0].id == UINT64_MAX - 7);
    CHECK_INT(sample_value(trace_sets_get(trace), &samples[0], later.pages), 1);
    CHECK_INT(sample_value(trace_sets_get(trace), &samples[0], VALUE_TYPE_ALLOC_BYTES), 4096);
    CHECK_INT(samples[1].end_ns, 2500);
    CHECK_INT(sample_value(trace_sets_get(trace), &samples[1], VALUE_TYPE_WALL), 900);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
    trace_destroy(later.trace);
}

TEST(only_what_is_known_to_be_cpu_time_is)
{
    struct later later = make_later();
    write_later(&later);
    struct store_reader *reader = open_reader();
    const struct sample_sets *sets = trace_sets_get(store_reader_trace(reader));
    const struct sample *samples;
    char name[16];
    CHECK_INT(read_all(reader, &samples), 5);
    for (int i = 0; i < 4; i++)
        CHECK_INT(sample_cpu_ns(sets, &samples[i]), 0);
    CHECK_INT(sample_cpu_ns(sets, &samples[4]), 99);
    CHECK_INT(samples[3].value_count, 4); /* of an unknown set: as written */
    CHECK_INT(samples[3].values[3], 8);
    CHECK_STR(trace_set_name(store_reader_trace(reader), 9, name), "set 9");
    CHECK_STR(trace_value_name(store_reader_trace(reader), 40, name), "value 40");
    store_reader_close(reader);
    trace_destroy(later.trace);
}

/* The definition has one value, the samples two; or the parts of a stretch do not add up. */
TEST(samples_that_are_not_as_their_set_says_are_damage)
{
    struct later later = make_later();
    const struct sample_set stretch = {.name = 1,
                                       .flags = SAMPLE_SET_STRETCH,
                                       .count = 2,
                                       .types = {VALUE_TYPE_BLOCKED, VALUE_TYPE_RUNNABLE}};
    struct store_writer *writer = create_writer(later.trace);
    unsigned next = sample_sets_count(trace_sets_get(later.trace));
    /* Unknown when written, so values are not adjusted. */
    add(writer, (struct sample){.set = (uint16_t)next, .time_ns = 100, .end_ns = 200},
        (const int64_t[]){10, 20}, 2);
    add(writer, (struct sample){.set = SAMPLE_SET_CPU, .time_ns = 300}, (const int64_t[]){99}, 1);
    CHECK_INT(sample_sets_add(trace_sets(later.trace), &stretch), next);
    CHECK_INT(store_writer_close(writer), 0);
    struct store_reader *reader = open_reader();
    const struct sample *samples;
    CHECK_INT(read_all(reader, &samples), 1);
    CHECK_INT(samples[0].set, SAMPLE_SET_CPU);
    CHECK_INT(store_reader_damage_count(reader), 1);
    CHECK_STR(store_reader_damage(reader, 0)->reason, "samples that are not as their set says");
    store_reader_close(reader);
    trace_destroy(later.trace);
}

TEST(no_definition_takes_the_place_of_another)
{
    struct sample_sets *sets = sample_sets_create();
    const struct sample_set one = {.name = 1, .count = 1, .types = {VALUE_TYPE_CYCLES}};
    struct sample_set other = one;
    other.types[0] = VALUE_TYPE_CPU;
    CHECK_INT(sample_sets_define(sets, SAMPLE_SET_OFF_CPU, &one),
              0); /* the format's own definition stays */
    CHECK_INT(sample_set_get(sets, SAMPLE_SET_OFF_CPU)->count, 2);
    CHECK_INT(sample_sets_define(sets, 20, &one), 0);
    CHECK(sample_sets_define(sets, 20, &other) < 0);
    CHECK_INT(sample_set_get(sets, 20)->types[0], VALUE_TYPE_CYCLES);
    other.count = SAMPLE_VALUES_MAX + 1;
    CHECK(sample_sets_define(sets, 21, &other) < 0);
    CHECK(sample_sets_define(sets, 0, &one) < 0 && sample_sets_define(sets, 1 << 20, &one) < 0);
    CHECK_INT(sample_set_get(sets, 21)->count, 0);
    CHECK_INT(value_type_get(sets, 999)->sum, VALUE_SUM_UNKNOWN);
    sample_sets_destroy(sets);
}
