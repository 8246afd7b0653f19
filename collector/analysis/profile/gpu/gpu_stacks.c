/* SPDX-License-Identifier: MIT */
/* One pass sums spans by thread, path and name, and sampled spans by stack as well; then each total
 * is divided among its stacks. */
#include "gpu_stacks.h"

#include "hash.h"
#include "hash_map.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_NAMES_MAX = 256 };

typedef unsigned __int128 wide;

/* The launches of a thread in one path under one name. */
struct total {
    uint32_t thread, path, name;
    bool orphaned;   /* the launch is unknown; thread: the one that reported it */
    uint32_t shares; /* index + 1 of the first */
    uint32_t share_count;
    int64_t first_ns; /* time of the first launch */
    uint64_t values[LAUNCHED_VALUES];
};

/* The sampled launches of a total with one stack. */
struct share {
    uint32_t stack, next; /* next: index + 1 */
    wide weights[LAUNCHED_VALUES];
    uint64_t values[LAUNCHED_VALUES]; /* its part of the total's values */
};

/* A sampled span, until the number of launches it stands for is known. */
struct sampled {
    uint64_t launch; /* key */
    uint32_t share;
    uint64_t values[LAUNCHED_VALUES - 1];
};

struct gpu_stacks {
    struct trace *trace;
    struct gpu_stacks_options options;
    uint32_t bytes_key; /* string */
    uint16_t set;
    VEC(struct total) totals;
    VEC(struct share) shares;
    VEC(struct sampled) sampled;
    struct wide_map total_by_key, share_by_key;
    struct map64 launches; /* weights above 1 */
    struct map64 called;   /* by stack: the part up to the launching call */
    struct gpu_stacks_totals all;
    struct pass_source events; /* for gpu_stacks_source() */
    size_t next_total;         /* likewise */
    VEC(struct sample) batch;
    VEC(int64_t) batch_times;
};

const char *gpu_value_name(const char *word)
{
    if (!word || strcmp(word, "time") == 0)
        return "gpu:gpu";
    if (strcmp(word, "bytes") == 0)
        return "gpu:bytes";
    return strcmp(word, "launches") == 0 ? "gpu:calls" : NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint64_t launch_key(uint32_t thread, int64_t time_ns)
{
    return hash_u64((uint64_t)time_ns ^ (uint64_t)thread << 40) | 1;
}

static int take_sample(struct gpu_stacks *stacks, const struct sample *sample)
{
    if (sample_role(trace_sets_get(stacks->trace), sample) != SAMPLE_ROLE_LAUNCH ||
        sample->value_count == 0 || sample->values[0] <= 1)
        return 0;
    return map64_put(&stacks->launches, launch_key(sample->thread, sample->time_ns),
                     (uint64_t)sample->values[0]);
}

static bool is_work(const struct trace *trace, const struct event *event)
{
    const struct scope *scope = trace_scope(trace, event->scope);
    return scope->observer == OBSERVER_CUPTI &&
           (scope->role == QUEUE_ROLE_KERNEL || scope->role == QUEUE_ROLE_COPY ||
            scope->role == QUEUE_ROLE_SET || scope->role == QUEUE_ROLE_GRAPH);
}

static uint64_t bytes_of(const struct gpu_stacks *stacks, const struct args *args)
{
    for (uint32_t i = 0; i < args->count; i++)
        if (args->items[i].key == stacks->bytes_key && args->items[i].kind == VALUE_UINT64)
            return args->items[i].value.uint64;
    return 0;
}

/* Returns the index, or -ENOMEM. */
static int64_t find_total(struct gpu_stacks *stacks, const struct item *item)
{
    const struct event *event = item->event;
    bool orphaned = event->origin_ns == EVENT_NO_ORIGIN;
    const struct wide_key key = *WIDE_KEY(event->thread, item->path, event->name, orphaned);
    const uint64_t *found = wide_map_find(&stacks->total_by_key, &key);
    if (found)
        return (int64_t)*found;
    const struct total total = {.thread = event->thread,
                                .path = item->path,
                                .name = event->name,
                                .orphaned = orphaned,
                                .first_ns = orphaned ? item->begin_ns : event->origin_ns};
    int64_t index = (int64_t)stacks->totals.count;
    if (vec_push(&stacks->totals, total) != 0 ||
        wide_map_put(&stacks->total_by_key, &key, (uint64_t)index) != 0)
        return -ENOMEM;
    return index;
}

static int64_t find_share(struct gpu_stacks *stacks, uint32_t total, uint32_t stack)
{
    const struct wide_key key = *WIDE_KEY(total, stack);
    const uint64_t *found = wide_map_find(&stacks->share_by_key, &key);
    if (found)
        return (int64_t)*found;
    struct total *of = &stacks->totals.items[total];
    const struct share share = {.stack = stack, .next = of->shares};
    int64_t index = (int64_t)stacks->shares.count;
    if (vec_push(&stacks->shares, share) != 0 ||
        wide_map_put(&stacks->share_by_key, &key, (uint64_t)index) != 0)
        return -ENOMEM;
    of->shares = (uint32_t)index + 1;
    of->share_count++;
    return index;
}

static int take_span(struct gpu_stacks *stacks, const struct item *item)
{
    uint64_t values[LAUNCHED_VALUES] = {(uint64_t)(item->end_ns - item->begin_ns),
                                        bytes_of(stacks, &item->args), 1};
    int64_t total = find_total(stacks, item);
    if (total < 0)
        return (int)total;
    for (int i = 0; i < LAUNCHED_VALUES; i++) {
        stacks->totals.items[total].values[i] += values[i];
        stacks->all.values[i] += values[i];
    }
    if (item->stack == 0)
        return 0;
    int64_t share = find_share(stacks, (uint32_t)total, item->stack);
    if (share < 0)
        return (int)share;
    stacks->all.sampled++;
    const struct sampled sampled = {launch_key(item->event->thread, item->event->origin_ns),
                                    (uint32_t)share,
                                    {values[0], values[1]}};
    return vec_push(&stacks->sampled, sampled);
}

static int take(void *context, const struct item *item)
{
    struct gpu_stacks *stacks = context;
    if (item->kind == ITEM_SAMPLE)
        return take_sample(stacks, item->sample);
    bool span = item->kind == ITEM_SPAN && item->lane == LANE_QUEUE;
    return span && is_work(stacks->trace, item->event) ? take_span(stacks, item) : 0;
}

/* ---- Division -------------------------------------------------------------------------------- */

static void weigh(struct gpu_stacks *stacks)
{
    for (size_t i = 0; i < stacks->sampled.count; i++) {
        const struct sampled *one = &stacks->sampled.items[i];
        const uint64_t *found = map64_find(&stacks->launches, one->launch);
        uint64_t stands_for = found ? *found : 1;
        struct share *share = &stacks->shares.items[one->share];
        share->weights[LAUNCHED_TIME] += (wide)one->values[LAUNCHED_TIME] * stands_for;
        share->weights[LAUNCHED_BYTES] += (wide)one->values[LAUNCHED_BYTES] * stands_for;
        share->weights[LAUNCHED_CALLS] += stands_for;
    }
}

struct part {
    uint32_t share;
    double rest; /* remainder of the exact part after rounding down */
};

static int by_rest(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->rest != b->rest)
        return a->rest < b->rest ? 1 : -1;
    return (a->share > b->share) - (a->share < b->share);
}

/* Returns value * weight / sum, where sum may exceed 64 bits, and the remainder, below 1. */
static uint64_t part_of(uint64_t value, wide weight, wide sum, double *ret_rest)
{
    while (sum >> 64 != 0) {
        sum >>= 1;
        weight >>= 1;
    }
    wide product = (wide)value * (uint64_t)weight;
    *ret_rest = (double)(uint64_t)(product % sum) / (double)(uint64_t)sum;
    return (uint64_t)(product / sum);
}

/* Rounds by largest remainders, so that the parts add up to the whole. A value without weights is
 * divided by the number of launches. */
static void divide(struct gpu_stacks *stacks, const struct total *total, enum launched_value value,
                   struct part *parts)
{
    wide sum = 0;
    uint64_t left = total->values[value];
    uint32_t count = 0;
    enum launched_value by = value;
    for (uint32_t at = total->shares; at; at = stacks->shares.items[at - 1].next)
        sum += stacks->shares.items[at - 1].weights[value];
    if (sum == 0)
        by = LAUNCHED_CALLS;
    for (uint32_t at = total->shares; at && by != value; at = stacks->shares.items[at - 1].next)
        sum += stacks->shares.items[at - 1].weights[by];
    for (uint32_t at = total->shares; at; at = stacks->shares.items[at - 1].next) {
        struct share *share = &stacks->shares.items[at - 1];
        struct part *part = &parts[count++];
        part->share = at - 1;
        share->values[value] = part_of(total->values[value], share->weights[by], sum, &part->rest);
        left -= share->values[value];
    }
    qsort(parts, count, sizeof(*parts), by_rest);
    for (uint32_t i = 0; left > 0; i = (i + 1) % count, left--)
        stacks->shares.items[parts[i].share].values[value]++;
}

static int divide_all(struct gpu_stacks *stacks)
{
    uint32_t most = 1;
    for (size_t i = 0; i < stacks->totals.count; i++)
        if (stacks->totals.items[i].share_count > most)
            most = stacks->totals.items[i].share_count;
    struct part *parts = calloc(most, sizeof(*parts));
    if (!parts)
        return -ENOMEM;
    for (size_t i = 0; i < stacks->totals.count; i++) {
        const struct total *total = &stacks->totals.items[i];
        for (int value = 0; value < LAUNCHED_VALUES; value++) {
            if (total->shares)
                divide(stacks, total, (enum launched_value)value, parts);
            else
                stacks->all.unplaced[value] += total->values[value];
        }
    }
    free(parts);
    return 0;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* True for frames between the launching call and the probe: the driver, CUPTI, and our library. */
static bool is_between(const struct trace *trace, uint32_t frame)
{
    static const char *const libraries[] = {"libannot-gpu", "libcupti", "libcuda.so"};
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct frame *entry = stacks_get_frame(stacks, frame);
    uint32_t module = entry->module ? entry->module : stacks_label_of(stacks, frame)->module;
    if (entry->kind == FRAME_PYTHON || module == 0)
        return false;
    const char *name =
        text_base_name(trace_string(trace, stacks_get_module(stacks, module)->path)->bytes);
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

static int64_t push_label(struct gpu_stacks *stacks, uint32_t parent, uint32_t text, uint8_t flags)
{
    struct stacks *all = trace_stacks(stacks->trace);
    const struct label label = {.text = text, .kind = FRAME_NOTE, .flags = flags};
    int64_t ordinal = stacks_label(all, &label);
    const struct frame frame = {.kind = FRAME_NOTE, .label = (uint32_t)ordinal};
    int64_t place = ordinal < 0 ? ordinal : stacks_frame(all, &frame);
    return place < 0 ? place : stacks_push(all, parent, (uint32_t)place);
}

/* Returns the part of a stack that belongs to the program. */
static int64_t called_stack(struct gpu_stacks *stacks, uint32_t stack)
{
    const uint64_t *found = map64_find(&stacks->called, (uint64_t)stack + 1);
    if (found)
        return (int64_t)*found;
    const struct stacks *all = trace_stacks_get(stacks->trace);
    uint32_t called = stack;
    while (called && is_between(stacks->trace, stacks_get_stack(all, called)->frame))
        called = stacks_get_stack(all, called)->parent;
    return map64_put(&stacks->called, (uint64_t)stack + 1, called) ? -ENOMEM : (int64_t)called;
}

/* The stack for launches without a sampled one. */
static int64_t unknown_stack(struct gpu_stacks *stacks, const struct total *total)
{
    const char *text = total->orphaned ? "[launch not known]" : "[stack not sampled]";
    uint32_t names[PATH_NAMES_MAX], count = 0;
    int64_t stack = 0, string = trace_string_add(stacks->trace, text, strlen(text));
    if (!stacks->options.by_range)
        count = stacks_names(trace_stacks_get(stacks->trace), total->path, names, PATH_NAMES_MAX);
    for (uint32_t i = 0; i < count && stack >= 0; i++)
        stack = push_label(stacks, (uint32_t)stack, names[i], 0);
    if (stack < 0 || string < 0)
        return -ENOMEM;
    return push_label(stacks, (uint32_t)stack, (uint32_t)string, 0);
}

/* Makes the stacks of all samples, with the name of the work as the leaf. */
static int make_stacks(struct gpu_stacks *stacks)
{
    for (size_t i = 0; i < stacks->totals.count; i++) {
        struct total *total = &stacks->totals.items[i];
        int64_t stack = 0;
        for (uint32_t at = total->shares; at && stack >= 0;) {
            struct share *share = &stacks->shares.items[at - 1];
            stack = called_stack(stacks, share->stack);
            if (stack >= 0)
                stack = push_label(stacks, (uint32_t)stack, total->name, LABEL_WORK);
            share->stack = stack > 0 ? (uint32_t)stack : 0;
            at = share->next;
        }
        if (!total->shares) {
            struct share share = {0};
            stack = unknown_stack(stacks, total);
            if (stack >= 0)
                stack = push_label(stacks, (uint32_t)stack, total->name, LABEL_WORK);
            share.stack = stack > 0 ? (uint32_t)stack : 0;
            memcpy(share.values, total->values, sizeof(share.values));
            if (vec_push(&stacks->shares, share) != 0)
                return -ENOMEM;
            total->shares = (uint32_t)stacks->shares.count;
        }
        if (stack < 0)
            return (int)stack;
    }
    return 0;
}

static int define_set(struct gpu_stacks *stacks)
{
    static const char set_name[] = "gpu", value_name[] = "gpu-bytes", unit[] = "bytes",
                      key[] = QUEUE_KEY_BYTES;
    struct sample_sets *sets = trace_sets(stacks->trace);
    int64_t name = trace_string_add(stacks->trace, set_name, strlen(set_name));
    int64_t bytes = trace_string_add(stacks->trace, value_name, strlen(value_name));
    int64_t unit_name = trace_string_add(stacks->trace, unit, strlen(unit));
    int64_t bytes_key = trace_string_add(stacks->trace, key, strlen(key));
    if (name < 0 || bytes < 0 || unit_name < 0 || bytes_key < 0)
        return -ENOMEM;
    stacks->bytes_key = (uint32_t)bytes_key;
    const struct value_type type = {(uint32_t)bytes, (uint32_t)unit_name, VALUE_SUM_ADDS};
    int64_t type_number = value_types_add(sets, &type);
    if (type_number < 0)
        return (int)type_number;
    const struct sample_set set = {
        .name = (uint32_t)name,
        .count = LAUNCHED_VALUES,
        .types = {VALUE_TYPE_GPU, (uint16_t)type_number, VALUE_TYPE_CALLS}};
    int64_t number = sample_sets_add(sets, &set);
    stacks->set = number > 0 ? (uint16_t)number : 0;
    return number < 0 ? (int)number : 0;
}

/* ---- The whole ------------------------------------------------------------------------------- */

int gpu_stacks_read(const struct pass_source *source, const struct pass_selection *selection,
                    const struct gpu_stacks_options *options, struct gpu_stacks **ret_stacks)
{
    struct gpu_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return -ENOMEM;
    stacks->trace = source->trace;
    stacks->options = *options;
    const struct sink sink = {take, stacks, WANT_EVENTS | WANT_SAMPLES | WANT_ORIGINS};
    int error = define_set(stacks);
    if (!error)
        error = pass_read(source, selection, &sink, 1);
    if (!error) {
        weigh(stacks);
        error = divide_all(stacks);
    }
    if (!error)
        error = make_stacks(stacks);
    if (error)
        gpu_stacks_destroy(stacks);
    else
        *ret_stacks = stacks;
    return error;
}

void gpu_stacks_destroy(struct gpu_stacks *stacks)
{
    if (!stacks)
        return;
    vec_free(&stacks->totals);
    vec_free(&stacks->shares);
    vec_free(&stacks->sampled);
    wide_map_free(&stacks->total_by_key);
    wide_map_free(&stacks->share_by_key);
    map64_free(&stacks->launches);
    map64_free(&stacks->called);
    vec_free(&stacks->batch);
    vec_free(&stacks->batch_times);
    free(stacks);
}

const struct gpu_stacks_totals *gpu_stacks_totals(const struct gpu_stacks *stacks)
{
    return &stacks->all;
}

const char *gpu_stacks_say(const struct gpu_stacks_totals *totals, char *buffer, size_t size)
{
    uint64_t calls = totals->values[LAUNCHED_CALLS];
    if (totals->sampled == calls)
        snprintf(buffer, size, "stacks of all launches");
    else if (totals->sampled == 0)
        snprintf(buffer, size, "no stacks of launches; sums are exact");
    else
        snprintf(buffer, size, "stacks of launches sampled: 1 of %.1f; sums are exact",
                 (double)calls / (double)totals->sampled);
    return buffer;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int64_t value_of(const struct share *share, enum launched_value value)
{
    return share->values[value] > INT64_MAX ? INT64_MAX : (int64_t)share->values[value];
}

static struct sample sample_of(const struct total *total, const struct share *share)
{
    return (struct sample){.time_ns = total->first_ns,
                           .thread = total->thread,
                           .stack = share->stack,
                           .path = total->path,
                           .flags = SAMPLE_PATH_KNOWN};
}

static int report_share(const struct gpu_stacks *stacks, const struct total *total,
                        const struct share *share, const struct sink *sink)
{
    int64_t values[LAUNCHED_VALUES];
    for (int i = 0; i < LAUNCHED_VALUES; i++)
        values[i] = value_of(share, (enum launched_value)i);
    struct sample sample = sample_of(total, share);
    sample.values = values;
    sample.value_count = LAUNCHED_VALUES;
    sample.set = stacks->set;
    const struct item item = {.kind = ITEM_SAMPLE,
                              .lane = LANE_THREAD,
                              .begin_ns = sample.time_ns,
                              .end_ns = sample.time_ns,
                              .sample = &sample};
    return sink->take(sink->context, &item);
}

int gpu_stacks_report(const struct gpu_stacks *stacks, const struct sink *sink)
{
    int error = 0;
    for (size_t i = 0; i < stacks->totals.count && !error; i++) {
        const struct total *total = &stacks->totals.items[i];
        for (uint32_t at = total->shares; at && !error;) {
            const struct share *share = &stacks->shares.items[at - 1];
            error = report_share(stacks, total, share, sink);
            at = share->next;
        }
    }
    return error;
}

/* ---- A source -------------------------------------------------------------------------------- */

static int next_events(void *context, struct event_batch *ret_batch)
{
    const struct gpu_stacks *stacks = context;
    return stacks->events.next_events(stacks->events.context, ret_batch);
}

/* Returns the samples of one total. */
static int next_samples(void *context, struct sample_batch *ret_batch)
{
    struct gpu_stacks *stacks = context;
    if (stacks->next_total == stacks->totals.count)
        return 0;
    const struct total *total = &stacks->totals.items[stacks->next_total++];
    stacks->batch.count = stacks->batch_times.count = 0;
    for (uint32_t at = total->shares; at; at = stacks->shares.items[at - 1].next) {
        const struct share *share = &stacks->shares.items[at - 1];
        struct sample sample = sample_of(total, share);
        sample.set = SAMPLE_SET_CPU;
        sample.value_count = 1;
        if (vec_push(&stacks->batch, sample) != 0 ||
            vec_push(&stacks->batch_times, value_of(share, LAUNCHED_TIME)) != 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < stacks->batch.count; i++)
        stacks->batch.items[i].values = &stacks->batch_times.items[i];
    *ret_batch = (struct sample_batch){.samples = stacks->batch.items,
                                       .count = (uint32_t)stacks->batch.count,
                                       .settled_ns = total->first_ns};
    return 1;
}

static int by_time(const void *left, const void *right)
{
    const struct total *a = left, *b = right;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

struct pass_source gpu_stacks_source(struct gpu_stacks *stacks, const struct pass_source *events)
{
    stacks->events = *events;
    stacks->next_total = 0;
    if (stacks->totals.count > 1)
        qsort(stacks->totals.items, stacks->totals.count, sizeof(*stacks->totals.items), by_time);
    return (struct pass_source){.trace = stacks->trace,
                                .next_events = next_events,
                                .next_samples = next_samples,
                                .context = stacks};
}
