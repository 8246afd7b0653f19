/* SPDX-License-Identifier: MIT */
/* See chrome_parts.h. */
#include "chrome_parts.h"

#include "item_facts.h"
#include "text.h"

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

static void put_started(struct chrome_lines *lines, char phase, const struct item *item,
                        int64_t time_ns)
{
    uint32_t category = chrome_category(lines->writer, item->event->scope);
    chrome_begin(lines->writer, phase, item->event->name);
    chrome_place(lines->writer, item->event->thread, time_ns);
    if (category)
        chrome_string(lines->writer, "cat", category);
    else
        chrome_text(lines->writer, "cat", "range");
    put_id(lines, lines->last_id);
}

static int put_overlapping(struct chrome_lines *lines, const struct item *item)
{
    const struct event *begin = item->event;
    const struct export_ids *ids = lines->writer->ids;
    struct end_facts facts;
    if (begin->thread >= lines->writer->thread_count)
        return 0;
    lines->last_id++;
    put_started(lines, 'b', item, begin->time_ns);
    chrome_attributes(lines->writer, begin, &item->args);
    struct fact start_tid = tid_fact(ids, "start_tid", begin->thread);
    chrome_argument(lines->writer, &start_tid);
    chrome_end(lines->writer);
    put_started(lines, 'e', item, item->end_ns);
    end_facts_init(&facts, ids, item);
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

static int put_begin(struct chrome_lines *lines, const struct item *item)
{
    const struct event *begin = item->event;
    struct track_facts facts;
    uint64_t id;
    int error = track_lines_open(&lines->lines, begin, item->depth, &id);
    if (error)
        return error;
    put_event(lines, 'b', begin, id, begin->time_ns);
    chrome_attributes(lines->writer, begin, &item->args);
    track_facts_init(&facts, &lines->lines, lines->writer->ids, begin, item->depth);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

static int put_end(struct chrome_lines *lines, const struct item *item)
{
    struct end_facts facts;
    uint64_t id;
    int error = track_lines_close(&lines->lines, item->event->id, item->depth, item->end_ns, &id);
    if (error)
        return error;
    const struct args values = item_end_args(item);
    put_event(lines, 'e', item->event, id, item->end_ns);
    chrome_values(lines->writer, &values);
    end_facts_init(&facts, lines->writer->ids, item);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

static int put_mark(struct chrome_lines *lines, const struct item *item)
{
    const struct event *mark = item->event;
    struct track_facts facts;
    uint64_t id;
    int error = track_lines_mark(&lines->lines, mark, item->depth, &id);
    if (error)
        return error;
    put_event(lines, 'n', mark, id, mark->time_ns);
    chrome_attributes(lines->writer, mark, &item->args);
    track_facts_init(&facts, &lines->lines, lines->writer->ids, mark, item->depth);
    put_facts(lines, facts.items);
    chrome_end(lines->writer);
    return 0;
}

int chrome_lines_take(struct chrome_lines *lines, const struct item *item)
{
    if (item->lane == LANE_PROCESS)
        return item->kind == ITEM_SPAN ? put_overlapping(lines, item) : 0;
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(lines, item);
    case ITEM_SPAN:
        return put_end(lines, item);
    case ITEM_INSTANT:
        return put_mark(lines, item);
    default:
        return 0;
    }
}
