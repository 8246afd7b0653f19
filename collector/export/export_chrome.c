/* SPDX-License-Identifier: MIT */
/* The Chrome trace event format (JSON), for ui.perfetto.dev, chrome://tracing and many others.
 *
 * A pushed range is one complete event ("X"). Readers nest those by time and, where begin and end
 * are equal, by their place in the file: a range that begins together with the one around it is
 * therefore held until that one is written. Ranges that may overlap are "b"/"e" pairs, each with
 * an id of its own. Gaps lie on a thread of their own, "NAME: lost", because a complete event that
 * overlaps another would be dropped; a gap that would is an instant there. JSON has no NaN and no
 * infinity: such counter values are left out and counted in otherData. Thread-safety: none. */
#include "chrome_writer.h"
#include "export.h"
#include "vec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HELD_MAX = 1 << 20 }; /* events of all threads; more go out unsorted */

struct held {
    struct event begin;
    int64_t end_ns;
    uint32_t flags, depth;
};

struct thread_state {
    VEC(struct held) held;
    uint32_t lost_tid; /* 0: no gap yet */
    int64_t lost_begin_ns, lost_end_ns;
};

struct state {
    struct chrome_writer writer;
    struct export_ids ids;
    struct thread_state *threads;
    uint64_t next_range_id;
    uint64_t left_out; /* counter values */
    size_t held_count;
};

/* ---- Names and order ------------------------------------------------------------------------- */

static void begin_metadata(struct state *s, const char *name, uint32_t pid, uint32_t tid)
{
    chrome_begin_text(&s->writer, 'M', name);
    chrome_number(&s->writer, "pid", pid);
    chrome_number(&s->writer, "tid", tid);
}

static void put_metadata(struct state *s, const char *name, uint32_t pid, uint32_t tid,
                         const struct fact *argument)
{
    begin_metadata(s, name, pid, tid);
    chrome_argument(&s->writer, argument);
    chrome_end(&s->writer);
}

static struct fact text_fact(const char *name, const char *text)
{
    return (struct fact){.name = name, .kind = VALUE_STRING, .text = text};
}

static struct fact count_fact(const char *name, uint64_t count)
{
    return (struct fact){.name = name, .kind = VALUE_UINT64, .value = {.uint64 = count}};
}

static void describe_process(struct state *s, uint32_t process)
{
    const struct trace *trace = s->writer.trace;
    uint32_t pid = s->ids.pids[process];
    char label[EXPORT_LABEL_SIZE], notes[8 * EXPORT_NOTE_SIZE];
    size_t used = 0, length;
    struct fact fact = text_fact("name", label);
    trace_process_label(trace, process, label, sizeof(label));
    put_metadata(s, "process_name", pid, pid, &fact);
    fact = count_fact("sort_index", s->ids.process_rank[process]);
    put_metadata(s, "process_sort_index", pid, pid, &fact);
    for (unsigned i = 0; i < 6; i++) {
        char note[EXPORT_NOTE_SIZE];
        length = export_process_note(&s->ids, trace, process, i, note);
        if (!length)
            break;
        used += (size_t)snprintf(notes + used, sizeof(notes) - used, "%s%s", i ? ", " : "", note);
    }
    fact = text_fact("labels", notes);
    if (used)
        put_metadata(s, "process_labels", pid, pid, &fact);
}

static uint32_t pid_of(const struct state *s, uint32_t thread)
{
    uint32_t process = trace_thread_get(s->writer.trace, thread)->process;
    bool known = process < trace_process_count(s->writer.trace);
    return known ? s->ids.pids[process] : s->ids.tids[thread];
}

static void describe_thread(struct state *s, uint32_t thread, uint32_t tid, const char *suffix)
{
    char label[EXPORT_LABEL_SIZE + 8];
    size_t length = export_thread_label(&s->ids, s->writer.trace, thread, label);
    snprintf(label + length, sizeof(label) - length, "%s", suffix);
    struct fact fact = text_fact("name", label);
    put_metadata(s, "thread_name", pid_of(s, thread), tid, &fact);
    fact = count_fact("sort_index", 2ull * s->ids.thread_rank[thread] + (suffix[0] ? 1 : 0));
    put_metadata(s, "thread_sort_index", pid_of(s, thread), tid, &fact);
}

static int begin(void *state, const struct trace *trace, struct out_stream *out)
{
    struct state *s = state;
    int error = export_ids_init(&s->ids, trace);
    if (error || chrome_writer_init(&s->writer, trace, &s->ids, out) < 0)
        return -ENOMEM;
    s->threads = calloc(s->writer.thread_count + 1u, sizeof(*s->threads));
    if (!s->threads)
        return -ENOMEM;
    out_text(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        describe_process(s, s->ids.order[i]);
    for (uint32_t i = 0; i < s->writer.thread_count; i++)
        describe_thread(s, i, s->ids.tids[i], "");
    return 0;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void put_flags(struct state *s, uint32_t flags)
{
    struct fact fact = {.kind = VALUE_BOOL, .value = {.uint64 = 1}};
    if (flags & SLICE_UNFINISHED) {
        fact.name = "unfinished";
        chrome_argument(&s->writer, &fact);
    }
    if (flags & SLICE_END_LOST) {
        fact.name = "end_lost";
        chrome_argument(&s->writer, &fact);
    }
}

static void put_range(struct state *s, const struct event *event, int64_t end_ns, uint32_t flags)
{
    bool attributes = event->value_kind | event->domain | event->category | event->level |
                      event->has_color | flags;
    if (!attributes) {
        chrome_plain_range(&s->writer, event, end_ns);
        return;
    }
    chrome_begin(&s->writer, 'X', event->name);
    chrome_place(&s->writer, event->thread, event->time_ns);
    chrome_micros(&s->writer, "dur", end_ns - event->time_ns);
    chrome_attributes(&s->writer, event);
    put_flags(s, flags);
    chrome_end(&s->writer);
}

static int hold(struct state *s, const struct slice *slice)
{
    struct held held = {*slice->begin, slice->end_ns, slice->flags, slice->depth};
    s->held_count++;
    return vec_push(&s->threads[slice->begin->thread].held, held);
}

/* Writes what was held inside a range that is written now, outer ranges first. All of it begins
 * with that range, so two held ranges of the same depth are one after the other already. */
static void release(struct state *s, struct thread_state *thread, uint32_t depth)
{
    size_t first = thread->held.count;
    uint32_t deepest = 0;
    while (first > 0 && thread->held.items[first - 1].depth > depth) {
        const struct held *held = &thread->held.items[--first];
        deepest = held->depth > deepest ? held->depth : deepest;
    }
    for (uint32_t level = depth + 1; level <= deepest; level++) {
        for (size_t i = first; i < thread->held.count; i++) {
            const struct held *held = &thread->held.items[i];
            if (held->depth == level)
                put_range(s, &held->begin, held->end_ns, held->flags);
        }
    }
    s->held_count -= thread->held.count - first;
    thread->held.count = first;
}

static int on_pushed(void *context, const struct slice *slice)
{
    struct state *s = context;
    const struct event *begin = slice->begin;
    if (begin->thread >= s->writer.thread_count)
        return 0;
    bool tied = slice->depth > 0 && slice->parents[slice->depth - 1]->time_ns == begin->time_ns;
    if (tied && s->held_count < HELD_MAX)
        return hold(s, slice);
    put_range(s, begin, slice->end_ns, slice->flags);
    struct thread_state *thread = &s->threads[begin->thread];
    if (thread->held.count > 0)
        release(s, thread, slice->depth);
    return 0;
}

static void put_async(struct state *s, char phase, const struct slice *slice, int64_t time_ns)
{
    uint32_t category = chrome_category(slice->begin);
    chrome_begin(&s->writer, phase, slice->begin->name);
    chrome_place(&s->writer, slice->begin->thread, time_ns);
    if (category)
        chrome_string(&s->writer, "cat", category);
    else
        chrome_text(&s->writer, "cat", "range");
    char id[48];
    snprintf(id, sizeof(id), ",\"id2\":{\"local\":\"0x%llx\"}",
             (unsigned long long)s->next_range_id);
    out_text(s->writer.out, id);
}

static int on_started(void *context, const struct slice *slice)
{
    struct state *s = context;
    const struct event *begin = slice->begin;
    if (begin->thread >= s->writer.thread_count)
        return 0;
    s->next_range_id++;
    put_async(s, 'b', slice, begin->time_ns);
    chrome_attributes(&s->writer, begin);
    struct fact fact = count_fact("start_tid", s->ids.tids[begin->thread]);
    chrome_argument(&s->writer, &fact);
    chrome_end(&s->writer);
    put_async(s, 'e', slice, slice->end_ns);
    put_flags(s, slice->flags);
    bool elsewhere = slice->flags == 0 && slice->end_thread != begin->thread;
    if (elsewhere && slice->end_thread < s->writer.thread_count) {
        fact = count_fact("end_tid", s->ids.tids[slice->end_thread]);
        chrome_argument(&s->writer, &fact);
    }
    chrome_end(&s->writer);
    return 0;
}

/* ---- Marks, counters, gaps ------------------------------------------------------------------- */

static int on_mark(void *context, const struct event *event)
{
    struct state *s = context;
    if (event->thread >= s->writer.thread_count)
        return 0;
    chrome_begin(&s->writer, 'i', event->name);
    chrome_place(&s->writer, event->thread, event->time_ns);
    chrome_text(&s->writer, "s", "t");
    chrome_attributes(&s->writer, event);
    chrome_end(&s->writer);
    return 0;
}

static int on_counter(void *context, const struct event *event)
{
    struct state *s = context;
    char label[EXPORT_LABEL_SIZE];
    if (event->thread >= s->writer.thread_count)
        return 0;
    if (event->value_kind == VALUE_DOUBLE && !isfinite(event->value.float64)) {
        s->left_out++;
        return 0;
    }
    export_counter_label(s->writer.trace, event, label, sizeof(label));
    struct fact fact = {.name = "value", .kind = event->value_kind, .value = event->value};
    if (event->value_kind == VALUE_BOOL)
        fact = count_fact("value", event->value.uint64 != 0);
    if (event->value_kind == VALUE_UINT64 && event->value.uint64 > INT64_MAX) {
        fact.kind = VALUE_DOUBLE;
        fact.value.float64 = (double)event->value.uint64;
    }
    chrome_begin_text(&s->writer, 'C', label);
    chrome_place(&s->writer, event->thread, event->time_ns);
    chrome_argument(&s->writer, &fact);
    chrome_end(&s->writer);
    return 0;
}

static int on_lost(void *context, const struct event *event)
{
    struct state *s = context;
    if (event->thread >= s->writer.thread_count)
        return 0;
    struct thread_state *thread = &s->threads[event->thread];
    if (thread->lost_tid == 0) {
        thread->lost_tid = s->ids.next_synthetic++;
        thread->lost_end_ns = INT64_MIN;
        describe_thread(s, event->thread, thread->lost_tid, ": lost");
    }
    bool inside = event->time_ns >= thread->lost_begin_ns && event->end_ns <= thread->lost_end_ns;
    bool overlaps = event->time_ns < thread->lost_end_ns && !inside;
    char label[EXPORT_NOTE_SIZE];
    export_lost_label(event, label);
    chrome_begin_text(&s->writer, overlaps ? 'i' : 'X', label);
    chrome_number(&s->writer, "pid", pid_of(s, event->thread));
    chrome_number(&s->writer, "tid", thread->lost_tid);
    chrome_micros(&s->writer, "ts", event->time_ns - s->writer.origin_ns);
    if (overlaps)
        chrome_text(&s->writer, "s", "t");
    else
        chrome_micros(&s->writer, "dur", event->end_ns - event->time_ns);
    struct fact fact = count_fact("lost", event->value.uint64);
    chrome_argument(&s->writer, &fact);
    chrome_end(&s->writer);
    if (!overlaps) {
        thread->lost_begin_ns = event->time_ns;
        thread->lost_end_ns = event->end_ns;
    }
    return 0;
}

static struct slice_sink sink(void *state)
{
    return (struct slice_sink){
        .pushed = on_pushed,
        .started = on_started,
        .mark = on_mark,
        .counter = on_counter,
        .lost = on_lost,
        .context = state,
    };
}

/* ---- The end --------------------------------------------------------------------------------- */

static void put_session_fact(void *context, const struct fact *fact)
{
    struct state *s = context;
    out_text(s->writer.out, s->writer.any_argument ? ",\n" : "\n");
    s->writer.any_argument = true;
    chrome_fact(&s->writer, fact);
}

static int end(void *state)
{
    struct state *s = state;
    out_text(s->writer.out, "\n],\"otherData\":{");
    s->writer.any_argument = false;
    session_facts(s->writer.trace, put_session_fact, s);
    struct fact fact = count_fact("begin_monotonic_ns", (uint64_t)s->writer.origin_ns);
    put_session_fact(s, &fact);
    fact = count_fact("counter_values_left_out", s->left_out);
    if (s->left_out)
        put_session_fact(s, &fact);
    out_text(s->writer.out, "\n}}\n");
    return 0;
}

static void destroy(void *state)
{
    struct state *s = state;
    for (uint32_t i = 0; s->threads && i < s->writer.thread_count; i++)
        vec_free(&s->threads[i].held);
    free(s->threads);
    chrome_writer_fini(&s->writer);
    export_ids_fini(&s->ids);
}

extern const struct exporter export_chrome;
const struct exporter export_chrome = {
    .name = "chrome",
    .extension = ".json",
    .summary = "Chrome trace events (JSON), for chrome://tracing and many viewers",
    .state_size = sizeof(struct state),
    .begin = begin,
    .sink = sink,
    .end = end,
    .destroy = destroy,
};
