/* SPDX-License-Identifier: MIT */
/* GPU work in exports, for cases missing from the recorded scenes (tests/gpu/fake): driver calls,
 * several processes, overlapping work on a stream, marks on a device. */
#include "export.h"
#include "proto_text.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

static struct maker *maker;

static uint32_t scope_of(enum queue_role role, const char *category)
{
    return maker_observed(maker, category, OBSERVER_CUPTI, role);
}

static uint32_t lane_of(enum lane_kind kind, uint32_t process, uint64_t id, const char *name)
{
    struct trace *trace = maker_trace(maker);
    uint32_t lane = (uint32_t)trace_lane_of(trace, kind, process, id);
    trace_lane(trace, lane)->name = maker_string(maker, name);
    return lane;
}

/* A process with a thread and stream 7 of its device 0. Returns the lane. */
static uint32_t begin_process(int32_t pid)
{
    uint32_t process = maker_process(maker, pid, -1, "train", 0);
    uint32_t thread = maker_thread(maker, process, pid, "main");
    uint32_t device = lane_of(LANE_DEVICE, process, 0, "GPU 0: H100");
    uint32_t stream = lane_of(LANE_QUEUE, process, UINT64_C(1) << 32 | 7, "stream 7");
    CHECK(trace_lane_set_parent(maker_trace(maker), stream, device));
    trace_thread(maker_trace(maker), thread)->probed = true;
    return stream;
}

static void add(uint32_t thread, uint32_t lane, enum queue_role role, int64_t begin)
{
    bool call = role == QUEUE_ROLE_CALL;
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = begin,
                                       .end_ns = MAKER_BEGIN_NS + begin + 1000,
                                       .lane = lane,
                                       .origin_ns = call ? EVENT_NO_ORIGIN : MAKER_BEGIN_NS + 1500,
                                       .name = maker_string(maker, call ? "cudaLaunch" : "gemm"),
                                       .scope = scope_of(role, call ? "call" : "kernel")});
    maker_value_int(maker, "correlation", 5);
}

static void add_kernel(uint32_t thread, uint32_t lane, int64_t origin, int64_t begin, int64_t end)
{
    maker_event(maker, &(struct event){.kind = EVENT_SPAN,
                                       .thread = thread,
                                       .time_ns = begin,
                                       .end_ns = MAKER_BEGIN_NS + end,
                                       .lane = lane,
                                       .origin_ns = MAKER_BEGIN_NS + origin,
                                       .name = maker_string(maker, "gemm"),
                                       .scope = scope_of(QUEUE_ROLE_KERNEL, "kernel")});
}

static void begin(void)
{
    maker = maker_create();
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t stream = begin_process(100 + (int32_t)i);
        maker_push(maker, i, 500, "step");
        maker_pop(maker, i, 3000);
        add(i, EVENT_OWN_LANE, QUEUE_ROLE_CALL, 1000);
        add(i, stream, QUEUE_ROLE_KERNEL, 4000);
        maker_value_text(maker, "grid", "4,2,1");
        maker_value_int(maker, "occupancy [%]", 50);
        add(i, stream, QUEUE_ROLE_KERNEL, 4500); /* a second node of the same launch */
        maker_value_text(maker, "grid", "4,,1");
    }
}

static char *exported(const char *format, const struct export_options *options)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .options = options, .out = out};
    bool perfetto = strcmp(format, "perfetto") == 0;
    size_t size;
    maker_finish(maker, 10000);
    CHECK_INT(export_run(exporter_by_name(format), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto ? perfetto_text(bytes, size) : strndup((const char *)bytes, size);
    out_stream_abandon(out);
    maker_destroy(maker);
    return text;
}

static void check_has(const char *text, const char *part, unsigned count)
{
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        found++;
    if (found != count)
        test_fail(__FILE__, __LINE__, "%s is there %u times, not %u, in %s", part, found, count,
                  text);
}

TEST(devices_of_processes_are_apart_and_so_is_what_overlaps)
{
    begin();
    char *text = exported("chrome", NULL);
    check_has(text, "\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"GPU 0: H100\"}", 1);
    check_has(text, "\"name\":\"gemm\",\"pid\":0,\"tid\":7,", 1);
    check_has(text, "\"name\":\"gemm\"", 4);
    check_has(text, "{\"name\":\"stream 7 (2)\"}", 2);
    check_has(text, "\"args\":{\"device\":0,\"context\":1,\"stream\":7,", 4);
    check_has(text, ",\"deviceProperties\":[{\"id\":0,\"name\":\"H100\"},{\"id\":0", 1);
    free(text);
}

TEST(calls_and_what_they_led_to_have_one_number)
{
    begin();
    char *text = exported("chrome", NULL);
    check_has(text, "\"name\":\"cudaLaunch\",\"pid\":100", 1);
    check_has(text, "\"cat\":\"cuda_runtime\",\"args\":{\"correlation\":5}", 1);
    check_has(text, "\"cat\":\"cuda_runtime\",\"args\":{\"correlation\":4294967301}", 1);
    check_has(text, "\"correlation\":5,\"grid\":[4,2,1],\"est. achieved occupancy %\":50", 1);
    check_has(text, "\"correlation\":4294967301,", 2);
    check_has(text, "\"grid\":\"4,,1\"", 2); /* not dimensions, so unchanged */
    check_has(text, "{\"ph\":\"i\",\"name\":\"launch\"", 2);
    check_has(text, "{\"ph\":\"s\",\"name\":\"ac2g\"", 4);
    check_has(text, "\"cat\":\"ac2g\",\"id\":5,\"bp\":\"e\"}", 1);
    check_has(text, "\"cat\":\"user_annotation\"", 2);
    check_has(text, "\"launched in\":\"step\"", 4);
    free(text);
}

TEST(a_launch_whose_call_is_not_there_is_one_itself)
{
    begin();
    uint32_t stream = begin_process(102);
    add(2, stream, QUEUE_ROLE_KERNEL, 4000);
    char *text = exported("chrome", NULL);
    check_has(text, "{\"ph\":\"X\",\"name\":\"launch\",\"pid\":102", 1);
    check_has(text, "\"dur\":0.000,\"cat\":\"cuda_runtime\",\"args\":{\"correlation\":8589934597}",
              1);
    check_has(text, "{\"ph\":\"i\",\"name\":\"launch\"", 2);
    free(text);
}

/* Two steps of an epoch on thread 0; work of thread 1 overlaps with both on stream 7. */
static void begin_steps(void)
{
    maker = maker_create();
    uint32_t stream = begin_process(100);
    uint32_t other = lane_of(LANE_QUEUE, 0, UINT64_C(1) << 32 | 9, "stream 9");
    CHECK(trace_lane_set_parent(maker_trace(maker), other, 0));
    maker_thread(maker, 0, 101, "loader");
    maker_push(maker, 0, 100, "epoch");
    maker_push(maker, 0, 500, "step");
    maker_push(maker, 1, 500, "load");
    maker_pop(maker, 0, 2500);
    maker_push(maker, 0, 2500, "step");
    maker_push(maker, 0, 2600, "idle");
    maker_pop(maker, 0, 2700);
    maker_pop(maker, 0, 3500);
    maker_pop(maker, 1, 4000);
    add_kernel(0, stream, 2500, 5000, 6000); /* a range includes its first instant */
    add_kernel(0, stream, 600, 4000, 5000);
    add_kernel(0, other, 700, 4100, 4600);
    add_kernel(1, stream, 1000, 4500, 4700);
    add_kernel(1, stream, 1100, 6500, 6600);
    maker_pop(maker, 0, 9000);
    add_kernel(0, stream, 3600, 7000, 8000);
    add_kernel(0, stream, 9000, 9100, 9500); /* outside: a range excludes its last instant */
}

/* Checks an annotation in the row `tid`. */
static void check_annotation(const char *text, const char *name, int tid, const char *times)
{
    char part[256];
    snprintf(part, sizeof(part),
             "\"name\":\"%s\",\"pid\":0,\"tid\":%d,%s,\"cat\":\"gpu_user_annotation\",", name, tid,
             times);
    check_has(text, part, 1);
}

TEST(ranges_lie_on_streams_from_the_first_kernel_to_the_last)
{
    begin_steps();
    char *text = exported("chrome", NULL);
    check_has(text, "\"cat\":\"gpu_user_annotation\",\"args\":{\"device\":0,\"start_tid\":100}", 5);
    check_has(text, "\"cat\":\"gpu_user_annotation\",\"args\":{\"device\":0,\"start_tid\":101}", 1);
    check_annotation(text, "epoch", 10000001, "\"ts\":1000004.000,\"dur\":4.000");
    check_annotation(text, "step", 10000001, "\"ts\":1000004.000,\"dur\":1.000");
    check_annotation(text, "step", 10000001, "\"ts\":1000005.000,\"dur\":1.000");
    check_annotation(text, "load", 10000002, "\"ts\":1000004.500,\"dur\":2.100");
    check_annotation(text, "epoch", 10000003, "\"ts\":1000004.100,\"dur\":0.500");
    check_annotation(text, "step", 10000003, "\"ts\":1000004.100,\"dur\":0.500");
    check_has(text, "{\"name\":\"stream 7: ranges\"}", 1);
    check_has(text, "{\"name\":\"stream 7: ranges (2)\"}", 1);
    check_has(text, "{\"name\":\"stream 9: ranges\"}", 1);
    CHECK(strstr(text, "\"epoch\",\"pid\":0,\"tid\":10000003") <
          strstr(text, "\"step\",\"pid\":0,\"tid\":10000003"));
    free(text);
}

TEST(a_mark_says_what_a_device_is)
{
    begin();
    maker_event(maker, &(struct event){.kind = EVENT_MARK,
                                       .thread = 0,
                                       .time_ns = 5000,
                                       .name = maker_string(maker, "GPU 0: H100"),
                                       .scope = scope_of(QUEUE_ROLE_NONE, "device")});
    maker_value_int(maker, "device", 0);
    maker_value_text(maker, "compute capability", "9.0");
    maker_value_int(maker, "multiprocessors", 132);
    char *text = exported("chrome", NULL);
    check_has(text,
              "{\"id\":0,\"name\":\"H100\",\"computeMajor\":9,\"computeMinor\":0,\"numSms\":132}",
              1);
    free(text);
}

TEST(the_rank_is_the_one_that_was_asked_for)
{
    const struct export_options options = {.rank = "3", .world_size = "8"};
    begin();
    char *text = exported("chrome", &options);
    check_has(text, "\n\"distributedInfo\": {\n\"rank\": 3,\n\"world_size\": 8\n},", 1);
    free(text);
}

TEST(one_launch_has_an_arrow_to_each_of_its_kernels)
{
    begin();
    char *text = exported("perfetto", NULL);
    check_has(text, "name \"launch\"", 2);
    check_has(text, "name \"launched in\" string \"step\"", 4);
    free(text);
}
