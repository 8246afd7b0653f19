/* SPDX-License-Identifier: MIT */
/* Profiles for the Firefox Profiler as viewers read them. Usual ones are in tests/golden/export/,
 * and in tests/viewers/. */
#include "export.h"
#include "test.h"
#include "trace_maker.h"

#include <math.h>
#include <stdlib.h>

static char *exported(struct maker *maker, struct pass_counts *ret_counts)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .out = out};
    size_t size;
    CHECK_INT(export_run(exporter_by_name("firefox"), &job, ret_counts), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    out_stream_abandon(out);
    return text;
}

/* A sum of doubles would lose the 1 next to 10^17, and lack it from then on. */
TEST(changes_of_a_counter_add_up_to_its_last_value)
{
    static const double values[] = {1e17, 1, 2, 3};
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    for (int i = 0; i < 4; i++)
        maker_counter(maker, 0, 100 + i, "level", values[i]);
    maker_finish(maker, 1000);
    char *text = exported(maker, NULL);
    const char *at = strstr(text, "\"count\":[");
    double sum = 0;
    CHECK(at != NULL);
    at += strlen("\"count\":");
    for (int i = 0; i < 4; i++)
        sum += strtod(at + 1, (char **)&at);
    CHECK(*at == ']' && sum == 3);
    free(text);
    maker_destroy(maker);
}

/* The viewer finds a process by its threads. */
TEST(a_process_that_tells_nothing_but_a_counter_is_there)
{
    struct maker *maker = maker_create();
    uint32_t first = maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    uint32_t second = maker_thread(maker, maker_process(maker, 60, -1, "b", 0), 60, "");
    maker_mark(maker, first, 10, "mark");
    maker_counter(maker, second, 20, "level", 1);
    maker_finish(maker, 1000);
    char *text = exported(maker, NULL);
    CHECK(strstr(text, "\"pid\":\"60\",\"mainThreadIndex\":1"));
    CHECK(strstr(text, "\"pid\":\"60\",\"tid\":60"));
    free(text);
    maker_destroy(maker);
}

TEST(values_that_are_no_number_are_left_out_and_counted)
{
    struct maker *maker = maker_create();
    struct pass_counts counts = {0};
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    maker_counter(maker, 0, 10, "level", NAN);
    maker_counter(maker, 0, 20, "level", -INFINITY);
    maker_counter(maker, 0, 30, "level", 7);
    maker_finish(maker, 1000);
    char *text = exported(maker, &counts);
    CHECK(strstr(text, "\"count\":[7]"));
    CHECK_INT(counts.no_numbers, 2);
    CHECK(exporter_by_name("firefox")->lacks & EXPORT_LACKS_NO_NUMBERS);
    CHECK(exporter_by_name("chrome")->lacks & EXPORT_LACKS_NO_NUMBERS);
    free(text);
    maker_destroy(maker);
}
