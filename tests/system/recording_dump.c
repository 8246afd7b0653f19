/* SPDX-License-Identifier: MIT */
/* Prints a recording as JSON lines: the view of the store's reader, without exporter or report.
 *
 * recording_dump [--no-events] [--samples] FILE. For tests that need every event or exact counts.
 * The id of an event on a track is the track's ordinal; key-values are rows after their event's.
 * Samples name their stacks and range paths by number; each is printed once, root first. One
 * thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pass.h"
#include "reader.h"
#include "stacks.h"
#include "store.h"

static void print_string(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_string *string = trace_string(trace, ordinal);
    putchar('"');
    for (uint32_t i = 0; i < string->length; i++) {
        unsigned char c = (unsigned char)string->bytes[i];
        if (c < 0x20 || c == '"' || c == '\\')
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_text(const struct trace *trace, const char *key, uint32_t ordinal)
{
    printf(",\"%s\":", key);
    print_string(trace, ordinal);
}

static void print_counts(const char *key, const uint64_t *counts, unsigned count)
{
    printf(",\"%s\":[", key);
    for (unsigned i = 0; i < count; i++)
        printf("%s%" PRIu64, i ? "," : "", counts[i]);
    putchar(']');
}

static void print_session(const struct trace *trace, const struct store_info *info)
{
    const struct trace_session *session = trace_session_get(trace);
    printf("{\"row\":\"session\",\"complete\":%s,\"recovered\":%s,\"begin\":%" PRId64
           ",\"end\":%" PRId64 ",\"status\":%d,\"peak_bytes\":%" PRIu64 ",\"events\":%" PRIu64
           ",\"file_bytes\":%" PRIu64,
           info->complete ? "true" : "false", session->recovered ? "true" : "false",
           session->begin_ns, session->end_ns, session->command_status, session->peak_bytes,
           info->event_count, info->file_bytes);
    print_text(trace, "command", session->command);
    print_text(trace, "clock", session->clock);
    print_text(trace, "nested", session->nested);
    puts("}");
}

static void print_process(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    char label[128];
    trace_process_end_label(trace, ordinal, label, sizeof(label));
    printf("{\"row\":\"process\",\"ordinal\":%u,\"pid\":%d,\"ppid\":%d,\"parent\":%d,\"start\":"
           "%" PRId64 ",\"end\":%" PRId64 ",\"how\":%d,\"how_value\":%d,\"peak_bytes\":%" PRIu64
           ",\"events\":%" PRIu64 ",\"how_text\":\"%s\"",
           ordinal, process->pid, process->ppid, process->parent, process->start_ns,
           process->end_ns, process->end, process->end_value, process->peak_bytes,
           process->event_count, label);
    print_counts("lost", process->lost, LOSS_COUNT);
    print_counts("misuse", process->misuse, MISUSE_COUNT);
    print_text(trace, "name", process->name);
    print_text(trace, "comm", process->comm);
    print_text(trace, "cmdline", process->cmdline);
    print_text(trace, "note", process->note);
    printf(",\"note_thread\":%d,\"note_time\":%" PRId64, (int)process->note_thread - 1,
           process->note_ns);
    puts("}");
}

static void print_thread(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    printf("{\"row\":\"thread\",\"ordinal\":%u,\"process\":%u,\"tid\":%d,\"events\":%" PRIu64,
           ordinal, thread->process, thread->tid, thread->event_count);
    print_counts("lost", thread->lost, LOSS_COUNT);
    print_text(trace, "name", thread->name);
    puts("}");
}

static void print_track(const struct trace *trace, uint32_t ordinal)
{
    const struct trace_lane *track = trace_lane_get(trace, ordinal);
    printf("{\"row\":\"track\",\"ordinal\":%u,\"process\":%u,\"id\":%" PRIu64 ",\"parent\":%d",
           ordinal, track->process, track->id, (int)track->parent - 1);
    print_text(trace, "name", track->name);
    puts("}");
}

static void print_unit(const struct trace *trace, uint32_t index)
{
    const struct trace_unit *unit = trace_unit_get(trace, index);
    printf("{\"row\":\"unit\"");
    print_text(trace, "counter", unit->counter);
    print_text(trace, "domain", unit->domain);
    print_text(trace, "unit", unit->unit);
    puts("}");
}

static void print_value(const struct trace *trace, const struct event *event)
{
    switch (event->value_kind) {
    case VALUE_INT64:
        printf(",\"value\":%" PRId64, event->value.int64);
        break;
    case VALUE_UINT64:
    case VALUE_BOOL:
        printf(",\"value\":%" PRIu64, event->value.uint64);
        break;
    case VALUE_DOUBLE: /* as bits: JSON has no infinities, and rounding is avoided */
        printf(",\"value\":%" PRIu64, event->value.uint64);
        break;
    case VALUE_STRING:
        print_text(trace, "value", event->value.string);
        break;
    default:
        break;
    }
}

static void print_event(const struct trace *trace, const struct event *event)
{
    static const char *const kinds[EVENT_KINDS] = {
        "payload",     "push",      "pop",        "start",        "end",       "mark",
        "counter",     "lost",      "edge",       "flow_begin",   "flow_step", "flow_end",
        "track_begin", "track_end", "track_mark", "track_hidden", "span"};
    const char *kind = kinds[event->kind];
    printf("{\"row\":\"event\",\"kind\":\"%s\",\"thread\":%u,\"time\":%" PRId64
           ",\"level\":%u,\"value_kind\":%u,\"id\":%" PRIu64,
           kind, event->thread, event->time_ns, event->level, event->value_kind,
           event_has_lane(event->kind) ? event->lane : event->id);
    if (event->flags & EVENT_HAS_COLOR)
        printf(",\"color\":%u", event->color);
    print_text(trace, "name", event->name);
    print_text(trace, "domain", trace_scope_domain(trace, event->scope));
    print_text(trace, "category", trace_scope_category(trace, event->scope));
    printf(",\"observer\":%u", trace_scope(trace, event->scope)->observer);
    print_value(trace, event);
    puts("}");
}

/* After their event, as separate rows. */
static void print_args(const struct trace *trace, const struct event_batch *batch,
                       const struct event *event)
{
    const struct args args = event_args(batch, event);
    for (uint32_t i = 0; i < args.count; i++) {
        const struct arg *arg = &args.items[i];
        print_event(trace, &(struct event){.thread = event->thread,
                                           .time_ns = event->time_ns,
                                           .name = arg->key,
                                           .value_kind = (uint8_t)arg->kind,
                                           .value = arg->value});
    }
}

static void print_filter(const struct trace *trace, uint32_t index)
{
    const struct trace_filter *filter = trace_filter_get(trace, index);
    printf("{\"row\":\"filter\",\"time\":%" PRId64, filter->time_ns);
    print_text(trace, "rules", filter->rules);
    puts("}");
}

static void print_refusal(const struct trace *trace, uint32_t index)
{
    const struct trace_refusal *refusal = trace_refusal_get(trace, index);
    printf("{\"row\":\"refusal\",\"pid\":%d", refusal->pid);
    print_text(trace, "comm", refusal->comm);
    print_text(trace, "reason", refusal->reason);
    puts("}");
}

static int print_events(struct store_reader *reader, bool print)
{
    const struct trace *trace = store_reader_trace(reader);
    struct event_batch batch;
    int result;
    while ((result = store_reader_next(reader, &batch)) > 0) {
        for (uint32_t i = 0; print && i < batch.count; i++) {
            print_event(trace, &batch.events[i]);
            print_args(trace, &batch, &batch.events[i]);
        }
    }
    return result;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static void print_frame(const struct trace *trace, uint32_t ordinal)
{
    static const char *const kinds[] = {"none", "native", "python", "kernel", "jit", "gc", "note"};
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct frame *frame = stacks_get_frame(stacks, ordinal);
    const struct label *label = stacks_get_label(stacks, frame->label);
    uint32_t file = stacks_get_source(stacks, label->source)->path;
    uint32_t module = stacks_get_module(stacks, frame->module)->path;
    printf("[\"%s\",", frame->kind < 7 ? kinds[frame->kind] : "unknown");
    print_string(trace, label->text);
    putchar(',');
    print_string(trace, file ? file : module);
    printf(",%d]", frame->line);
}

static void print_stack(const struct trace *trace, uint32_t ordinal)
{
    enum { DEPTH = 2048 };

    static uint32_t frames[DEPTH];
    uint32_t count = stacks_frames(trace_stacks_get(trace), ordinal, frames, DEPTH);
    printf("{\"row\":\"stack\",\"ordinal\":%u,\"frames\":[", ordinal);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? "," : "", stdout);
        print_frame(trace, frames[i]);
    }
    puts("]}");
}

static void print_path(const struct trace *trace, uint32_t ordinal)
{
    uint32_t names[64];
    uint32_t count = stacks_names(trace_stacks_get(trace), ordinal, names, 64);
    printf("{\"row\":\"path\",\"ordinal\":%u,\"names\":[", ordinal);
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? "," : "", stdout);
        print_string(trace, names[i]);
    }
    puts("]}");
}

/* 0: it was not. */
static int64_t woken_ns(const struct sample *sample)
{
    int64_t ready_ns = sample->time_ns + sample_value(NULL, sample, VALUE_TYPE_BLOCKED);
    bool woken = ready_ns != (sample->reason == WAIT_PREEMPTED ? sample->time_ns : sample->end_ns);
    return woken ? ready_ns : 0;
}

/* The sum of the waits that are too short for stretches. */
static void print_short(const struct sample *sample)
{
    struct off_share off = sample_off_share(NULL, sample);
    printf("{\"row\":\"short\",\"thread\":%u,\"time\":%" PRId64 ",\"end\":%" PRId64
           ",\"blocked\":%" PRIu64 ",\"runnable\":%" PRIu64 "}\n",
           sample->thread, sample->time_ns, sample->end_ns, off.blocked_ns, off.runnable_ns);
}

static void print_sample(const struct sample *sample)
{
    if (sample->set == SAMPLE_SET_SHORT_WAITS) {
        print_short(sample);
        return;
    }
    printf("{\"row\":\"sample\",\"off\":%s,\"thread\":%u,\"time\":%" PRId64 ",\"stack\":%u,"
           "\"path\":%u,\"flags\":%u,\"native_end\":%u,\"python_end\":%u,\"cpu\":%u",
           sample->set == SAMPLE_SET_OFF_CPU ? "true" : "false", sample->thread, sample->time_ns,
           sample->stack, sample->path, sample->flags, sample->native_end, sample->python_end,
           sample->cpu);
    if (sample->set == SAMPLE_SET_OFF_CPU)
        printf(",\"reason\":\"%s\",\"wake\":%" PRId64 ",\"end\":%" PRId64 "}\n",
               wait_reason_name(sample->reason), woken_ns(sample), sample->end_ns);
    else
        printf(",\"weight\":%" PRIu64 "}\n", sample_cpu_ns(NULL, sample));
}

/* How many samples brought their path with them, read in that instant. */
static int print_live(struct store_reader *reader)
{
    const struct sample *samples;
    uint32_t count;
    uint64_t live = 0;
    int result;
    while ((result = store_reader_next_samples(reader, &samples, &count)) > 0)
        for (uint32_t i = 0; i < count; i++)
            live += (samples[i].flags & SAMPLE_PATH_KNOWN) != 0;
    printf("{\"row\":\"live\",\"count\":%" PRIu64 "}\n", live);
    return result;
}

enum { STACKS = 1 << 24 };

static int take_sample(void *context, const struct item *item)
{
    bool *used = context;
    print_sample(item->sample);
    used[item->sample->stack % STACKS] = true;
    return 0;
}

/* Paths as outputs have them: those missing in the sample follow from the events. */
static int print_samples(struct store_reader *reader)
{
    static bool used[STACKS]; /* stacks that end a sample */
    const struct pass_source source = recording_pass_source(reader);
    const struct sink sink = {take_sample, used, WANT_SAMPLES | WANT_PATHS};
    const struct stacks *stacks = trace_stacks_get(source.trace);
    int result = print_live(reader);
    if (result >= 0)
        result = store_reader_rewind(reader);
    if (result >= 0)
        result = pass_read(&source, &PASS_SELECT_ALL, &sink, 1);
    if (result < 0)
        return result;
    for (uint32_t i = 1; i < stacks_stack_count(stacks); i++)
        if (used[i % STACKS])
            print_stack(source.trace, i);
    for (uint32_t i = 1; i < stacks_path_count(stacks); i++)
        print_path(source.trace, i);
    return result;
}

static void print_sampling(const struct trace *trace)
{
    const struct trace_sampling *sampling = trace_sampling_get(trace);
    printf("{\"row\":\"sampling\",\"rung\":%u,\"off_cpu\":%s,\"hz\":%u", sampling->rung,
           sampling->off_cpu ? "true" : "false", sampling->frequency_hz);
    print_text(trace, "reason", sampling->reason);
    print_text(trace, "hint", sampling->hint);
    puts("}");
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        printf("{\"row\":\"fact\",\"kind\":%u,\"value\":%" PRIu64, fact->kind, fact->value);
        print_text(trace, "name", fact->name);
        puts("}");
    }
}

static bool given(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc - 1; i++)
        if (strcmp(argv[i], option) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct store_reader *reader;
    int result = argc < 2 ? -1 : store_reader_open(argv[argc - 1], &reader);
    if (result < 0) {
        fprintf(stderr, "recording_dump: cannot open: %d\n", result);
        return 1;
    }
    result = print_events(reader, !given(argc, argv, "--no-events"));
    if (result >= 0 && given(argc, argv, "--samples"))
        result = print_samples(reader);
    const struct trace *trace = store_reader_trace(reader);
    struct store_info info;
    store_reader_info(reader, &info);
    print_session(trace, &info);
    print_sampling(trace);
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        print_process(trace, i);
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        print_thread(trace, i);
    for (uint32_t i = 0; i < trace_lane_count(trace); i++)
        print_track(trace, i);
    for (uint32_t i = 0; i < trace_unit_count(trace); i++)
        print_unit(trace, i);
    for (uint32_t i = 0; i < trace_refusal_count(trace); i++)
        print_refusal(trace, i);
    for (uint32_t i = 0; i < trace_filter_count(trace); i++)
        print_filter(trace, i);
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        printf("{\"row\":\"damage\",\"offset\":%" PRIu64 ",\"reason\":\"%s\"}\n", damage->offset,
               damage->reason);
    }
    store_reader_close(reader);
    return result < 0;
}
