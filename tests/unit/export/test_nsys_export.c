/* SPDX-License-Identifier: MIT */
/* Databases in the format of Nsight Systems, for cases missing from recordings of tests/viewers and
 * tests/gpu: names of any length and bytes, payloads, launches of several kernels, faults. */
#include "export.h"
#include "test.h"
#include "trace_maker.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct maker *maker;

static void begin(void)
{
    maker = maker_create();
    uint32_t process = maker_process(maker, 100, -1, "train", 0);
    maker_thread(maker, process, 100, "main");
}

static int run_export(struct out_stream *out)
{
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .out = out};
    maker_finish(maker, 100000);
    return export_run(exporter_by_name("nsys"), &job, NULL);
}

static sqlite3 *exported(void)
{
    struct out_stream *out = out_stream_memory();
    sqlite3 *database;
    size_t size;
    CHECK_INT(run_export(out), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    unsigned char *copy = sqlite3_malloc64(size);
    memcpy(copy, bytes, size);
    CHECK_INT(sqlite3_open(":memory:", &database), SQLITE_OK);
    CHECK_INT(sqlite3_deserialize(database, "main", copy, (int64_t)size, (int64_t)size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE),
              SQLITE_OK);
    out_stream_abandon(out);
    maker_destroy(maker);
    return database;
}

/* The first column of the first row; "" for NULL. Freed by the caller. */
static char *asked(sqlite3 *database, const char *sql)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) != SQLITE_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, sqlite3_errmsg(database));
    CHECK_INT(sqlite3_step(row), SQLITE_ROW);
    const char *text = (const char *)sqlite3_column_text(row, 0);
    char *copy = strdup(text ? text : "");
    sqlite3_finalize(row);
    return copy;
}

static void check(sqlite3 *database, const char *sql, const char *wanted)
{
    char *text = asked(database, sql);
    if (strcmp(text, wanted) != 0)
        test_fail(__FILE__, __LINE__, "%s: \"%.200s\", not \"%.200s\"", sql, text, wanted);
    free(text);
}

TEST(names_of_any_length_and_bytes_are_texts)
{
    enum { LONG_SIZE = 1 << 20 };

    char *large = malloc(LONG_SIZE + 1);
    memset(large, 'x', LONG_SIZE);
    large[LONG_SIZE] = '\0';
    begin();
    maker_push(maker, 0, 10, "it's \"quoted\"; DROP TABLE NVTX_EVENTS; --\n\x01");
    maker_push(maker, 0, 20, large);
    maker_pop(maker, 0, 30);
    maker_pop(maker, 0, 40);
    maker_event(maker, &(struct event){.kind = EVENT_PUSH, .time_ns = 50});
    maker_pop(maker, 0, 60);
    sqlite3 *database = exported();
    check(database, "SELECT text FROM NVTX_EVENTS WHERE start = 10",
          "it's \"quoted\"; DROP TABLE NVTX_EVENTS; --\n\x01");
    check(database, "SELECT value FROM NVTX_EVENTS JOIN StringIds ON id = textId", large);
    check(database, "SELECT text FROM NVTX_EVENTS WHERE start = 50", "(unnamed)");
    check(database, "SELECT globalTid FROM NVTX_EVENTS", "1677721700");
    sqlite3_close(database);
    free(large);
}

static void add_value(int64_t time, enum value_kind kind, union value value)
{
    maker_event(maker, &(struct event){.kind = EVENT_MARK,
                                       .time_ns = time,
                                       .name = maker_string(maker, "mark"),
                                       .scope = maker_scope(maker, "lib", "io"),
                                       .value_kind = (uint8_t)kind,
                                       .value = value,
                                       .color = 0xff8000ff,
                                       .flags = EVENT_HAS_COLOR});
}

TEST(rows_that_are_inserted_together_keep_their_own_columns)
{
    enum { ROWS = 1000 };

    begin();
    for (int i = 0; i < ROWS; i++) {
        maker_push(maker, 0, 100 * (int64_t)i, "work");
        maker_pop(maker, 0, 100 * (int64_t)i + 50);
        if (i % 3 == 0)
            add_value(100 * (int64_t)i + 60, VALUE_INT64, (union value){.int64 = i});
        if (i % 7 == 0)
            maker_value_int(maker, "number", i);
    }
    sqlite3 *database = exported();
    check(database, "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59", "1000");
    check(database,
          "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 59 AND end = start + 50 AND text = "
          "'work' AND int64Value IS NULL AND color IS NULL AND category IS NULL",
          "1000");
    check(database,
          "SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 34 AND end IS NULL AND start = 100 * "
          "int64Value + 60 AND color IS NOT NULL",
          "334");
    check(database, "SELECT count(*) FROM NVTX_EVENTS WHERE jsonText IS NOT NULL", "143");
    check(
        database,
        "SELECT count(*) FROM NVTX_EVENTS WHERE jsonText = '{\"number\":' || (start / 100) || '}'",
        "143");
    check(database, "SELECT sum(int64Value) FROM NVTX_EVENTS", "166833");
    sqlite3_close(database);
}

TEST(names_that_are_made_are_all_there)
{
    enum { THREADS = 300 };

    begin();
    for (int i = 1; i < THREADS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker %d", i);
        uint32_t thread = maker_thread(maker, 0, 100 + i, name);
        maker_mark(maker, thread, 10, "mark");
    }
    sqlite3 *database = exported();
    check(database,
          "SELECT count(*) FROM ThreadNames JOIN StringIds ON id = nameId WHERE value LIKE "
          "'worker ' || ((globalTid & 0xffffff) - 100) || '%'",
          "299");
    sqlite3_close(database);
}

TEST(payloads_have_their_columns_and_the_rest_is_json)
{
    begin();
    add_value(10, VALUE_INT64, (union value){.int64 = -7});
    add_value(20, VALUE_UINT64, (union value){.uint64 = 7});
    add_value(30, VALUE_DOUBLE, (union value){.float64 = 0.5});
    add_value(40, VALUE_UINT64, (union value){.uint64 = UINT64_MAX});
    maker_value_int(maker, "rows", 3);
    uint32_t track = maker_track(maker, 0, 77, "request", -1);
    maker_point(maker, 0, 50, &(struct maker_point){EVENT_TRACK_BEGIN, track, "GET"});
    maker_point(maker, 0, 60, &(struct maker_point){EVENT_TRACK_END, track, NULL});
    sqlite3 *database = exported();
    check(database, "SELECT int64Value FROM NVTX_EVENTS WHERE start = 10 AND eventType = 34", "-7");
    check(database, "SELECT uint64Value FROM NVTX_EVENTS WHERE start = 20", "7");
    check(database, "SELECT doubleValue FROM NVTX_EVENTS WHERE start = 30", "0.5");
    check(database, "SELECT jsonText FROM NVTX_EVENTS WHERE start = 40",
          "{\"payload\":\"18446744073709551615\",\"rows\":3}");
    check(database, "SELECT eventType || jsonText FROM NVTX_EVENTS WHERE start = 50",
          "60{\"track\":\"request\"}");
    check(database,
          "SELECT d.text || c.text || printf('%x', m.color) FROM NVTX_EVENTS m JOIN NVTX_EVENTS d "
          "ON d.eventType = 75 AND d.domainId = m.domainId JOIN NVTX_EVENTS c ON c.eventType = 33 "
          "AND c.category = m.category WHERE m.start = 10 AND m.eventType = 34",
          "libioff8000ff");
    sqlite3_close(database);
}

static void add_kernel(uint32_t lane, int64_t begin, int64_t origin)
{
    maker_event(maker,
                &(struct event){
                    .kind = EVENT_SPAN,
                    .time_ns = begin,
                    .end_ns = MAKER_BEGIN_NS + begin + 1000,
                    .lane = lane,
                    .origin_ns = MAKER_BEGIN_NS + origin,
                    .name = maker_string(maker, "void at::native::gemm<4, float>(float*, int)"),
                    .scope = maker_observed(maker, "kernel", OBSERVER_CUPTI, QUEUE_ROLE_KERNEL)});
    maker_value_text(maker, "grid", "64,8,1");
    maker_value_text(maker, "block", "256,,1"); /* not dimensions */
}

TEST(kernels_of_one_launch_have_one_call)
{
    begin();
    struct trace *trace = maker_trace(maker);
    uint32_t device = (uint32_t)trace_lane_of(trace, LANE_DEVICE, 0, 3);
    uint32_t stream = (uint32_t)trace_lane_of(trace, LANE_QUEUE, 0, UINT64_C(1) << 32 | 7);
    trace_lane(trace, device)->name = maker_string(maker, "GPU 3: H100");
    CHECK(trace_lane_set_parent(trace, stream, device));
    add_kernel(stream, 2000, 500);
    add_kernel(stream, 4000, 500);
    add_kernel(stream, 6000, 700);
    sqlite3 *database = exported();
    check(database, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME", "2");
    check(database,
          "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
          "USING (correlationId) WHERE r.start = 500 AND r.globalTid >> 24 << 24 = k.globalPid",
          "2");
    check(database,
          "SELECT deviceId || ' ' || contextId || ' ' || streamId || ' ' || gridX || ' ' || gridY "
          "|| ' ' || ifnull(blockX, 'none') FROM CUPTI_ACTIVITY_KIND_KERNEL",
          "3 1 7 64 8 none");
    check(database, "SELECT value FROM StringIds JOIN CUPTI_ACTIVITY_KIND_KERNEL ON id = shortName",
          "gemm");
    check(database, "SELECT name FROM TARGET_INFO_GPU", "H100");
    sqlite3_close(database);
}

TEST(a_file_that_may_not_grow_is_an_error)
{
    const struct rlimit limit = {8192, 8192};
    struct out_stream *out = out_stream_memory();
    char name[32];
    begin();
    for (int i = 0; i < 200000; i++) {
        snprintf(name, sizeof(name), "range %d", i);
        maker_push(maker, 0, 2 * i, name);
        maker_pop(maker, 0, 2 * i + 1);
    }
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_INT(run_export(out), -EFBIG);
    sigset_t pending;
    CHECK_INT(sigpending(&pending), 0);
    CHECK(!sigismember(&pending, SIGXFSZ));
    out_stream_abandon(out);
    maker_destroy(maker);
}
