/* SPDX-License-Identifier: MIT */
/* A live pass, and the values of each row at each of the last seconds. See recent.h. */
#include "recent.h"

#include "hash_map.h"
#include "pass.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)

enum { PATH_BITS = 32, LABEL_SIZE = 1024, PATH_DEPTH = 64, MARKS = 64 };

/* The values of a row at one instant. */
struct mark {
    uint64_t count, total_ns;
};

struct marks {
    int64_t time_ns;
    VEC(struct mark) rows;
};

/* An open pushed range. */
struct open_range {
    int64_t begin_ns;
    uint32_t name, scope;
};

/* The open ranges of a thread. */
struct begins {
    VEC(struct open_range) open;
};

/* CPU time of one sample, or the sum of several. */
struct path_time {
    int64_t time_ns;
    uint32_t path, thread;
    uint64_t cpu_ns;
};

struct path_times {
    VEC(struct path_time) items;
    struct map64 by_key;
};

struct recent_ranges {
    struct trace *trace;
    struct range_stats *stats;
    struct sink sink; /* of the statistics */
    struct pass *pass;
    struct pass_selection selection;
    const struct event_batch *batch; /* not taken by the pass yet */
    VEC(struct begins) begins;       /* by thread */
    struct marks marks[MARKS];       /* a ring */
    uint64_t mark_count;
    struct marks reset;
    VEC(struct path_time) waiting; /* samples whose events have not arrived yet */
    size_t sorted, taken;          /* number of sorted samples; number of those moved to `kept` */
    VEC(struct path_time) kept;    /* samples of the last minute, from `kept_first` on */
    size_t kept_first;
    struct path_times cpu; /* since the reset */
    int64_t settled_ns;
};

/* ---- CPU time -------------------------------------------------------------------------------- */

static uint32_t process_of(const struct trace *trace, uint32_t thread)
{
    const struct trace_thread *entry = trace_thread_get(trace, thread);
    return entry ? entry->process : UINT32_MAX;
}

/* By path and process. */
static int add_cpu(struct path_times *times, const struct trace *trace,
                   const struct path_time *sample)
{
    uint64_t key = (uint64_t)sample->path << PATH_BITS | process_of(trace, sample->thread);
    const uint64_t *found = map64_find(&times->by_key, key);
    if (found && *found < times->items.count) {
        times->items.items[*found].cpu_ns += sample->cpu_ns;
        return 0;
    }
    if (map64_put(&times->by_key, key, times->items.count) != 0)
        return -ENOMEM;
    return vec_push(&times->items, *sample);
}

/* Returns 1 + the index of the thread's innermost open range below `below` with that name; 0: not
 * found. */
static size_t find_open(const struct begins *begins, size_t below, uint32_t name)
{
    while (below > 0 && begins->open.items[below - 1].name != name)
        below--;
    return below;
}

/* A sampler reads the names of a thread's open ranges; their domains are in the events, so this
 * runs once these have arrived. Returns the path, or -ENOMEM. */
static int64_t path_with_scopes(struct recent_ranges *ranges, const struct path_time *sample)
{
    struct stacks *stacks = trace_stacks(ranges->trace);
    struct range_path parts[PATH_DEPTH];
    unsigned count = 0;
    int64_t path = sample->path;
    if (sample->thread >= ranges->begins.count)
        return path;
    const struct begins *begins = &ranges->begins.items[sample->thread];
    size_t open = begins->open.count;
    for (; path != 0 && count < PATH_DEPTH; path = parts[count++].parent) {
        struct range_path *part = &parts[count];
        *part = *stacks_get_path(stacks, (uint32_t)path);
        size_t found = part->kind == RANGE_PATH_THREAD ? find_open(begins, open, part->name) : 0;
        if (found)
            part->scope = begins->open.items[found - 1].scope;
        open = found ? found - 1 : open;
    }
    while (count-- > 0 && path >= 0) {
        parts[count].parent = (uint32_t)path;
        path = stacks_path_add(stacks, &parts[count]);
    }
    return path;
}

static int by_time(const void *a, const void *b)
{
    int64_t first = ((const struct path_time *)a)->time_ns;
    int64_t second = ((const struct path_time *)b)->time_ns;
    return (first > second) - (first < second);
}

/* Takes samples earlier than `until_ns`. They are sorted since the last recent_ranges_settle. */
static int take_samples(struct recent_ranges *ranges, int64_t until_ns)
{
    int error = 0;
    for (; !error && ranges->taken < ranges->sorted; ranges->taken++) {
        struct path_time sample = ranges->waiting.items[ranges->taken];
        if (sample.time_ns >= until_ns)
            break;
        int64_t path = path_with_scopes(ranges, &sample);
        if (path < 0)
            return (int)path;
        sample.path = (uint32_t)path;
        error = add_cpu(&ranges->cpu, ranges->trace, &sample);
        if (!error)
            error = vec_push(&ranges->kept, sample);
    }
    return error;
}

static void sort_samples(struct recent_ranges *ranges)
{
    if (ranges->waiting.count == 0)
        return;
    ranges->waiting.count -= ranges->taken;
    memmove(ranges->waiting.items, ranges->waiting.items + ranges->taken,
            ranges->waiting.count * sizeof(*ranges->waiting.items));
    qsort(ranges->waiting.items, ranges->waiting.count, sizeof(*ranges->waiting.items), by_time);
    ranges->sorted = ranges->waiting.count;
    ranges->taken = 0;
}

/* Drops samples from before the last minute. */
static void forget_samples(struct recent_ranges *ranges)
{
    int64_t from_ns = ranges->settled_ns - RECENT_NS;
    if (ranges->kept.count > ranges->kept_first + RECENT_SAMPLES)
        ranges->kept_first = ranges->kept.count - RECENT_SAMPLES;
    while (ranges->kept_first < ranges->kept.count &&
           ranges->kept.items[ranges->kept_first].time_ns < from_ns)
        ranges->kept_first++;
    if (ranges->kept_first <= ranges->kept.count / 2)
        return;
    ranges->kept.count -= ranges->kept_first;
    memmove(ranges->kept.items, ranges->kept.items + ranges->kept_first,
            ranges->kept.count * sizeof(*ranges->kept.items));
    ranges->kept_first = 0;
}

/* Without calls of recent_ranges_settle the queue keeps its first samples. */
int recent_ranges_add_sample(struct recent_ranges *ranges, const struct sample *sample)
{
    const struct path_time time = {
        .time_ns = sample->time_ns,
        .path = sample->path,
        .thread = sample->thread,
        .cpu_ns = sample_cpu_ns(trace_sets_get(ranges->trace), sample),
    };
    if (time.path == 0 || time.cpu_ns == 0 || ranges->waiting.count == RECENT_SAMPLES)
        return 0;
    return vec_push(&ranges->waiting, time);
}

/* ---- The pass -------------------------------------------------------------------------------- */

static int next_events(void *context, struct event_batch *ret_batch)
{
    struct recent_ranges *ranges = context;
    if (!ranges->batch)
        return 0;
    *ret_batch = *ranges->batch;
    ranges->batch = NULL;
    return 1;
}

static struct begins *begins_of(struct recent_ranges *ranges, uint32_t thread)
{
    size_t wanted = (size_t)thread + 1;
    if (wanted > ranges->begins.count) {
        size_t added = wanted - ranges->begins.count;
        if (vec_reserve(&ranges->begins, added) != 0)
            return NULL;
        memset(ranges->begins.items + ranges->begins.count, 0,
               added * sizeof(*ranges->begins.items));
        ranges->begins.count = wanted;
    }
    return &ranges->begins.items[thread];
}

/* Remembers the start times of open ranges. */
static int note_begin(struct recent_ranges *ranges, const struct item *item)
{
    bool opened = item->kind == ITEM_OPENED;
    if (item->call || item->lane != LANE_THREAD || (!opened && item->kind != ITEM_SPAN))
        return 0;
    struct begins *begins = begins_of(ranges, item->event->thread);
    if (!begins)
        return -ENOMEM;
    const struct open_range open = {item->event->time_ns, item->event->name, item->event->scope};
    if (begins->open.count > item->ranges)
        begins->open.count = item->ranges;
    while (opened && begins->open.count <= item->ranges)
        if (vec_push(&begins->open, open) != 0)
            return -ENOMEM;
    return 0;
}

static int take(void *context, const struct item *item)
{
    struct recent_ranges *ranges = context;
    int error = 0;
    if (item->lane == LANE_THREAD && (item->kind == ITEM_OPENED || item->kind == ITEM_SPAN))
        error = take_samples(ranges, item->kind == ITEM_SPAN ? item->end_ns : item->begin_ns);
    if (!error)
        error = note_begin(ranges, item);
    return error ? error : ranges->sink.take(ranges->sink.context, item);
}

static int begin(struct recent_ranges *ranges)
{
    const struct range_stats_options options = {
        .grouping = RANGE_BY_PROCESS, .row_limit = RECENT_RANGES, .histogram_limit_bytes = 1 << 16};
    const struct pass_source source = {
        .trace = ranges->trace, .next_events = next_events, .context = ranges, .live = true};
    const struct sink sink = {take, ranges, WANT_EVENTS | WANT_BEGINS | WANT_TIME_ORDER};
    ranges->stats = range_stats_create(ranges->trace, &options);
    if (!ranges->stats)
        return -ENOMEM;
    ranges->sink = range_stats_sink(ranges->stats);
    ranges->selection = PASS_SELECT_ALL;
    ranges->pass = pass_create(&source, &ranges->selection, &sink, 1);
    return ranges->pass ? 0 : -ENOMEM;
}

static void free_times(struct path_times *times)
{
    vec_free(&times->items);
    map64_free(&times->by_key);
    times->by_key = (struct map64){0};
}

void recent_ranges_destroy(struct recent_ranges *ranges)
{
    if (!ranges)
        return;
    pass_destroy(ranges->pass);
    range_stats_destroy(ranges->stats);
    for (size_t i = 0; i < ranges->begins.count; i++)
        vec_free(&ranges->begins.items[i].open);
    vec_free(&ranges->begins);
    for (unsigned i = 0; i < MARKS; i++)
        vec_free(&ranges->marks[i].rows);
    vec_free(&ranges->reset.rows);
    free_times(&ranges->cpu);
    vec_free(&ranges->waiting);
    vec_free(&ranges->kept);
    free(ranges);
}

/* The pass copies the batch. */
int recent_ranges_add(struct recent_ranges *ranges, const struct event_batch *batch)
{
    int64_t time_ns;
    ranges->batch = batch;
    int error = pass_next_ns(ranges->pass, &time_ns);
    while (error >= 0 && ranges->batch)
        error = pass_step(ranges->pass);
    return error < 0 ? error : 0;
}

/* Closes the open ranges of ended processes. */
static int finish_gone(struct recent_ranges *ranges)
{
    int error = 0;
    for (uint32_t i = 0; i < ranges->begins.count && !error; i++) {
        const struct trace_thread *thread = trace_thread_get(ranges->trace, i);
        const struct trace_process *process =
            thread ? trace_process_get(ranges->trace, thread->process) : NULL;
        if (process && ranges->begins.items[i].open.count > 0 && process->end_ns != 0 &&
            process->end_ns < ranges->settled_ns)
            error = pass_finish_thread(ranges->pass, i);
    }
    return error;
}

/* ---- Values of rows -------------------------------------------------------------------------- */

static void add_open(const struct recent_ranges *ranges, uint32_t thread, struct mark *rows)
{
    const struct begins *begins = &ranges->begins.items[thread];
    for (uint32_t depth = 0; depth < begins->open.count; depth++) {
        uint32_t row = range_stats_open(ranges->stats, thread, depth);
        int64_t length_ns = ranges->settled_ns - begins->open.items[depth].begin_ns;
        if (row != RANGE_NO_ROW && length_ns > 0)
            rows[row].total_ns += (uint64_t)length_ns;
    }
}

/* 0 or -ENOMEM. */
static int read_marks(const struct recent_ranges *ranges, struct marks *marks)
{
    uint32_t count = range_stats_row_count(ranges->stats);
    marks->time_ns = ranges->settled_ns;
    marks->rows.count = 0;
    if (vec_reserve(&marks->rows, count) != 0 || !marks->rows.items)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct range_row *row = range_stats_row(ranges->stats, i);
        marks->rows.items[i] = (struct mark){row->count, row->total_ns};
    }
    marks->rows.count = count;
    for (uint32_t i = 0; i < ranges->begins.count; i++)
        add_open(ranges, i, marks->rows.items);
    return 0;
}

struct recent_ranges *recent_ranges_create(struct trace *trace, int64_t now_ns)
{
    struct recent_ranges *ranges = calloc(1, sizeof(*ranges));
    if (!ranges)
        return NULL;
    ranges->trace = trace;
    ranges->settled_ns = now_ns;
    ranges->reset.time_ns = now_ns;
    /* Before any event: the start of the first windows. */
    if (begin(ranges) == 0 && read_marks(ranges, &ranges->marks[ranges->mark_count++]) == 0)
        return ranges;
    recent_ranges_destroy(ranges);
    return NULL;
}

int recent_ranges_settle(struct recent_ranges *ranges, int64_t settled_ns)
{
    int status = 1;
    ranges->settled_ns = settled_ns;
    sort_samples(ranges);
    pass_settle(ranges->pass, ranges->settled_ns);
    while (status == 1)
        status = pass_step(ranges->pass);
    if (status == 0)
        status = take_samples(ranges, settled_ns);
    forget_samples(ranges);
    if (status == 0)
        status = finish_gone(ranges);
    uint64_t last = ranges->mark_count;
    bool due = last == 0 || ranges->settled_ns - ranges->marks[(last - 1) % MARKS].time_ns >=
                                SECOND_NS - SECOND_NS / 10;
    if (status == 0 && due)
        status = read_marks(ranges, &ranges->marks[ranges->mark_count++ % MARKS]);
    return status;
}

int recent_ranges_reset(struct recent_ranges *ranges)
{
    free_times(&ranges->cpu);
    return read_marks(ranges, &ranges->reset);
}

/* Returns the latest marks that are not after `time_ns`; otherwise the earliest. */
static const struct marks *marks_at(const struct recent_ranges *ranges, int64_t time_ns)
{
    uint64_t kept = ranges->mark_count < MARKS ? ranges->mark_count : MARKS;
    const struct marks *best = &ranges->reset;
    for (uint64_t i = kept; i > 0; i--) {
        const struct marks *marks = &ranges->marks[(ranges->mark_count - i) % MARKS];
        if (marks->time_ns <= time_ns || i == kept)
            best = marks;
    }
    return best;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* `key`: the kind as a letter, then the label. NULL: out of memory. */
static struct recent_range *row_of(struct recent_range_rows *rows, const char *key)
{
    size_t count = rows->labels.count;
    int64_t ordinal = strtab_add(&rows->labels, key, strlen(key));
    if (ordinal < 0)
        return NULL;
    if ((size_t)ordinal < count)
        return &rows->items.items[ordinal];
    struct recent_range fresh = {.label = strtab_get(&rows->labels, (size_t)ordinal)->bytes + 1,
                                 .kind = (uint8_t)(key[0] - '0')};
    return vec_push(&rows->items, fresh) == 0 ? &rows->items.items[ordinal] : NULL;
}

static void put_key(enum range_kind kind, char key[LABEL_SIZE])
{
    key[0] = (char)('0' + kind);
    key[1] = '\0';
}

static bool wants_process(const struct recent_ranges *ranges, const struct recent_part *part,
                          uint32_t process)
{
    for (uint32_t i = 0; part->wants && i < trace_thread_count(ranges->trace); i++)
        if (process_of(ranges->trace, i) == process && part->wants(part->context, i))
            return true;
    return !part->wants;
}

/* Adds the difference between two marks of a row. */
static int add_counted(const struct recent_ranges *ranges, uint32_t index, const struct marks *from,
                       const struct marks *now, struct recent_range_rows *rows)
{
    const struct range_row *row = range_stats_row(ranges->stats, index);
    struct mark before = index < from->rows.count ? from->rows.items[index] : (struct mark){0};
    struct mark after = now->rows.items[index];
    bool range =
        row->kind == RANGE_PUSHED || row->kind == RANGE_OVERLAPPING || row->kind == RANGE_TRACK;
    char key[LABEL_SIZE];
    if (!range || (after.count == before.count && after.total_ns == before.total_ns))
        return 0;
    put_key(row->kind, key);
    range_stats_label(ranges->stats, index, key + 1, sizeof(key) - 1);
    struct recent_range *counted = row_of(rows, key);
    if (!counted)
        return -ENOMEM;
    counted->count += after.count - before.count;
    counted->total_ns += after.total_ns - before.total_ns;
    return 0;
}

/* Writes the path as the statistics name it; on a track, the part from there on. Returns false if
 * the path has no row. */
static bool path_key(const struct trace *trace, uint32_t path, char key[LABEL_SIZE])
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct range_path *parts[PATH_DEPTH];
    unsigned count = 0;
    bool track = false;
    for (; path != 0 && count < PATH_DEPTH && !track; path = parts[count - 1]->parent) {
        parts[count++] = stacks_get_path(stacks, path);
        track = parts[count - 1]->kind == RANGE_PATH_TRACK;
        if (parts[count - 1]->kind == RANGE_PATH_INHERITED)
            return false;
    }
    put_key(track ? RANGE_TRACK : RANGE_PUSHED, key);
    struct text text = text_init(key + 1, LABEL_SIZE - 1);
    while (count-- > 0) {
        const struct scope *scope = trace_scope(trace, parts[count]->scope);
        if (text.length)
            text_add(&text, "/", 1);
        if (scope->domain)
            text_format(&text, "%s:", trace_string(trace, scope->domain)->bytes);
        const struct trace_string *name = trace_string(trace, parts[count]->name);
        text_format(&text, "%s", name->length ? name->bytes : "(no name)");
    }
    return text.length > 0;
}

static int add_path(const struct trace *trace, const struct path_time *time,
                    struct recent_range_rows *rows)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    char key[LABEL_SIZE];
    for (uint32_t path = time->path; path != 0; path = stacks_get_path(stacks, path)->parent) {
        if (!path_key(trace, path, key))
            return 0;
        struct recent_range *row = row_of(rows, key);
        if (!row)
            return -ENOMEM;
        row->cpu_ns += time->cpu_ns;
        row->cpu_self_ns += path == time->path ? time->cpu_ns : 0;
    }
    return 0;
}

static int add_paths(const struct recent_ranges *ranges, const struct path_times *times,
                     const struct recent_part *part, struct recent_range_rows *rows)
{
    int error = 0;
    for (size_t i = 0; i < times->items.count && !error; i++)
        if (wants_process(ranges, part, process_of(ranges->trace, times->items.items[i].thread)))
            error = add_path(ranges->trace, &times->items.items[i], rows);
    return error;
}

static int count_open(const struct recent_ranges *ranges, const struct recent_part *part,
                      struct recent_range_rows *rows)
{
    char key[LABEL_SIZE];
    for (uint32_t i = 0; i < ranges->begins.count; i++) {
        size_t depth =
            part->wants && !part->wants(part->context, i) ? 0 : ranges->begins.items[i].open.count;
        while (depth-- > 0) {
            uint32_t index = range_stats_open(ranges->stats, i, (uint32_t)depth);
            if (index == RANGE_NO_ROW)
                continue;
            put_key(RANGE_PUSHED, key);
            range_stats_label(ranges->stats, index, key + 1, sizeof(key) - 1);
            struct recent_range *row = row_of(rows, key);
            if (!row)
                return -ENOMEM;
            row->open++;
        }
    }
    return 0;
}

static int add_all_counted(const struct recent_ranges *ranges, const struct recent_part *part,
                           const struct marks *from, struct recent_range_rows *rows)
{
    struct marks now = {0};
    int error = read_marks(ranges, &now);
    for (uint32_t i = 0; i < now.rows.count && !error; i++)
        if (range_stats_is_other(i) ||
            wants_process(ranges, part, range_stats_row(ranges->stats, i)->owner))
            error = add_counted(ranges, i, from, &now, rows);
    vec_free(&now.rows);
    return error;
}

/* Sums the samples of a window that ends at `settled_ns`. */
static int sum_kept(const struct recent_ranges *ranges, int64_t length_ns, struct path_times *times)
{
    int error = 0;
    for (size_t i = ranges->kept.count; i > ranges->kept_first && !error; i--) {
        const struct path_time *sample = &ranges->kept.items[i - 1];
        if (sample->time_ns < ranges->settled_ns - length_ns)
            break;
        error = add_cpu(times, ranges->trace, sample);
    }
    return error;
}

int recent_ranges_rows(const struct recent_ranges *ranges, const struct recent_part *part, bool all,
                       struct recent_range_rows *rows)
{
    struct path_times times = {0};
    int64_t length_ns = part->to_ns - part->from_ns;
    const struct marks *from =
        all ? &ranges->reset : marks_at(ranges, ranges->settled_ns - length_ns);
    int error = add_all_counted(ranges, part, from, rows);
    if (!error)
        error = count_open(ranges, part, rows);
    if (!error && !all)
        error = sum_kept(ranges, length_ns, &times);
    if (!error)
        error = add_paths(ranges, all ? &ranges->cpu : &times, part, rows);
    free_times(&times);
    return error;
}

void recent_ranges_free(struct recent_range_rows *rows)
{
    vec_free(&rows->items);
    strtab_free(&rows->labels);
}
