/* SPDX-License-Identifier: MIT */
/* Recordings of several hosts read as one: events have the right time, different processes are kept
 * separate, and equal names are unified. */
#include "reader.h"
#include "sample_events.h"
#include "stacks.h"
#include "store.h"
#include "test.h"
#include "trace_devices.h"
#include "volumes.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVENTS = 2000, SPAN_NS = 1000000 };

#define OFFSET_NS INT64_C(-987654321012)
#define DRIFT     40e-6
#define BEGIN_NS  INT64_C(5000000000000)

static char *path_of(const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", test_directory(), name);
    return path;
}

/* The time on the second host's clock when the first one's is `time_ns`. */
static int64_t on_second(int64_t time_ns)
{
    int64_t begin_ns = BEGIN_NS - OFFSET_NS;
    return begin_ns + (int64_t)((double)(time_ns - BEGIN_NS) / (1 + DRIFT));
}

static uint32_t string(struct trace *trace, const char *text)
{
    return (uint32_t)trace_string_add(trace, text, strlen(text));
}

/* A device of the process, with the counters on its thread: at one place on both hosts. */
static void add_device(struct trace *trace)
{
    uint32_t place = string(trace, "0000:1a:00.0");
    uint32_t lane = (uint32_t)trace_lane_of(trace, LANE_DEVICE, 0, 3);
    uint32_t used = (uint32_t)trace_device_add(trace), counted = (uint32_t)trace_device_add(trace);
    trace_device(trace, used)->lane = lane + 1;
    trace_device(trace, used)->place = place;
    trace_device(trace, counted)->thread = 1;
    trace_device(trace, counted)->place = place;
    trace_device(trace, counted)->name = string(trace, "GPU 0");
}

/* A process 100 with a thread 100 that pushes "work" and counts, every SPAN_NS. */
static struct trace *make_trace(unsigned host, unsigned strings_before)
{
    struct trace *trace = trace_create();
    char text[32];
    for (unsigned i = 0; i < strings_before; i++) {
        snprintf(text, sizeof(text), "only on %u: %u", host, i);
        string(trace, text);
    }
    trace_host_add(trace);
    memset(trace_host(trace, 0)->boot_id, (int)host + 1, 16);
    trace_host(trace, 0)->name = string(trace, host ? "second" : "first");
    trace_process_add(trace);
    trace_process(trace, 0)->pid = 100;
    trace_process(trace, 0)->start_ns = host ? on_second(BEGIN_NS) : BEGIN_NS;
    trace_thread_add(trace, 0);
    trace_thread(trace, 0)->tid = 100;
    trace_sampling(trace)->off_cpu = host == 0;
    trace_sampling(trace)->revision++;
    trace_session(trace)->command = string(trace, host ? "sleep 1" : "sleep 10");
    trace_session(trace)->processors = host ? 4 : 2;
    CHECK_INT(trace_fact_set(trace, FACT_COUNT, TRACE_FACT_USED_MS, 100), 0);
    CHECK_INT(trace_fact_set(trace, FACT_COUNT, "counted", 100), 0);
    trace_session(trace)->begin_ns = host ? on_second(BEGIN_NS) : BEGIN_NS;
    add_device(trace);
    return trace;
}

static void write_host(const char *path, unsigned host, unsigned strings_before)
{
    struct trace *trace = make_trace(host, strings_before);
    uint32_t work = string(trace, "work"), key = string(trace, "key"),
             value = string(trace, host ? "second value" : "first value");
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true};
    const struct arg args[] = {{key, VALUE_STRING, {.string = value}}};
    CHECK_INT(store_writer_create(path, trace, &options, &writer), 0);
    for (int i = 0; i < EVENTS; i++) {
        int64_t now_ns = BEGIN_NS + (int64_t)i * SPAN_NS;
        struct event event = {.kind = i % 2 ? EVENT_POP : EVENT_PUSH,
                              .name = i % 2 ? 0 : work,
                              .arg_count = i % 2 == 0,
                              .time_ns = host ? on_second(now_ns) : now_ns};
        struct event_batch batch = {.count = 1, .events = &event, .args = args};
        CHECK_INT(store_writer_add(writer, &batch), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

static char first_name[] = "first.annot", second_name[] = "second.annot";

static void write_manifest(const char *path)
{
    struct store_part parts[] = {
        {first_name, {0}},
        {second_name,
         {.offset_ns = OFFSET_NS,
          .since_ns = on_second(BEGIN_NS),
          .error_ns = 5000,
          .drift = DRIFT}},
    };
    const struct store_manifest manifest = {parts, 2, 2};
    CHECK_INT(store_manifest_write(path, &manifest, true), 0);
}

static struct store_reader *open_both(void)
{
    char first[512], second[512], manifest[512];
    struct store_reader *reader;
    write_host(path_of(first_name, first), 0, 3);
    write_host(path_of(second_name, second), 1, 50);
    write_manifest(path_of("both.annot", manifest));
    CHECK_INT(store_reader_open(manifest, &reader), 0);
    return reader;
}

TEST(another_hosts_events_come_at_the_right_time)
{
    struct store_reader *reader = open_both();
    struct trace *trace = store_reader_trace(reader);
    struct event_batch batch;
    int next[2] = {0};
    int64_t settled_ns = INT64_MIN;
    CHECK_INT(trace_process_count(trace), 2);
    CHECK_INT(trace_thread_count(trace), 2);
    CHECK_INT(trace_host_count(trace), 2);
    CHECK_INT(trace_process_get(trace, 1)->host, 1);
    CHECK_INT(trace_host_get(trace, 1)->error_ns, 5000);
    int64_t start_ns = trace_process_get(trace, 1)->start_ns;
    CHECK(start_ns >= BEGIN_NS - 5000 && start_ns <= BEGIN_NS + 5000);
    while (store_reader_next(reader, &batch) == 1) {
        const struct event *event = batch.events;
        int64_t expected_ns = BEGIN_NS + (int64_t)next[batch.thread]++ * SPAN_NS;
        CHECK_INT(event->thread, batch.thread);
        CHECK(event->time_ns >= expected_ns - 5000 && event->time_ns <= expected_ns + 5000);
        CHECK(event->time_ns >= settled_ns);
        settled_ns = batch.settled_ns;
        if (event->kind != EVENT_PUSH)
            continue;
        const struct arg *arg = event_args(&batch, event).items;
        CHECK_STR(trace_string(trace, event->name)->bytes, "work");
        CHECK_STR(trace_string(trace, arg->key)->bytes, "key");
        CHECK_STR(trace_string(trace, arg->value.string)->bytes,
                  batch.thread ? "second value" : "first value");
    }
    CHECK_INT(next[0], EVENTS);
    CHECK_INT(next[1], EVENTS);
    store_reader_close(reader);
}

TEST(a_device_of_one_host_is_none_of_another)
{
    struct store_reader *reader = open_both();
    const struct trace *trace = store_reader_trace(reader);
    CHECK_INT(trace_device_count(trace), 4);
    for (uint32_t host = 0; host < 2; host++) {
        uint32_t lane = trace_device_next_lane(trace, host, 0);
        CHECK_INT(trace_lane_get(trace, lane - 1)->process, host);
        CHECK_INT(trace_device_next_lane(trace, host, lane), 0);
    }
    store_reader_close(reader);
}

TEST(what_is_called_the_same_is_one_name)
{
    struct store_reader *reader = open_both();
    struct event_batch batch;
    uint32_t name = 0;
    while (store_reader_next(reader, &batch) == 1)
        if (batch.events->kind == EVENT_PUSH) {
            CHECK(name == 0 || name == batch.events->name);
            name = batch.events->name;
        }
    CHECK(name != 0);
    store_reader_close(reader);
}

/* Runs must stay in order on both hosts: the command of the later one is appended. */
TEST(a_command_that_another_begins_with_is_named_too)
{
    struct store_reader *reader = open_both();
    const struct trace *trace = store_reader_trace(reader);
    CHECK_STR(trace_string(trace, trace_session_get(trace)->command)->bytes, "sleep 10; sleep 1");
    store_reader_close(reader);
}

/* The third part is from the first host. */
TEST(processors_of_hosts_add_up_and_recordings_of_one_share_them)
{
    char first[512], second[512], again[512], manifest[512], again_name[] = "again.annot";
    struct store_reader *reader;
    write_host(path_of(first_name, first), 0, 3);
    write_host(path_of(second_name, second), 1, 50);
    write_host(path_of(again_name, again), 0, 7);
    struct store_part parts[] = {{first_name, {0}},
                                 {second_name, {.offset_ns = OFFSET_NS, .error_ns = 5000}},
                                 {again_name, {0}}};
    const struct store_manifest whole = {parts, 3, 2};
    CHECK_INT(store_manifest_write(path_of("three.annot", manifest), &whole, true), 0);
    CHECK_INT(store_reader_open(manifest, &reader), 0);
    CHECK_INT(trace_host_count(store_reader_trace(reader)), 2);
    CHECK_INT(trace_session_get(store_reader_trace(reader))->processors, 6);
    store_reader_close(reader);
}

/* It is unknown whether they ran concurrently, and what happened in between. */
TEST(what_all_programs_used_is_not_known_of_several_recordings)
{
    struct store_reader *reader = open_both();
    CHECK_INT(trace_fact_value(store_reader_trace(reader), TRACE_FACT_USED_MS), 0);
    CHECK_INT(trace_fact_value(store_reader_trace(reader), "counted"), 200);
    store_reader_close(reader);
}

static int has_note(const struct trace *trace, const char *begins)
{
    int found = 0;
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const char *name = trace_string(trace, trace_fact_get(trace, i)->name)->bytes;
        found += strncmp(name, begins, strlen(begins)) == 0;
    }
    return found;
}

TEST(a_merge_says_that_only_some_have_stretches_off_the_cpu)
{
    struct store_reader *reader = open_both();
    CHECK_INT(has_note(store_reader_trace(reader),
                       "Not all recordings of the merge have stretches off the CPU"),
              1);
    store_reader_close(reader);
}

/* ---- One process in several recordings ------------------------------------------------------- */

/* A recording of process 100 of the first host, by a collector with or without sampling. */
struct witness {
    char name[16];
    uint64_t session;
    bool samples;
    int64_t first_ns, last_ns;
};

static void write_witness(const struct witness *witness)
{
    struct trace *trace = make_trace(0, 0);
    struct store_writer *writer;
    char path[512];
    const struct store_writer_options options = {.overwrite = true};
    trace_session(trace)->id = witness->session;
    trace_sampling(trace)->rung = witness->samples ? SAMPLING_BPF : SAMPLING_OFF;
    trace_thread(trace, 0)->first_ns = witness->first_ns;
    trace_thread(trace, 0)->last_ns = witness->last_ns;
    CHECK_INT(store_writer_create(path_of(witness->name, path), trace, &options, &writer), 0);
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

static struct store_twice find_twice(struct witness *first, struct witness *second)
{
    char manifest[512];
    struct store_part parts[] = {{first->name, {0}}, {second->name, {0}}};
    struct store_reader *reader;
    struct store_twice twice;
    write_witness(first);
    write_witness(second);
    CHECK_INT(store_manifest_write(path_of("both.annot", manifest),
                                   &(struct store_manifest){parts, 2, 2}, true),
              0);
    CHECK_INT(store_reader_open(manifest, &reader), 0);
    store_reader_twice(reader, &twice);
    CHECK_INT(has_note(store_reader_trace(reader), "Process 100"), twice.count);
    store_reader_close(reader);
    return twice;
}

TEST(a_process_that_two_collectors_sampled_at_once_is_told)
{
    struct witness first = {"a", 1, true, BEGIN_NS, BEGIN_NS + 100};
    struct witness second = {"b", 2, true, BEGIN_NS + 50, BEGIN_NS + 200};
    struct store_twice twice = find_twice(&first, &second);
    CHECK_INT(twice.count, 1);
    CHECK(!twice.one_session);
    CHECK_INT(twice.part, 0);
    CHECK_INT(twice.other, 1);
    second.samples = false; /* one has the events, the other one the samples */
    CHECK_INT(find_twice(&first, &second).count, 0);
}

/* The sampling of the merge of one recording for each. */
static struct trace_sampling join_samplings(const struct trace_sampling samplings[2])
{
    char names[][2] = {"a", "b"}, path[512];
    const struct store_writer_options options = {.overwrite = true};
    struct store_part parts[] = {{names[0], {0}}, {names[1], {0}}};
    struct store_reader *reader;
    for (int i = 0; i < 2; i++) {
        struct trace *trace = make_trace(0, 0);
        struct store_writer *writer;
        trace_session(trace)->id = (uint64_t)i + 1;
        *trace_sampling(trace) = samplings[i];
        trace_sampling(trace)->revision = 1;
        CHECK_INT(store_writer_create(path_of(names[i], path), trace, &options, &writer), 0);
        CHECK_INT(store_writer_close(writer), 0);
        trace_destroy(trace);
    }
    const struct store_manifest manifest = {parts, 2, 2};
    CHECK_INT(store_manifest_write(path_of("both.annot", path), &manifest, true), 0);
    CHECK_INT(store_reader_open(path, &reader), 0);
    const struct trace_sampling joined = *trace_sampling_get(store_reader_trace(reader));
    store_reader_close(reader);
    return joined;
}

static void check_joined(const struct trace_sampling *a, const struct trace_sampling *b,
                         const char *text)
{
    for (int turn = 0; turn < 2; turn++) { /* in both orders */
        const struct trace_sampling both[] = {turn ? *b : *a, turn ? *a : *b};
        const struct trace_sampling joined = join_samplings(both);
        char buffer[SAMPLING_RATE_SIZE];
        CHECK_STR(sampling_rate_text(&joined, buffer), text);
        CHECK_INT(joined.rung, SAMPLING_BPF);
        CHECK_INT(joined.off_cpu, a->off_cpu || b->off_cpu);
    }
}

TEST(a_merge_has_the_rates_of_all)
{
    const struct trace_sampling slowed = {.rung = SAMPLING_BPF,
                                          .off_cpu = true,
                                          .off_cpu_threshold_ns = 1000000,
                                          .frequency_hz = 99,
                                          .first_hz = 499,
                                          .slowed = true};
    const struct trace_sampling brief = {.rung = SAMPLING_BPF, .frequency_hz = 99, .first_hz = 499};
    const struct trace_sampling steady = {.rung = SAMPLING_BPF, .frequency_hz = 997};
    const struct trace_sampling remote = {.rung = SAMPLING_REMOTE, .frequency_hz = 20};
    const struct trace_sampling none = {.rung = SAMPLING_NONE, .frequency_hz = 5000};
    check_joined(&slowed, &slowed, "499 Hz, then 99 Hz");
    check_joined(&slowed, &brief, "499 Hz, then 99 Hz");
    check_joined(&brief, &brief, "499 Hz");
    check_joined(&steady, &steady, "997 Hz");
    check_joined(&slowed, &steady, "99 Hz to 997 Hz");
    check_joined(&steady, &remote, "20 Hz to 997 Hz");
    check_joined(&slowed, &remote, "20 Hz to 499 Hz");
    check_joined(&steady, &none, "997 Hz");
    const struct trace_sampling imported = {0};
    check_joined(&slowed, &imported, "499 Hz, then 99 Hz");
}

TEST(a_process_counts_once_in_recordings_of_different_times)
{
    struct witness first = {"a", 1, true, BEGIN_NS, BEGIN_NS + 100};
    struct witness second = {"b", 2, true, BEGIN_NS + 101, BEGIN_NS + 200};
    CHECK_INT(find_twice(&first, &second).count, 0);
    second.session = 1; /* snapshots, one after the other */
    CHECK_INT(find_twice(&first, &second).count, 0);
}

TEST(the_same_time_of_one_session_is_told_without_samples_too)
{
    struct witness first = {"a", 1, false, BEGIN_NS, BEGIN_NS + 100};
    struct witness second = {"b", 1, false, BEGIN_NS + 50, BEGIN_NS + 200};
    struct store_twice twice = find_twice(&first, &second);
    CHECK_INT(twice.count, 1);
    CHECK(twice.one_session);
}

TEST(hosts_are_read_side_by_side)
{
    struct store_reader *reader = open_both(), *again;
    struct event_batch batch;
    uint64_t count = 0;
    CHECK_INT(store_reader_again(reader, &again), 0);
    while (store_reader_next(again, &batch) == 1)
        count += batch.count;
    CHECK_INT(count, 2 * EVENTS);
    store_reader_close(again);
    CHECK_INT(store_reader_rewind(reader), 0);
    for (count = 0; store_reader_next(reader, &batch) == 1;)
        count += batch.count;
    CHECK_INT(count, 2 * EVENTS);
    CHECK_INT(store_reader_damage_count(reader), 0);
    store_reader_close(reader);
}

/* ---- Code at one address --------------------------------------------------------------------- */

enum { CODES = 4, ADDRESS = 4096 };

/* A native file without a build-id, one with a build-id, the kernel, code generated at run time. */
static uint32_t code_frame(struct trace *trace, int code, const char *name)
{
    struct stacks *stacks = trace_stacks(trace);
    struct code_module module = {.path = string(trace, "/lib/libx.so"), .kind = MODULE_ELF};
    module.build_id_size = code == 1 ? sizeof(module.build_id) : 0;
    static const uint8_t kinds[CODES] = {FRAME_NATIVE, FRAME_NATIVE, FRAME_KERNEL, FRAME_JIT};
    struct frame frame = {.kind = kinds[code], .address = ADDRESS};
    frame.module = code < 2 ? (uint32_t)stacks_module(stacks, &module) : 0;
    const struct label like = {.kind = frame.kind, .module = frame.module};
    frame.label = name ? (uint32_t)trace_label_add(trace, &like, name) : 0;
    return (uint32_t)stacks_frame(stacks, &frame);
}

/* Writes one sample in each. */
static void write_code(const char *path, unsigned host, const char *const names[CODES])
{
    struct trace *trace = make_trace(host, 0);
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true};
    CHECK_INT(store_writer_create(path, trace, &options, &writer), 0);
    for (int i = 0; i < CODES; i++) {
        uint32_t frame = code_frame(trace, i, names[i]);
        struct sample sample = {.set = SAMPLE_SET_CPU, SAMPLE_VALUES(1)};
        sample.time_ns = BEGIN_NS + i;
        sample.stack = (uint32_t)stacks_push(trace_stacks(trace), 0, frame);
        CHECK_INT(store_writer_add_samples(writer, &sample, 1), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

static void check_code(const char *const names[2][CODES], const char *const expected[2][CODES])
{
    char first[512], second[512], manifest[512];
    struct store_reader *reader;
    write_code(path_of(first_name, first), 0, names[0]);
    write_code(path_of(second_name, second), 1, names[1]);
    struct store_part parts[] = {{first_name, {0}}, {second_name, {.error_ns = 1}}};
    CHECK_INT(store_manifest_write(path_of("both.annot", manifest),
                                   &(struct store_manifest){parts, 2, 2}, true),
              0);
    CHECK_INT(store_reader_open(manifest, &reader), 0);
    const struct trace *trace = store_reader_trace(reader);
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct sample *samples;
    uint32_t count, next[2] = {0};
    while (store_reader_next_samples(reader, &samples, &count) == 1)
        for (uint32_t i = 0; i < count; i++) {
            uint32_t thread = samples[i].thread;
            const struct stack *stack = stacks_get_stack(stacks, samples[i].stack);
            const struct label *label = stacks_label_of(stacks, stack->frame);
            CHECK_STR(trace_string(trace, label->text)->bytes, expected[thread][next[thread]++]);
        }
    CHECK_INT(next[0] + next[1], 2 * CODES);
    store_reader_close(reader);
}

TEST(code_at_one_address_keeps_the_name_that_its_own_recording_gave_it)
{
    static const char *const names[2][CODES] = {{"old", "same", "schedule", "f"},
                                                {"new", "same", "fork", "g"}};
    check_code(names, names);
}

TEST(only_code_of_the_same_build_has_its_name_from_another_recording)
{
    static const char *const named[CODES] = {"old", "same", "schedule", "f"},
                             *const shown[CODES] = {"libx.so+0x1000", "same", "[kernel]",
                                                    "[anonymous code]"};
    for (int first = 0; first < 2; first++) {
        const char *names[2][CODES] = {{0}}, *expected[2][CODES];
        memcpy(names[first], named, sizeof(named));
        memcpy(expected[first], named, sizeof(named));
        memcpy(expected[!first], shown, sizeof(shown));
        check_code((const char *const(*)[CODES])names, (const char *const(*)[CODES])expected);
    }
}

/* ---- Calls: names of labels ------------------------------------------------------------------ */

/* A call of "run" in each file, its begin and end, and a range with that name. */
static void write_calls(const char *path, unsigned host, const char *const files[2])
{
    struct trace *trace = make_trace(host, 0);
    struct store_writer *writer;
    const struct store_writer_options options = {.overwrite = true};
    uint32_t run = string(trace, "run"), names[3] = {run};
    for (int i = 0; i < 2; i++)
        names[i + 1] = (uint32_t)trace_label_name(
            trace, (uint32_t)trace_python_label(trace, run, string(trace, files[i]), 3));
    CHECK_INT(store_writer_create(path, trace, &options, &writer), 0);
    for (int i = 0; i < 6; i++) {
        struct event event = {.time_ns = BEGIN_NS + i, .kind = i % 2 ? EVENT_POP : EVENT_PUSH};
        event.name = i % 2 ? 0 : names[i / 2];
        event.flags = event.name ? EVENT_CONTINUES : 0;
        CHECK_INT(store_writer_add(writer, &(struct event_batch){.count = 1, .events = &event}), 0);
    }
    CHECK_INT(store_writer_close(writer), 0);
    trace_destroy(trace);
}

TEST(calls_of_one_function_are_one_name_and_no_other)
{
    static const char *const files[2][2] = {{"a.py", "b.py"}, {"b.py", "c.py"}};
    char first[512], second[512], manifest[512];
    struct store_part parts[] = {{first_name, {0}}, {second_name, {.error_ns = 1}}};
    struct store_reader *reader;
    struct event_batch batch;
    uint32_t names[2][3] = {{0}}, next[2] = {0};
    write_calls(path_of(first_name, first), 0, files[0]);
    write_calls(path_of(second_name, second), 1, files[1]);
    CHECK_INT(store_manifest_write(path_of("both.annot", manifest),
                                   &(struct store_manifest){parts, 2, 2}, true),
              0);
    CHECK_INT(store_reader_open(manifest, &reader), 0);
    const struct trace *trace = store_reader_trace(reader);
    while (store_reader_next(reader, &batch) == 1) {
        CHECK_INT(batch.events->flags, batch.events->kind == EVENT_PUSH ? EVENT_CONTINUES : 0);
        if (batch.events->kind == EVENT_PUSH)
            names[batch.thread][next[batch.thread]++] = batch.events->name;
    }
    for (int host = 0; host < 2; host++)
        for (int i = 0; i < 3; i++) {
            uint32_t label = trace_name_label(trace, names[host][i]);
            const struct label *of = stacks_get_label(trace_stacks_get(trace), label);
            const struct source *source = stacks_get_source(trace_stacks_get(trace), of->source);
            CHECK_STR(trace_string(trace, names[host][i])->bytes, "run");
            CHECK_STR(trace_string(trace, source->path)->bytes, i ? files[host][i - 1] : "");
        }
    CHECK_INT(names[0][0], names[1][0]);
    CHECK_INT(names[0][2], names[1][1]);
    CHECK(names[0][1] != names[0][2] && names[1][1] != names[1][2]);
    store_reader_close(reader);
}

TEST(a_missing_part_is_an_error)
{
    char path[512];
    struct store_reader *reader = open_both();
    store_reader_close(reader);
    CHECK_INT(unlink(path_of(second_name, path)), 0);
    CHECK_INT(store_reader_open(path_of("both.annot", path), &reader), -ENOENT);
}

TEST(a_damaged_part_is_damage_with_its_name)
{
    char path[512], part[512];
    struct store_reader *reader = open_both();
    store_reader_close(reader);
    CHECK_INT(truncate(path_of(second_name, part), 600), 0);
    CHECK_INT(store_reader_open(path_of("both.annot", path), &reader), 0);
    CHECK_INT(store_reader_damage_count(reader), 2);
    CHECK_STR(store_reader_damage(reader, 0)->path, part);
    store_reader_close(reader);
}

TEST(malformed_manifests_are_refused)
{
    static const char *const wrong[] = {
        "",
        "annot manifest 1\n",
        "annot manifest 2\noffset_ns=0 error_ns=0 drift_ppt=0 since_ns=0 path=x\n",
        "annot manifest 1\noffset_ns=0 error_ns=0 drift_ppt=0 since_ns=0 path=x",
        "annot manifest 1\noffset_ns=0 error_ns=0 drift_ppt=0 since_ns=0 path=\n",
        "annot manifest 1\noffset_ns=0 error_ns=-1 drift_ppt=0 since_ns=0 path=x\n",
        "annot manifest 1\noffset_ns=0 error_ns=0 drift_ppt=1000000001 since_ns=0 path=x\n",
        ("annot manifest 1\noffset_ns=9223372036854775807 error_ns=0 drift_ppt=0 since_ns=0 "
         "path=x\n"),
        "annot manifest 1\noffset_ns= error_ns=0 drift_ppt=0 since_ns=0 path=x\n",
        "annot manifest 1\npath=x\n",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct store_manifest manifest;
        CHECK_INT(store_manifest_parse(wrong[i], strlen(wrong[i]), &manifest), -EBADMSG);
        store_manifest_free(&manifest);
    }
}
