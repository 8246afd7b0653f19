/* SPDX-License-Identifier: MIT */
/* Statistics of GPU work by name. See gpu_stats.h. */
#include "gpu_stats.h"

#include "gpu_name.h"
#include "gpu_sums.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HISTOGRAM_LIMIT ((size_t)32 << 20)

enum gpu_key {
    KEY_NEW = 0, /* not classified yet */
    KEY_GRID,
    KEY_BLOCK,
    KEY_REGISTERS,
    KEY_SHARED,
    KEY_OCCUPANCY,
    KEY_GRAPH,
    KEY_CAPTURED,
    KEY_BYTES,
    KEY_DIRECTION,
    KEY_SOURCE,
    KEY_DESTINATION,
    KEY_OTHER,
    KEY_COUNT,
};

struct gpu_stats *gpu_stats_create(const struct trace *trace, struct range_stats *stats,
                                   enum range_grouping grouping)
{
    struct gpu_stats *work = calloc(1, sizeof(*work));
    if (!work)
        return NULL;
    work->trace = work->stalls.trace = trace;
    work->stats = stats;
    work->grouping = grouping;
    work->histograms = histogram_pool_create(HISTOGRAM_LIMIT);
    if (!work->histograms || gpu_queues_init(&work->queues, trace) != 0) {
        gpu_stats_destroy(work);
        return NULL;
    }
    return work;
}

void gpu_stats_destroy(struct gpu_stats *work)
{
    if (!work)
        return;
    gpu_queues_fini(&work->queues);
    gpu_places_fini(&work->places);
    gpu_stalls_fini(&work->stalls);
    gpu_hosts_fini(&work->hosts);
    vec_free(&work->rows);
    vec_free(&work->sorted);
    wide_map_free(&work->row_index);
    vec_free(&work->shapes);
    wide_map_free(&work->shape_index);
    vec_free(&work->keys);
    vec_free(&work->row_of_name);
    histogram_pool_destroy(work->histograms);
    range_keeper_free(&work->keeper);
    gpu_sources_fini(&work->from_paths);
    gpu_sources_fini(&work->from_stacks);
    gpu_sources_fini(&work->from_functions);
    gpu_sources_fini(&work->from_captures);
    vec_free(&work->captures);
    free(work);
}

void gpu_stats_keep(struct gpu_stats *work, uint32_t limit)
{
    work->keeper.limit = limit;
}

const struct range_duration *gpu_stats_durations(const struct gpu_stats *work,
                                                 const struct gpu_row *row, uint32_t *ret_count)
{
    return range_keeper_get(&work->keeper, (size_t)(row - work->rows.items), ret_count);
}

/* ---- Key-values ------------------------------------------------------------------------------ */

/* The last value of each key among a span's key-values; NULL: missing. */
struct gpu_values {
    const struct arg *values[KEY_COUNT];
};

static enum gpu_key find_key(const char *text)
{
    static const struct {
        const char *text;
        enum gpu_key key;
    } keys[] = {
        {QUEUE_KEY_GRID, KEY_GRID},           {QUEUE_KEY_BLOCK, KEY_BLOCK},
        {QUEUE_KEY_REGISTERS, KEY_REGISTERS}, {QUEUE_KEY_SHARED, KEY_SHARED},
        {QUEUE_KEY_OCCUPANCY, KEY_OCCUPANCY}, {QUEUE_KEY_BYTES, KEY_BYTES},
        {QUEUE_KEY_DIRECTION, KEY_DIRECTION}, {QUEUE_KEY_GRAPH, KEY_GRAPH},
        {QUEUE_KEY_SOURCE, KEY_SOURCE},       {QUEUE_KEY_DESTINATION, KEY_DESTINATION},
        {QUEUE_KEY_CAPTURED, KEY_CAPTURED},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (strcmp(text, keys[i].text) == 0)
            return keys[i].key;
    return KEY_OTHER;
}

static enum gpu_key look_at_key(struct gpu_stats *work, uint32_t string)
{
    enum gpu_key key = find_key(trace_string(work->trace, string)->bytes);
    while (work->keys.count <= string && string < trace_string_count(work->trace))
        if (vec_push(&work->keys, (uint8_t)KEY_NEW) != 0)
            return key;
    if (string < work->keys.count)
        work->keys.items[string] = (uint8_t)key;
    return key;
}

static inline void take_values(struct gpu_stats *work, const struct args *args,
                               struct gpu_values *found)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const struct arg *arg = &args->items[i];
        uint8_t key = arg->key < work->keys.count ? work->keys.items[arg->key] : KEY_NEW;
        found->values[key ? key : look_at_key(work, arg->key)] = arg;
    }
}

static uint64_t number_of(const struct arg *arg)
{
    bool is_number =
        arg && (arg->kind == VALUE_UINT64 || (arg->kind == VALUE_INT64 && arg->value.int64 >= 0));
    return is_number ? arg->value.uint64 : 0;
}

static double percent_of(const struct arg *arg)
{
    double percent = !arg                        ? NAN
                     : arg->kind == VALUE_DOUBLE ? arg->value.float64
                     : arg->kind == VALUE_UINT64 ? (double)arg->value.uint64
                     : arg->kind == VALUE_INT64  ? (double)arg->value.int64
                                                 : NAN;
    return percent >= 0 && percent <= 100 ? percent : NAN;
}

static uint32_t string_of(const struct arg *arg)
{
    return arg && arg->kind == VALUE_STRING ? arg->value.string : 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* By the direction, else by the name, in the spelling of libannot-gpu. */
static enum gpu_way way_of(const char *direction, const char *name)
{
    static const char *const to[] = {"HtoD", "HtoA", "copy host to device", "copy host to array"};
    static const char *const from[] = {"DtoH", "AtoH", "copy device to host", "copy array to host"};
    for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
        if (strcmp(*direction ? direction : name, to[i]) == 0)
            return GPU_WAY_TO_DEVICE;
        if (strcmp(*direction ? direction : name, from[i]) == 0)
            return GPU_WAY_FROM_DEVICE;
    }
    return GPU_WAY_OTHER;
}

/* By the names that libannot-gpu writes. */
static enum gpu_window window_of(uint8_t role, const char *name)
{
    static const char begin[] = "overhead: window ";
    if (role != QUEUE_ROLE_OVERHEAD || strncmp(name, begin, sizeof(begin) - 1) != 0)
        return GPU_WINDOW_NONE;
    name += sizeof(begin) - 1;
    return strcmp(name, "opens") == 0     ? GPU_WINDOW_OPENS
           : strcmp(name, "shuts") == 0   ? GPU_WINDOW_SHUTS
           : strcmp(name, "rests") == 0   ? GPU_WINDOW_RESTS
           : strcmp(name, "goes on") == 0 ? GPU_WINDOW_GOES_ON
                                          : GPU_WINDOW_NONE;
}

/* Most names have one role. */
static int keep_by_name(struct gpu_stats *work, uint32_t name, uint32_t index)
{
    while (work->row_of_name.count <= name && name < trace_string_count(work->trace))
        if (vec_push(&work->row_of_name, 0u) != 0)
            return -ENOMEM;
    if (name < work->row_of_name.count)
        work->row_of_name.items[name] = index;
    return 0;
}

/* NULL: out of memory. Names beyond the limit share one row per role. */
static struct gpu_row *make_row(struct gpu_stats *work, struct gpu_row fresh)
{
    if (work->rows.count >= GPU_ROWS_MAX)
        fresh.name = fresh.direction = 0;
    const struct wide_key *key = WIDE_KEY(fresh.role, fresh.name, fresh.direction);
    const uint64_t *found = wide_map_find(&work->row_index, key);
    if (!found) {
        fresh.min_ns = UINT64_MAX;
        fresh.way = (uint8_t)way_of(trace_string(work->trace, fresh.direction)->bytes,
                                    trace_string(work->trace, fresh.name)->bytes);
        fresh.pageable = strstr(trace_string(work->trace, fresh.name)->bytes, "Pageable");
        fresh.edge = (uint8_t)window_of(fresh.role, trace_string(work->trace, fresh.name)->bytes);
        if (vec_push(&work->rows, fresh) != 0 ||
            wide_map_put(&work->row_index, key, work->rows.count - 1) != 0 ||
            keep_by_name(work, fresh.name, (uint32_t)work->rows.count) != 0)
            return NULL;
        work->recent = work->rows.count;
    } else {
        work->recent = *found + 1;
    }
    return &work->rows.items[work->recent - 1];
}

static struct gpu_row *row_of(struct gpu_stats *work, uint8_t role, uint32_t name,
                              uint32_t direction)
{
    if (work->recent > 0) {
        struct gpu_row *recent = &work->rows.items[work->recent - 1];
        if (recent->name == name && recent->role == role && recent->direction == direction)
            return recent;
    }
    uint32_t index = name < work->row_of_name.count ? work->row_of_name.items[name] : 0;
    if (index != 0) {
        struct gpu_row *row = &work->rows.items[index - 1];
        if (row->role == role && row->direction == direction) {
            work->recent = index;
            return row;
        }
    }
    return make_row(work, (struct gpu_row){.role = role, .name = name, .direction = direction});
}

static bool is_shape(const struct gpu_shape *one, const struct gpu_shape *other)
{
    return one->row == other->row && one->grid == other->grid && one->block == other->block &&
           one->registers == other->registers && one->shared_bytes == other->shared_bytes;
}

/* Index + 1; 0: limit reached. -ENOMEM. */
static int64_t find_shape(struct gpu_stats *work, struct gpu_row *row, struct gpu_shape *shape)
{
    const struct wide_key *key = WIDE_KEY((uint64_t)shape->row << 32 | shape->grid,
                                          (uint64_t)shape->block << 32 | (uint32_t)shape->registers,
                                          shape->shared_bytes, shape->registers >> 32);
    const uint64_t *found = wide_map_find(&work->shape_index, key);
    if (found || work->shapes.count >= GPU_SHAPES_MAX)
        return found ? (int64_t)*found : 0;
    shape->next = row->shapes;
    if (vec_push(&work->shapes, *shape) != 0 ||
        wide_map_put(&work->shape_index, key, work->shapes.count) != 0)
        return -ENOMEM;
    row->shapes = (uint32_t)work->shapes.count;
    row->shape_count++;
    return row->shapes;
}

/* Returns the cache slot for the index of a shape. */
static uint32_t *recent_shape(struct gpu_stats *work, const struct gpu_shape *shape)
{
    uint32_t mixed = shape->row * 0x9e3779b1u ^ shape->grid * 0x85ebca6bu ^
                     shape->block * 0xc2b2ae35u ^ (uint32_t)shape->shared_bytes * 0x27d4eb2fu ^
                     (uint32_t)shape->registers * 0x165667b1u;
    return &work->recent_shapes[mixed >> (32 - GPU_RECENT_BITS)];
}

static int add_shape(struct gpu_stats *work, struct gpu_row *row, const struct gpu_values *found,
                     uint64_t time_ns)
{
    struct gpu_shape shape = {
        .row = (uint32_t)(row - work->rows.items),
        .grid = string_of(found->values[KEY_GRID]),
        .block = string_of(found->values[KEY_BLOCK]),
        .registers = number_of(found->values[KEY_REGISTERS]),
        .shared_bytes = number_of(found->values[KEY_SHARED]),
        .occupancy = percent_of(found->values[KEY_OCCUPANCY]),
    };
    uint32_t *recent = recent_shape(work, &shape);
    int64_t index = *recent;
    if (index == 0 || !is_shape(&work->shapes.items[index - 1], &shape))
        index = find_shape(work, row, &shape);
    if (index > 0) {
        *recent = (uint32_t)index;
        work->shapes.items[index - 1].count++;
        work->shapes.items[index - 1].total_ns += time_ns;
    }
    return index < 0 ? (int)index : 0;
}

/* ---- Spans ----------------------------------------------------------------------------------- */

/* Time of the launch, or of the start if it is unknown. */
static int64_t launched_at(const struct item *span, bool is_node)
{
    int64_t origin_ns = span->event->origin_ns;
    bool known = origin_ns != EVENT_NO_ORIGIN && !is_node && origin_ns < span->begin_ns;
    return known ? origin_ns : span->begin_ns;
}

static bool is_pageable(const struct gpu_stats *work, const struct arg *memory)
{
    return strcmp(trace_string(work->trace, string_of(memory))->bytes, "pageable") == 0;
}

static void count_kind(struct gpu_stats *work, const struct gpu_row *row,
                       const struct gpu_values *found, uint64_t time_ns)
{
    struct gpu_totals *totals = &work->totals;
    totals->kernel_count += row->role == QUEUE_ROLE_KERNEL;
    totals->brief_kernel_count += row->role == QUEUE_ROLE_KERNEL && time_ns < GPU_KERNEL_BRIEF_NS;
    if (row->role != QUEUE_ROLE_COPY ||
        !(row->pageable || is_pageable(work, found->values[KEY_SOURCE]) ||
          is_pageable(work, found->values[KEY_DESTINATION])))
        return;
    totals->pageable_count++;
    totals->pageable.bytes += number_of(found->values[KEY_BYTES]);
    totals->pageable.time_ns += time_ns;
}

/* False for waits of the GPU itself, one stream for another. */
static bool is_sync(const struct gpu_stats *work, const struct gpu_row *row)
{
    static const char *const streams[] = {"stream waits for event", "Stream Wait Event"};
    const char *name = trace_string(work->trace, row->name)->bytes;
    return row->role == QUEUE_ROLE_WAIT && strcmp(name, streams[0]) != 0 &&
           strcmp(name, streams[1]) != 0;
}

static int take_work(struct gpu_stats *work, const struct item *span, struct gpu_row *row,
                     const struct gpu_values *found)
{
    uint64_t time_ns = (uint64_t)(span->end_ns - span->begin_ns);
    const struct gpu_launch launch = {
        .bytes = number_of(found->values[KEY_BYTES]),
        .is_node = found->values[KEY_GRAPH] && row->role != QUEUE_ROLE_GRAPH,
    };
    work->totals.count++;
    work->totals.total_ns += time_ns;
    work->totals.graph_count += row->role == QUEUE_ROLE_GRAPH;
    work->totals.node_count += launch.is_node;
    count_kind(work, row, found, time_ns);
    row->bytes += launch.bytes;
    int error = row->role == QUEUE_ROLE_KERNEL ? add_shape(work, row, found, time_ns) : 0;
    if (!error && launch.is_node)
        error = gpu_sources_add(&work->from_captures, 0, string_of(found->values[KEY_CAPTURED]),
                                time_ns);
    if (!error)
        error = gpu_launched_add(work, span, row, &launch);
    return error ? error
                 : gpu_queues_add(&work->queues, work->trace, span,
                                  launched_at(span, launch.is_node));
}

static int take(void *context, const struct item *item)
{
    struct gpu_stats *work = context;
    if (item->kind == ITEM_INSTANT)
        return gpu_stalls_take(&work->stalls, item);
    if (item->kind == ITEM_SAMPLE)
        return gpu_hosts_take(work, item->sample);
    if (item->kind != ITEM_SPAN || item->lane != LANE_QUEUE)
        return 0;
    const struct scope *scope = trace_scope(work->trace, item->event->scope);
    if (scope->observer != OBSERVER_CUPTI)
        return 0;
    struct gpu_values found = {0};
    take_values(work, &item->args, &found);
    uint8_t role = scope->role < QUEUE_ROLE_COUNT ? (uint8_t)scope->role : 0;
    uint32_t direction = role == QUEUE_ROLE_COPY ? string_of(found.values[KEY_DIRECTION]) : 0;
    struct gpu_row *row = row_of(work, role, item->event->name, direction);
    if (!row)
        return -ENOMEM;
    uint64_t time_ns = (uint64_t)(item->end_ns - item->begin_ns);
    row->count++;
    row->total_ns += time_ns;
    row->min_ns = time_ns < row->min_ns ? time_ns : row->min_ns;
    row->max_ns = time_ns > row->max_ns ? time_ns : row->max_ns;
    histogram_add(work->histograms, &row->durations, time_ns);
    range_keep(&work->keeper, (size_t)(row - work->rows.items),
               (struct range_duration){time_ns, 0});
    if (row->edge != GPU_WINDOW_NONE)
        return gpu_queues_window(&work->queues, work->trace, item,
                                 row->edge == GPU_WINDOW_OPENS || row->edge == GPU_WINDOW_GOES_ON);
    if (is_sync(work, row))
        return gpu_queues_synced(&work->queues, work->trace, item);
    return gpu_role_is_work(role) ? take_work(work, item, row, &found) : 0;
}

/* Launching calls are not ranges of the program. */
static bool is_call(const struct gpu_stats *work, uint32_t scope)
{
    return scope != 0 && trace_scope(work->trace, scope)->observer == OBSERVER_CUPTI;
}

int gpu_stats_ended(struct gpu_stats *work, uint32_t row, const struct item *span)
{
    if (work->queues.has_queues.count == 0 || span->lane != LANE_THREAD ||
        work->grouping == RANGE_BY_NAME || span->end_ns <= span->begin_ns)
        return 0;
    const struct trace_thread *thread = trace_thread_get(work->trace, span->event->thread);
    if (!thread || thread->process >= work->queues.has_queues.count ||
        !work->queues.has_queues.items[thread->process] || is_call(work, span->event->scope))
        return 0;
    return gpu_stays_add(&work->places.stays, row, thread->process, span->begin_ns, span->end_ns);
}

struct sink gpu_stats_sink(struct gpu_stats *work)
{
    bool any = work->queues.has_queues.count > 0;
    return (struct sink){take, work, any ? WANT_EVENTS | WANT_SAMPLES | WANT_ORIGINS : 0};
}

/* ---- Results --------------------------------------------------------------------------------- */

static int longest_first(const void *left, const void *right)
{
    const struct gpu_row *a = *(const struct gpu_row *const *)left;
    const struct gpu_row *b = *(const struct gpu_row *const *)right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return a < b ? -1 : a > b;
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash | 1; /* 0 is not a valid key */
}

/* Marks kernels whose short names collide. 0 or -ENOMEM. */
static int find_ambiguous(struct gpu_stats *work)
{
    struct map64 seen = {0}; /* by hash: index + 1 */
    char name[512];
    int error = 0;
    for (size_t i = 0; i < work->rows.count && !error; i++) {
        struct gpu_row *row = &work->rows.items[i];
        if (row->role != QUEUE_ROLE_KERNEL || row->name == 0)
            continue;
        gpu_short_name(trace_string(work->trace, row->name)->bytes, name, sizeof(name));
        uint64_t hash = hash_of(name);
        const uint64_t *other = map64_find(&seen, hash);
        if (other)
            row->ambiguous = work->rows.items[*other - 1].ambiguous = true;
        else
            error = map64_put(&seen, hash, i + 1);
    }
    map64_free(&seen);
    return error;
}

void gpu_stats_name(const struct gpu_stats *work, const struct gpu_row *row, char *buffer,
                    size_t size)
{
    const char *whole = row->name ? trace_string(work->trace, row->name)->bytes : "(other)";
    if (row->role != QUEUE_ROLE_KERNEL) {
        struct text text = text_init(buffer, size);
        text_format(&text, "%s", whole);
    } else if (row->ambiguous) {
        gpu_longer_name(whole, buffer, size);
    } else {
        gpu_short_name(whole, buffer, size);
    }
}

int gpu_stats_finish(struct gpu_stats *work, int64_t from_ns, int64_t to_ns)
{
    if (vec_reserve(&work->sorted, work->rows.count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < work->rows.count; i++)
        work->sorted.items[work->sorted.count++] = &work->rows.items[i];
    if (work->sorted.count > 1)
        qsort(work->sorted.items, work->sorted.count, sizeof(*work->sorted.items), longest_first);
    gpu_stalls_finish(&work->stalls);
    int error = find_ambiguous(work);
    if (!error)
        error =
            gpu_queues_finish(&work->queues, work->trace, from_ns, to_ns, &work->totals.filled_ns);
    if (error || work->keeper.failed)
        return error ? error : -ENOMEM;
    gpu_queues_count_synced(&work->queues, &work->totals);
    error = gpu_captures_finish(work);
    return error ? error : gpu_launched_finish(work);
}

int gpu_stats_find_sources(struct gpu_stats *work, const struct own_time *own)
{
    int error = gpu_sources_find(work, own);
    return error || !own ? error : gpu_hosts_finish(work, own);
}

bool gpu_stats_any(const struct gpu_stats *work)
{
    return work->rows.count > 0;
}

const struct gpu_totals *gpu_stats_totals(const struct gpu_stats *work)
{
    return &work->totals;
}

uint32_t gpu_stats_rows(const struct gpu_stats *work, const struct gpu_row *const **ret_rows)
{
    *ret_rows = work->sorted.items;
    return (uint32_t)work->sorted.count;
}

uint64_t gpu_stats_quantile(const struct gpu_stats *work, const struct histogram *histogram,
                            double fraction)
{
    return histogram_quantile(work->histograms, histogram, fraction);
}

const struct gpu_shape *gpu_stats_shape(const struct gpu_stats *work, const struct gpu_row *row)
{
    const struct gpu_shape *most = NULL;
    for (uint32_t at = row->shapes; at != 0; at = work->shapes.items[at - 1].next) {
        const struct gpu_shape *shape = &work->shapes.items[at - 1];
        if (!most || shape->count >= most->count) /* the earliest shape wins ties */
            most = shape;
    }
    return most;
}

uint32_t gpu_stats_queues(const struct gpu_stats *work, const struct gpu_queue **ret_queues)
{
    *ret_queues = work->queues.rows.items;
    return (uint32_t)work->queues.rows.count;
}

const struct gpu_stalls *gpu_stats_stalls(const struct gpu_stats *work)
{
    return &work->stalls;
}

uint32_t gpu_stats_ranges(const struct gpu_stats *work, const struct gpu_range **ret_ranges)
{
    *ret_ranges = work->places.ranges.items;
    return (uint32_t)work->places.ranges.count;
}

uint32_t gpu_stats_captures(const struct gpu_stats *work, const struct gpu_from **ret_captures)
{
    *ret_captures = work->captures.items;
    return (uint32_t)work->captures.count;
}

uint32_t gpu_stats_host_places(const struct gpu_stats *work,
                               const struct gpu_host_place **ret_places)
{
    *ret_places = work->hosts.places.items;
    return (uint32_t)work->hosts.places.count;
}
