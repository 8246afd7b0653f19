/* SPDX-License-Identifier: MIT */
/* The recording of hostile_trace.h: for each text, 1 ms with a range of that name that contains
 * another range, a mark, a counter, an overlapping range and one on a track; a sample of a function
 * with that name and one of native code, a stretch off the CPU, and counted calls. */
#include "hostile_trace.h"

#include "made_sample.h"

#include <stdlib.h>
#include <string.h>

enum { PART_NS = 1000000, LONG = 1 << 20, THREAD = 0 };

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const struct {
    const char *bytes;
    size_t size;
} texts[] = {
    TEXT("quote \" back \\ slash / apostrophe '"),
    TEXT("\\"),
    TEXT("nul \0 inside"),
    TEXT("\x01\x02\x08\x1b[2J\x1f\x7f"),
    TEXT("tab\tnew\nline\r\nvertical\vform\f"),
    TEXT("c1 \xc2\x85 \xc2\x9b[31m end"),
    TEXT("lines \xe2\x80\xa8 \xe2\x80\xa9 end"),
    TEXT("no UTF-8 \xff\xfe \x80 end"),
    TEXT("half \xe2\x82"),
    TEXT("surrogates \xed\xa0\x80 \xed\xbf\xbf end"),
    TEXT("too long \xc0\xaf, too high \xf4\x90\x80\x80 end"),
    TEXT("no characters \xef\xbf\xbe \xef\xbf\xbf end"),
    TEXT("right to left \xe2\x80\xae end"),
    TEXT("\xf0\x9f\x90\x8d beyond 16 bits"),
    TEXT("<img src=x onerror=alert(1)>&amp;</script>]]>"),
    TEXT("a;b,c|d{e}<f>=g [1] 7"),
    TEXT("%s%n%%"),
    TEXT("=1+1"),
    TEXT(" blanks "),
    TEXT("(3) fn=(1)"),
    TEXT("{\"ph\":\"X\"},[null"),
    TEXT("\xef\xbb\xbf mark of an order"),
};

enum { TEXTS = sizeof(texts) / sizeof(*texts) };

/* The text as readers of recordings return it. */
static const char *text_of(struct maker *maker, uint32_t index)
{
    struct trace *trace = maker_trace(maker);
    int64_t string = trace_string_add(trace, texts[index].bytes, texts[index].size);
    if (string < 0)
        abort();
    return trace_string(trace, (uint32_t)string)->bytes;
}

static void make_events(struct maker *maker, int64_t begin, const char *text, uint32_t index)
{
    uint32_t track = maker_track(maker, 0, index + 1, text, -1);
    struct event event = {.kind = EVENT_PUSH, .thread = THREAD, .time_ns = begin};
    event.name = maker_string(maker, text);
    event.scope = maker_scope(maker, text, text);
    maker_event(maker, &event);
    maker_value_text(maker, text, text);
    maker_push(maker, THREAD, begin + 1000, text);
    maker_mark(maker, THREAD, begin + 2000, text);
    maker_value_text(maker, text, text);
    maker_counter(maker, THREAD, begin + 3000, text, index);
    maker_unit(maker, text, text);
    maker_start(maker, THREAD, begin + 4000, text, index + 1);
    maker_point(maker, THREAD, begin + 5000, &(struct maker_point){EVENT_TRACK_BEGIN, track, text});
    maker_point(maker, THREAD, begin + 6000, &(struct maker_point){EVENT_TRACK_END, track, NULL});
    maker_end(maker, THREAD, begin + 7000, index + 1);
    maker_pop(maker, THREAD, begin + PART_NS - 2000);
    maker_pop(maker, THREAD, begin + PART_NS - 1000);
}

struct sets {
    uint16_t own, calls;
};

static uint16_t add_set(struct maker *maker, const char *name, struct sample_set set)
{
    int64_t added;
    set.name = maker_string(maker, name);
    added = sample_sets_add(trace_sets(maker_trace(maker)), &set);
    if (added < 0)
        abort();
    return (uint16_t)added;
}

static struct sets make_sets(struct maker *maker)
{
    const char *quote = text_of(maker, 0), *controls = text_of(maker, 4);
    const struct value_type type = {maker_string(maker, controls), maker_string(maker, quote),
                                    VALUE_SUM_ADDS};
    int64_t added = value_types_add(trace_sets(maker_trace(maker)), &type);
    const struct sample_set own = {.count = 1, .types = {(uint16_t)added}};
    const struct sample_set calls = {.flags = SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                     .count = 2,
                                     .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    return (struct sets){add_set(maker, quote, own), add_set(maker, "calls", calls)};
}

static void add_sample(struct maker *maker, struct sample sample)
{
    sample.thread = THREAD;
    sample.native_end = sample.python_end = STACK_COMPLETE;
    maker_sample(maker, &sample);
}

static void make_samples(struct maker *maker, const struct sets *sets, int64_t begin,
                         const char *text)
{
    static const int64_t one = 1;
    const struct maker_frame python = {FRAME_PYTHON, text, text, NULL, 7, 7, 0};
    const struct maker_frame native = {FRAME_NATIVE, text, NULL, text, 0, 0, 4096};
    uint32_t caller = maker_stack(maker, 0, &python), leaf = maker_stack(maker, caller, &native);
    uint32_t path = maker_path(maker, maker_path(maker, 0, text), text);
    struct sample sample = {.time_ns = begin + 100000, .stack = leaf, .path = path};
    add_sample(maker, made_cpu(sample, 100000));
    sample.time_ns += 100000;
    sample.stack = caller;
    add_sample(maker, made_cpu(sample, 100000));
    sample.time_ns += 100000;
    sample.end_ns = sample.time_ns + 200000;
    sample.reason = WAIT_DISK;
    add_sample(maker, made_wait(sample, 0));
    sample = (struct sample){.set = sets->own,
                             .time_ns = begin + 600000,
                             .stack = leaf,
                             .path = path,
                             .value_count = 1,
                             .values = &one};
    add_sample(maker, sample);
    sample.set = sets->calls;
    sample.end_ns = begin + 700000;
    sample.value_count = 2;
    sample.values = (const int64_t[]){3, 5000};
    add_sample(maker, sample);
}

struct maker *hostile_trace_create(void)
{
    struct maker *maker = maker_create();
    struct sets sets = make_sets(maker);
    char *longest = malloc(LONG + 1);
    if (!longest)
        abort();
    memset(longest, 'n', LONG);
    memcpy(longest + LONG - 3, "\"\\\n", 4);
    maker_process(maker, 4000, -1, text_of(maker, 0), 0);
    maker_thread(maker, 0, 4000, text_of(maker, 4));
    *trace_sampling(maker_trace(maker)) = (struct trace_sampling){
        .revision = 1, .rung = SAMPLING_BPF, .off_cpu = true, .frequency_hz = 1000};
    for (uint32_t i = 0; i <= TEXTS; i++) {
        const char *text = i < TEXTS ? text_of(maker, i) : longest;
        int64_t begin = (int64_t)i * PART_NS;
        uint32_t process =
            maker_process(maker, 4001 + (int32_t)i, 0, text, (int64_t)i * PART_NS / 1000);
        maker_thread(maker, process, 4001 + (int32_t)i, i < TEXTS ? text : "longest");
        make_events(maker, begin, text, i);
        make_samples(maker, &sets, begin, text);
    }
    maker_finish(maker, (int64_t)(TEXTS + 1) * PART_NS);
    trace_session(maker_trace(maker))->command = maker_string(maker, text_of(maker, 0));
    free(longest);
    return maker;
}
