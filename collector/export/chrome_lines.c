/* SPDX-License-Identifier: MIT */
/* See chrome_lines.h. */
#include "chrome_lines.h"

#include "end_facts.h"
#include "text.h"
#include "track_facts.h"

#include <inttypes.h>
#include <stdio.h>

enum { PATH_SIZE = 1200 };

static void put_id(struct chrome_lines *lines, uint64_t id)
{
    char text[48];
    snprintf(text, sizeof(text), ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", id);
    out_text(lines->writer->out, text);
}

static void put_facts(struct chrome_lines *lines, const struct fact *facts)
{
    for (; facts->name; facts++)
        chrome_argument(lines->writer, facts);
}

/* ---- Overlapping ranges ---------------------------------------------------------------------- */

static void put_started(struct chrome_lines *lines, char phase, const struct slice *slice,
                        int64_t time_ns)
{
    uint32_t category = chrome_category(slice->begin);
    chrome_begin(lines->writer, phase, slice->begin->name);
    chrome_place(lines->writer, slice->begin->thread, time_ns);
    if (category)
        chrome_string(lines->writer, "cat", category);
    else
        chrome_text(lines->writer, "cat", "range");
    put_id(lines, lines->last_id);
}

int chrome_lines_started(struct chrome_lines *lines, const struct slice *slice)
{
    const struct event *begin = slice->begin;
    const struct export_ids *ids = lines->writer->ids;
    struct end_facts facts;
    if (begin->thread >= lines->writer->thread_count)
        return 0;
    lines->last_id++;
    put_started(lines, 'b', slice, begin->time_ns);
    chrome_attributes(lines->writer, begin, &slice->values);
    struct fact start_tid = tid_fact(ids, "start_tid", begin->thread);
    chrome_argument(lines->writer, &start_tid);
    chrome_end(lines->writer);
    put_started(lines, 'e', slice, slice->end_ns);
    end_facts_init(&facts, ids, slice);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void put_place(struct chrome_lines *lines, uint32_t line, uint64_t id, int64_t time_ns)
{
    const struct export_ids *ids = lines->writer->ids;
    uint32_t process = lines->lines.lines.items[line].process;
    uint32_t pid = process < ids->process_count ? ids->pids[process] : 0;
    struct trace_string label = track_line_label(&lines->lines, line);
    chrome_number(lines->writer, "pid", pid);
    chrome_number(lines->writer, "tid", pid);
    chrome_micros(lines->writer, "ts", time_ns - lines->writer->origin_ns);
    chrome_text(lines->writer, "cat", label.bytes);
    put_id(lines, id);
}

/* "pool/connection". Cut if it is long. */
static void line_path(const struct chrome_lines *lines, uint32_t line, char *buffer)
{
    uint32_t above[TRACK_LEVELS_MAX];
    size_t count = 0, used = 0;
    for (uint32_t at = line + 1; at && count < TRACK_LEVELS_MAX;
         at = lines->lines.lines.items[at - 1].parent)
        above[count++] = at - 1;
    while (count-- > 0 && used < PATH_SIZE - 1)
        used += (size_t)snprintf(buffer + used, PATH_SIZE - used, "%s%s", used ? "/" : "",
                                 track_line_label(&lines->lines, above[count]).bytes);
    buffer[utf8_whole(buffer, used < PATH_SIZE ? used : PATH_SIZE - 1)] = 0;
}

static int describe(void *context, uint32_t line, int64_t time_ns, uint64_t *ret_id)
{
    struct chrome_lines *lines = context;
    char path[PATH_SIZE];
    line_path(lines, line, path);
    *ret_id = ++lines->last_id;
    chrome_begin_text(lines->writer, 'n', path);
    put_place(lines, line, *ret_id, time_ns);
    chrome_argument(lines->writer, &(struct fact){.name = "note",
                                                  .kind = VALUE_STRING,
                                                  .text = "names the line; nobody marked it"});
    chrome_end(lines->writer);
    return 0;
}

int chrome_lines_init(struct chrome_lines *lines, struct chrome_writer *writer)
{
    lines->writer = writer;
    lines->lines.describe = describe;
    lines->lines.context = lines;
    return track_lines_init(&lines->lines, writer->trace);
}

void chrome_lines_fini(struct chrome_lines *lines)
{
    track_lines_fini(&lines->lines);
}

static void put_event(struct chrome_lines *lines, char phase, const struct event *event,
                      uint64_t id, int64_t time_ns)
{
    chrome_begin(lines->writer, phase, event->name);
    put_place(lines, track_lines_find(&lines->lines, event->id), id, time_ns);
}

int chrome_lines_opened(struct chrome_lines *lines, const struct event *begin,
                        const struct slice_values *values, uint32_t depth)
{
    struct track_facts facts;
    uint64_t id;
    int error = track_lines_open(&lines->lines, begin, depth, &id);
    if (error)
        return error;
    put_event(lines, 'b', begin, id, begin->time_ns);
    chrome_attributes(lines->writer, begin, values);
    track_facts_init(&facts, &lines->lines, lines->writer->ids, begin, depth);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

int chrome_lines_closed(struct chrome_lines *lines, const struct slice *slice)
{
    struct end_facts facts;
    uint64_t id;
    int error =
        track_lines_close(&lines->lines, slice->begin->id, slice->depth, slice->end_ns, &id);
    if (error)
        return error;
    const struct slice_values values = slice_end_values(slice);
    put_event(lines, 'e', slice->begin, id, slice->end_ns);
    chrome_values(lines->writer, &values);
    end_facts_init(&facts, lines->writer->ids, slice);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

int chrome_lines_mark(struct chrome_lines *lines, const struct event *mark,
                      const struct slice_values *values, uint32_t depth)
{
    struct track_facts facts;
    uint64_t id;
    int error = track_lines_mark(&lines->lines, mark, depth, &id);
    if (error)
        return error;
    put_event(lines, 'n', mark, id, mark->time_ns);
    chrome_attributes(lines->writer, mark, values);
    track_facts_init(&facts, &lines->lines, lines->writer->ids, mark, depth);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}
