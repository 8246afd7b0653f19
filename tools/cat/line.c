/* SPDX-License-Identifier: MIT */
/* Functions shared by the formats of lines. */
#include "line.h"

#include "call_label.h"
#include "cmd.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *line_kind_name(enum line_kind kind)
{
    static const char *const names[LINE_KIND_COUNT] = {
        [LINE_BEGIN] = "begin",
        [LINE_END] = "end",
        [LINE_RANGE] = "range",
        [LINE_MARK] = "mark",
        [LINE_LOG] = "log",
        [LINE_COUNTER] = "counter",
        [LINE_FLOW_BEGIN] = "flow_begin",
        [LINE_FLOW_STEP] = "flow_step",
        [LINE_FLOW_END] = "flow_end",
        [LINE_LOST] = "lost",
        [LINE_EDGE] = "off_on",
        [LINE_PROCESS_START] = "process_start",
        [LINE_PROCESS_END] = "process_end",
        [LINE_THREAD_START] = "thread_start",
        [LINE_THREAD_END] = "thread_end",
        [LINE_LAST_WORD] = "last_word",
        [LINE_SAMPLE] = "sample",
        [LINE_OFF_CPU] = "off_cpu",
    };
    return names[kind];
}

const char *line_range_name(enum range_kind kind)
{
    static const char *const names[RANGE_KIND_COUNT] = {
        "pushed", "overlapping", "mark", "counter", "track", "inherited", "unrecorded"};
    return names[kind];
}

enum range_kind line_range_kind(enum lane_kind lane)
{
    return lane == LANE_PROCESS                       ? RANGE_OVERLAPPING
           : lane == LANE_TRACK || lane == LANE_QUEUE ? RANGE_TRACK
                                                      : RANGE_PUSHED;
}

bool line_is_log(const struct trace *trace, const struct event *event)
{
    return export_severity(trace, event->scope) != EXPORT_SEVERITY_NONE;
}

const char *line_severity_name(const struct trace *trace, const struct line *line)
{
    static const char *const names[] = {"debug", "info", "warning", "error", "fatal", "none"};
    return names[export_severity(trace, line->event->scope)];
}

int line_writer_init(struct line_writer *writer, const struct trace *trace, struct out_stream *out)
{
    *writer = (struct line_writer){.trace = trace, .out = out, .prefixes = CALL_STRIP_LIBRARIES};
    int error = export_keys_init(&writer->keys, trace);
    writer->keys.plain = true;
    writer->part = out_stream_memory();
    return writer->part ? error : -ENOMEM;
}

void line_writer_fini(struct line_writer *writer)
{
    for (size_t i = 0; i < writer->owners.count; i++)
        free(writer->owners.items[i].text);
    vec_free(&writer->owners);
    out_stream_abandon(writer->part);
    export_keys_fini(&writer->keys);
}

int64_t line_duration_ns(const struct line *line)
{
    int64_t end_ns = line->time_ns, begin_ns = line->time_ns;
    if (line->span) {
        begin_ns = line->span->begin_ns;
        end_ns = line->span->end_ns;
    } else if (line->kind == LINE_LOST) {
        end_ns = line->event->end_ns;
    } else if (line->sample) {
        end_ns = line->sample->end_ns;
    }
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static void add_name(const struct trace *trace, const struct event *event, struct text *text)
{
    const struct trace_string *name = trace_string(trace, event->name);
    uint32_t domain = trace_scope_domain(trace, event->scope);
    if (text->length)
        text_add(text, "/", 1);
    if (domain)
        text_format(text, "%s:", trace_string(trace, domain)->bytes);
    text_format(text, "%s", name->length ? name->bytes : "(no name)");
}

void line_path(const struct trace *trace, const struct item *span, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    for (uint32_t i = 0; i < span->depth; i++)
        add_name(trace, span->parents[i], &text);
    add_name(trace, span->event, &text);
}

uint32_t line_frames(const struct line_writer *writer, const struct sample *sample,
                     uint32_t frames[LINE_FRAMES_MAX])
{
    const struct stacks *stacks = trace_stacks_get(writer->trace);
    uint32_t count = stacks_frames(stacks, sample->stack, frames, LINE_FRAMES_MAX);
    return writer->python ? call_python_frames(stacks, frames, count) : count;
}

int line_printer_init(struct line_printer *printer, const struct line_values *values,
                      const struct trace *trace, struct out_stream *out)
{
    printer->values = values;
    printer->format = values->json ? line_json : line_text;
    int error = line_writer_init(&printer->writer, trace, out);
    printer->writer.python = values->python;
    return error;
}

void line_printer_fini(struct line_printer *printer)
{
    line_writer_fini(&printer->writer);
}

bool line_printer_takes(const struct line_printer *printer, const struct line *line)
{
    const char *wanted = printer->values->name;
    if (!wanted)
        return true;
    bool lone_end = line->kind == LINE_END && !line->span;
    if (!line->event || !line->event->name || lone_end)
        return false;
    return text_matches(wanted, trace_string(printer->writer.trace, line->event->name)->bytes);
}

int line_printer_fail_output(int error)
{
    return cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error));
}
