/* SPDX-License-Identifier: MIT */
/* Where GPU work was launched: the ranges, the idle time of GPUs within these, and for each name
 * the range and the own function in the stacks of sampled launches. See gpu_stats.h.
 *
 * Work is summed by the path that its thread had open at the launch, and distributed to the rows of
 * ranges at the end. Queues report their work late, so ranges are kept until all work is known. */
#include "gpu_sums.h"

#include "gpu_busy.h"
#include "gpu_stats.h"
#include "range_paths.h"
#include "varint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* When ranges were open, kept until the queues have reported their work, which is late.
 *
 * The entries of one row and process are a string of numbers: the start of a range relative to the
 * previous start, and its length, about six bytes together. */

enum { LEAST_FIRST_NS = 1024 };

void gpu_stays_fini(struct gpu_stays *stays)
{
    for (size_t i = 0; i < stays->lists.count; i++)
        vec_free(&stays->lists.items[i].bytes);
    vec_free(&stays->lists);
    vec_free(&stays->recent);
    map64_free(&stays->index);
    *stays = (struct gpu_stays){0};
}

/* ---- Reading and writing --------------------------------------------------------------------- */

struct gpu_stay_reader gpu_stays_read(const struct gpu_stay_list *list)
{
    return (struct gpu_stay_reader){list->bytes.items, list->bytes.items + list->bytes.count, 0};
}

bool gpu_stays_next(struct gpu_stay_reader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    struct varint_reader bytes = {reader->at, reader->end};
    if (reader->at == reader->end)
        return false;
    uint64_t begin_ns = (uint64_t)reader->last_ns + (uint64_t)varint_get_signed(&bytes);
    *ret_begin_ns = reader->last_ns = (int64_t)begin_ns;
    *ret_end_ns = (int64_t)(begin_ns + varint_get(&bytes));
    reader->at = bytes.at;
    return true;
}

/* Returns the end. */
static uint8_t *put(uint8_t *at, int64_t last_ns, int64_t begin_ns, int64_t end_ns)
{
    at = varint_put(at, zigzag((int64_t)((uint64_t)begin_ns - (uint64_t)last_ns)));
    return varint_put(at, (uint64_t)end_ns - (uint64_t)begin_ns);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void leave_out(struct gpu_stays *stays, uint64_t length_ns)
{
    stays->short_count++;
    stays->short_ns += length_ns;
}

/* Rewrites in place: one step over a dropped entry is no longer than the two steps it replaces. */
static void drop_short_of(struct gpu_stays *stays, struct gpu_stay_list *list)
{
    struct gpu_stay_reader reader = gpu_stays_read(list);
    uint8_t *at = list->bytes.items;
    int64_t begin_ns, end_ns;
    list->last_ns = 0;
    while (gpu_stays_next(&reader, &begin_ns, &end_ns)) {
        uint64_t length_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
        if (length_ns < stays->least_ns) {
            leave_out(stays, length_ns);
            continue;
        }
        at = put(at, list->last_ns, begin_ns, end_ns);
        list->last_ns = begin_ns;
    }
    list->bytes.count = at ? (size_t)(at - list->bytes.items) : 0;
}

/* Drops at least half of the bytes, the shortest entries first. */
static void drop_short(struct gpu_stays *stays)
{
    while (stays->size > GPU_STAYS_MAX_BYTES / 2) {
        stays->least_ns = stays->least_ns ? 2 * stays->least_ns : LEAST_FIRST_NS;
        stays->size = 0;
        for (size_t i = 0; i < stays->lists.count; i++) {
            drop_short_of(stays, &stays->lists.items[i]);
            stays->size += stays->lists.items[i].bytes.count;
        }
    }
}

/* NULL: out of memory. Valid until the next call. */
static struct gpu_stay_list *list_of(struct gpu_stays *stays, uint32_t row, uint32_t process)
{
    while (stays->recent.count <= row)
        if (vec_push(&stays->recent, 0u) != 0)
            return NULL;
    uint32_t *recent = &stays->recent.items[row];
    if (*recent != 0 && stays->lists.items[*recent - 1].process == process)
        return &stays->lists.items[*recent - 1];
    uint64_t key = ((uint64_t)row << 32 | process) + 1;
    const uint64_t *found = map64_find(&stays->index, key);
    if (found) {
        *recent = (uint32_t)*found;
    } else {
        struct gpu_stay_list fresh = {.row = row, .process = process};
        if (vec_push(&stays->lists, fresh) != 0 ||
            map64_put(&stays->index, key, stays->lists.count) != 0)
            return NULL;
        *recent = (uint32_t)stays->lists.count;
    }
    return &stays->lists.items[*recent - 1];
}

int gpu_stays_add(struct gpu_stays *stays, uint32_t row, uint32_t process, int64_t begin_ns,
                  int64_t end_ns)
{
    uint64_t length_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
    if (stays->size >= GPU_STAYS_MAX_BYTES)
        drop_short(stays);
    if (length_ns < stays->least_ns) {
        leave_out(stays, length_ns);
        return 0;
    }
    struct gpu_stay_list *list = list_of(stays, row, process);
    if (!list || vec_reserve(&list->bytes, 2 * VARINT_MAX) != 0 || !list->bytes.items)
        return -ENOMEM;
    uint8_t *begin = list->bytes.items + list->bytes.count;
    size_t size = (size_t)(put(begin, list->last_ns, begin_ns, end_ns) - begin);
    list->bytes.count += size;
    list->last_ns = begin_ns;
    stays->size += size;
    return 0;
}

void gpu_places_fini(struct gpu_places *places)
{
    vec_free(&places->paths);
    map64_free(&places->path_index);
    gpu_stays_fini(&places->stays);
    vec_free(&places->ranges);
    vec_free(&places->range_of_row);
}

/* ---- Sources of a name ----------------------------------------------------------------------- */

void gpu_sources_fini(struct gpu_sources *sources)
{
    vec_free(&sources->items);
    map64_free(&sources->index);
}

/* Drops sources beyond the limit. */
int gpu_sources_add(struct gpu_sources *sources, uint32_t row, uint32_t what, uint64_t time_ns)
{
    uint32_t mixed = row * 0x9e3779b1u ^ what * 0x85ebca6bu;
    uint32_t *recent = &sources->recent[mixed >> (32 - GPU_RECENT_BITS)];
    struct gpu_source *source = *recent ? &sources->items.items[*recent - 1] : NULL;
    if (!source || source->row != row || source->what != what) {
        uint64_t key = ((uint64_t)row << 32 | what) + 1;
        const uint64_t *found = map64_find(&sources->index, key);
        if (!found && sources->items.count >= GPU_SOURCES_MAX)
            return 0;
        if (!found && (vec_push(&sources->items, ((struct gpu_source){row, what, 0, 0})) != 0 ||
                       map64_put(&sources->index, key, sources->items.count) != 0))
            return -ENOMEM;
        *recent = found ? (uint32_t)*found : (uint32_t)sources->items.count;
        source = &sources->items.items[*recent - 1];
    }
    source->time_ns += time_ns;
    source->count++;
    return 0;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Returns the sums for work of a path; NULL: out of memory. */
static struct gpu_range *sums_of(struct gpu_stats *work, uint32_t owner, uint32_t path)
{
    struct gpu_places *places = &work->places;
    if (path == 0)
        return &work->totals.outside;
    if (places->recent < places->paths.count) {
        struct gpu_launched *recent = &places->paths.items[places->recent];
        if (recent->path == path && recent->owner == owner)
            return &recent->sums;
    }
    uint64_t key = (uint64_t)owner << 32 | path; /* nonzero, as the path is */
    const uint64_t *found = map64_find(&places->path_index, key);
    if (!found) {
        if (places->paths.count >= GPU_PATHS_MAX)
            return &work->totals.further;
        struct gpu_launched fresh = {.owner = owner, .path = path};
        if (vec_push(&places->paths, fresh) != 0 ||
            map64_put(&places->path_index, key, places->paths.count) != 0)
            return NULL;
        places->recent = places->paths.count - 1;
    } else {
        places->recent = *found - 1;
    }
    return &places->paths.items[places->recent].sums;
}

static int add_source(struct gpu_stats *work, const struct item *span, const struct gpu_row *row,
                      const struct gpu_range *sums)
{
    uint64_t time_ns = (uint64_t)(span->end_ns - span->begin_ns);
    uint32_t index = (uint32_t)(row - work->rows.items);
    uint32_t path = sums == &work->totals.outside ? 0 : (uint32_t)work->places.recent + 1;
    int error = sums == &work->totals.further
                    ? 0
                    : gpu_sources_add(&work->from_paths, index, path, time_ns);
    if (error || span->stack == 0)
        return error;
    return gpu_sources_add(&work->from_stacks, index, span->stack, time_ns);
}

int gpu_launched_add(struct gpu_stats *work, const struct item *span, const struct gpu_row *row,
                     const struct gpu_launch *launch)
{
    const struct event *event = span->event;
    uint64_t time_ns = (uint64_t)(span->end_ns - span->begin_ns);
    bool known = event->origin_ns != EVENT_NO_ORIGIN;
    struct gpu_range *sums =
        known ? sums_of(work, range_stats_owner(work->stats, event->thread), span->path)
              : &work->totals.unknown;
    if (!sums)
        return -ENOMEM;
    int error = known ? add_source(work, span, row, sums) : 0;
    if (!error && known)
        error = gpu_hosts_launched(work, event);
    if (error)
        return error;
    sums->count++;
    sums->total_ns += time_ns;
    sums->self_ns += time_ns;
    if (known && !launch->is_node && event->time_ns >= event->origin_ns)
        histogram_add(work->histograms, &sums->delays,
                      (uint64_t)event->time_ns - (uint64_t)event->origin_ns);
    if (row->role == QUEUE_ROLE_COPY) {
        sums->moved[row->way].bytes += launch->bytes;
        sums->moved[row->way].time_ns += time_ns;
    }
    return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* NULL: out of memory. Valid until the next call. */
static struct gpu_range *range_of(struct gpu_places *places, uint32_t row)
{
    while (places->range_of_row.count <= row)
        if (vec_push(&places->range_of_row, 0u) != 0)
            return NULL;
    uint32_t *index = &places->range_of_row.items[row];
    if (*index == 0) {
        if (vec_push(&places->ranges, (struct gpu_range){.row = row}) != 0)
            return NULL;
        *index = (uint32_t)places->ranges.count;
    }
    return &places->ranges.items[*index - 1];
}

static void add_sums(struct gpu_stats *work, struct gpu_range *range, const struct gpu_range *sums,
                     bool self)
{
    range->count += sums->count;
    range->total_ns += sums->total_ns;
    range->self_ns += self ? sums->self_ns : 0;
    histogram_join(work->histograms, &range->delays, &sums->delays);
    for (unsigned i = 0; i < GPU_WAYS; i++) {
        range->moved[i].bytes += sums->moved[i].bytes;
        range->moved[i].time_ns += sums->moved[i].time_ns;
    }
}

static int spread(struct gpu_stats *work, const struct gpu_launched *launched)
{
    uint32_t rows[RANGE_PATH_MAX];
    uint32_t depth = range_stats_path_rows(work->stats, launched->owner, launched->path, rows);
    if (depth == UINT32_MAX)
        return -ENOMEM;
    if (depth == 0)
        add_sums(work, &work->totals.outside, &launched->sums, true);
    for (uint32_t i = 0; i < depth; i++) {
        struct gpu_range *range = range_of(&work->places, rows[i]);
        if (!range)
            return -ENOMEM;
        if (!range_is_among(rows, i, rows[i]))
            add_sums(work, range, &launched->sums, i + 1 == depth);
        else if (i + 1 == depth)
            range->self_ns += launched->sums.self_ns;
    }
    return 0;
}

/* True for calls that only launch, in contrast to those that wait for a copy. */
static bool is_launch(const struct gpu_stats *work, uint32_t row)
{
    const struct scope *scope = range_stats_scope(work->stats, row);
    const char *domain, *name = range_stats_name(work->stats, row, &domain);
    if (!name || scope->observer != OBSERVER_CUPTI || scope->role != QUEUE_ROLE_CALL)
        return false;
    bool moves = strstr(name, "Memcpy") || strstr(name, "Memset");
    return strstr(name, "Launch") || (moves && strstr(name, "Async"));
}

/* The driver's call inside of the runtime's is part of the latter. */
static bool is_in_launch(const struct gpu_stats *work, uint32_t row)
{
    uint32_t at = range_stats_parent(work->stats, row);
    while (at != RANGE_NO_ROW && !is_launch(work, at))
        at = range_stats_parent(work->stats, at);
    return at != RANGE_NO_ROW;
}

static void add_calls(struct gpu_stats *work)
{
    struct gpu_places *places = &work->places;
    for (uint32_t row = 0; row < range_stats_row_count(work->stats); row++) {
        const struct range_row *call = range_stats_row(work->stats, row);
        if (call->kind != RANGE_PUSHED || call->count == 0 || !is_launch(work, row) ||
            is_in_launch(work, row))
            continue;
        for (uint32_t at = range_stats_parent(work->stats, row); at != RANGE_NO_ROW;
             at = range_stats_parent(work->stats, at)) {
            uint32_t index = at < places->range_of_row.count ? places->range_of_row.items[at] : 0;
            struct gpu_range *range = index ? &places->ranges.items[index - 1] : NULL;
            if (range) {
                range->call_count += call->count;
                range->call_ns += call->total_ns;
            }
        }
    }
}

/* Counts stays only while the process was watched, as idle time is unknown otherwise. */
static void add_stays_of(struct gpu_range *range, const struct process_busy *process,
                         const struct gpu_stay_list *list)
{
    struct gpu_stay_reader reader = gpu_stays_read(list);
    size_t near_busy = 0, near_watched = 0, near_starved = 0;
    int64_t begin_ns, end_ns;
    while (gpu_stays_next(&reader, &begin_ns, &end_ns)) {
        uint64_t busy_ns = gpu_busy_within(&process->busy, begin_ns, end_ns, &near_busy);
        uint64_t watched_ns = gpu_busy_within(&process->watched, begin_ns, end_ns, &near_watched);
        uint64_t idle_ns = watched_ns > busy_ns ? watched_ns - busy_ns : 0;
        uint64_t starved_ns = gpu_busy_within(&process->starved, begin_ns, end_ns, &near_starved);
        range->starved_ns += starved_ns;
        range->starved_self_ns += starved_ns;
        range->stay_ns += watched_ns;
        range->idle_ns += idle_ns;
        range->idle_self_ns += idle_ns;
    }
}

static int add_stays(struct gpu_stats *work)
{
    const struct gpu_stays *stays = &work->places.stays;
    for (size_t i = 0; i < stays->lists.count; i++) {
        const struct gpu_stay_list *list = &stays->lists.items[i];
        const struct process_busy *process = gpu_queues_of_process(&work->queues, list->process);
        struct gpu_range *range = process ? range_of(&work->places, list->row) : NULL;
        if (process && !range)
            return -ENOMEM;
        if (process)
            add_stays_of(range, process, list);
    }
    work->totals.short_count = stays->short_count;
    work->totals.short_ns = stays->short_ns;
    gpu_stays_fini(&work->places.stays);
    return 0;
}

/* Subtracts the idle time of inner ranges from the self time of the outer one. */
static void take_inner_idle(struct gpu_stats *work)
{
    struct gpu_places *places = &work->places;
    for (size_t i = 0; i < places->ranges.count; i++) {
        const struct gpu_range *inner = &places->ranges.items[i];
        uint32_t at = range_stats_parent(work->stats, inner->row);
        uint32_t index = at < places->range_of_row.count ? places->range_of_row.items[at] : 0;
        struct gpu_range *range = index ? &places->ranges.items[index - 1] : NULL;
        if (!range)
            continue;
        range->idle_self_ns -=
            inner->idle_ns < range->idle_self_ns ? inner->idle_ns : range->idle_self_ns;
        range->starved_self_ns -=
            inner->starved_ns < range->starved_self_ns ? inner->starved_ns : range->starved_self_ns;
    }
}

static int most_first(const void *left, const void *right)
{
    const struct gpu_range *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    if (a->idle_ns != b->idle_ns)
        return a->idle_ns < b->idle_ns ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

int gpu_launched_finish(struct gpu_stats *work)
{
    struct gpu_places *places = &work->places;
    int error = 0;
    for (size_t i = 0; i < places->paths.count && !error; i++)
        error = spread(work, &places->paths.items[i]);
    if (!error)
        error = add_stays(work);
    add_calls(work);
    take_inner_idle(work);
    if (places->ranges.count > 1)
        qsort(places->ranges.items, places->ranges.count, sizeof(*places->ranges.items),
              most_first);
    return error;
}

/* ---- Most of the time of a name -------------------------------------------------------------- */

/* More time; among zero times the first one counts. */
static bool is_more(const struct gpu_source *source, const struct gpu_from *from)
{
    return from->count == 0 || source->time_ns > from->time_ns;
}

/* True for calls of CUDA: every launch is in one, and they are not ranges of the program. */
static bool is_call(const struct gpu_stats *work, uint32_t row)
{
    return range_stats_scope(work->stats, row)->observer == OBSERVER_CUPTI;
}

static int find_ranges(struct gpu_stats *work)
{
    uint32_t rows[RANGE_PATH_MAX];
    for (size_t i = 0; i < work->from_paths.items.count; i++) {
        const struct gpu_source *source = &work->from_paths.items.items[i];
        struct gpu_from *from = &work->rows.items[source->row].range;
        if (!is_more(source, from))
            continue;
        *from = (struct gpu_from){RANGE_NO_ROW, source->time_ns, source->count};
        if (source->what == 0)
            continue;
        const struct gpu_launched *launched = &work->places.paths.items[source->what - 1];
        uint32_t depth = range_stats_path_rows(work->stats, launched->owner, launched->path, rows);
        if (depth == UINT32_MAX)
            return -ENOMEM;
        while (depth > 0 && is_call(work, rows[depth - 1]))
            depth--;
        from->what = depth > 0 ? rows[depth - 1] : RANGE_NO_ROW;
    }
    return 0;
}

int gpu_sources_find(struct gpu_stats *work, const struct own_time *own)
{
    struct gpu_sources *functions = &work->from_functions;
    int error = find_ranges(work);
    for (size_t i = 0; i < work->from_stacks.items.count && !error; i++) {
        const struct gpu_source *source = &work->from_stacks.items.items[i];
        work->rows.items[source->row].stacks_ns += source->time_ns;
        uint32_t label = own ? own_time_function(own, source->what) : 0;
        if (label)
            error = gpu_sources_add(functions, source->row, label, source->time_ns);
    }
    for (size_t i = 0; i < functions->items.count && !error; i++) {
        const struct gpu_source *source = &functions->items.items[i];
        struct gpu_from *from = &work->rows.items[source->row].function;
        if (is_more(source, from))
            *from = (struct gpu_from){source->what, source->time_ns, source->count};
    }
    return error;
}

static int longest_first(const void *left, const void *right)
{
    const struct gpu_from *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return (a->what > b->what) - (a->what < b->what);
}

int gpu_captures_finish(struct gpu_stats *work)
{
    const struct gpu_sources *sources = &work->from_captures;
    if (vec_reserve(&work->captures, sources->items.count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < sources->items.count; i++) {
        const struct gpu_source *source = &sources->items.items[i];
        work->captures.items[work->captures.count++] =
            (struct gpu_from){source->what, source->time_ns, source->count};
    }
    if (work->captures.count > 1)
        qsort(work->captures.items, work->captures.count, sizeof(*work->captures.items),
              longest_first);
    return 0;
}
