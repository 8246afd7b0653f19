/* SPDX-License-Identifier: MIT */
/* Ranges as spans: selection, names, content. OpenTelemetry's own library reads the messages in
 * tests/viewers. */
#include "export.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t MS = 1000000;

static struct maker *one_thread(void)
{
    struct maker *maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "./server --port 80", 0), 50, "main");
    return maker;
}

/* The export as JSON, allocated by malloc. Ends the maker. */
static char *written(struct maker *maker, const char *min_duration, struct span_counts *ret_counts)
{
    struct out_stream *out = out_stream_memory();
    const struct export_options options = {.min_duration = min_duration, .ret_spans = ret_counts};
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .options = &options, .out = out};
    size_t size;
    CHECK(out != NULL);
    CHECK_INT(export_run(exporter_by_name("otlp-json"), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    out_stream_abandon(out);
    maker_destroy(maker);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* The value after a key in the first span of a name. */
static void value_of(const char *text, const char *name, const char *key, char value[33])
{
    char name_text[64], key_text[64];
    snprintf(name_text, sizeof(name_text), "\"name\":\"%s\",\"kind\"", name);
    snprintf(key_text, sizeof(key_text), "\"%s\":\"", key);
    const char *named = strstr(text, name_text), *at = text, *found = NULL;
    CHECK(named != NULL);
    while ((at = strstr(at, key_text)) && at < named)
        found = at += strlen(key_text);
    CHECK(found != NULL);
    snprintf(value, 33, "%.*s", (int)strcspn(found, "\""), found);
}

TEST(short_ranges_are_left_out_and_counted)
{
    struct maker *maker = one_thread();
    struct span_counts counts;
    for (int i = 0; i < 10; i++) {
        maker_push(maker, 0, i * 4 * MS, "long");
        maker_push(maker, 0, i * 4 * MS + 1, "short");
        maker_pop(maker, 0, i * 4 * MS + MS);
        maker_pop(maker, 0, i * 4 * MS + MS);
    }
    maker_finish(maker, 100 * MS);
    char *text = written(maker, NULL, &counts);
    CHECK_INT(count_of(text, "\"name\":\"long\""), 10);
    CHECK_INT(count_of(text, "\"name\":\"short\""), 0);
    CHECK_INT(counts.spans, 10);
    CHECK_INT(counts.brief, 10);
    free(text);
}

TEST(zero_leaves_out_nothing)
{
    struct maker *maker = one_thread();
    struct span_counts counts;
    maker_push(maker, 0, 10, "no time");
    maker_pop(maker, 0, 10);
    maker_finish(maker, 100);
    char *text = written(maker, "0", &counts);
    CHECK_INT(count_of(text, "\"startTimeUnixNano\":\"1700000000000000010\""), 1);
    CHECK_INT(count_of(text, "\"endTimeUnixNano\":\"1700000000000000010\""), 1);
    CHECK_INT(counts.spans, 1);
    free(text);
}

/* Each range has a distinct id, even with equal name, depth and time. */
TEST(ranges_that_begin_together_have_ids_of_their_own)
{
    struct maker *maker = one_thread();
    uint32_t track = maker_track(maker, 0, 7, "orders", -1);
    char id[33], parent[33], first[33];
    for (int i = 0; i < 3; i++) {
        maker_point(maker, 0, 100, &(struct maker_point){EVENT_TRACK_BEGIN, track, "order"});
        maker_point(maker, 0, 100, &(struct maker_point){EVENT_TRACK_BEGIN, track, "item"});
        maker_point(maker, 0, 100, &(struct maker_point){EVENT_TRACK_END, track, NULL});
        maker_point(maker, 0, 100, &(struct maker_point){EVENT_TRACK_END, track, NULL});
    }
    maker_finish(maker, 1000);
    char *text = written(maker, "0", NULL), *at = text;
    CHECK_INT(count_of(text, "\"spanId\""), 6);
    for (int i = 0; i < 3; i++) {
        value_of(at, "item", "parentSpanId", parent);
        at = strstr(at, "\"name\":\"item\"");
        value_of(at, "order", "spanId", id);
        at = strstr(at, "\"name\":\"order\"");
        CHECK_STR(id, parent);
        CHECK(i == 0 || strcmp(id, first) != 0);
        if (i == 0)
            snprintf(first, sizeof(first), "%s", id);
    }
    free(text);
}

static struct maker *sends(int64_t received_ns)
{
    struct maker *maker = one_thread();
    uint32_t other = maker_thread(maker, maker_process(maker, 51, 0, "./worker", 0), 51, "main");
    maker_push(maker, 0, 10, "request");
    maker_push(maker, 0, 20, "send");
    maker_point(maker, 0, 25, &(struct maker_point){EVENT_FLOW_BEGIN, 99, "order"});
    maker_pop(maker, 0, 30);
    maker_push(maker, 0, 40, "other");
    maker_pop(maker, 0, 50);
    maker_pop(maker, 0, 60);
    maker_push(maker, other, received_ns - 2, "serve");
    maker_push(maker, other, received_ns - 1, "receive");
    maker_point(maker, other, received_ns, &(struct maker_point){EVENT_FLOW_END, 99, NULL});
    maker_pop(maker, other, received_ns + 1);
    maker_pop(maker, other, received_ns + 2);
    maker_finish(maker, 1000);
    return maker;
}

/* Independent of their duration: the link must have a target. */
TEST(flows_are_links_and_keep_their_ranges)
{
    struct span_counts counts;
    char *text = written(sends(500), "1s", &counts);
    char linked[33], sent[33];
    CHECK_INT(counts.spans, 4);
    CHECK_INT(counts.brief, 1);
    CHECK_INT(counts.flows, 0);
    CHECK_INT(count_of(text, "\"name\":\"other\""), 0);
    CHECK_INT(count_of(text, "\"links\":[{"), 1);
    const char *links = strstr(text, "\"links\":[{");
    snprintf(linked, sizeof(linked), "%.16s", strstr(links, "\"spanId\":\"") + 10);
    value_of(text, "send", "spanId", sent);
    CHECK_STR(linked, sent);
    free(text);
}

TEST(a_flow_that_arrives_before_it_leaves_is_no_link)
{
    struct span_counts counts;
    char *text = written(sends(5), "1s", &counts);
    CHECK_INT(count_of(text, "\"links\""), 0);
    CHECK_INT(counts.flows, 1);
    free(text);
}

TEST(marks_are_events_of_the_innermost_span_that_is_written)
{
    struct maker *maker = one_thread();
    struct span_counts counts;
    maker_mark(maker, 0, 1, "outside");
    maker_push(maker, 0, 10, "request");
    maker_push(maker, 0, 20, "parse");
    maker_mark(maker, 0, 25, "found");
    maker_value_int(maker, "rows", 12);
    maker_pop(maker, 0, 30);
    maker_push(maker, 0, 40, "store");
    maker_log(maker, 0, 45, "warning", "disk is slow");
    maker_pop(maker, 0, 40 + MS);
    maker_pop(maker, 0, 50 + MS);
    maker_finish(maker, 2 * MS);
    char *text = written(maker, NULL, &counts);
    const char *store = strstr(text, "\"name\":\"store\""), *slow = strstr(text, "disk is slow");
    const char *request = strstr(text, "\"name\":\"request\""), *found = strstr(text, "found");
    CHECK(store && slow && request && found && store < slow && slow < request && request < found);
    CHECK_INT(count_of(text, "{\"key\":\"severity\",\"value\":{\"stringValue\":\"warning\"}}"), 1);
    CHECK_INT(count_of(text, "{\"key\":\"rows\",\"value\":{\"intValue\":\"12\"}}"), 1);
    CHECK_INT(counts.marks, 1);
    free(text);
}

/* As in OpenTelemetry's libraries; memory does not grow with the content of an unfinished range. */
TEST(events_of_a_span_are_limited_and_the_rest_is_counted)
{
    struct maker *maker = one_thread();
    struct span_counts counts;
    maker_push(maker, 0, 10, "main");
    for (int i = 0; i < 1000; i++) {
        maker_push(maker, 0, 20 + i * 10, "step");
        maker_mark(maker, 0, 21 + i * 10, "mark");
        maker_pop(maker, 0, 22 + i * 10);
    }
    maker_pop(maker, 0, 2 * MS);
    maker_finish(maker, 3 * MS);
    char *text = written(maker, NULL, &counts);
    CHECK_INT(count_of(text, "\"name\":\"mark\""), 128);
    CHECK_INT(count_of(text, "\"droppedEventsCount\":872"), 1);
    CHECK_INT(counts.marks, 872);
    CHECK_INT(counts.brief, 1000);
    free(text);
}

TEST(an_exception_is_the_status_and_an_event)
{
    struct maker *maker = one_thread();
    maker_push(maker, 0, 10, "load");
    maker_value_int(maker, "payload", 1);
    maker_value_int(maker, "thread.id", 2);
    maker_pop(maker, 0, 20);
    maker_value_text(maker, "exception", "KeyError");
    maker_finish(maker, 100);
    char *text = written(maker, "0", NULL);
    CHECK_INT(count_of(text, "\"status\":{\"message\":\"KeyError\",\"code\":2}"), 1);
    CHECK_INT(count_of(text, "\"name\":\"exception\",\"attributes\":[{\"key\":\"exception.type\""),
              1);
    CHECK_INT(count_of(text, "\"key\":\"payload (2)\""),
              1); /* keys of annot are distinct from others */
    CHECK_INT(count_of(text, "\"key\":\"thread.id (2)\""), 1);
    CHECK_INT(count_of(text, "\"key\":\"exception\""), 0);
    free(text);
}

/* Names of a megabyte, and thousands of them: the excess of a span is counted. */
TEST(a_span_is_bounded)
{
    enum { LONG = 1 << 20 };

    struct maker *maker = one_thread();
    struct span_counts counts;
    char *name = malloc(LONG + 1);
    CHECK(name != NULL);
    memset(name, 'x', LONG);
    name[LONG] = 0;
    maker_push(maker, 0, 10, name);
    for (int i = 0; i < 200; i++)
        maker_value_text(maker, "key", i < 100 ? "short" : name);
    for (int i = 0; i < 100; i++)
        maker_mark(maker, 0, 20, name);
    maker_pop(maker, 0, 40);
    maker_finish(maker, 100);
    char *text = written(maker, "0", &counts);
    CHECK(strlen(text) < 4 * LONG);
    CHECK_INT(counts.values, 200);
    CHECK_INT(counts.marks, 100);
    CHECK_INT(count_of(text, "\"key\":\"key ("), 0); /* the name alone uses up the limit */
    CHECK_INT(count_of(text, "\"droppedAttributesCount\":200"), 1);
    CHECK_INT(count_of(text, "\"droppedEventsCount\":100"), 1);
    free(text);
    free(name);
}

TEST(attributes_of_a_span_are_limited)
{
    struct maker *maker = one_thread();
    maker_push(maker, 0, 10, "load");
    for (int i = 0; i < 200; i++)
        maker_value_int(maker, "key", i);
    maker_pop(maker, 0, 40);
    maker_finish(maker, 100);
    char *text = written(maker, "0", NULL);
    CHECK_INT(count_of(text, "\"key\":\"key\""), 1);
    CHECK_INT(count_of(text, "\"key\":\"key (128)\""), 1);
    CHECK_INT(count_of(text, "\"key\":\"key ("), 127);
    CHECK_INT(count_of(text, "\"droppedAttributesCount\":72"), 1);
    free(text);
}

TEST(a_gap_is_an_event)
{
    struct maker *maker = one_thread();
    maker_push(maker, 0, 10, "load");
    maker_lost(maker, 0, &(struct maker_gap){20, 30, 5, 1, LOSS_POOL_FULL});
    maker_pop(maker, 0, 40);
    maker_finish(maker, 100);
    char *text = written(maker, "0", NULL);
    CHECK_INT(count_of(text, "\"name\":\"lost 5: buffer full\""), 1);
    CHECK_INT(count_of(text, "{\"key\":\"lost\",\"value\":{\"intValue\":\"5\"}}"), 1);
    free(text);
}

TEST(a_process_is_a_resource)
{
    char *text = written(sends(500), "0", NULL);
    CHECK_INT(count_of(text, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"server\"}}"),
              2);
    CHECK_INT(count_of(text, "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"51\"}}"), 1);
    CHECK_INT(count_of(text, "\"stringValue\":\"./server --port 80\""), 1);
    CHECK_INT(count_of(text, "\n"), 1);
    free(text);
}

static int count_pieces(void *context, const void *bytes, size_t size)
{
    size_t *sizes = context;
    CHECK(size > 0 && ((const char *)bytes)[size - 1] == '\n');
    sizes[0]++;
    sizes[1] = size > sizes[1] ? size : sizes[1];
    return 0;
}

TEST(messages_are_handed_on_one_by_one)
{
    struct maker *maker = one_thread();
    size_t sizes[2] = {0};
    const struct out_taker taker = {count_pieces, sizes};
    const struct out_stream_options plain = {0};
    struct out_stream *out;
    for (int i = 0; i < 10000; i++) {
        maker_push(maker, 0, i * 2 * MS, "step");
        maker_pop(maker, 0, i * 2 * MS + MS);
    }
    maker_finish(maker, 20000 * MS);
    const struct pass_source source = maker_pass_source(maker);
    CHECK_INT(out_stream_pieces(&taker, &plain, &out), 0);
    const struct export_job job = {.source = &source, .out = out};
    CHECK_INT(export_run(exporter_by_name("otlp-json"), &job, NULL), 0);
    CHECK_INT(out_stream_close(out), 0);
    CHECK(sizes[0] > 2 && sizes[1] < 600000);
    maker_destroy(maker);
}
