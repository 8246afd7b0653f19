/* SPDX-License-Identifier: MIT */
/* See chrome_rows.h. Rows of samples are flame charts, and the states beside them. The format has
 * rows for threads only, so each row is a separate thread; viewers that follow sort indices put it
 * below its thread. */
#include "chrome_rows.h"

#include "call_label.h"
#include "chrome_writer.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Rows ------------------------------------------------------------------------------------ */

static struct chrome_row *describe_row(struct chrome_rows *rows, uint32_t thread,
                                       enum chrome_row_kind kind)
{
    static const char *const names[] = {
        [CHROME_ROW_STACKS] = "stacks", [CHROME_ROW_STATE] = "run state"};
    const struct trace *trace = rows->writer->trace;
    struct chrome_row *row = &rows->rows[CHROME_ROW_KINDS * (size_t)thread + kind];
    char label[EXPORT_LABEL_SIZE + 16];
    uint32_t process = trace_thread_get(trace, thread)->process;
    bool known = process < trace_process_count(trace);
    size_t length = export_row_label(rows->ids, trace, thread, label);
    snprintf(label + length, sizeof(label) - length, ": %s", names[kind]);
    snprintf(row->place, sizeof(row->place), ",\"pid\":%u,\"tid\":%u",
             known ? rows->ids->pids[process] : rows->ids->tids[thread],
             rows->ids->next_synthetic++);
    chrome_put_metadata(rows->writer, row->place, "thread_name",
                        &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    chrome_put_metadata(
        rows->writer, row->place, "thread_sort_index",
        &(struct fact){.name = "sort_index",
                       .kind = VALUE_UINT64,
                       .value = {.uint64 = chrome_row_rank(rows->ids, thread, kind)}});
    return row;
}

/* The constant part of the events of a row, besides name and time. */
static const char *place_of(struct chrome_rows *rows, uint32_t thread, enum chrome_row_kind kind)
{
    struct chrome_row *row = &rows->rows[CHROME_ROW_KINDS * (size_t)thread + kind];
    return row->place[0] ? row->place : describe_row(rows, thread, kind)->place;
}

static void put_row_place(struct chrome_rows *rows, const char *place, int64_t time_ns)
{
    out_text(rows->writer->out, place);
    chrome_micros(rows->writer, "ts", time_ns - rows->writer->origin_ns);
}

/* ---- Flame charts: begins and ends in the order of the chart --------------------------------- */

static int on_begin(void *context, const struct flame_chart_event *event)
{
    struct chrome_rows *rows = context;
    char label[CALL_LABEL_SIZE];
    const char *place = place_of(rows, event->thread, CHROME_ROW_STACKS);
    flame_chart_label(rows->writer->trace, event->label, rows->prefixes, label, sizeof(label));
    chrome_begin_text(rows->writer, 'B', label);
    put_row_place(rows, place, event->time_ns);
    chrome_end(rows->writer);
    return 0;
}

static int on_end(void *context, const struct flame_chart_event *event)
{
    struct chrome_rows *rows = context;
    chrome_begin_bare(rows->writer, 'E');
    put_row_place(rows, place_of(rows, event->thread, CHROME_ROW_STACKS), event->time_ns);
    chrome_end(rows->writer);
    return 0;
}

/* ---- States ---------------------------------------------------------------------------------- */

/* One of the colour names of the format. */
static const char *color_of(const struct thread_stretch *stretch)
{
    if (stretch->state == THREAD_RUNNING)
        return "thread_state_running";
    if (stretch->state == THREAD_RUNNABLE)
        return "thread_state_runnable";
    bool disk = stretch->wait->reason == WAIT_DISK || stretch->wait->reason == WAIT_PAGE_FAULT;
    return disk ? "thread_state_iowait" : "thread_state_sleeping";
}

static int put_stretch(void *context, const struct thread_stretch *stretch)
{
    struct chrome_rows *rows = context;
    const char *place = place_of(rows, stretch->thread, CHROME_ROW_STATE);
    chrome_begin_text(rows->writer, 'X', thread_stretch_name(stretch));
    put_row_place(rows, place, stretch->begin_ns);
    chrome_micros(rows->writer, "dur", stretch->end_ns - stretch->begin_ns);
    chrome_text(rows->writer, "cname", color_of(stretch));
    if (stretch->wait && (stretch->wait->flags & SAMPLE_UNFINISHED))
        chrome_argument(
            rows->writer,
            &(struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = {.uint64 = 1}});
    chrome_end(rows->writer);
    return 0;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int take_ordered(void *context, const struct sample *sample)
{
    struct chrome_rows *rows = context;
    int error = rows->has_chart ? flame_chart_add(&rows->chart, sample) : 0;
    return error || !rows->has_states ? error : thread_states_add(&rows->states, sample);
}

int chrome_rows_init(struct chrome_rows *rows, struct chrome_writer *writer, struct export_ids *ids,
                     const struct export_job *job)
{
    const struct trace *trace = writer->trace;
    const struct flame_chart_sink chart_sink = {on_begin, on_end, rows};
    const struct thread_states_sink states_sink = {put_stretch, rows};
    const struct export_options *options = job->options;
    *rows = (struct chrome_rows){.writer = writer, .ids = ids, .prefixes = options->strip_prefix};
    rows->has_chart = !options->no_flame_chart && stacks_stack_count(trace_stacks_get(trace)) > 1;
    rows->has_states = trace_sampling_get(trace)->off_cpu;
    rows->rows = calloc(CHROME_ROW_KINDS * (writer->thread_count + 1ull), sizeof(*rows->rows));
    int error = flame_chart_init(&rows->chart, job, &chart_sink);
    if (!error)
        error = thread_states_init(&rows->states, trace, job->selection, &states_sink);
    if (!error)
        error = sample_order_init(&rows->order, trace, take_ordered, rows);
    return rows->rows ? error : -ENOMEM;
}

int chrome_rows_add(struct chrome_rows *rows, const struct sample *sample)
{
    return sample_order_add(&rows->order, sample);
}

int chrome_rows_finish(struct chrome_rows *rows)
{
    int error = sample_order_finish(&rows->order);
    if (!error && rows->has_chart)
        error = flame_chart_finish(&rows->chart);
    return error || !rows->has_states ? error : thread_states_finish(&rows->states);
}

void chrome_rows_fini(struct chrome_rows *rows)
{
    sample_order_fini(&rows->order);
    flame_chart_fini(&rows->chart);
    thread_states_fini(&rows->states);
    free(rows->rows);
    *rows = (struct chrome_rows){0};
}

/* ---- Shelves --------------------------------------------------------------------------------- */

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

static void put_shelf_place(struct chrome_shelves *shelves, uint32_t group, uint64_t id,
                            int64_t time_ns)
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
    put_shelf_place(shelves, group, *ret_id, time_ns);
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
    put_shelf_place(shelves, track_groups_find(&shelves->groups, event->lane), id, time_ns);
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

/* For a lane with overlapping items. */
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
