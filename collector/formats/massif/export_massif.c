/* SPDX-License-Identifier: MIT */
/* Exports memory as massif's output: what all processes held over time, in equal steps, and the
 * functions that held it at the peak, with their callers.
 *
 * A snapshot is the state at its time; that of the peak is one more. A process that has ended holds
 * nothing. The tree goes from the function that allocated to its callers; functions with less than
 * 1 % of the peak are one line, as in massif. Memory: 16 bytes a stack, and at the end one array of
 * frames for each stack with bytes at the peak. Thread-safety: none. */
#include "chosen_frames.h"
#include "export.h"
#include "export_facts.h"
#include "export_heap.h"
#include "hash_map.h"
#include "profile_frames.h"
#include "sample.h"
#include "stacks.h"
#include "text.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 100,
    DEPTH_MAX = 30, /* massif's default */
    LINE_SIZE = 512,
};

#define THRESHOLD 0.01

/* Bytes of a stack at the peak. */
struct holding {
    uint32_t stack, count; /* of frames */
    int64_t bytes;
    uint32_t *frames; /* from the function that allocated to its callers */
};

/* Neighbours in the array of holdings with the same frame at one depth. */
struct group {
    size_t first, count;
    int64_t bytes;
};

struct state {
    const struct export_job *job;
    const struct trace *trace;
    struct chosen_frames frames;
    struct map64 index; /* stack: index of the holding */
    VEC(struct holding) holdings;
    int64_t *held;        /* by process, when it ended */
    int64_t steps[STEPS]; /* change since the step before */
    int64_t peak_ns, peak, begin_ns, length_ns;
    uint32_t snapshots;
};

/* ---- Samples --------------------------------------------------------------------------------- */

static int begin(void *state, const struct export_job *job)
{
    struct state *s = state;
    s->job = job;
    s->trace = job->source->trace;
    if (!sample_heap_any(s->trace))
        return -ENODATA;
    s->begin_ns = trace_begin_ns(s->trace);
    s->length_ns = session_end_ns(s->trace) - s->begin_ns;
    if (s->length_ns <= 0)
        s->length_ns = 1;
    s->held = calloc(trace_process_count(s->trace) + 1u, sizeof(*s->held));
    int error = chosen_frames_init(&s->frames, s->trace, export_frames(job->options));
    if (!error)
        error = s->held ? export_heap_find_peak(job, &s->peak_ns) : -ENOMEM;
    return error;
}

/* The first snapshot at or after a time. */
static size_t step_of(const struct state *s, int64_t time_ns)
{
    int64_t since_ns = time_ns - s->begin_ns;
    size_t step = since_ns <= 0 ? 0 : (size_t)((since_ns - 1) / (s->length_ns / (STEPS - 1) + 1));
    return step + 1 < STEPS ? step + 1 : STEPS - 1;
}

static int add_at_peak(struct state *s, uint32_t stack, int64_t bytes)
{
    const uint64_t *found = map64_find(&s->index, stack + 1ull);
    if (found) {
        s->holdings.items[*found].bytes += bytes;
        return 0;
    }
    const struct holding holding = {.stack = stack, .bytes = bytes};
    int error = map64_put(&s->index, stack + 1ull, s->holdings.count);
    return error ? error : vec_push(&s->holdings, holding);
}

static int take(void *state, const struct item *item)
{
    struct state *s = state;
    const struct trace_thread *thread = trace_thread_get(s->trace, item->sample->thread);
    int64_t bytes = export_heap_at(s->trace, item->sample, HEAP_HELD).bytes;
    int64_t at_peak = export_heap_at(s->trace, item->sample, HEAP_PEAK).bytes;
    if (bytes == 0 || !thread)
        return 0;
    s->steps[step_of(s, sample_order_ns(item->sample))] += bytes;
    s->held[thread->process] += bytes;
    s->peak += at_peak;
    return at_peak ? add_at_peak(s, item->sample->stack, at_peak) : 0;
}

/* ---- The tree -------------------------------------------------------------------------------- */

static uint32_t label_at(const struct state *s, const struct holding *holding, uint32_t depth)
{
    const struct stacks *stacks = trace_stacks_get(s->trace);
    return depth < holding->count ? 1 + stacks_get_frame(stacks, holding->frames[depth])->label : 0;
}

struct order {
    const struct state *state;
    uint32_t depth;
};

static int by_label(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = label_at(order->state, left, order->depth);
    uint32_t b = label_at(order->state, right, order->depth);
    return (a > b) - (a < b);
}

static int most_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Sorts the holdings of a group by their frame at the depth, and returns the groups of equal
 * frames, the largest first; those of stacks that end above it are left out. -ENOMEM. */
static int64_t divide(struct state *s, const struct group *whole, uint32_t depth,
                      struct group **ret_groups)
{
    struct holding *items = s->holdings.items + whole->first;
    struct order order = {s, depth};
    struct group *groups = calloc(whole->count + 1, sizeof(*groups));
    size_t count = 0;
    if (!groups)
        return -ENOMEM;
    qsort_r(items, whole->count, sizeof(*items), by_label, &order);
    for (size_t i = 0; i < whole->count; i++) {
        uint32_t label = label_at(s, &items[i], depth);
        bool same = i > 0 && label == label_at(s, &items[i - 1], depth);
        if (label == 0)
            continue;
        if (!same)
            groups[count++] = (struct group){.first = whole->first + i};
        groups[count - 1].count++;
        groups[count - 1].bytes += items[i].bytes;
    }
    qsort(groups, count, sizeof(*groups), most_first);
    *ret_groups = groups;
    return (int64_t)count;
}

static void put_line(struct state *s, uint32_t depth, const char *text)
{
    for (uint32_t i = 0; i < depth; i++)
        out_write(s->job->out, " ", 1);
    out_text(s->job->out, text);
    out_text(s->job->out, "\n");
}

/* ms_print ends a name at a line's end, and reads "0x...: name (file:line)". */
static void put_group(struct state *s, const struct group *group, uint32_t depth, size_t children)
{
    const struct stacks *stacks = trace_stacks_get(s->trace);
    const struct holding *holding = &s->holdings.items[group->first];
    const struct frame *frame = stacks_get_frame(stacks, holding->frames[depth]);
    struct profile_frame_text text;
    char line[CALL_LABEL_SIZE + LINE_SIZE];
    const struct profile_frame described = {PROFILE_FUNCTION, frame->label, 0};
    profile_frame_describe(s->trace, s->job->options->strip_prefix, &described, &text);
    struct text words = text_init(line, sizeof(line));
    text_format(&words, "n%zu: %" PRId64 " 0x%" PRIX64 ": %.*s", children, group->bytes,
                frame->address, (int)text.name_length, text.name);
    int32_t number = frame->line > 0 ? frame->line : text.line;
    if (text.file && number > 0)
        text_format(&words, " (%s:%d)", text.file, number);
    else if (text.file)
        text_format(&words, " (in %s)", text.file);
    for (char *at = line; *at; at++)
        memset(at, ' ', utf8_control(at));
    put_line(s, depth + 1, line);
    profile_frame_text_fini(&text);
}

static void put_small(struct state *s, uint32_t depth, const struct group *groups, size_t count)
{
    char line[LINE_SIZE];
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += groups[i].bytes;
    snprintf(line, sizeof(line),
             "n0: %" PRId64 " in %zu place%s, %s below massif's threshold (%.2f%%)", bytes, count,
             count == 1 ? "" : "s", count == 1 ? "" : "all", 100 * THRESHOLD);
    put_line(s, depth + 1, line);
}

/* The groups that have a line of their own. */
static size_t count_large(const struct state *s, const struct group *groups, size_t count)
{
    size_t large = 0;
    while (large < count && (double)groups[large].bytes >= THRESHOLD * (double)s->peak)
        large++;
    return large;
}

/* A group whose children are being written. */
struct level {
    struct group *groups;
    size_t count, large, at;
};

static int open_level(struct state *s, const struct group *whole, uint32_t depth,
                      struct level *ret_level)
{
    *ret_level = (struct level){0};
    if (depth >= DEPTH_MAX)
        return 0;
    int64_t count = divide(s, whole, depth, &ret_level->groups);
    if (count < 0)
        return (int)count;
    ret_level->count = (size_t)count;
    ret_level->large = count_large(s, ret_level->groups, ret_level->count);
    return 0;
}

static size_t lines_of(const struct level *level)
{
    return level->large + (level->large < level->count);
}

/* Depth first: the line of a group comes before those of its callers, and has their number. */
static int put_tree(struct state *s)
{
    struct level levels[DEPTH_MAX + 1];
    const struct group whole = {0, s->holdings.count, s->peak};
    char line[LINE_SIZE];
    uint32_t depth = 0;
    int error = open_level(s, &whole, 0, &levels[0]);
    snprintf(line, sizeof(line), "n%zu: %" PRId64 " (heap allocation functions)",
             lines_of(&levels[0]), s->peak);
    put_line(s, 0, line);
    while (!error) {
        struct level *level = &levels[depth];
        if (level->at == level->large) {
            if (level->large < level->count)
                put_small(s, depth, level->groups + level->large, level->count - level->large);
            free(level->groups);
            if (depth-- == 0)
                return 0;
            continue;
        }
        const struct group *group = &level->groups[level->at++];
        error = open_level(s, group, depth + 1, &levels[depth + 1]);
        put_group(s, group, depth, lines_of(&levels[depth + 1]));
        depth++;
    }
    for (uint32_t i = 0; i <= depth; i++)
        free(levels[i].groups);
    return error;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* The frames of each stack from the function that allocated to its callers. */
static int find_frames(struct state *s)
{
    uint32_t frames[PROFILE_DEPTH_MAX];
    for (size_t i = 0; i < s->holdings.count; i++) {
        struct holding *holding = &s->holdings.items[i];
        uint32_t count = chosen_frames_get(&s->frames, holding->stack, frames, PROFILE_DEPTH_MAX);
        holding->count = count < DEPTH_MAX ? count : DEPTH_MAX;
        holding->frames = calloc(holding->count + 1u, sizeof(*frames));
        if (!holding->frames)
            return -ENOMEM;
        for (uint32_t j = 0; j < holding->count; j++)
            holding->frames[j] = frames[count - 1 - j];
    }
    return 0;
}

static void put_snapshot(struct state *s, int64_t time_ns, int64_t bytes, const char *tree)
{
    char lines[LINE_SIZE];
    snprintf(lines, sizeof(lines),
             "#-----------\nsnapshot=%" PRIu32 "\n#-----------\ntime=%" PRId64
             "\nmem_heap_B=%" PRId64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
             s->snapshots++, (time_ns - s->begin_ns) / 1000000, bytes > 0 ? bytes : 0, tree);
    out_text(s->job->out, lines);
}

static void put_head(struct state *s)
{
    char line[LINE_SIZE];
    snprintf(line, sizeof(line), "%.400s", session_title(s->trace));
    for (char *at = line; *at; at++)
        memset(at, ' ', utf8_control(at));
    out_text(s->job->out, "desc: memory, recorded by annot\ncmd: ");
    out_text(s->job->out, line);
    out_text(s->job->out, "\ntime_unit: ms\n");
}

static void end_processes(struct state *s)
{
    for (uint32_t i = 0; i < trace_process_count(s->trace); i++) {
        int64_t end_ns = trace_process_get(s->trace, i)->end_ns;
        if (end_ns > 0 && end_ns < s->begin_ns + s->length_ns)
            s->steps[step_of(s, end_ns)] -= s->held[i];
    }
}

static int end(void *state)
{
    struct state *s = state;
    int64_t step_ns = s->length_ns / (STEPS - 1) + 1, held = 0;
    bool peak_written = false;
    int error = s->holdings.count > 0 ? find_frames(s) : -ENODATA;
    if (error)
        return error;
    put_head(s);
    end_processes(s);
    for (int i = 0; i < STEPS && !error; i++) {
        int64_t time_ns = s->begin_ns + i * step_ns;
        if (!peak_written && (time_ns > s->peak_ns || i == STEPS - 1)) {
            put_snapshot(s, s->peak_ns, s->peak, "peak");
            error = put_tree(s);
            peak_written = true;
        }
        held += s->steps[i];
        put_snapshot(s, time_ns, held, "empty");
    }
    return error;
}

static void destroy(void *state)
{
    struct state *s = state;
    for (size_t i = 0; i < s->holdings.count; i++)
        free(s->holdings.items[i].frames);
    vec_free(&s->holdings);
    map64_free(&s->index);
    chosen_frames_fini(&s->frames);
    free(s->held);
}

static const struct option_spec options[] = {
    EXPORT_OPTION_PYTHON,
    EXPORT_OPTION_NATIVE,
    EXPORT_OPTION_STRIP(NULL),
    {0},
};

extern const struct exporter export_massif;
const struct exporter export_massif = {
    .name = "massif",
    .extension = ".massif",
    .summary = "memory over time and at the peak, as valgrind's massif writes it",
    .carries = "memory held over time, and its functions at the peak",
    .viewer = "with ms_print, massif-visualizer",
    .lacks = EXPORT_LACKS_EVENTS,
    .holds_memory = true,
    .options = options,
    .wants = WANT_SAMPLES,
    .state_size = sizeof(struct state),
    .begin = begin,
    .take = take,
    .end = end,
    .destroy = destroy,
};
