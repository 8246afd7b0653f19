/* SPDX-License-Identifier: MIT */
/* Cases of the formats in which a straightforward writer fails. */
#include "calls_trace.h"
#include "export.h"
#include "proto_text.h"
#include "test.h"
#include "trace_maker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The whole export as text, allocated by malloc. */
static char *export_text(struct maker *maker, const char *format)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .out = out};
    size_t size;
    CHECK(out != NULL);
    CHECK_INT(export_run(exporter_by_name(format), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strcmp(format, "perfetto") == 0 ? perfetto_text(bytes, size)
                                                 : strndup((const char *)bytes, size);
    out_stream_abandon(out);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static struct maker *one_thread(void)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    return maker;
}

TEST(formats_are_found_by_name_and_extension)
{
    CHECK_STR(exporter_by_name("chrome")->name, "chrome");
    CHECK(exporter_by_name("nothing") == NULL);
    CHECK_STR(exporter_by_path("a.json")->name, "chrome");
    CHECK_STR(exporter_by_path("a.json.gz")->name, "chrome");
    CHECK_STR(exporter_by_path("x/a.pftrace")->name, "perfetto");
    CHECK_STR(exporter_by_path("a.perfetto-trace.gz")->name, "perfetto");
    CHECK_STR(exporter_by_path("a.folded")->name, "folded");
    CHECK_STR(exporter_by_path("a.speedscope.json")->name, "speedscope");
    CHECK_STR(exporter_by_path("a.firefox.json.gz")->name, "firefox");
    CHECK_STR(exporter_by_path("a.pb.gz")->name, "pprof");
    CHECK_STR(exporter_by_path("a.arrow")->name, "arrow");
    CHECK_STR(exporter_by_path("a.otlp.pb")->name, "otlp");
    CHECK_STR(exporter_by_path("a.otlp.pb.gz")->name, "otlp");
    CHECK_STR(exporter_by_path("a.otlp.jsonl")->name, "otlp-json");
    CHECK_STR(exporter_by_path("x/a.ctf/")->name, "ctf");
    CHECK(exporter_by_path("a.pb") == NULL && exporter_by_path(".pb.gz") == NULL);
    CHECK(exporter_by_path("a.txt") == NULL && exporter_by_path(".json") == NULL &&
          exporter_by_path("json") == NULL && exporter_by_path("a.gz") == NULL);
}

TEST(an_empty_recording_is_a_whole_file)
{
    struct maker *maker = maker_create();
    char *json = export_text(maker, "chrome"), *trace = export_text(maker, "perfetto");
    CHECK(strncmp(json, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]", 40) == 0);
    CHECK(strcmp(json + strlen(json) - 4, "\n}}\n") == 0);
    CHECK(strchr(trace, '!') == NULL);
    free(json);
    free(trace);
    maker_destroy(maker);
}

/* Complete events with equal begins and ends nest by their order in the file. */
TEST(chrome_writes_a_parent_before_children_that_begin_with_it)
{
    struct maker *maker = one_thread();
    const char *names[] = {"n0", "n1", "n2", "n3"};
    for (int i = 0; i < 4; i++)
        maker_push(maker, 0, 10, names[i]);
    maker_pop(maker, 0, 10);
    maker_push(maker, 0, 10, "n3b");
    for (int i = 0; i < 4; i++)
        maker_pop(maker, 0, 20);
    maker_push(maker, 0, 30, "later");
    maker_push(maker, 0, 30, "still open");
    maker_finish(maker, 100);
    char *json = export_text(maker, "chrome");
    const char *order[] = {"\"n0\"",  "\"n1\"",    "\"n2\"",        "\"n3\"",
                           "\"n3b\"", "\"later\"", "\"still open\""};
    const char *last = json;
    for (int i = 0; i < 7; i++) {
        const char *at = strstr(json, order[i]);
        CHECK(at > last);
        CHECK_INT(count_of(json, order[i]), 1);
        last = at;
    }
    free(json);
    maker_destroy(maker);
}

TEST(chrome_starts_at_the_first_event_if_that_is_earlier)
{
    struct maker *maker = one_thread();
    maker_mark(maker, 0, -2500, "before");
    maker_finish(maker, 100);
    char *json = export_text(maker, "chrome");
    CHECK(strstr(json, "\"ts\":0.000") && !strstr(json, "\"ts\":-"));
    free(json);
    maker_destroy(maker);
}

TEST(chrome_shows_an_overlapping_gap_as_an_instant)
{
    struct maker *maker = one_thread();
    maker_lost(maker, 0, &(struct maker_gap){10, 30, 1, 0, LOSS_POOL_FULL});
    maker_lost(maker, 0, &(struct maker_gap){20, 40, 2, 0, LOSS_POOL_FULL});
    maker_lost(maker, 0, &(struct maker_gap){40, 50, 3, 0, LOSS_POOL_FULL});
    maker_finish(maker, 100);
    char *json = export_text(maker, "chrome");
    CHECK(strstr(json, "{\"ph\":\"X\",\"name\":\"lost 1: "));
    CHECK(strstr(json, "{\"ph\":\"i\",\"name\":\"lost 2: "));
    CHECK(strstr(json, "{\"ph\":\"X\",\"name\":\"lost 3: "));
    free(json);
    maker_destroy(maker);
}

static struct maker *ends_with_values(void)
{
    struct maker *maker = one_thread();
    uint32_t track = maker_track(maker, 0, 9, "task", -1);
    maker_push(maker, 0, 100, "load");
    maker_value_int(maker, "size", 3);
    maker_push(maker, 0, 110, "parse");
    maker_pop(maker, 0, 120);
    maker_value_text(maker, "exception", "KeyError");
    maker_pop(maker, 0, 130);
    maker_value_text(maker, "exception", "KeyError");
    maker_start(maker, 0, 200, "request", 7);
    maker_end(maker, 0, 210, 7);
    maker_value_int(maker, "status", 404);
    maker_point(maker, 0, 300, &(struct maker_point){EVENT_TRACK_BEGIN, track, "step"});
    maker_point(maker, 0, 310, &(struct maker_point){EVENT_TRACK_END, track, NULL});
    maker_value_int(maker, "status", 500);
    maker_finish(maker, 1000);
    return maker;
}

TEST(chrome_shows_what_was_known_at_the_end_of_a_range)
{
    struct maker *maker = ends_with_values();
    char *trace = export_text(maker, "chrome");
    CHECK(strstr(trace, "\"args\":{\"size\":3,\"exception\":\"KeyError\"}"));
    CHECK_INT(count_of(trace, "\"exception\":\"KeyError\""), 2);
    CHECK_INT(count_of(trace, "\"status\":404"), 1);
    CHECK_INT(count_of(trace, "\"status\":500"), 1);
    free(trace);
    maker_destroy(maker);
}

TEST(perfetto_shows_what_was_known_at_the_end_of_a_range)
{
    struct maker *maker = ends_with_values();
    char *trace = export_text(maker, "perfetto");
    CHECK_INT(count_of(trace, "!"), 0);
    CHECK_INT(count_of(trace, "type 2 annotation {name_iid"), 2);
    CHECK_INT(count_of(trace, "string \"KeyError\""), 2);
    CHECK_INT(count_of(trace, "name \"exception\""), 1); /* later ones by its number */
    CHECK_INT(count_of(trace, "404"), 1);
    CHECK_INT(count_of(trace, "500}"), 1);
    free(trace);
    maker_destroy(maker);
}

TEST(perfetto_takes_an_event_that_goes_back_in_time)
{
    struct maker *maker = one_thread();
    maker_mark(maker, 0, 500, "first");
    maker_mark(maker, 0, 400, "earlier");
    maker_mark(maker, 0, 600, "last");
    maker_finish(maker, 1000);
    char *trace = export_text(maker, "perfetto");
    CHECK(strstr(trace, "{timestamp 500 sequence_id 2"));
    CHECK(strstr(trace, "{timestamp 5000000000400 timestamp_clock_id 3 sequence_id 2"));
    CHECK(strstr(trace, "{timestamp 100 sequence_id 2"));
    free(trace);
    maker_destroy(maker);
}

TEST(perfetto_spells_a_name_once_in_each_thread)
{
    struct maker *maker = one_thread();
    uint32_t other = maker_thread(maker, 0, 51, "");
    for (int i = 0; i < 100; i++) {
        maker_push(maker, i % 2 ? other : 0, 10 * i, "a rather long name");
        maker_pop(maker, i % 2 ? other : 0, 10 * i + 5);
    }
    maker_finish(maker, 10000);
    char *trace = export_text(maker, "perfetto");
    CHECK_INT(count_of(trace, "a rather long name"), 2);
    CHECK_INT(count_of(trace, "type 1 name_iid"), 100);
    free(trace);
    maker_destroy(maker);
}

TEST(many_names_of_ranges_share_a_track)
{
    struct maker *maker = one_thread();
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "request %d", i);
        maker_start(maker, 0, i, name, (uint64_t)i + 1);
        maker_end(maker, 0, i + 1, (uint64_t)i + 1);
    }
    maker_finish(maker, 10000);
    char *trace = export_text(maker, "perfetto");
    CHECK_INT(count_of(trace, "\"other ranges\""), 1);
    CHECK_INT(count_of(trace, "parent_uuid 1 rank"), 1025);
    CHECK_INT(count_of(trace, "start_tid"), 3000);
    free(trace);
    maker_destroy(maker);
}

static int fail_read(void *context, struct event_batch *ret_batch)
{
    (void)context;
    (void)ret_batch;
    return -EIO;
}

TEST(an_error_of_the_source_is_passed_on)
{
    struct maker *maker = one_thread();
    struct pass_source source = maker_pass_source(maker);
    source.next_events = fail_read;
    for (int i = 0; exporters[i]; i++) {
        if (!(exporters[i]->wants & WANT_EVENTS))
            continue;
        struct out_stream *out = out_stream_memory();
        const struct export_job job = {.source = &source, .out = out};
        int error = export_run(exporters[i], &job, NULL);
        if (error != -ENOSYS) /* built without SQLite */
            CHECK_INT(error, -EIO);
        out_stream_abandon(out);
    }
    maker_destroy(maker);
}

TEST(a_full_disk_is_noticed_before_the_end)
{
    struct maker *maker = one_thread();
    struct out_stream_options options = {.overwrite = true};
    for (int i = 0; i < 100000; i++)
        maker_mark(maker, 0, i, "m");
    maker_finish(maker, 200000);
    for (int i = 0; exporters[i]; i++) {
        bool gathers = exporters[i]->counts_calls || exporters[i]->lacks || exporters[i]->files;
        if (!(exporters[i]->wants & WANT_EVENTS) || gathers)
            continue; /* these write at the end */
        const struct pass_source source = maker_pass_source(maker);
        struct out_stream *out;
        struct event_batch batch;
        CHECK_INT(out_stream_open("/dev/full", &options, &out), 0);
        const struct export_job job = {.source = &source, .out = out};
        CHECK_INT(export_run(exporters[i], &job, NULL), -ENOSPC);
        CHECK(maker_next(maker, &batch) > 0); /* it stopped early */
        while (maker_next(maker, &batch) > 0)
            ;
        out_stream_abandon(out);
    }
    maker_destroy(maker);
}

/* The first event of a name takes another path than later ones. */
TEST(perfetto_tells_of_each_call_where_its_function_is)
{
    struct maker *maker = calls_trace_create(CALLS_TRACE_EXACT);
    char *trace = export_text(maker, "perfetto");
    size_t calls = count_of(trace, "type 1 ") - 2; /* the recording, and a range of the program */
    CHECK(calls > 100);
    CHECK_INT(count_of(trace, " category_iid 1"), calls);
    calls -= 1; /* of a C function, which has no file */
    CHECK_INT(count_of(trace, " annotation {name_iid 5 string_iid "), calls);
    CHECK_INT(count_of(trace, " annotation {name_iid 6 int "), calls);
    CHECK_INT(count_of(trace, "category {iid 1 name \"python calls\"}"), 2);
    free(trace);
    maker_destroy(maker);
}
