/* SPDX-License-Identifier: MIT */
/* Prints a recording as JSON lines: what the store's reader sees, without exporter or report.
 *
 * recording_dump [--no-events] FILE. For tests that need every event or exact counts.
 * One thread. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    case VALUE_DOUBLE: /* as bits: JSON has no infinities, and nothing is rounded */
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
    static const char *const kinds[EVENT_KIND_COUNT] = {"none", "push",    "pop",  "start", "end",
                                                        "mark", "counter", "lost", "edge"};
    const char *kind = event->kind < EVENT_KIND_COUNT ? kinds[event->kind] : "unknown";
    printf("{\"row\":\"event\",\"kind\":\"%s\",\"thread\":%u,\"time\":%" PRId64
           ",\"level\":%u,\"value_kind\":%u,\"id\":%" PRIu64,
           kind, event->thread, event->time_ns, event->level, event->value_kind, event->id);
    if (event->has_color)
        printf(",\"color\":%u", event->color);
    print_text(trace, "name", event->name);
    print_text(trace, "domain", event->domain);
    print_text(trace, "category", event->category);
    print_value(trace, event);
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
        for (uint32_t i = 0; print && i < batch.count; i++)
            print_event(trace, &batch.events[i]);
    }
    return result;
}

int main(int argc, char **argv)
{
    bool events = argc < 3 || strcmp(argv[1], "--no-events") != 0;
    struct store_reader *reader;
    int result = argc < 2 ? -1 : store_reader_open(argv[argc - 1], &reader);
    if (result < 0) {
        fprintf(stderr, "recording_dump: cannot open: %d\n", result);
        return 1;
    }
    result = print_events(reader, events);
    const struct trace *trace = store_reader_trace(reader);
    struct store_info info;
    store_reader_info(reader, &info);
    print_session(trace, &info);
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        print_process(trace, i);
    for (uint32_t i = 0; i < trace_thread_count(trace); i++)
        print_thread(trace, i);
    for (uint32_t i = 0; i < trace_refusal_count(trace); i++)
        print_refusal(trace, i);
    for (uint32_t i = 0; i < store_reader_damage_count(reader); i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        printf("{\"row\":\"damage\",\"offset\":%" PRIu64 ",\"reason\":\"%s\"}\n", damage->offset,
               damage->reason);
    }
    store_reader_close(reader);
    return result < 0;
}
