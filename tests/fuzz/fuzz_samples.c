/* SPDX-License-Identifier: MIT */
/* Any samples for every output that accepts them: each is complete, begins and ends match, and the
 * weights of collapsed stacks and of a flame graph are those of the samples.
 *
 * Each sample is 8 bytes: kind, thread, stack, CPU, time step, duration, reason and flags, and one
 * that sometimes selects an extreme value. Threads, stacks and reasons may be unknown. */
#include "call_tree.h"
#include "export.h"
#include "flame_svg.h"
#include "made_sample.h"
#include "proto_text.h"
#include "stacks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, FRAMES = 12, STACKS = 24, SAMPLE_BYTES = 8, SAMPLES_MAX = 300 };

struct input {
    const uint8_t *at, *end;
    int64_t now;
    bool tame; /* no extremes so far */
    uint64_t cpu_ns, off_ns;
    struct sample sample;
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct trace *make_trace(void)
{
    struct trace *trace = trace_create();
    assert(trace && trace_string_add(trace, "f;\"<&\n", 6) == 1);
    struct stacks *stacks = trace_stacks(trace);
    for (uint32_t i = 0; i < THREADS; i++) {
        if (i % 2 == 0)
            trace_process(trace, (uint32_t)trace_process_add(trace))->pid = 70 + (int32_t)i;
        trace_thread(trace, (uint32_t)trace_thread_add(trace, i / 2))->tid = 70 + (int32_t)i;
    }
    assert(stacks_append_source(stacks, &(struct source){.path = 1}) > 0);
    assert(stacks_append_module(stacks, &(struct code_module){.path = 1}) > 0);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct label label = {.text = 1 + i % 3, /* some unknown */
                                    .source = i % 2,
                                    .module = i % 5,
                                    .kind = (uint8_t)(i % 7),
                                    .first_line = (int32_t)i};
        assert(stacks_append_label(stacks, &label) > 0);
        const struct frame frame = {.kind = (uint8_t)(i % 8),
                                    .label = i % (FRAMES + 2),
                                    .module = i % 5,
                                    .line = (int32_t)i,
                                    .address = i};
        assert(stacks_append_frame(stacks, &frame) > 0);
    }
    for (uint32_t i = 0; i < STACKS; i++) {
        const struct stack stack = {.parent = i ? i * 7 % i : 0, .frame = 1 + i % FRAMES};
        assert(stacks_append_stack(stacks, &stack) > 0);
    }
    trace_session(trace)->begin_ns = 1000000;
    trace_sampling(trace)->off_cpu = true;
    trace_sampling(trace)->rung = SAMPLING_BPF;
    return trace;
}

static void make_extreme(struct sample *sample, uint8_t which)
{
    static const int64_t times[] = {INT64_MIN, INT64_MAX, 0, -1};
    sample->time_ns = times[which & 3];
    sample->end_ns = times[which >> 4 & 3];
    *sample = sample->set == SAMPLE_SET_CPU ? made_cpu(*sample, INT64_MAX >> (which & 7))
                                            : made_wait(*sample, times[which >> 2 & 3]);
}

static int next_sample(void *context, const struct sample **ret_samples, uint32_t *ret_count)
{
    struct input *in = context;
    const uint8_t *bytes = in->at;
    if (in->end - bytes < SAMPLE_BYTES)
        return 0;
    in->now += (int8_t)bytes[4] < -100 ? -50 : bytes[4];
    struct sample *sample = &in->sample;
    *sample = (struct sample){.thread = bytes[1] % (THREADS + 1),
                              .stack = bytes[2] % (STACKS + 3),
                              .path = bytes[2] % 3,
                              .cpu = bytes[3] % 3,
                              .time_ns = in->now,
                              .reason = bytes[6] % 16,
                              .flags = bytes[6] >> 2};
    sample->end_ns = in->now + bytes[5];
    *sample = bytes[0] % 2 ? made_wait(*sample, bytes[7] & 1 ? in->now + bytes[5] / 2 : 0)
                           : made_cpu(*sample, bytes[5]);
    if (bytes[7] == 255) {
        make_extreme(sample, bytes[3]);
        in->tame = false;
    }
    if (sample->set == SAMPLE_SET_CPU)
        in->cpu_ns += sample_cpu_ns(NULL, sample);
    else
        in->off_ns += call_sample_weight_ns(NULL, sample);
    in->at += SAMPLE_BYTES;
    *ret_samples = sample;
    *ret_count = 1;
    return 1;
}

static struct input input_of(const uint8_t *bytes, size_t size)
{
    size_t most = (size_t)SAMPLE_BYTES * SAMPLES_MAX;
    return (struct input){
        .at = bytes, .end = bytes + (size < most ? size : most), .now = 2000000, .tame = true};
}

static uint64_t count_of(const char *text, const char *part)
{
    uint64_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static int next_batch(void *context, struct sample_batch *ret_batch)
{
    ret_batch->settled_ns = INT64_MIN;
    return next_sample(context, &ret_batch->samples, &ret_batch->count);
}

static int no_events(void *context, struct event_batch *ret_batch)
{
    (void)context;
    (void)ret_batch;
    return 0;
}

/* The export as text, malloc'd, and the input with its read position. */
static char *export_text(const char *format, struct trace *trace, struct input *in)
{
    struct out_stream *out = out_stream_memory();
    const struct export_options options = {.scheduler = true, .by = "thread"};
    const struct pass_source source = {
        .trace = trace, .next_events = no_events, .next_samples = next_batch, .context = in};
    const struct export_job job = {.source = &source, .options = &options, .out = out};
    size_t size;
    assert(out && export_run(exporter_by_name(format), &job, NULL) == 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strcmp(format, "perfetto") == 0 ? perfetto_text(bytes, size)
                                                 : strndup((const char *)bytes, size);
    assert(text);
    out_stream_abandon(out);
    return text;
}

static void check_traces(struct trace *trace, struct input in)
{
    struct input again = in;
    char *text = export_text("perfetto", trace, &in);
    assert(!strchr(text, '!'));
    assert(count_of(text, "track_event {type 1") == count_of(text, "track_event {type 2"));
    free(text);
    text = export_text("chrome", trace, &again);
    assert(count_of(text, "\"ph\":\"B\"") == count_of(text, "\"ph\":\"E\""));
    free(text);
}

static void check_folded(struct trace *trace, struct input in)
{
    char *text = export_text("folded", trace, &in);
    uint64_t sum_us = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *newline = strchr(line, '\n');
        assert(newline);
        const char *blank = newline ? memrchr(line, ' ', (size_t)(newline - line)) : NULL;
        assert(blank && blank > line);
        sum_us += strtoull(blank + 1, NULL, 10);
    }
    assert(!in.tame || sum_us == (in.cpu_ns + 500) / 1000);
    free(text);
}

static void check_flame(const struct trace *trace, struct input in)
{
    const struct call_tree_options tree_options = {
        .groups = in.at < in.end ? *in.at & 7 : 0,
        .frames = (enum frame_choice)(in.at < in.end ? *in.at >> 3 & 3 : FRAMES_ALL),
        .node_limit = 20};
    struct call_tree *tree = call_tree_create(trace, &tree_options);
    const struct flame_options options = {.measure = "time", .piece = "sample"};
    struct flame_counts counts;
    struct out_stream *out = out_stream_memory();
    const struct sample *sample;
    uint32_t count;
    size_t size;
    assert(tree && out);
    while (next_sample(&in, &sample, &count) > 0)
        assert(call_tree_add(tree, sample) == 0);
    assert(call_tree_finish(tree) == 0);
    assert(call_tree_node(tree, 0)->total_ns == in.cpu_ns + in.off_ns);
    assert(flame_svg_write(trace, tree, &options, out, &counts) == 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = strndup((const char *)bytes, size);
    assert(text && count_of(text, "<g ") == count_of(text, "</g>"));
    assert(strcmp(text + strlen(text) - 7, "</svg>\n") == 0);
    free(text);
    out_stream_abandon(out);
    call_tree_destroy(tree);
}

/* Checks that the other outputs are complete. */
static void check_others(struct trace *trace, const uint8_t *bytes, size_t size)
{
    static const char *const formats[] = {"speedscope", "firefox", "dot",   "csv", "jsonl",
                                          "pprof",      "parquet", "arrow", "ctf", "nsys"};
    size_t count = sizeof(formats) / sizeof(*formats) - (size % 8 != 0); /* the last is slow */
    for (size_t i = 0; i < count; i++) {
        struct input in = input_of(bytes, size);
        const struct export_options options = {.table = "samples"};
        struct out_stream *out = out_stream_memory();
        const struct pass_source source = {
            .trace = trace, .next_events = no_events, .next_samples = next_batch, .context = &in};
        const struct export_job job = {.source = &source, .options = &options, .out = out};
        size_t length;
        int error = out ? export_run(exporter_by_name(formats[i]), &job, NULL) : -ENOMEM;
        assert(error == 0 || (error == -ENOSYS && i == 7)); /* built without SQLite */
        assert(out_stream_memory_bytes(out, &length) && (length > 0 || i == 4 || error));
        out_stream_abandon(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct trace *trace = make_trace();
    check_traces(trace, input_of(bytes, size));
    check_folded(trace, input_of(bytes, size));
    check_flame(trace, input_of(bytes, size));
    check_others(trace, bytes, size);
    trace_destroy(trace);
    return 0;
}
