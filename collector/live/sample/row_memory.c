/* SPDX-License-Identifier: MIT */
/* Segments, slices and the common numbering of rules; a sorted array of the free numbers of a
 * range. Thread-safety: none. */
#include "row_memory.h"

#include "hash.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- Free numbers ---------------------------------------------------------------------------- */

int extents_init(struct extents *extents, uint32_t count)
{
    *extents = (struct extents){0};
    return vec_push(&extents->free, ((struct extent){0, count}));
}

void extents_fini(struct extents *extents)
{
    vec_free(&extents->free);
}

static void remove_at(struct extents *extents, size_t index)
{
    struct extent *at = extents->free.items + index;
    extents->free.count--;
    memmove(at, at + 1, (extents->free.count - index) * sizeof(*at));
}

int64_t extents_take(struct extents *extents, uint32_t count)
{
    for (size_t i = 0; i < extents->free.count; i++) {
        struct extent *extent = &extents->free.items[i];
        if (extent->count < count)
            continue;
        uint32_t first = extent->first;
        extent->first += count;
        extent->count -= count;
        if (extent->count == 0)
            remove_at(extents, i);
        return first;
    }
    return -ENOSPC;
}

int extents_give(struct extents *extents, uint32_t first, uint32_t count)
{
    size_t index = 0;
    while (index < extents->free.count && extents->free.items[index].first < first)
        index++;
    if (count == 0)
        return 0;
    if (vec_reserve(&extents->free, 1) != 0)
        return -ENOMEM;
    struct extent *at = extents->free.items + index;
    memmove(at + 1, at, (extents->free.count - index) * sizeof(*at));
    *at = (struct extent){first, count};
    extents->free.count++;
    if (index + 1 < extents->free.count && first + count == at[1].first) {
        at[0].count += at[1].count;
        remove_at(extents, index + 1);
    }
    if (index > 0 && at[-1].first + at[-1].count == first) {
        at[-1].count += at[0].count;
        remove_at(extents, index);
    }
    return 0;
}

/* ---- Rows and rules -------------------------------------------------------------------------- */

int row_memory_init(struct row_memory *memory, const struct row_source *source)
{
    *memory = (struct row_memory){.source = *source, .rule_count = 1};
    pthread_mutex_init(&memory->lock, NULL);
    memory->rules = calloc(SAMPLER_RULES_MAX, sizeof(*memory->rules));
    return memory->rules ? 0 : -ENOMEM;
}

void row_memory_fini(struct row_memory *memory)
{
    for (uint32_t i = 0; i < memory->segment_count; i++)
        extents_fini(&memory->segments[i].extents);
    map64_free(&memory->rule_index);
    free(memory->rules);
    pthread_mutex_destroy(&memory->lock);
}

/* The common number of a rule; 0 (unknown) if there is no room. */
static int64_t find_rule(struct row_memory *memory, const struct unwind_rule *rule)
{
    uint64_t key = hash_bytes(rule, sizeof(*rule)) | 1;
    for (;; key += 2) {
        const uint64_t *found = map64_find(&memory->rule_index, key);
        if (!found)
            break;
        if (memcmp(&memory->rules[*found], rule, sizeof(*rule)) == 0)
            return (int64_t)*found;
    }
    struct unwind_rule *place =
        memory->rule_count < SAMPLER_RULES_MAX
            ? memory->source.rule(memory->source.context, memory->rule_count)
            : NULL;
    if (!place) {
        memory->counts.rules_refused++;
        return 0;
    }
    if (map64_put(&memory->rule_index, key, memory->rule_count) != 0)
        return -ENOMEM;
    *place = memory->rules[memory->rule_count] = *rule;
    return memory->rule_count++;
}

/* Call without the lock: the kernel takes tens of milliseconds. */
static int add_segment(struct row_memory *memory)
{
    if (memory->segment_count == SAMPLER_SEGMENTS_MAX)
        return -ENOSPC;
    struct row_segment *segment = &memory->segments[memory->segment_count];
    int error = extents_init(&segment->extents, SAMPLER_SEGMENT_ROWS);
    if (!error)
        error = memory->source.add_segment(memory->source.context, memory->segment_count,
                                           &segment->rows);
    pthread_mutex_lock(&memory->lock);
    if (error)
        extents_fini(&segment->extents);
    else
        memory->segment_count++;
    pthread_mutex_unlock(&memory->lock);
    return error;
}

/* Call with the lock. -EAGAIN: another segment might have room. */
static int take_slice(struct row_memory *memory, uint32_t count, struct row_slice *slice)
{
    for (uint32_t i = 0; i < memory->segment_count; i++) {
        int64_t first = extents_take(&memory->segments[i].extents, count);
        if (first < 0)
            continue;
        *slice = (struct row_slice){i, (uint32_t)first, count};
        memory->counts.rows_used += count;
        return 0;
    }
    return memory->segment_count == SAMPLER_SEGMENTS_MAX ? -ENOSPC : -EAGAIN;
}

/* Maps the table's numbers of used rules to the common ones. */
static int number_rules(struct row_memory *memory, const struct unwind_table *table,
                        uint32_t *numbers)
{
    for (uint32_t i = 0; i < table->rule_count; i++) {
        int64_t number = find_rule(memory, &table->rules[i]);
        if (number < 0)
            return (int)number;
        numbers[i] = (uint32_t)number;
    }
    return 0;
}

int row_memory_try(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice)
{
    uint32_t *numbers = malloc((table->rule_count + 1) * sizeof(*numbers));
    pthread_mutex_lock(&memory->lock);
    int error = numbers ? number_rules(memory, table, numbers) : -ENOMEM;
    if (!error)
        error = take_slice(memory, count, ret_slice);
    pthread_mutex_unlock(&memory->lock);
    struct unwind_row *rows =
        error ? NULL : memory->segments[ret_slice->segment].rows + ret_slice->first;
    for (uint32_t i = 0; rows && i < count; i++) {
        const struct unwind_row *row = &table->rows[first + i];
        rows[i].address = row->address;
        rows[i].rule = row->rule < table->rule_count ? numbers[row->rule] : 0;
    }
    free(numbers);
    return error;
}

int row_memory_add(struct row_memory *memory, const struct unwind_table *table, uint32_t first,
                   uint32_t count, struct row_slice *ret_slice)
{
    int error = row_memory_try(memory, table, first, count, ret_slice);
    while (error == -EAGAIN) {
        error = add_segment(memory);
        if (!error)
            error = row_memory_try(memory, table, first, count, ret_slice);
    }
    return error;
}

void row_memory_remove(struct row_memory *memory, const struct row_slice *slice)
{
    struct row_segment *segment = &memory->segments[slice->segment];
    pthread_mutex_lock(&memory->lock);
    if (extents_give(&segment->extents, slice->first, slice->count) == 0)
        memory->counts.rows_used -= slice->count;
    pthread_mutex_unlock(&memory->lock);
}

struct row_counts row_memory_count(struct row_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    struct row_counts counts = memory->counts;
    pthread_mutex_unlock(&memory->lock);
    return counts;
}
