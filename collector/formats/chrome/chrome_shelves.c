/* SPDX-License-Identifier: MIT */
/* See chrome_parts.h. */
#include "chrome_parts.h"

#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PATH_SIZE = 1200 };

static void put_id(struct chrome_shelves *shelves, uint64_t id)
{
    char text[48];
    snprintf(text, sizeof(text), ",\"id2\":{\"local\":\"0x%" PRIx64 "\"}", id);
    out_text(shelves->writer->out, text);
}

static void put_facts(struct chrome_shelves *shelves, const struct fact *facts)
{
    for (; facts->name; facts++)
        chrome_argument(shelves->writer, facts);
}

/* ---- Overlapping ranges ---------------------------------------------------------------------- */

static void put_started(struct chrome_shelves *shelves, char phase, const struct item *item,
                        int64_t time_ns)
{
    uint32_t category = chrome_category(shelves->writer, item->event->scope);
    chrome_begin(shelves->writer, phase, item->event->name);
    chrome_place(shelves->writer, item->event->thread, time_ns);
    if (category)
        chrome_string(shelves->writer, "cat", category);
    else
        chrome_text(shelves->writer, "cat", "range");
    put_id(shelves, shelves->last_id);
}

static int put_overlapping(struct chrome_shelves *shelves, const struct item *item)
{
    const struct event *begin = item->event;
    const struct export_ids *ids = shelves->writer->ids;
    struct end_facts facts;
    if (begin->thread >= shelves->writer->thread_count)
        return 0;
    shelves->last_id++;
    put_started(shelves, 'b', item, begin->time_ns);
    chrome_attributes(shelves->writer, begin, &item->args);
    struct fact start_tid = tid_fact(ids, "start_tid", begin->thread);
    chrome_argument(shelves->writer, &start_tid);
    chrome_end(shelves->writer);
    put_started(shelves, 'e', item, item->end_ns);
    end_facts_init(&facts, ids, item);
    put_facts(shelves, facts.items);
    chrome_end(shelves->writer);
    return 0;
}

/* ---- Tracks ---------------------------------------------------------------------------------- */

static void put_place(struct chrome_shelves *shelves, uint32_t group, uint64_t id, int64_t time_ns)
{
    const struct export_ids *ids = shelves->writer->ids;
    uint32_t process = shelves->groups.groups.items[group].process;
    uint32_t pid = process < ids->process_count ? ids->pids[process] : 0;
    struct trace_string label = track_group_label(&shelves->groups, group);
    chrome_number(shelves->writer, "pid", pid);
    chrome_number(shelves->writer, "tid", pid);
    chrome_micros(shelves->writer, "ts", time_ns - shelves->writer->origin_ns);
    chrome_text(shelves->writer, "cat", label.bytes);
    put_id(shelves, id);
}

/* "pool/connection". Cut if it is long. */
static void group_path(const struct chrome_shelves *shelves, uint32_t group, char *buffer)
{
    uint32_t above[TRACK_LEVELS_MAX];
    size_t count = 0, used = 0;
    for (uint32_t at = group + 1; at && count < TRACK_LEVELS_MAX;
         at = shelves->groups.groups.items[at - 1].parent)
        above[count++] = at - 1;
    while (count-- > 0 && used < PATH_SIZE - 1)
        used += (size_t)snprintf(buffer + used, PATH_SIZE - used, "%s%s", used ? "/" : "",
                                 track_group_label(&shelves->groups, above[count]).bytes);
    buffer[utf8_whole(buffer, used < PATH_SIZE ? used : PATH_SIZE - 1)] = 0;
}

static int describe(void *context, uint32_t group, int64_t time_ns, uint64_t *ret_id)
{
    struct chrome_shelves *shelves = context;
    char path[PATH_SIZE];
    group_path(shelves, group, path);
    *ret_id = ++shelves->last_id;
    chrome_begin_text(shelves->writer, 'n', path);
    put_place(shelves, group, *ret_id, time_ns);
    chrome_argument(shelves->writer, &(struct fact){.name = "note",
                                                    .kind = VALUE_STRING,
                                                    .text = "names the line; nobody marked it"});
    chrome_end(shelves->writer);
    return 0;
}

int chrome_shelves_init(struct chrome_shelves *shelves, struct chrome_writer *writer)
{
    shelves->writer = writer;
    shelves->groups.describe = describe;
    shelves->groups.context = shelves;
    return track_groups_init(&shelves->groups, writer->trace);
}

void chrome_shelves_fini(struct chrome_shelves *shelves)
{
    track_groups_fini(&shelves->groups);
}

static void put_event(struct chrome_shelves *shelves, char phase, const struct event *event,
                      uint64_t id, int64_t time_ns)
{
    chrome_begin(shelves->writer, phase, event->name);
    put_place(shelves, track_groups_find(&shelves->groups, event->lane), id, time_ns);
}

static int put_begin_at(struct chrome_shelves *shelves, const struct item *item, uint64_t id)
{
    const struct event *begin = item->event;
    struct track_facts facts;
    put_event(shelves, 'b', begin, id, begin->time_ns);
    chrome_attributes(shelves->writer, begin, &item->args);
    track_facts_init(&facts, &shelves->groups, shelves->writer->ids, begin, item->depth);
    put_facts(shelves, facts.items);
    chrome_end(shelves->writer);
    return 0;
}

static int put_begin(struct chrome_shelves *shelves, const struct item *item)
{
    uint64_t id;
    int error = track_groups_open(&shelves->groups, item->event, item->depth, &id);
    return error ? error : put_begin_at(shelves, item, id);
}

static int put_end_at(struct chrome_shelves *shelves, const struct item *item, uint64_t id)
{
    struct end_facts facts;
    const struct args values = item_end_args(item);
    put_event(shelves, 'e', item->event, id, item->end_ns);
    chrome_values(shelves->writer, &values);
    end_facts_init(&facts, shelves->writer->ids, item);
    put_facts(shelves, facts.items);
    chrome_end(shelves->writer);
    return 0;
}

static int put_end(struct chrome_shelves *shelves, const struct item *item)
{
    uint64_t id;
    int error =
        track_groups_close(&shelves->groups, item->event->lane, item->depth, item->end_ns, &id);
    return error ? error : put_end_at(shelves, item, id);
}

/* Of a lane on which they may overlap. */
static int put_whole(struct chrome_shelves *shelves, const struct item *item)
{
    uint64_t id;
    int error = track_groups_span(&shelves->groups, item, &id);
    if (!error)
        error = put_begin_at(shelves, item, id);
    return error ? error : put_end_at(shelves, item, id);
}

static int put_mark(struct chrome_shelves *shelves, const struct item *item)
{
    const struct event *mark = item->event;
    struct track_facts facts;
    uint64_t id;
    int error = track_groups_mark(&shelves->groups, mark, item->depth, &id);
    if (error)
        return error;
    put_event(shelves, 'n', mark, id, mark->time_ns);
    chrome_attributes(shelves->writer, mark, &item->args);
    track_facts_init(&facts, &shelves->groups, shelves->writer->ids, mark, item->depth);
    put_facts(shelves, facts.items);
    chrome_end(shelves->writer);
    return 0;
}

int chrome_shelves_take(struct chrome_shelves *shelves, const struct item *item)
{
    if (item->lane == LANE_PROCESS)
        return item->kind == ITEM_SPAN ? put_overlapping(shelves, item) : 0;
    switch (item->kind) {
    case ITEM_OPENED:
        return put_begin(shelves, item);
    case ITEM_SPAN:
        return item->lane == LANE_QUEUE ? put_whole(shelves, item) : put_end(shelves, item);
    case ITEM_INSTANT:
        return put_mark(shelves, item);
    default:
        return 0;
    }
}
