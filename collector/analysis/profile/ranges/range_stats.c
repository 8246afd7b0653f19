/* SPDX-License-Identifier: MIT */
/* The statistics of range_stats.h.
 *
 * Row i belongs to node i - RANGE_KIND_COUNT + 1 of the path tree; the first rows are "(other)",
 * one per kind. Each thread keeps the nodes of its open pushed ranges, so a range costs one look-up
 * when it opens, and no look-up when it closes. */
#include "range_parts.h"

#include "text.h"
#include "trace_devices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROW_LIMIT = 200000,
    PAIR_LIMIT = 1u << 20,
    LABEL_PARTS = 2 * PATH_HEAD,
};

#define HISTOGRAM_LIMIT ((size_t)96 << 20)

struct range_row *range_row_at(struct range_stats *stats, enum range_kind kind, uint32_t node)
{
    return &stats->rows.items[node == PATH_OTHER ? (uint32_t)kind : node + RANGE_KIND_COUNT - 1];
}

bool range_rows_follow(struct range_stats *stats, enum range_kind kind, uint32_t owner)
{
    size_t wanted = stats->tree.count + RANGE_KIND_COUNT - 1;
    if (stats->tree.error || vec_reserve(&stats->rows, wanted - stats->rows.count) != 0)
        return false;
    while (stats->rows.count < wanted)
        stats->rows.items[stats->rows.count++] = (struct range_row){.kind = kind, .owner = owner};
    return true;
}

struct thread_path *range_path_of(struct range_stats *stats, uint32_t thread)
{
    size_t wanted = (size_t)thread + 1;
    if (wanted > stats->paths.count) {
        if (vec_reserve(&stats->paths, wanted - stats->paths.count) != 0)
            return NULL;
        size_t added = wanted - stats->paths.count;
        memset(stats->paths.items + stats->paths.count, 0, added * sizeof(struct thread_path));
        stats->paths.count = wanted;
    }
    struct thread_path *path = &stats->paths.items[thread];
    if (!path->known) {
        const struct trace_thread *entry = trace_thread_get(stats->trace, thread);
        path->process = entry ? entry->process : RANGE_NO_OWNER;
        path->last_ns = INT64_MIN;
        path->known = true;
    }
    return path;
}

static uint32_t owner_of(const struct range_stats *stats, enum range_kind kind, uint32_t thread)
{
    if (stats->grouping == RANGE_BY_PROCESS || kind == RANGE_COUNTER)
        return stats->paths.items[thread].process;
    return stats->grouping == RANGE_BY_THREAD ? thread : RANGE_NO_OWNER;
}

/* Returns the root of an owner's paths; mostly the owner is the same as last time. */
static int64_t root_of(struct range_stats *stats, enum range_kind kind, uint32_t owner)
{
    struct path_root *last = &stats->roots[kind];
    if (last->node != PATH_OTHER && last->owner == owner)
        return last->node;
    uint32_t node = path_tree_child(&stats->tree, PATH_NONE, owner, kind);
    *last = (struct path_root){owner, node};
    return range_rows_follow(stats, kind, owner) ? (int64_t)node : -ENOMEM;
}

/* Returns the node for an event below `parent` (PATH_NONE: at the top), or -ENOMEM. */
static int64_t node_of(struct range_stats *stats, enum range_kind kind, const struct event *event,
                       uint32_t parent)
{
    if (parent == PATH_NONE) {
        int64_t root = root_of(stats, kind, owner_of(stats, kind, event->thread));
        if (root < 0)
            return root;
        parent = (uint32_t)root;
    }
    uint32_t domain = trace_scope_domain(stats->trace, event->scope);
    uint32_t node = path_tree_child(&stats->tree, parent, event->name, domain);
    uint32_t owner = range_row_at(stats, kind, parent)->owner;
    if (!range_rows_follow(stats, kind, owner))
        return -ENOMEM;
    if (!range_is_inherited(stats, event->scope))
        range_row_at(stats, kind, node)->scope = event->scope;
    return node;
}

/* Returns true if the pair is new in the row. The first 64 ordinals have a bit, others an entry in
 * the set; false if the set is full. */
static bool is_new(struct range_stats *stats, struct map64 *set, uint64_t *bits, uint64_t pair)
{
    uint32_t ordinal = (uint32_t)pair;
    if (ordinal < 64) {
        bool fresh = (*bits >> ordinal & 1) == 0;
        *bits |= UINT64_C(1) << ordinal;
        return fresh;
    }
    if (map64_find(set, pair + 1))
        return false;
    if (set->count >= PAIR_LIMIT || map64_put(set, pair + 1, 1) != 0) {
        stats->totals.threads_cut = true;
        return false;
    }
    return true;
}

static void count_thread(struct range_stats *stats, struct range_row *row, uint32_t thread)
{
    if (row->recent_thread == thread + 1)
        return;
    row->recent_thread = thread + 1;
    uint64_t index = (uint64_t)(row - stats->rows.items) << 32;
    if (!is_new(stats, &stats->threads_of_rows, &row->threads, index | thread))
        return;
    row->thread_count++;
    uint32_t process = stats->paths.items[thread].process;
    row->process_count +=
        is_new(stats, &stats->processes_of_rows, &row->processes, index | process);
}

static void count_entry(struct range_stats *stats, struct range_row *row, uint32_t node,
                        const struct event *begin)
{
    bool begins = !(begin->flags & EVENT_CONTINUES && event_can_continue(begin->kind));
    row->count += begins;
    stats->totals.other_count += begins && node == PATH_OTHER;
    count_thread(stats, row, begin->thread);
}

static uint64_t duration_of(const struct item *span)
{
    return span->end_ns > span->begin_ns ? (uint64_t)(span->end_ns - span->begin_ns) : 0;
}

void range_add_duration(struct range_stats *stats, struct range_row *row,
                        struct range_duration duration)
{
    uint64_t duration_ns = duration.duration_ns;
    if (!row->has_durations || duration_ns < row->min_ns)
        row->min_ns = duration_ns;
    row->has_durations = true;
    if (duration_ns > row->max_ns)
        row->max_ns = duration_ns;
    histogram_add(stats->histograms, &row->durations, duration_ns);
    range_keep(&stats->keeper, (size_t)(row - stats->rows.items), duration);
}

struct range_duration range_duration_of(const struct item *span)
{
    uint64_t duration = duration_of(span);
    uint64_t ready_ns = span->off.runnable_ns > 0 ? (uint64_t)span->off.runnable_ns : 0;
    return (struct range_duration){duration, ready_ns < duration ? ready_ns : 0};
}

/* Adds the values that pieces of a range have, too. */
static void add_part(struct range_row *row, const struct item *span)
{
    row->total_ns += duration_of(span);
    row->unfinished += (span->flags & ITEM_UNFINISHED) != 0;
    row->end_lost += (span->flags & ITEM_END_LOST) != 0;
}

int range_enter(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                const struct event *begin, uint32_t depth)
{
    if (vec_reserve(nodes, depth + 1) != 0)
        return -ENOMEM;
    while (nodes->count < depth)
        nodes->items[nodes->count++] = PATH_OTHER;
    bool top = depth == 0 || stats->grouping == RANGE_BY_NAME;
    uint32_t parent = top ? PATH_NONE : nodes->items[depth - 1];
    int64_t node = node_of(stats, kind, begin, parent);
    if (node < 0)
        return -ENOMEM;
    nodes->count = depth;
    return vec_push(nodes, (uint32_t)node);
}

static int take_opened(struct range_stats *stats, const struct item *item)
{
    const struct event *begin = item->event;
    if (item->lane == LANE_TRACK)
        return range_track_opened(stats, begin, item->ranges);
    struct thread_path *path =
        item->lane == LANE_THREAD ? range_path_of(stats, begin->thread) : NULL;
    if (item->lane == LANE_THREAD && !path)
        return -ENOMEM;
    if (path && stats->has_pieces && range_piece_opened(stats, path, item) != 0)
        return -ENOMEM;
    return path ? range_enter(stats, RANGE_PUSHED, &path->nodes, begin, item->ranges) : 0;
}

/* By name, the total of the outer range already contains an inner one of the same name. */
static bool is_nested_in_itself(const struct range_stats *stats, const range_nodes *nodes,
                                uint32_t depth)
{
    if (stats->grouping != RANGE_BY_NAME)
        return false;
    for (uint32_t i = depth; i-- > 0;) {
        if (nodes->items[i] == nodes->items[depth])
            return true;
    }
    return false;
}

struct range_row *range_leave(struct range_stats *stats, enum range_kind kind, range_nodes *nodes,
                              const struct item *span, bool *ret_nested)
{
    uint32_t depth = span->ranges;
    bool known = depth < nodes->count;
    uint32_t node = known ? nodes->items[depth] : PATH_OTHER;
    struct range_row *row = range_row_at(stats, kind, node);
    uint64_t duration = duration_of(span);
    uint64_t children = span->ranges_ns > 0 ? (uint64_t)span->ranges_ns : 0;
    count_entry(stats, row, node, span->event);
    add_part(row, span);
    row->self_ns += duration > children ? duration - children : 0;
    *ret_nested = known && is_nested_in_itself(stats, nodes, depth);
    row->nested_ns += *ret_nested ? duration : 0;
    if (known)
        nodes->count = depth;
    return row;
}

/* Ends an inherited range. It is counted where it was opened first; here, only the ranges inside
 * cover time. */
static void pass_through(struct range_stats *stats, struct thread_path *path,
                         const struct item *span)
{
    uint64_t duration = duration_of(span);
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
        return range_piece_closed(path, span, &piece);
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
        stats->totals.covered_ns += duration_of(span);
        path->last_ns = span->end_ns > path->last_ns ? span->end_ns : path->last_ns;
    }
    return row ? range_tell(stats, row, span) : 0;
}

/* Returns the row of an event without parents. */
static int flat_row(struct range_stats *stats, enum range_kind kind, const struct event *event,
                    struct range_row **ret_row)
{
    if (!range_path_of(stats, event->thread))
        return -ENOMEM;
    int64_t node = node_of(stats, kind, event, PATH_NONE);
    if (node < 0)
        return -ENOMEM;
    *ret_row = range_row_at(stats, kind, (uint32_t)node);
    count_entry(stats, *ret_row, (uint32_t)node, event);
    return 0;
}

static int take_flat(struct range_stats *stats, enum range_kind kind, const struct item *span)
{
    struct range_row *row;
    int rc = flat_row(stats, kind, span->event, &row);
    if (rc)
        return rc;
    add_part(row, span);
    range_add_duration(stats, row, range_duration_of(span));
    row->self_ns += kind == RANGE_TRACK ? duration_of(span) : 0;
    return range_tell(stats, row, span);
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
        return range_track_closed(stats, span);
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

static int take_counter(struct range_stats *stats, const struct event *event)
{
    struct range_row *row;
    int rc = flat_row(stats, RANGE_COUNTER, event, &row);
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
        return flat_row(stats, RANGE_MARK, item->event, &row);
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
        range_pieces_free(&stats->paths.items[i]);
    }
    if (!stats)
        return;
    vec_free(&stats->paths);
    range_stats_free_tracks(stats);
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
        range_pieces_end(stats, &stats->paths.items[i]);
    add_threads(stats, pass);
    stats->totals.wall_ns = wall_of(stats);
    stats->totals.orphan_count = counts->orphans;
    stats->totals.quantile_count = histogram_pool_refused(stats->histograms);
    return stats->keeper.failed ? -ENOMEM : range_stats_finish_samples(stats);
}

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
