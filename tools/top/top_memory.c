/* SPDX-License-Identifier: MIT */
/* Implements top_memory.h. Stacks are kept instead of functions, whose names may come later. */
#include "top_memory.h"

#include "code_owner.h"
#include "file_io.h"
#include "hash_map.h"
#include "stacks.h"
#include "vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct top_memory {
    const struct trace *trace;
    struct map64 by_key; /* thread and stack -> index + 1 */
    VEC(struct top_memory_use) uses;
    VEC(struct top_memory_use) waiting; /* changes during the hold */
    VEC(uint64_t) resident;             /* by process */
    bool held;
};

struct top_memory *top_memory_create(const struct trace *trace)
{
    struct top_memory *memory = calloc(1, sizeof(*memory));
    if (memory)
        memory->trace = trace;
    return memory;
}

void top_memory_destroy(struct top_memory *memory)
{
    if (!memory)
        return;
    map64_free(&memory->by_key);
    vec_free(&memory->uses);
    vec_free(&memory->waiting);
    vec_free(&memory->resident);
    free(memory);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int apply(struct top_memory *memory, const struct top_memory_use *change)
{
    uint64_t key = ((uint64_t)change->thread << 32 | change->stack) + 1;
    const uint64_t *found = map64_find(&memory->by_key, key);
    if (!found) {
        int error = map64_put(&memory->by_key, key, memory->uses.count);
        return error ? error : vec_push(&memory->uses, *change);
    }
    memory->uses.items[*found].live += change->live;
    memory->uses.items[*found].allocated += change->allocated;
    return 0;
}

int top_memory_add(struct top_memory *memory, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(memory->trace);
    if (!(sample_set_get(sets, sample->set)->flags & SAMPLE_SET_HEAP))
        return 0;
    int64_t allocated = sample_value(sets, sample, VALUE_TYPE_ALLOC_BYTES);
    int64_t freed = sample_value(sets, sample, VALUE_TYPE_FREE_BYTES);
    const struct top_memory_use change = {.thread = sample->thread,
                                          .stack = sample->stack,
                                          .live = allocated - freed,
                                          .allocated = allocated};
    return memory->held ? vec_push(&memory->waiting, change) : apply(memory, &change);
}

void top_memory_reset(struct top_memory *memory)
{
    for (size_t i = 0; i < memory->uses.count; i++)
        memory->uses.items[i].allocated = 0;
}

int top_memory_hold(struct top_memory *memory, bool hold)
{
    int error = 0;
    memory->held = hold;
    for (size_t i = 0; i < memory->waiting.count && !hold && !error; i++)
        error = apply(memory, &memory->waiting.items[i]);
    if (!hold)
        memory->waiting.count = 0;
    return error;
}

int top_memory_each(const struct top_memory *memory,
                    int (*take)(void *context, const struct top_memory_use *use), void *context)
{
    int result = 0;
    for (size_t i = 0; i < memory->uses.count && result == 0; i++)
        result = take(context, &memory->uses.items[i]);
    return result;
}

uint32_t top_memory_function(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    while (stack) {
        const struct stack *node = stacks_get_stack(stacks, stack);
        uint32_t label = stacks_get_frame(stacks, node->frame)->label;
        if (label && code_owner_of(trace, label) == CODE_OWN)
            return label;
        stack = node->parent;
    }
    return 0;
}

/* ---- Resident memory ------------------------------------------------------------------------- */

static uint64_t read_resident(int32_t pid)
{
    char path[64], text[128];
    uint64_t pages = 0;
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/statm", pid);
    if (pid <= 0 || file_read_text(path, text, sizeof(text)) <= 0 ||
        sscanf(text, "%*u %" SCNu64, &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t top_memory_resident(struct top_memory *memory, uint32_t process)
{
    const struct trace_process *entry = trace_process_get(memory->trace, process);
    while (memory->resident.count <= process)
        if (vec_push(&memory->resident, UINT64_C(0)) != 0)
            return 0;
    bool lives = entry->end == PROCESS_RUNNING && entry->end_ns == 0;
    if (!memory->held)
        memory->resident.items[process] = lives ? read_resident(entry->pid) : 0;
    return memory->resident.items[process];
}
