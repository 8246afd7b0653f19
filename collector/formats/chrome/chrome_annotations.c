/* SPDX-License-Identifier: MIT */
/* Ranges on streams: see chrome_annotations.h.
 *
 * A launch is known when its work is reported, after the range around it has ended, and inner
 * ranges end before outer ones. So both are kept, and joined at the end; but of ranges without a
 * launch so far only the last half million or more. */
#include "chrome_annotations.h"

#include "chrome_gpu.h"
#include "chrome_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANGES_WINDOW = 1 << 20, /* not yet checked for launches: 32 MiB */
    LAUNCHES_MAX = 1 << 22,  /* 128 MiB; later launches get no annotation */
};

/* Extent of a range's work on a queue, while the range is open or as a slice of it. */
struct extent {
    uint32_t range, queue; /* ordinals */
    uint32_t next;         /* of the same range: 1 + index; 0: the last */
    int64_t begin_ns, end_ns;
};

/* A thread of the device's process. */
struct row {
    uint32_t queue, tid;
    int64_t last_begin_ns;
    VEC(int64_t) ends; /* of the slices open on it, outermost first */
};

struct open {
    uint32_t range;
    uint32_t first; /* 1 + index of its extents */
};

struct join {
    struct chrome_gpu *gpu;
    const struct chrome_annotated *ranges;
    VEC(struct open) open;
    VEC(struct extent) extents, done;
    VEC(struct row) rows;
};

/* ---- Input ----------------------------------------------------------------------------------- */

static int by_launch(const void *left, const void *right)
{
    const struct chrome_work *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->origin_ns > b->origin_ns) - (a->origin_ns < b->origin_ns);
}

static void sort_launches(struct chrome_annotations *all)
{
    if (all->launches.count > 1)
        qsort(all->launches.items, all->launches.count, sizeof(*all->launches.items), by_launch);
}

static bool has_launch(const struct chrome_annotations *all, const struct chrome_annotated *range)
{
    size_t low = 0, high = all->launches.count;
    const struct chrome_work begin = {.thread = range->thread, .origin_ns = range->begin_ns};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_launch(&all->launches.items[middle], &begin) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < all->launches.count && all->launches.items[low].thread == range->thread &&
           all->launches.items[low].origin_ns < range->end_ns;
}

/* Drops ranges without launches among the older half. */
static void forget_idle(struct chrome_annotations *all)
{
    struct chrome_annotated *items = all->ranges.items;
    size_t end = all->judged + RANGES_WINDOW / 2, kept = all->judged;
    sort_launches(all);
    for (size_t i = all->judged; i < end; i++)
        if (has_launch(all, &items[i]))
            items[kept++] = items[i];
    memmove(items + kept, items + end, (all->ranges.count - end) * sizeof(*items));
    all->ranges.count -= end - kept;
    all->judged = kept;
}

int chrome_annotations_range(struct chrome_gpu *gpu, const struct item *item)
{
    struct chrome_annotations *all = &gpu->annotations;
    const struct event *event = item->event;
    const struct chrome_annotated range = {.begin_ns = event->time_ns,
                                           .end_ns = item->end_ns,
                                           .thread = event->thread,
                                           .name = event->name,
                                           .depth = item->depth};
    if (item->call || gpu_role_of(gpu->writer->trace, event->scope))
        return 0;
    if (all->ranges.count - all->judged >= RANGES_WINDOW)
        forget_idle(all);
    return vec_push(&all->ranges, range) != 0 ? -ENOMEM : 0;
}

int chrome_annotations_launch(struct chrome_gpu *gpu, const struct item *item,
                              const struct chrome_queue *queue)
{
    struct chrome_annotations *all = &gpu->annotations;
    const struct event *event = item->event;
    const struct chrome_work work = {.origin_ns = event->origin_ns,
                                     .begin_ns = event->time_ns,
                                     .end_ns = item->end_ns,
                                     .thread = event->thread,
                                     .queue = (uint32_t)(queue - gpu->queues.items)};
    if (event->origin_ns == EVENT_NO_ORIGIN || !queue->is_stream ||
        !gpu_role_is_launched(gpu_role_of(gpu->writer->trace, event->scope)))
        return 0;
    if (all->launches.count >= LAUNCHES_MAX) {
        all->left_out++;
        return 0;
    }
    return vec_push(&all->launches, work) != 0 ? -ENOMEM : 0;
}

/* ---- Work of ranges -------------------------------------------------------------------------- */

/* Widens the extent of the innermost open range on that queue. */
static int widen(struct join *join, const struct extent *by)
{
    struct open *open = &join->open.items[join->open.count - 1];
    for (uint32_t at = open->first; at; at = join->extents.items[at - 1].next) {
        struct extent *extent = &join->extents.items[at - 1];
        if (extent->queue != by->queue)
            continue;
        if (by->begin_ns < extent->begin_ns)
            extent->begin_ns = by->begin_ns;
        if (by->end_ns > extent->end_ns)
            extent->end_ns = by->end_ns;
        return 0;
    }
    struct extent fresh = *by;
    fresh.range = open->range;
    fresh.next = open->first;
    if (vec_push(&join->extents, fresh) != 0)
        return -ENOMEM;
    open->first = (uint32_t)join->extents.count;
    return 0;
}

/* Work in a range is also work in the one around it. */
static int close_range(struct join *join)
{
    struct open open = join->open.items[--join->open.count];
    for (uint32_t at = open.first; at; at = join->extents.items[at - 1].next) {
        struct extent extent = join->extents.items[at - 1];
        if (vec_push(&join->done, extent) != 0 || (join->open.count && widen(join, &extent) != 0))
            return -ENOMEM;
    }
    if (!join->open.count)
        join->extents.count = 0;
    return 0;
}

/* Closes the ranges that have ended by then; all of another thread. */
static int close_ended(struct join *join, uint32_t thread, int64_t time_ns)
{
    int error = 0;
    while (!error && join->open.count) {
        const struct chrome_annotated *range =
            &join->ranges[join->open.items[join->open.count - 1].range];
        if (range->thread == thread && range->end_ns > time_ns)
            break;
        error = close_range(join);
    }
    return error;
}

static int add_work(struct join *join, const struct chrome_work *work)
{
    const struct extent extent = {
        .queue = work->queue, .begin_ns = work->begin_ns, .end_ns = work->end_ns};
    int error = close_ended(join, work->thread, work->origin_ns);
    return error || !join->open.count ? error : widen(join, &extent);
}

static int open_range(struct join *join, uint32_t index)
{
    const struct chrome_annotated *range = &join->ranges[index];
    int error = close_ended(join, range->thread, range->begin_ns);
    return error ? error : vec_push(&join->open, ((struct open){.range = index}));
}

static bool begins_by(const struct chrome_annotated *range, const struct chrome_work *work)
{
    return range->thread < work->thread ||
           (range->thread == work->thread && range->begin_ns <= work->origin_ns);
}

static int find_extents(struct join *join, const struct chrome_annotations *all)
{
    size_t next = 0;
    int error = 0;
    for (size_t i = 0; i < all->launches.count && !error; i++) {
        const struct chrome_work *work = &all->launches.items[i];
        while (!error && next < all->ranges.count && begins_by(&join->ranges[next], work))
            error = open_range(join, (uint32_t)next++);
        if (!error)
            error = add_work(join, work);
    }
    while (!error && join->open.count)
        error = close_range(join);
    return error;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static void describe_row(struct join *join, const struct row *row, size_t ordinal)
{
    struct chrome_gpu *gpu = join->gpu;
    const struct chrome_queue *queue = &gpu->queues.items[row->queue];
    char place[CHROME_GPU_PLACE], label[EXPORT_LABEL_SIZE + 32];
    size_t length = trace_lane_label(gpu->writer->trace, queue->lane, label, EXPORT_LABEL_SIZE);
    length += (size_t)snprintf(label + length, 32, ": ranges");
    if (ordinal > 1)
        snprintf(label + length, 24, " (%zu)", ordinal);
    snprintf(place, sizeof(place), ",\"pid\":%u,\"tid\":%u", queue->pid, row->tid);
    chrome_put_metadata(gpu->writer, place, "thread_name",
                        &(struct fact){.name = "name", .kind = VALUE_STRING, .text = label});
    chrome_put_metadata(gpu->writer, place, "thread_sort_index",
                        &(struct fact){.name = "sort_index",
                                       .kind = VALUE_UINT64,
                                       .value = {.uint64 = queue->stream}});
}

/* True if it lies inside of the open slice, or after all slices. */
static bool fits(struct row *row, const struct extent *extent)
{
    if (extent->begin_ns < row->last_begin_ns)
        return false;
    while (row->ends.count && row->ends.items[row->ends.count - 1] <= extent->begin_ns)
        row->ends.count--;
    return !row->ends.count || extent->end_ns <= row->ends.items[row->ends.count - 1];
}

/* The row for it, added if all are taken; NULL: out of memory. */
static struct row *find_row(struct join *join, const struct extent *extent)
{
    size_t ordinal = 1;
    struct row *row = NULL;
    for (size_t i = 0; i < join->rows.count; i++) {
        row = &join->rows.items[i];
        if (row->queue != extent->queue)
            continue;
        if (fits(row, extent))
            return row;
        ordinal++;
    }
    struct row fresh = {.queue = extent->queue,
                        .tid = join->gpu->ids->next_synthetic++,
                        .last_begin_ns = extent->begin_ns};
    if (vec_push(&join->rows, fresh) != 0)
        return NULL;
    row = &join->rows.items[join->rows.count - 1];
    describe_row(join, row, ordinal);
    return row;
}

static int put_extent(struct join *join, const struct extent *extent)
{
    struct chrome_writer *writer = join->gpu->writer;
    const struct chrome_annotated *range = &join->ranges[extent->range];
    const struct chrome_queue *queue = &join->gpu->queues.items[extent->queue];
    struct row *row = find_row(join, extent);
    char place[CHROME_GPU_PLACE];
    if (!row || vec_push(&row->ends, extent->end_ns) != 0)
        return -ENOMEM;
    row->last_begin_ns = extent->begin_ns;
    snprintf(place, sizeof(place), ",\"pid\":%u,\"tid\":%u", queue->pid, row->tid);
    chrome_begin(writer, 'X', range->name);
    out_text(writer->out, place);
    chrome_micros(writer, "ts", extent->begin_ns - writer->origin_ns);
    chrome_micros(writer, "dur", extent->end_ns - extent->begin_ns);
    chrome_text(writer, "cat", "gpu_user_annotation");
    chrome_argument(
        writer,
        &(struct fact){.name = "device", .kind = VALUE_UINT64, .value = {.uint64 = queue->device}});
    struct fact tid = tid_fact(join->gpu->ids, "start_tid", range->thread);
    chrome_argument(writer, &tid);
    chrome_end(writer);
    return 0;
}

static int by_range(const void *left, const void *right)
{
    const struct chrome_annotated *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return (a->depth > b->depth) - (a->depth < b->depth);
}

/* Outer extents first; ranges of one thread are already in order. */
static int by_place(const void *left, const void *right)
{
    const struct extent *a = left, *b = right;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a->range > b->range) - (a->range < b->range);
}

int chrome_annotations_finish(struct chrome_gpu *gpu)
{
    struct chrome_annotations *all = &gpu->annotations;
    struct join join = {.gpu = gpu};
    sort_launches(all);
    if (all->ranges.count > 1)
        qsort(all->ranges.items, all->ranges.count, sizeof(*all->ranges.items), by_range);
    join.ranges = all->ranges.items;
    int error = find_extents(&join, all);
    if (join.done.count > 1)
        qsort(join.done.items, join.done.count, sizeof(*join.done.items), by_place);
    for (size_t i = 0; i < join.done.count && !error; i++)
        error = put_extent(&join, &join.done.items[i]);
    for (size_t i = 0; i < join.rows.count; i++)
        vec_free(&join.rows.items[i].ends);
    vec_free(&join.rows);
    vec_free(&join.open);
    vec_free(&join.extents);
    vec_free(&join.done);
    return error;
}

void chrome_annotations_fini(struct chrome_annotations *all)
{
    vec_free(&all->ranges);
    vec_free(&all->launches);
}
