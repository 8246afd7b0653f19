/* SPDX-License-Identifier: MIT */
/* See pool_functions.h. */
#include "pool_functions.h"

#include "hash_map.h"
#include "histogram.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HISTOGRAM_BYTES = 32 << 20 };

struct function_times {
    struct pool_function result;
    struct histogram histograms[POOL_PART_COUNT];
};

struct pool_functions {
    const struct trace *trace;
    struct histogram_pool *histograms;
    struct map64 index_of_name; /* name and is_local -> function + 1 */
    VEC(struct function_times) items;
    VEC(struct pool_function) sorted;
    uint64_t cpu_ns[POOL_WHOLE]; /* of parts with unknown function */
    bool has_cpu;
};

const char *pool_part_name(enum pool_part part)
{
    static const char *const names[POOL_PART_COUNT] = {
        [POOL_HAND_OVER] = "hand over",
        [POOL_START] = "worker start",
        [POOL_QUEUED] = "queued",
        [POOL_UNPICKLE] = "unpickle",
        [POOL_RUN] = "run",
        [POOL_SEND] = "send",
        [POOL_WAITING] = "waiting",
        [POOL_FETCH] = "fetch",
        [POOL_WHOLE] = "",
    };
    return names[part];
}

struct pool_functions *pool_functions_create(const struct trace *trace)
{
    struct pool_functions *functions = calloc(1, sizeof(*functions));
    if (!functions)
        return NULL;
    functions->trace = trace;
    functions->histograms = histogram_pool_create(HISTOGRAM_BYTES);
    if (functions->histograms)
        return functions;
    free(functions);
    return NULL;
}

void pool_functions_destroy(struct pool_functions *functions)
{
    if (!functions)
        return;
    histogram_pool_destroy(functions->histograms);
    map64_free(&functions->index_of_name);
    vec_free(&functions->items);
    vec_free(&functions->sorted);
    free(functions);
}

static uint64_t key_of(uint32_t name, bool is_local)
{
    return ((uint64_t)name << 1 | is_local) + 1;
}

/* Threads and processes have separate rows, as their tasks take different steps. */
static struct function_times *function_of(struct pool_functions *functions, uint32_t name,
                                          bool is_local)
{
    uint64_t key = key_of(name, is_local);
    const uint64_t *found = map64_find(&functions->index_of_name, key);
    if (found)
        return &functions->items.items[*found - 1];
    if (vec_push(&functions->items, (struct function_times){0}) != 0)
        return NULL;
    struct function_times *function = &functions->items.items[functions->items.count - 1];
    function->result.name = name;
    function->result.is_local = is_local;
    if (map64_put(&functions->index_of_name, key, functions->items.count) != 0)
        return NULL;
    return function;
}

static void part_add(struct pool_functions *functions, struct function_times *function,
                     enum pool_part part, uint64_t length_ns)
{
    struct pool_part_times *times = &function->result.parts[part];
    times->sum_ns += length_ns;
    times->max_ns = length_ns > times->max_ns ? length_ns : times->max_ns;
    histogram_add(functions->histograms, &function->histograms[part], length_ns);
}

int pool_functions_add(struct pool_functions *functions, const struct pool_way *way)
{
    struct function_times *function = function_of(functions, way->name, way->is_local);
    uint64_t whole_ns = 0;
    if (!function)
        return -ENOMEM;
    for (int i = 0; i < POOL_WHOLE; i++) {
        part_add(functions, function, (enum pool_part)i, way->parts_ns[i]);
        whole_ns += way->parts_ns[i];
    }
    part_add(functions, function, POOL_WHOLE, whole_ns);
    function->result.count++;
    function->result.received_count += way->was_received;
    function->result.item_count += way->item_count;
    function->result.bytes_in += way->bytes_in;
    function->result.bytes_out += way->bytes_out;
    return 0;
}

int pool_functions_add_unfinished(struct pool_functions *functions, uint32_t name, bool is_local)
{
    struct function_times *function = function_of(functions, name, is_local);
    if (!function)
        return -ENOMEM;
    function->result.unfinished_count++;
    return 0;
}

static int by_time(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct pool_function *a = left, *b = right;
    uint64_t x = a->parts[POOL_WHOLE].sum_ns, y = b->parts[POOL_WHOLE].sum_ns;
    if (x != y)
        return x < y ? 1 : -1;
    int names = strcmp(trace_string(trace, a->name)->bytes, trace_string(trace, b->name)->bytes);
    if (names)
        return names;
    return (int)a->is_local - (int)b->is_local;
}

/* Limits the quantile, as the middle of its bucket may exceed the maximum. */
static uint64_t quantile(const struct pool_functions *functions, const struct histogram *histogram,
                         double fraction, uint64_t max_ns)
{
    uint64_t value = histogram_quantile(functions->histograms, histogram, fraction);
    return value < max_ns ? value : max_ns;
}

void pool_functions_add_cpu(struct pool_functions *functions, enum pool_part part, uint32_t name,
                            bool is_local, uint64_t cpu_ns)
{
    functions->has_cpu = true;
    if (name == 0) {
        functions->cpu_ns[part] += cpu_ns;
        return;
    }
    const uint64_t *found = map64_find(&functions->index_of_name, key_of(name, is_local));
    if (found)
        functions->items.items[*found - 1].result.cpu_ns[part] += cpu_ns;
}

/* Returns the only function of process pools, which all pickling belongs to; NULL: there are
 * several. */
static struct pool_function *only_function(struct pool_functions *functions)
{
    struct pool_function *only = NULL;
    for (size_t i = 0; i < functions->items.count; i++) {
        struct pool_function *function = &functions->items.items[i].result;
        if (function->is_local)
            continue;
        if (only)
            return NULL;
        only = function;
    }
    return only;
}

static void finish_cpu(struct pool_functions *functions)
{
    const uint32_t pickling =
        1u << POOL_HAND_OVER | 1u << POOL_UNPICKLE | 1u << POOL_SEND | 1u << POOL_FETCH;
    for (size_t i = 0; i < functions->items.count; i++)
        functions->items.items[i].result.cpu_known = 1u << POOL_RUN;
    struct pool_function *only = only_function(functions);
    for (int part = 0; only && part < POOL_WHOLE; part++) {
        only->cpu_ns[part] += functions->cpu_ns[part];
        only->cpu_ns[POOL_WHOLE] += only->cpu_ns[part];
        only->cpu_known = pickling | 1u << POOL_RUN | 1u << POOL_WHOLE;
    }
}

int pool_functions_finish(struct pool_functions *functions)
{
    if (functions->has_cpu)
        finish_cpu(functions);
    for (size_t i = 0; i < functions->items.count; i++) {
        struct function_times *function = &functions->items.items[i];
        for (int part = 0; part < POOL_PART_COUNT; part++) {
            struct pool_part_times *times = &function->result.parts[part];
            const struct histogram *histogram = &function->histograms[part];
            times->p50_ns = quantile(functions, histogram, 0.5, times->max_ns);
            times->p90_ns = quantile(functions, histogram, 0.9, times->max_ns);
        }
        if (vec_push(&functions->sorted, function->result) != 0)
            return -ENOMEM;
    }
    if (functions->sorted.count > 1)
        qsort_r(functions->sorted.items, functions->sorted.count, sizeof(*functions->sorted.items),
                by_time, (void *)functions->trace);
    return 0;
}

uint32_t pool_functions_all(const struct pool_functions *functions,
                            const struct pool_function **ret_functions)
{
    *ret_functions = functions->sorted.items;
    return (uint32_t)functions->sorted.count;
}
