/* SPDX-License-Identifier: MIT */
/* See gpu_stalls.h.
 *
 * Reasons have the names of CUPTI's metrics, without their common prefix; the samples of one that
 * ends in "_not_issued" are also part of the one without that suffix. */
#include "gpu_stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REASON_PREFIX "smsp__pcsamp_warps_issue_stalled_"
#define REASON_SUFFIX "_not_issued"

/* Meaning of a value's key; a reason: 2 * index + NOT_ISSUED, from KEY_REASONS on. */
enum { KEY_CUBIN, KEY_PC, KEY_REASONS };

enum { NOT_ISSUED = 1 };

void gpu_stalls_fini(struct gpu_stalls *stalls)
{
    vec_free(&stalls->rows);
    wide_map_free(&stalls->row_index);
    wide_map_free(&stalls->place_index);
    map64_free(&stalls->keys);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The last reason collects those beyond the limit. */
static uint32_t find_reason(struct gpu_stalls *stalls, const char *text, size_t length)
{
    char name[GPU_REASON_SIZE];
    length = length < sizeof(name) ? length : sizeof(name) - 1;
    memcpy(name, text, length);
    name[length] = 0;
    for (uint32_t i = 0; i < stalls->reason_count; i++)
        if (strcmp(stalls->reasons[i], name) == 0)
            return i;
    if (stalls->reason_count == GPU_REASONS_MAX - 1)
        strcpy(name, "(other)");
    if (stalls->reason_count == GPU_REASONS_MAX)
        return GPU_REASONS_MAX - 1;
    memcpy(stalls->reasons[stalls->reason_count], name, sizeof(name));
    return stalls->reason_count++;
}

static uint64_t look_at_key(struct gpu_stalls *stalls, const char *text)
{
    size_t length = strlen(text), suffix = strlen(REASON_SUFFIX);
    if (strcmp(text, QUEUE_KEY_CUBIN) == 0)
        return KEY_CUBIN;
    if (strcmp(text, QUEUE_KEY_PC) == 0)
        return KEY_PC;
    bool not_issued = length > suffix && strcmp(text + length - suffix, REASON_SUFFIX) == 0;
    length -= not_issued ? suffix : 0;
    if (strncmp(text, REASON_PREFIX, strlen(REASON_PREFIX)) == 0 &&
        length > strlen(REASON_PREFIX)) {
        text += strlen(REASON_PREFIX);
        length -= strlen(REASON_PREFIX);
    }
    return KEY_REASONS + 2 * (uint64_t)find_reason(stalls, text, length) +
           (not_issued ? NOT_ISSUED : 0);
}

/* 0 or -ENOMEM. */
static int key_of(struct gpu_stalls *stalls, uint32_t string, uint64_t *ret_key)
{
    const uint64_t *found = map64_find(&stalls->keys, (uint64_t)string + 1);
    if (found) {
        *ret_key = *found;
        return 0;
    }
    *ret_key = look_at_key(stalls, trace_string(stalls->trace, string)->bytes);
    return map64_put(&stalls->keys, (uint64_t)string + 1, *ret_key);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Returns the index, or -ENOMEM. Kernels beyond the limit share one row. */
static int64_t row_of(struct gpu_stalls *stalls, uint32_t function, uint32_t reason)
{
    if (stalls->rows.count >= GPU_STALLS_MAX &&
        !wide_map_find(&stalls->row_index, WIDE_KEY(function, reason)))
        function = 0;
    const uint64_t *found = wide_map_find(&stalls->row_index, WIDE_KEY(function, reason));
    if (found)
        return (int64_t)*found;
    const struct gpu_stall fresh = {.function = function, .reason = reason};
    if (vec_push(&stalls->rows, fresh) != 0 ||
        wide_map_put(&stalls->row_index, WIDE_KEY(function, reason), stalls->rows.count - 1) != 0)
        return -ENOMEM;
    return (int64_t)stalls->rows.count - 1;
}

struct place {
    uint64_t cubin, pc;
};

/* 0 or -ENOMEM. */
static int add_place(struct gpu_stalls *stalls, int64_t index, const struct place *place,
                     uint64_t samples)
{
    struct gpu_stall *row = &stalls->rows.items[index];
    const struct wide_key *key = WIDE_KEY((uint64_t)index, place->cubin, place->pc);
    uint64_t *found = wide_map_find(&stalls->place_index, key);
    if (!found && stalls->place_count == GPU_STALL_PLACES_MAX) {
        stalls->sums.left_out += row->reason == 0 ? samples : 0;
        return 0;
    }
    uint64_t sum = samples + (found ? *found : 0);
    if (!found) {
        stalls->place_count++;
        row->place_count++;
        if (wide_map_put(&stalls->place_index, key, sum) != 0)
            return -ENOMEM;
    } else {
        *found = sum;
    }
    if (sum > row->top_samples) {
        row->top_samples = sum;
        row->top_pc = place->pc;
    }
    return 0;
}

static int add(struct gpu_stalls *stalls, int64_t index, const struct place *place,
               const struct gpu_stall *more)
{
    if (index < 0)
        return (int)index;
    struct gpu_stall *row = &stalls->rows.items[index];
    row->samples += more->samples;
    row->not_issued += more->not_issued;
    return more->samples ? add_place(stalls, index, place, more->samples) : 0;
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static uint64_t number_of(const struct arg *arg)
{
    return arg->kind == VALUE_UINT64 ? arg->value.uint64 : 0;
}

/* CUPTI's counts are not larger, so sums of corrupt values cannot overflow. */
static uint64_t samples_of(const struct arg *arg)
{
    uint64_t number = number_of(arg);
    return number <= UINT32_MAX ? number : 0;
}

static int add_value(struct gpu_stalls *stalls, const struct item *mark, const struct place *place,
                     const struct arg *arg)
{
    uint64_t key, samples = samples_of(arg);
    int error = key_of(stalls, arg->key, &key);
    if (error != 0 || key < KEY_REASONS || samples == 0)
        return error;
    uint32_t reason = (uint32_t)(key - KEY_REASONS) / 2 + 1, function = mark->event->name;
    struct gpu_stall more = {.samples = samples};
    if ((key - KEY_REASONS) % 2 == NOT_ISSUED)
        more = (struct gpu_stall){.not_issued = samples};
    stalls->sums.samples += more.samples;
    error = add(stalls, row_of(stalls, function, 0), place, &more);
    return error ? error : add(stalls, row_of(stalls, function, reason), place, &more);
}

static int take_place(struct gpu_stalls *stalls, const struct item *mark)
{
    struct place place = {0};
    int error = 0;
    for (uint32_t i = 0; i < mark->args.count && error == 0; i++) {
        uint64_t key;
        error = key_of(stalls, mark->args.items[i].key, &key);
        if (error == 0 && key == KEY_CUBIN)
            place.cubin = number_of(&mark->args.items[i]);
        if (error == 0 && key == KEY_PC)
            place.pc = number_of(&mark->args.items[i]);
    }
    for (uint32_t i = 0; i < mark->args.count && error == 0; i++)
        error = add_value(stalls, mark, &place, &mark->args.items[i]);
    return error;
}

static void take_sums(struct gpu_stalls *stalls, const struct item *mark)
{
    const struct {
        const char *key;
        uint64_t *sum;
    } sums[] = {
        {QUEUE_KEY_SAMPLES, &stalls->sums.taken},
        {QUEUE_KEY_DROPPED, &stalls->sums.dropped},
        {QUEUE_KEY_OTHERS, &stalls->sums.others},
        {QUEUE_KEY_FULL, &stalls->sums.full},
    };

    for (uint32_t i = 0; i < mark->args.count; i++) {
        const struct arg *arg = &mark->args.items[i];
        const char *text = trace_string(stalls->trace, arg->key)->bytes;
        for (size_t j = 0; j < sizeof(sums) / sizeof(*sums); j++)
            if (strcmp(text, sums[j].key) == 0)
                *sums[j].sum += number_of(arg);
    }
}

int gpu_stalls_take(struct gpu_stalls *stalls, const struct item *mark)
{
    const struct scope *scope = trace_scope(stalls->trace, mark->event->scope);
    if (scope->observer != OBSERVER_CUPTI)
        return 0;
    if (scope->role == QUEUE_ROLE_PC_SUMS)
        take_sums(stalls, mark);
    return scope->role == QUEUE_ROLE_PC ? take_place(stalls, mark) : 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

static int order(const void *left, const void *right)
{
    const struct gpu_stall *a = left, *b = right;
    if (a->kernel_samples != b->kernel_samples)
        return a->kernel_samples < b->kernel_samples ? 1 : -1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if ((a->reason == 0) != (b->reason == 0))
        return a->reason == 0 ? -1 : 1;
    if (a->samples != b->samples)
        return a->samples < b->samples ? 1 : -1;
    return a->reason < b->reason ? -1 : a->reason > b->reason;
}

void gpu_stalls_finish(struct gpu_stalls *stalls)
{
    for (size_t i = 0; i < stalls->rows.count; i++) {
        struct gpu_stall *row = &stalls->rows.items[i];
        const uint64_t *whole = wide_map_find(&stalls->row_index, WIDE_KEY(row->function, 0));
        row->kernel_samples = whole ? stalls->rows.items[*whole].samples : 0;
    }
    if (stalls->rows.count > 1)
        qsort(stalls->rows.items, stalls->rows.count, sizeof(*stalls->rows.items), order);
}

const char *gpu_stalls_reason(const struct gpu_stalls *stalls, const struct gpu_stall *row)
{
    return row->reason ? stalls->reasons[row->reason - 1] : "";
}
