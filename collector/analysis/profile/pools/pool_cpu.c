/* SPDX-License-Identifier: MIT */
/* See pool_cpu.h. */
#include "pool_cpu.h"

#include "hash_map.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

struct pool_cpu {
    const struct trace *trace;
    struct map64 by_path; /* thread and path -> nanoseconds */
};

struct pool_cpu *pool_cpu_create(const struct trace *trace)
{
    struct pool_cpu *cpu = calloc(1, sizeof(*cpu));
    if (cpu)
        cpu->trace = trace;
    return cpu;
}

void pool_cpu_destroy(struct pool_cpu *cpu)
{
    if (!cpu)
        return;
    map64_free(&cpu->by_path);
    free(cpu);
}

int pool_cpu_add(struct pool_cpu *cpu, const struct sample *sample)
{
    uint64_t cpu_ns = sample_cpu_ns(trace_sets_get(cpu->trace), sample);
    if (sample->path == 0 || cpu_ns == 0)
        return 0;
    uint64_t key = (uint64_t)sample->thread << 32 | sample->path;
    uint64_t *found = map64_find(&cpu->by_path, key);
    if (!found)
        return map64_put(&cpu->by_path, key, cpu_ns);
    *found += cpu_ns;
    return 0;
}

/* Returns the outermost range of a pool; NULL: outside of any. */
static const struct range_path *find_range(const struct trace *trace, uint32_t path)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct range_path *found = NULL;
    for (uint32_t at = path; at != 0;) {
        const struct range_path *range = stacks_get_path(stacks, at);
        const struct scope *scope = trace_scope(trace, range->scope);
        if (range->kind == RANGE_PATH_THREAD && scope->observer == OBSERVER_POOL &&
            scope->role != POOL_ROLE_CALL)
            found = range;
        at = range->parent;
    }
    return found;
}

void pool_cpu_each(const struct pool_cpu *cpu, pool_cpu_told *tell, void *context)
{
    for (size_t i = 0; i < cpu->by_path.capacity; i++) {
        const struct map64_entry *entry = &cpu->by_path.entries[i];
        const struct range_path *range =
            entry->key ? find_range(cpu->trace, (uint32_t)entry->key) : NULL;
        if (range)
            tell(context, (uint32_t)(entry->key >> 32), trace_scope(cpu->trace, range->scope)->role,
                 range->name, entry->value);
    }
}
