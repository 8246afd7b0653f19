/* SPDX-License-Identifier: MIT */
/* The statistics of range_stats.h.
 *
 * Each thread keeps the nodes of its open pushed ranges, so a range costs one look-up when it
 * opens, and no look-up when it closes. */
#include "range_stats.h"

#include "range_paths.h"
#include "range_rows.h"
#include "row_order.h"
#include "text.h"
#include "trace_devices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_LIMIT = 200000,
    LABEL_PARTS = 2 * PATH_HEAD,
};

#define HISTOGRAM_LIMIT ((size_t)96 << 20)

/* ---- Ranges in pieces -------------------------------------------------------------------------
 *
 * If a traced function opens a range and ends before it, the range is closed with the call and
 * reopened as a continuation. Its duration is the sum of all pieces.
 *
 * A piece is kept until another range begins: then it was the last one. Only with has_pieces. */

static void end_pieces(struct range_stats *stats, struct thread_path *path)
{
    for (size_t i = 0; i < path->closed.count; i++) {
        const struct range_piece *piece = &path->closed.items[i];
        range_add_duration(stats, &stats->rows.items[piece->row], piece->duration);
    }
    path->closed.count = 0;
}

/* Returns the sum of the earlier pieces; zeros if unknown. */
static struct range_duration take_piece(struct thread_path *path, const struct event *begin)
{
    struct range_duration none = {0};
    for (size_t i = path->closed.count; i-- > 0;) {
        struct range_piece piece = path->closed.items[i];
        if (piece.name != begin->name || piece.scope != begin->scope)
            continue;
        path->closed.items[i] = path->closed.items[--path->closed.count];
        return piece.duration;
    }
    return none;
}

static int open_piece(struct range_stats *stats, struct thread_path *path, const struct item *item)
{
    struct range_duration before = {0};
    if (item->event->flags & EVENT_CONTINUES)
        before = take_piece(path, item->event);
    else
        end_pieces(stats, path);
    while (path->before.count < item->ranges)
        if (vec_push(&path->before, (struct range_duration){0}) != 0)
            return -ENOMEM;
    path->before.count = item->ranges;
    return vec_push(&path->before, before);
}

static int close_piece(struct thread_path *path, const struct item *span,
                       const struct range_piece *piece)
{
    struct range_piece whole = *piece;
    if (span->ranges < path->before.count) {
        whole.duration.duration_ns += path->before.items[span->ranges].duration_ns;
        whole.duration.runnable_ns += path->before.items[span->ranges].runnable_ns;
        path->before.count = span->ranges;
    }
    return vec_push(&path->closed, whole);
}

static void free_pieces(struct thread_path *path)
{
    vec_free(&path->closed);
    vec_free(&path->before);
}

/* ---- Ranges on tracks -------------------------------------------------------------------------
 *
 * As pushed ranges, but with the path of their track, independent of the threads that begin and end
 * them. A track has a path while ranges are open on it. */

static struct track_path *find_track(struct range_stats *stats, uint64_t track)
{
    const uint64_t *index = map64_find(&stats->path_of_track, track + 1);
    return index ? &stats->track_paths.items[*index - 1] : NULL;
}

/* NULL: out of memory. */
static struct track_path *add_track(struct range_stats *stats, uint64_t track)
{
    uint32_t index = stats->free_track_path;
    if (index == 0) {
        if (vec_reserve(&stats->track_paths, 1) != 0 || !stats->track_paths.items)
            return NULL;
        index = (uint32_t)++stats->track_paths.count;
        stats->track_paths.items[index - 1] = (struct track_path){0};
    }
    if (map64_put(&stats->path_of_track, track + 1, index) != 0)
        return NULL;
    struct track_path *path = &stats->track_paths.items[index - 1];
    if (index == stats->free_track_path)
        stats->free_track_path = path->next_free;
    return path;
}

static void leave_track(struct range_stats *stats, uint64_t track, struct track_path *path)
{
    uint64_t index;
    if (!map64_take(&stats->path_of_track, track + 1, &index))
        return;
    path->nodes.count = 0;
    path->next_free = stats->free_track_path;
    stats->free_track_path = (uint32_t)index;
}

static int open_track(struct range_stats *stats, const struct event *begin, uint32_t depth)
{
    struct track_path *path = find_track(stats, begin->lane);
    if (!path)
        path = add_track(stats, begin->lane);
    if (!path || !range_path_of(stats, begin->thread))
        return -ENOMEM;
    return range_enter(stats, RANGE_TRACK, &path->nodes, begin, depth);
}

static int close_track(struct range_stats *stats, const struct item *span)
{
    uint64_t track = span->event->lane;
    struct track_path *path = find_track(stats, track);
    bool nested;
    if (!path)
        return 0; /* its start is missing */
    struct range_row *row = range_leave(stats, RANGE_TRACK, &path->nodes, span, &nested);
    range_add_duration(stats, row, range_duration_of(span));
    if (span->ranges == 0)
        leave_track(stats, track, path);
    return range_report(stats, row, span);
}

static void free_tracks(struct range_stats *stats)
{
    for (size_t i = 0; i < stats->track_paths.count; i++)
        vec_free(&stats->track_paths.items[i].nodes);
    vec_free(&stats->track_paths);
    map64_free(&stats->path_of_track);
}

/* ---- Items ----------------------------------------------------------------------------------- */

static int take_opened(struct range_stats *stats, const struct item *item)
{
    const struct event *begin = item->event;
    if (item->lane == LANE_TRACK)
        return open_track(stats, begin, item->ranges);
    struct thread_path *path =
        item->lane == LANE_THREAD ? range_path_of(stats, begin->thread) : NULL;
    if (item->lane == LANE_THREAD && !path)
        return -ENOMEM;
    if (path && stats->has_pieces && open_piece(stats, path, item) != 0)
        return -ENOMEM;
    return path ? range_enter(stats, RANGE_PUSHED, &path->nodes, begin, item->ranges) : 0;
}

/* Ends an inherited range. It is counted where it was opened first; here, only the ranges inside
 * cover time. */
static void pass_through(struct range_stats *stats, struct thread_path *path,
                         const struct item *span)
{
    uint64_t duration = range_length_ns(span);
    uint64_t children = span->ranges_ns > 0 ? (uint64_t)span->ranges_ns : 0;
    stats->totals.covered_ns -= duration > children ? duration - children : 0;
    if (span->ranges < path->nodes.count)
        path->nodes.count = span->ranges;
}

static int add_pushed_duration(struct range_stats *stats, struct thread_path *path,
                               struct range_row *row, const struct item *span)
{
    const struct range_piece piece = {(uint32_t)(row - stats->rows.items), span->event->name,
                                      span->event->scope, range_duration_of(span)};
    if (stats->has_pieces)
        return close_piece(path, span, &piece);
    range_add_duration(stats, row, piece.duration);
    return 0;
}

static int take_pushed(struct range_stats *stats, const struct item *span)
{
    struct thread_path *path = range_path_of(stats, span->event->thread);
    struct range_row *row = NULL;
    bool nested;
    if (!path)
        return -ENOMEM;
    if (range_is_inherited(stats, span->event->scope))
        pass_through(stats, path, span);
    else
        row = range_leave(stats, RANGE_PUSHED, &path->nodes, span, &nested);
    if (row && add_pushed_duration(stats, path, row, span) != 0)
        return -ENOMEM;
    if (row && !nested) {
        row->runnable_ns += span->off.runnable_ns;
        row->blocked_ns += span->off.blocked_ns;
    }
    if (span->ranges == 0) {
        stats->totals.covered_ns += range_length_ns(span);
        path->last_ns = span->end_ns > path->last_ns ? span->end_ns : path->last_ns;
    }
    return row ? range_report(stats, row, span) : 0;
}

static int take_flat(struct range_stats *stats, enum range_kind kind, const struct item *span)
{
    struct range_row *row;
    int rc = range_flat_row(stats, kind, span->event, &row);
    if (rc)
        return rc;
    range_add_part(row, span);
    range_add_duration(stats, row, range_duration_of(span));
    row->self_ns += kind == RANGE_TRACK ? range_length_ns(span) : 0;
    return range_report(stats, row, span);
}

static int take_span(struct range_stats *stats, const struct item *span)
{
    switch ((enum lane_kind)span->lane) {
    case LANE_THREAD:
        return take_pushed(stats, span);
    case LANE_PROCESS:
        return take_flat(stats, RANGE_OVERLAPPING, span);
    case LANE_QUEUE:
        return trace_scope(stats->trace, span->event->scope)->observer == OBSERVER_CUPTI
                   ? 0 /* counted by gpu_stats.h */
                   : take_flat(stats, RANGE_TRACK, span);
    default:
        return close_track(stats, span);
    }
}

static double number_of(const struct event *event)
{
    switch (event->value_kind) {
    case VALUE_INT64:
        return (double)event->value.int64;
    case VALUE_DOUBLE:
        return event->value.float64;
    default:
        return (double)event->value.uint64;
    }
}

/* Counters of the memory of processes have a table of their own. */
static bool is_of_memory(const struct trace *trace, const struct event *event)
{
    return event->scope != 0 && trace_scope(trace, event->scope)->observer == OBSERVER_MEMORY;
}

static int take_counter(struct range_stats *stats, const struct event *event)
{
    struct range_row *row;
    if (is_of_memory(stats->trace, event))
        return 0;
    int rc = range_flat_row(stats, RANGE_COUNTER, event, &row);
    if (rc < 0)
        return rc;
    double value = number_of(event);
    if (row->count == 1 || isnan(row->value_min) || value < row->value_min)
        row->value_min = value;
    if (row->count == 1 || isnan(row->value_max) || value > row->value_max)
        row->value_max = value;
    if (row->count == 1 || event->time_ns >= row->value_last_ns) {
        row->value_last = value;
        row->value_last_ns = event->time_ns;
    }
    row->value_sum += value;
    return 0;
}

/* Lost records belong to the innermost range that was open before and after the gap. */
static int take_lost(struct range_stats *stats, const struct event *event, uint32_t depth)
{
    struct thread_path *path = range_path_of(stats, event->thread);
    if (!path)
        return -ENOMEM;
    stats->totals.lost[event->level < LOSS_COUNT ? event->level : LOSS_CORRUPT] +=
        event->value.uint64;
    if (depth > path->nodes.count)
        depth = (uint32_t)path->nodes.count;
    if (depth == 0)
        stats->totals.lost_outside += event->value.uint64;
    else
        range_row_at(stats, RANGE_PUSHED, path->nodes.items[depth - 1])->lost +=
            event->value.uint64;
    return 0;
}

static int take(void *context, const struct item *item)
{
    struct range_stats *stats = context;
    struct range_row *row;
    if (item->call) /* calls are not ranges of the program */
        return 0;
    switch ((enum item_kind)item->kind) {
    case ITEM_OPENED:
        return take_opened(stats, item);
    case ITEM_SPAN:
        return take_span(stats, item);
    case ITEM_INSTANT:
        return range_flat_row(stats, RANGE_MARK, item->event, &row);
    case ITEM_COUNTER:
        return take_counter(stats, item->event);
    case ITEM_LOST:
        return take_lost(stats, item->event, item->ranges);
    case ITEM_SAMPLE:
        return range_stats_take_sample(stats, item->sample);
    default:
        return 0;
    }
}

struct sink range_stats_sink(struct range_stats *stats)
{
    return (struct sink){take, stats,
                         WANT_EVENTS | WANT_BEGINS | WANT_SAMPLES | WANT_PATHS | WANT_TIMES};
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct range_stats *range_stats_create(const struct trace *trace,
                                       const struct range_stats_options *options)
{
    struct range_stats *stats = calloc(1, sizeof(*stats));
    if (!stats)
        return NULL;
    size_t bytes = options->histogram_limit_bytes;
    stats->trace = trace;
    stats->grouping = options->grouping;
    stats->weight = options->weight;
    stats->watch = options->watch;
    stats->from_ns = options->from_ns;
    stats->to_ns = options->to_ns;
    stats->keeper.limit = options->durations;
    stats->has_pieces = trace_label_name_count(trace) > 0;
    stats->histograms = histogram_pool_create(bytes ? bytes : HISTOGRAM_LIMIT);
    if (!stats->histograms ||
        path_tree_init(&stats->tree, options->row_limit ? options->row_limit : ROW_LIMIT) != 0 ||
        vec_reserve(&stats->rows, RANGE_KIND_COUNT) != 0) {
        range_stats_destroy(stats);
        return NULL;
    }
    for (uint32_t kind = 0; kind < RANGE_KIND_COUNT; kind++)
        stats->rows.items[stats->rows.count++] =
            (struct range_row){.kind = (enum range_kind)kind, .owner = RANGE_NO_OWNER};
    return stats;
}

void range_stats_destroy(struct range_stats *stats)
{
    for (size_t i = 0; stats && i < stats->paths.count; i++) {
        vec_free(&stats->paths.items[i].nodes);
        free_pieces(&stats->paths.items[i]);
    }
    if (!stats)
        return;
    vec_free(&stats->paths);
    free_tracks(stats);
    vec_free(&stats->rows);
    map64_free(&stats->threads_of_rows);
    range_stats_free_samples(stats);
    range_keeper_free(&stats->keeper);
    map64_free(&stats->processes_of_rows);
    path_tree_fini(&stats->tree);
    histogram_pool_destroy(stats->histograms);
    free(stats);
}

/* Up to the session's end, or the last item. */
static int64_t wall_of(struct range_stats *stats)
{
    const struct trace_session *session = trace_session_get(stats->trace);
    int64_t end_ns = session->end_ns > stats->last_ns ? session->end_ns : stats->last_ns;
    int64_t begin_ns = session->begin_ns;
    if (stats->from_ns > begin_ns)
        begin_ns = stats->from_ns;
    if (stats->to_ns && stats->to_ns < end_ns)
        end_ns = stats->to_ns;
    stats->totals.begin_ns = begin_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* A thread lives from its first event to its last, or to the end of its last range. Threads that
 * only hold counters of devices do not count. */
static void add_threads(struct range_stats *stats, const struct pass *pass)
{
    int64_t first_ns, last_ns;
    for (uint32_t i = 0; i < trace_thread_count(stats->trace); i++) {
        if (!pass_thread_span(pass, i, &first_ns, &last_ns))
            continue;
        if (i < stats->paths.count && stats->paths.items[i].known &&
            stats->paths.items[i].last_ns > last_ns)
            last_ns = stats->paths.items[i].last_ns;
        if (!trace_device_of_thread(stats->trace, i))
            stats->totals.thread_ns += (uint64_t)(last_ns - first_ns);
        stats->last_ns = last_ns > stats->last_ns ? last_ns : stats->last_ns;
    }
}

int range_stats_finish(struct range_stats *stats, struct pass *pass)
{
    const struct pass_counts *counts = pass_counts(pass);
    memcpy(stats->totals.event_count, counts->events, sizeof(stats->totals.event_count));
    for (size_t i = 0; i < stats->paths.count; i++)
        end_pieces(stats, &stats->paths.items[i]);
    add_threads(stats, pass);
    stats->totals.wall_ns = wall_of(stats);
    stats->totals.orphan_count = counts->orphans;
    stats->totals.quantile_count = histogram_pool_refused(stats->histograms);
    return stats->keeper.failed ? -ENOMEM : range_stats_finish_samples(stats);
}

/* ---- Results --------------------------------------------------------------------------------- */

const struct range_totals *range_stats_totals(const struct range_stats *stats)
{
    return &stats->totals;
}

uint32_t range_stats_row_count(const struct range_stats *stats)
{
    return (uint32_t)stats->rows.count;
}

const struct range_row *range_stats_row(const struct range_stats *stats, uint32_t index)
{
    return &stats->rows.items[index];
}

static void add_name(const struct range_stats *stats, const struct path_node *node,
                     struct text *text)
{
    if (text->length)
        text_add(text, "/", 1);
    if (node->domain) {
        const struct trace_string *domain = trace_string(stats->trace, node->domain);
        text_add(text, domain->bytes, domain->length);
        text_add(text, ":", 1);
    }
    const struct trace_string *name = trace_string(stats->trace, node->name);
    if (name->length)
        text_add(text, name->bytes, name->length);
    else
        text_format(text, "(no name)");
}

size_t range_stats_label(const struct range_stats *stats, uint32_t index, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    if (range_stats_is_other(index)) {
        text_format(&text, "(other)");
        return text.length;
    }
    const struct path_node *parts[LABEL_PARTS];
    const struct path_node *nodes = stats->tree.nodes, *node = &nodes[index - RANGE_KIND_COUNT + 1];
    bool cut = node->depth > LABEL_PARTS;
    uint32_t kept = cut ? LABEL_PARTS : node->depth, head = node->head;
    for (uint32_t i = 0; i < kept; i++, node = &nodes[node->parent]) {
        if (cut && i == LABEL_PARTS - PATH_HEAD)
            node = &nodes[head];
        parts[i] = node;
    }
    for (uint32_t i = kept; i-- > 0;) {
        if (cut && i == PATH_HEAD - 1)
            text_format(&text, "/\xe2\x80\xa6");
        add_name(stats, parts[i], &text);
    }
    return text.length;
}

const char *range_stats_name(const struct range_stats *stats, uint32_t index,
                             const char **ret_domain)
{
    *ret_domain = "";
    if (range_stats_is_other(index))
        return NULL;
    const struct path_node *node = &stats->tree.nodes[index - RANGE_KIND_COUNT + 1];
    *ret_domain = trace_string(stats->trace, node->domain)->bytes;
    return trace_string(stats->trace, node->name)->bytes;
}

const struct scope *range_stats_scope(const struct range_stats *stats, uint32_t index)
{
    uint32_t scope = range_stats_is_other(index) ? 0 : range_stats_row(stats, index)->scope;
    return trace_scope(stats->trace, scope);
}

uint32_t range_stats_parent(const struct range_stats *stats, uint32_t index)
{
    if (range_stats_is_other(index))
        return RANGE_NO_ROW;
    const struct path_node *nodes = stats->tree.nodes;
    uint32_t parent = nodes[index - RANGE_KIND_COUNT + 1].parent;
    bool is_range = parent != PATH_NONE && nodes[parent].parent != PATH_NONE;
    return is_range ? parent + RANGE_KIND_COUNT - 1 : RANGE_NO_ROW;
}

const struct range_duration *range_stats_durations(const struct range_stats *stats, uint32_t index,
                                                   uint32_t *ret_count)
{
    return range_keeper_get(&stats->keeper, index, ret_count);
}

uint64_t range_stats_quantile(const struct range_stats *stats, uint32_t index, double fraction)
{
    const struct range_row *row = &stats->rows.items[index];
    uint64_t value = histogram_quantile(stats->histograms, &row->durations, fraction);
    return value < row->min_ns ? row->min_ns : value > row->max_ns ? row->max_ns : value;
}

uint32_t range_stats_open(const struct range_stats *stats, uint32_t thread, uint32_t depth)
{
    if (thread >= stats->paths.count || depth >= stats->paths.items[thread].nodes.count)
        return RANGE_NO_ROW;
    uint32_t node = stats->paths.items[thread].nodes.items[depth];
    return node == PATH_OTHER ? (uint32_t)RANGE_PUSHED : node + RANGE_KIND_COUNT - 1;
}

/* Values of columns, and rows sorted by them. */

enum { ORDER_LABEL_SIZE = 4096 };

static uint64_t running_ns(const struct range_row *row)
{
    uint64_t all = row->total_ns - row->nested_ns, off = row->runnable_ns + row->blocked_ns;
    return all > off ? all - off : 0;
}

/* Samples give waits to pushed ranges only; ranges of other kinds get CPU time, but not the waits
 * of the threads that ran them. */
static uint64_t sampled_value(const struct range_row *row, enum range_column column)
{
    bool timed = column == RANGE_COLUMN_CPU || column == RANGE_COLUMN_CPU_SELF;
    if (row->kind != RANGE_PUSHED && !(timed && range_kind_has_cpu(row->kind)))
        return 0;
    switch (column) {
    case RANGE_COLUMN_CPU:
        return row->cpu_ns;
    case RANGE_COLUMN_CPU_SELF:
        return row->cpu_self_ns;
    case RANGE_COLUMN_RUNNING:
        return running_ns(row);
    case RANGE_COLUMN_RUNNABLE:
        return row->runnable_ns;
    case RANGE_COLUMN_BLOCKED:
        return row->blocked_ns;
    default:
        return 0;
    }
}

uint64_t range_stats_value(const struct range_stats *stats, uint32_t index,
                           enum range_column column)
{
    const struct range_row *row = range_stats_row(stats, index);
    bool timed = row->kind != RANGE_MARK && row->kind != RANGE_COUNTER;
    if (!timed && column >= RANGE_COLUMN_TOTAL && column <= RANGE_COLUMN_MAX)
        return 0;
    switch (column) {
    case RANGE_COLUMN_PATH:
        return 0;
    case RANGE_COLUMN_COUNT:
        return row->count;
    case RANGE_COLUMN_TOTAL:
        return row->total_ns - row->nested_ns;
    case RANGE_COLUMN_SELF:
        return row->self_ns;
    case RANGE_COLUMN_MIN:
        return row->min_ns;
    case RANGE_COLUMN_MEAN:
        return row->count ? (row->total_ns + row->count / 2) / row->count : 0;
    case RANGE_COLUMN_P50:
        return range_stats_quantile(stats, index, 0.50);
    case RANGE_COLUMN_P90:
        return range_stats_quantile(stats, index, 0.90);
    case RANGE_COLUMN_P99:
        return range_stats_quantile(stats, index, 0.99);
    case RANGE_COLUMN_MAX:
        return row->max_ns;
    case RANGE_COLUMN_PROCESSES:
        return row->process_count;
    case RANGE_COLUMN_THREADS:
        return row->thread_count;
    case RANGE_COLUMN_UNFINISHED:
        return row->unfinished;
    case RANGE_COLUMN_LOST:
        return row->lost;
    default:
        return sampled_value(row, column);
    }
}

/* The path, then the owner. */
static size_t text_of(const void *context, uint32_t index, char *buffer, size_t size)
{
    const struct range_stats *stats = context;
    const struct range_row *row = range_stats_row(stats, index);
    size_t length = range_stats_label(stats, index, buffer, size);
    if (row->owner == RANGE_NO_OWNER || length + 2 >= size)
        return length;
    bool by_thread = stats->grouping == RANGE_BY_THREAD && row->kind != RANGE_COUNTER;
    struct text text = text_init(buffer + length, size - length);
    char label[ORDER_LABEL_SIZE];
    const struct trace_thread *thread =
        by_thread ? trace_thread_get(stats->trace, row->owner) : NULL;
    uint32_t owner = thread ? thread->process : row->owner;
    const struct trace_process *process = trace_process_get(stats->trace, owner);
    trace_process_label(stats->trace, owner, label, sizeof(label));
    text_format(&text, "\n%s\n%d", label, process ? process->pid : 0);
    if (thread) {
        trace_thread_label(stats->trace, row->owner, label, sizeof(label));
        text_format(&text, "\n%s\n%d", label, thread->tid);
    }
    return length + text.length;
}

int64_t range_stats_sort(const struct range_stats *stats, enum range_kind kind,
                         enum range_column column, uint32_t **ret_rows)
{
    uint32_t rows = range_stats_row_count(stats), count = 0;
    struct order_entry *entries = calloc(rows + 1, sizeof(*entries));
    uint32_t *sorted = calloc(rows + 1, sizeof(*sorted));
    int64_t rc = entries && sorted ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < rows; i++) {
        const struct range_row *row = range_stats_row(stats, i);
        bool sampled = range_kind_has_cpu(kind) && row->cpu_ns > 0;
        if (row->kind == kind && (row->count || sampled))
            entries[count++] = (struct order_entry){.first = range_stats_value(stats, i, column),
                                                    .row = i,
                                                    .last = range_stats_is_other(i)};
    }
    if (rc == 0)
        rc = order_sort(entries, count, text_of, stats);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        sorted[i] = entries[i].row;
    free(entries);
    if (rc == 0)
        *ret_rows = sorted;
    else
        free(sorted);
    return rc == 0 ? count : rc;
}
