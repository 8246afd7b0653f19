/* SPDX-License-Identifier: MIT */
/* Selects the drawn ranges: the longest ones. Shorter ranges are summed up in their lane. */
#include "page_spans.h"

#include "awaits.h"
#include "page_calls.h"
#include "page_data.h"
#include "page_model.h"
#include "page_ranges.h"
#include "page_tasks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 256 };

int page_spans_init(struct page_spans *spans, const struct trace *trace,
                    const struct page_span *span, struct page_names *names)
{
    *spans = (struct page_spans){.trace = trace, .span = *span, .names = names};
    spans->drawn.limit = PAGE_SPANS_MAX;
    spans->tasks.limit = spans->requests.limit = PAGE_TASKS_MAX;
    return 0;
}

void page_spans_fini(struct page_spans *spans)
{
    for (size_t i = 0; i < spans->lanes.count; i++) {
        free(spans->lanes.items[i].name);
        free(spans->lanes.items[i].density);
    }
    vec_free(&spans->lanes);
    map64_free(&spans->lane_by_key);
    map64_free(&spans->await_by_track);
    vec_free(&spans->drawn.items);
    vec_free(&spans->tasks.items);
    vec_free(&spans->requests.items);
    *spans = (struct page_spans){0};
}

/* ---- Longest ranges -------------------------------------------------------------------------- */

static int shortest_first(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The length of the shortest of the `limit` longest ranges. */
static int find_least(const struct page_longest *longest, size_t limit, uint64_t *ret_ns)
{
    size_t count = longest->items.count;
    uint64_t *lengths = calloc(count + 1, sizeof(*lengths));
    if (!lengths)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        lengths[i] = longest->items.items[i].length_ns;
    qsort(lengths, count, sizeof(*lengths), shortest_first);
    *ret_ns = lengths[count - limit];
    free(lengths);
    return 0;
}

/* Called for each dropped range. */
typedef int drop_range(struct page_spans *spans, const struct page_range *range);

static int keep_longest(struct page_longest *longest, size_t limit, struct page_spans *spans,
                        drop_range *drop)
{
    size_t kept = 0, equal = 0;
    if (limit == 0 || longest->items.count <= limit)
        return 0;
    int error = find_least(longest, limit, &longest->least_ns);
    if (error)
        return error;
    for (size_t i = 0; i < longest->items.count; i++)
        equal += longest->items.items[i].length_ns > longest->least_ns;
    equal = limit - equal;
    size_t count = longest->items.count;
    for (size_t i = 0; i < count && !error; i++) {
        const struct page_range *range = &longest->items.items[i];
        bool is_longer = range->length_ns > longest->least_ns;
        bool is_equal = range->length_ns == longest->least_ns && equal > 0;
        equal -= is_equal;
        if (is_longer || is_equal)
            longest->items.items[kept++] = *range;
        else if (drop)
            error = drop(spans, range);
    }
    longest->dropped += count - kept;
    longest->items.count = kept;
    return error;
}

int page_longest_limit(struct page_longest *longest, size_t limit)
{
    return keep_longest(longest, limit, NULL, NULL);
}

static int add_range(struct page_longest *longest, const struct page_range *range,
                     struct page_spans *spans, drop_range *drop)
{
    if (range->length_ns < longest->least_ns) {
        longest->dropped++;
        return drop ? drop(spans, range) : 0;
    }
    int error = vec_push(&longest->items, *range);
    if (!error && longest->items.count > 2 * longest->limit)
        error = keep_longest(longest, longest->limit, spans, drop);
    return error;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Adds a dropped range to the density of its lane. Ranges inside it are added separately. */
static int drop_drawn(struct page_spans *spans, const struct page_range *range)
{
    struct page_lane *lane = &spans->lanes.items[range->lane];
    lane->short_count++;
    spans->short_count++;
    if (!lane->density)
        lane->density = calloc(PAGE_DENSITY_SLOTS, sizeof(*lane->density));
    if (!lane->density)
        return -ENOMEM;
    double slot_ns = (double)spans->span.length_ns / PAGE_DENSITY_SLOTS;
    lane->density[page_slot(&spans->span, PAGE_DENSITY_SLOTS, range->begin_ns)] +=
        (float)((double)range->self_ns / slot_ns);
    return 0;
}

int page_spans_limit(struct page_spans *spans, size_t limit)
{
    return keep_longest(&spans->drawn, limit, spans, drop_drawn);
}

/* Tracks made per request share a lane: that of their outermost track, or of all tracks with names
 * that differ only in a number. */
static uint32_t outermost_track(const struct trace *trace, uint32_t track)
{
    for (unsigned i = 0; i < TRACE_LANE_LEVELS; i++) {
        const struct trace_lane *lane = trace_lane_get(trace, track);
        if (!lane || lane->parent == 0)
            break;
        track = lane->parent - 1;
    }
    return track;
}

static int64_t push_lane(struct page_spans *spans, const struct page_lane *lane)
{
    struct page_lane fresh = *lane;
    if (spans->lanes.count >= PAGE_LANES_MAX)
        return -1;
    fresh.name = lane->name ? strdup(lane->name) : NULL;
    if ((lane->name && !fresh.name) || vec_push(&spans->lanes, fresh) != 0) {
        free(fresh.name);
        return -ENOMEM;
    }
    return (int64_t)spans->lanes.count - 1;
}

/* The lane of tracks by name, or -1 beyond PAGE_LANES_MAX. */
static int64_t track_lane(struct page_spans *spans, const struct item *item, bool task)
{
    const struct trace *trace = spans->trace;
    const struct trace_lane *track = trace_lane_get(trace, item->event->lane);
    char name[NAME_SIZE];
    struct page_lane lane = {.kind = PAGE_LANE_TRACK, .ordinal = item->event->lane, .name = name};
    lane.process = track ? track->process : trace_thread_get(trace, item->event->thread)->process;
    trace_lane_label(trace, outermost_track(trace, item->event->lane), name, sizeof(name));
    if (task)
        memcpy(name, "tasks", sizeof("tasks"));
    else if (strncmp(name, "track 0x", 8) == 0 || strncmp(name, "track #", 7) == 0)
        memcpy(name, "tracks without names", sizeof("tracks without names"));
    else
        page_cut_number(name);
    for (size_t i = 0; i < spans->lanes.count; i++) {
        const struct page_lane *other = &spans->lanes.items[i];
        if (other->kind == PAGE_LANE_TRACK && other->process == lane.process &&
            strcmp(other->name, name) == 0)
            return (int64_t)i;
    }
    return push_lane(spans, &lane);
}

static int64_t new_lane(struct page_spans *spans, const struct item *item, bool task)
{
    const struct trace *trace = spans->trace;
    uint32_t process = trace_thread_get(trace, item->event->thread)->process;
    const struct trace_lane *queue = trace_lane_get(trace, item->event->lane);
    if (item->lane == LANE_TRACK)
        return track_lane(spans, item, task);
    if (item->lane == LANE_QUEUE)
        return push_lane(spans, &(struct page_lane){.kind = PAGE_LANE_QUEUE,
                                                    .ordinal = item->event->lane,
                                                    .process = queue ? queue->process : process});
    bool of_process = item->lane == LANE_PROCESS;
    return push_lane(spans,
                     &(struct page_lane){.kind = of_process ? PAGE_LANE_PROCESS : PAGE_LANE_THREAD,
                                         .ordinal = of_process ? process : item->event->thread,
                                         .process = process});
}

/* Returns -1 beyond PAGE_LANES_MAX. */
static int64_t lane_of(struct page_spans *spans, const struct item *item, bool task)
{
    uint32_t id = item->event->lane;
    if (item->lane == LANE_THREAD)
        id = item->event->thread;
    else if (item->lane == LANE_PROCESS)
        id = trace_thread_get(spans->trace, item->event->thread)->process;
    uint64_t key = (uint64_t)item->lane << 32 | id;
    if (key == spans->last_key)
        return spans->last_lane;
    const uint64_t *found = map64_find(&spans->lane_by_key, key);
    int64_t lane = found ? (int64_t)*found - 1 : new_lane(spans, item, task);
    if (lane < -1 || (!found && map64_put(&spans->lane_by_key, key, (uint64_t)(lane + 1)) != 0))
        return -ENOMEM;
    spans->last_key = key;
    spans->last_lane = lane;
    return lane;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int take_await(struct page_spans *spans, const struct item *item)
{
    const struct scope *scope = trace_scope(spans->trace, item->event->scope);
    if (scope->observer != OBSERVER_ASYNCIO || scope->role != ASYNCIO_ROLE_AWAITED)
        return 0;
    uint64_t time_ns = awaits_duration_ns(spans->trace, &item->args);
    uint64_t *found = map64_find(&spans->await_by_track, (uint64_t)item->event->lane + 1);
    if (found)
        *found += time_ns;
    else if (spans->await_by_track.count / 4 < PAGE_TASKS_MAX)
        return map64_put(&spans->await_by_track, (uint64_t)item->event->lane + 1, time_ns);
    return 0;
}

/* The outermost ranges of tracks are tasks of an event loop, or requests. */
static int take_track(struct page_spans *spans, const struct page_range *range, bool task)
{
    return add_range(task ? &spans->tasks : &spans->requests, range, spans, NULL);
}

static int take_span(struct page_spans *spans, const struct item *item)
{
    const struct scope *scope = trace_scope(spans->trace, item->event->scope);
    bool task = scope->observer == OBSERVER_ASYNCIO && scope->role == ASYNCIO_ROLE_TASK;
    if (!trace_thread_get(spans->trace, item->event->thread) ||
        scope->observer == OBSERVER_INHERITED)
        return 0;
    bool on_track = item->lane == LANE_TRACK;
    int64_t lane = lane_of(spans, item, task || (on_track && item->call));
    struct page_range range = {.begin_ns = item->begin_ns,
                               .lane = (uint32_t)lane,
                               .sub = item->event->lane,
                               .thread = item->event->thread,
                               .depth = item->depth};
    range.length_ns =
        item->end_ns > item->begin_ns ? (uint64_t)item->end_ns - (uint64_t)item->begin_ns : 0;
    bool outermost = on_track && item->depth == 0 && !item->call; /* calls belong to a task */
    int64_t name = 0; /* dropped ranges do not need it */
    if (outermost || range.length_ns >= spans->drawn.least_ns)
        name = page_name_of(spans->names, scope->domain, item->event->name);
    if (lane < -1 || name < 0)
        return -ENOMEM;
    range.name = (uint32_t)name;
    uint64_t inside_ns = item->child_ns > 0 ? (uint64_t)item->child_ns : 0;
    range.self_ns = range.length_ns > inside_ns ? range.length_ns - inside_ns : 0;
    int error = 0;
    range.status = outermost && !task ? page_status_of(spans->trace, &item->args) : 0;
    if (outermost)
        error = take_track(spans, &range, task);
    if (lane < 0)
        spans->refused++;
    return error || lane < 0 ? error : add_range(&spans->drawn, &range, spans, drop_drawn);
}

int page_spans_take(struct page_spans *spans, const struct item *item)
{
    if (item->kind == ITEM_SPAN)
        return take_span(spans, item);
    return item->kind == ITEM_INSTANT && item->event->kind == EVENT_TRACK_MARK
               ? take_await(spans, item)
               : 0;
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Lays drawn ranges out in rows. Ranges that may overlap take the first free rows: each track, or
 * each outermost range. */

enum { ROWS_MAX = 64, LABEL_SIZE = 512 };

/* Nested ranges of one track. */
struct block {
    size_t first, count; /* in the sorted ranges */
    int64_t begin_ns, end_ns;
    uint32_t rows;
};

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
        return (a) < (b) ? -1 : 1;

static int by_lane(const void *left, const void *right)
{
    const struct page_range *a = left, *b = right;
    COMPARE(a->lane, b->lane)
    COMPARE(a->sub, b->sub)
    COMPARE(a->begin_ns, b->begin_ns)
    COMPARE(a->depth, b->depth)
    COMPARE(b->length_ns, a->length_ns)
    return 0;
}

static int by_begin(const void *left, const void *right)
{
    const struct block *a = left, *b = right;
    COMPARE(a->begin_ns, b->begin_ns)
    COMPARE(a->first, b->first)
    return 0;
}

static int64_t end_of(const struct page_range *range)
{
    return range->begin_ns + (int64_t)range->length_ns;
}

/* Finds the blocks of a lane. With `single`, for processes and queues, each range is a block. */
static size_t find_blocks(const struct page_range *ranges, size_t count, bool single,
                          struct block *blocks)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct page_range *range = &ranges[i];
        struct block *block = found > 0 ? &blocks[found - 1] : NULL;
        if (!block || single || ranges[block->first].sub != range->sub ||
            (range->depth == 0 && range->begin_ns >= block->end_ns)) {
            block = &blocks[found++];
            *block = (struct block){i, 0, range->begin_ns, end_of(range), 1};
        }
        block->count++;
        block->end_ns = end_of(range) > block->end_ns ? end_of(range) : block->end_ns;
        block->rows = range->depth + 1 > block->rows ? range->depth + 1 : block->rows;
    }
    return found;
}

/* The first of as many consecutive free rows as the block has. */
static uint32_t find_row(const int64_t *free_at, const struct block *block)
{
    uint32_t rows = block->rows < ROWS_MAX ? block->rows : ROWS_MAX;
    for (uint32_t row = 0; row + rows <= ROWS_MAX; row++) {
        uint32_t at = row;
        while (at < row + rows && free_at[at] <= block->begin_ns)
            at++;
        if (at == row + rows)
            return row;
    }
    return ROWS_MAX - rows;
}

static int lay_out(struct page_range *ranges, size_t count, bool single)
{
    struct block *blocks = calloc(count + 1, sizeof(*blocks));
    int64_t free_at[ROWS_MAX];
    if (!blocks)
        return -ENOMEM;
    for (unsigned i = 0; i < ROWS_MAX; i++)
        free_at[i] = INT64_MIN;
    size_t found = find_blocks(ranges, count, single, blocks);
    qsort(blocks, found, sizeof(*blocks), by_begin);
    for (size_t i = 0; i < found; i++) {
        const struct block *block = &blocks[i];
        uint32_t row = find_row(free_at, block);
        for (uint32_t at = row; at < row + block->rows && at < ROWS_MAX; at++)
            free_at[at] = block->end_ns;
        for (size_t j = 0; j < block->count; j++)
            ranges[block->first + j].depth += row;
    }
    free(blocks);
    return 0;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum lane_column { LANE_BEGIN, LANE_LENGTH, LANE_NAME, LANE_DEPTH };

struct slice {
    const struct page_range *ranges;
    size_t count;
};

static void put_column(const struct page *page, struct json_doc *doc, const char *key,
                       enum lane_column column, const struct slice *slice)
{
    json_doc_array(doc, key);
    for (size_t i = 0; i < slice->count; i++) {
        const struct page_range *range = &slice->ranges[i];
        int64_t begin_ns = page_since_begin(page, range->begin_ns);
        json_doc_int(doc, NULL,
                     column == LANE_BEGIN    ? begin_ns
                     : column == LANE_LENGTH ? page_since_begin(page, end_of(range)) - begin_ns
                     : column == LANE_NAME   ? page_use_name(&page->names, range->name)
                                             : (int64_t)range->depth);
    }
    json_doc_close(doc);
}

static int put_density(struct json_doc *doc, const struct page_lane *lane)
{
    uint8_t bytes[PAGE_DENSITY_SLOTS] = {0};
    for (uint32_t i = 0; i < PAGE_DENSITY_SLOTS && lane->density; i++) {
        float part = lane->density[i] * 255;
        bytes[i] = (uint8_t)(part > 255 ? 255 : part > 0 && part < 1 ? 1 : part);
    }
    if (lane->density)
        return page_put_bytes(doc, "density", bytes, sizeof(bytes));
    json_doc_null(doc, "density");
    return 0;
}

static int put_lane(const struct page *page, struct json_doc *doc, const struct page_lane *lane,
                    const struct slice *slice)
{
    static const char *const kinds[] = {[PAGE_LANE_THREAD] = "thread",
                                        [PAGE_LANE_PROCESS] = "process",
                                        [PAGE_LANE_TRACK] = "track",
                                        [PAGE_LANE_QUEUE] = "queue"};
    bool thread = lane->kind == PAGE_LANE_THREAD;
    uint32_t index = thread ? page->thread_index[lane->ordinal] : PAGE_NONE;
    uint32_t process = page->process_index[lane->process];
    char label[LABEL_SIZE];
    json_doc_object(doc, NULL);
    json_doc_int(doc, "thread", index == PAGE_NONE ? -1 : (int64_t)index);
    if (thread)
        trace_thread_label(page->trace, lane->ordinal, label, sizeof(label));
    else if (lane->kind == PAGE_LANE_PROCESS)
        trace_process_label(page->trace, lane->ordinal, label, sizeof(label));
    else if (lane->kind == PAGE_LANE_QUEUE)
        trace_lane_path(page->trace, lane->ordinal, label, sizeof(label));
    page_put_text(page, doc, "name", lane->name ? lane->name : label);
    json_doc_text(doc, "kind", kinds[lane->kind]);
    json_doc_int(doc, "process", process == PAGE_NONE ? -1 : (int64_t)process);
    put_column(page, doc, "begin", LANE_BEGIN, slice);
    put_column(page, doc, "length", LANE_LENGTH, slice);
    put_column(page, doc, "name_of", LANE_NAME, slice);
    put_column(page, doc, "depth", LANE_DEPTH, slice);
    json_doc_uint(doc, "short", lane->short_count);
    int error = put_density(doc, lane);
    json_doc_close(doc);
    return error;
}

/* Call once: converts depths to rows. */
int page_lanes_finish(struct page_spans *spans)
{
    struct page_longest *drawn = &spans->drawn;
    int error = page_spans_limit(spans, PAGE_SPANS_MAX);
    if (drawn->items.count > 0)
        qsort(drawn->items.items, drawn->items.count, sizeof(*drawn->items.items), by_lane);
    for (size_t i = 0; i < drawn->items.count && !error;) {
        struct page_range *first = &drawn->items.items[i];
        uint8_t kind = spans->lanes.items[first->lane].kind;
        size_t count = 0;
        for (; i < drawn->items.count && drawn->items.items[i].lane == first->lane; i++)
            count++;
        if (kind != PAGE_LANE_THREAD)
            error = lay_out(first, count, kind != PAGE_LANE_TRACK);
    }
    return error;
}

int page_put_lanes(struct page *page, struct json_doc *doc)
{
    const struct page_longest *drawn = &page->spans.drawn;
    size_t at = 0;
    int error = 0;
    json_doc_array(doc, "lanes");
    for (size_t i = 0; i < page->spans.lanes.count && !error; i++) {
        size_t first = at;
        while (at < drawn->items.count && drawn->items.items[at].lane == i)
            at++;
        const struct page_lane *lane = &page->spans.lanes.items[i];
        if (at > first || lane->short_count > 0)
            error =
                put_lane(page, doc, lane, &(struct slice){drawn->items.items + first, at - first});
    }
    json_doc_close(doc);
    return error;
}
