/* SPDX-License-Identifier: MIT */
/* A plain, strict reader of segments: any byte that violates the format fails the test. */
#include "arena.h"
#include "test.h"

#include <annot_barrier.h>
#include <stdio.h>
#include <stdlib.h>

/* Two writers may store the same words one after the other: reads whole words, as they are
 * stored. */
static void copy_text(const struct annot_string *string, uint16_t length, char *text)
{
    const uint64_t *words = (const uint64_t *)(string + 1);
    for (uint16_t at = 0; at < length; at += 8) {
        uint64_t word = annot_load_relaxed(&words[at / 8]);
        memcpy(text + at, &word, length - at < 8 ? (size_t)(length - at) : 8);
    }
    text[length] = 0;
}

static void read_string(const struct mapped *mapped, uint32_t id, char *text)
{
    text[0] = 0;
    if (id == 0)
        return;
    uint64_t offset = (uint64_t)id * ANNOT_STRING_UNIT;
    CHECK(offset + sizeof(struct annot_string) <= annot_load_acquire(&mapped->shared->string_used));
    const struct annot_string *string = (const void *)(mapped->strings + offset);
    CHECK_INT(annot_load_acquire(&string->ready), 1);
    uint16_t length = annot_load_relaxed(&string->length);
    CHECK(length <= ANNOT_STRING_MAX);
    copy_text(string, length, text);
}

static void check_strings(const struct mapped *mapped)
{
    uint32_t used = annot_load_acquire(&mapped->shared->string_used);
    uint32_t offset = ANNOT_STRING_UNIT;
    CHECK(used <= mapped->header->info.strings_size);
    while (offset < used) {
        const struct annot_string *string = (const void *)(mapped->strings + offset);
        uint16_t length = annot_load_relaxed(&string->length);
        CHECK(length <= ANNOT_STRING_MAX);
        offset += (uint32_t)sizeof(*string) + (length + 15u) / 16 * 16;
    }
    CHECK_INT(offset, used);
}

static const uint8_t *take_bytes(const uint8_t *at, const uint8_t *end, uint64_t size, char *text)
{
    CHECK(size <= ANNOT_STRUCT_BYTES);
    CHECK((uint64_t)(end - at) >= (size + 15) / 16 * 16);
    memcpy(text, at, size);
    text[size] = 0;
    for (uint64_t i = size; i < (size + 15) / 16 * 16; i++)
        CHECK_INT(at[i], 0);
    return at + (size + 15) / 16 * 16;
}

static void decode(const struct mapped *mapped, const uint8_t *at, uint32_t size,
                   struct seen_record *out)
{
    const struct annot_record *base = (const void *)at;
    const uint8_t *end = at + size;
    if (base->kind != ANNOT_REC_PAYLOAD)
        out->time = base->time;
    out->kind = base->kind;
    out->flags = base->flags;
    out->level = ANNOT_RECORD_LEVEL(base->level);
    out->continues = (base->level & ANNOT_RECORD_CONTINUES) != 0;
    out->value_kind = ANNOT_RECORD_VALUE_KIND(base->level);
    out->name = base->name;
    out->value = base->kind == ANNOT_REC_PAYLOAD ? base->time : 0;
    out->id = out->parent = out->color = 0;
    out->domain = out->category = 0;
    out->text[0] = out->string[0] = 0;
    at += sizeof(*base);
    if (base->flags & ANNOT_FLAG_ATTR) {
        const struct annot_attr *attr = (const void *)at;
        CHECK(at + sizeof(*attr) <= end);
        out->value = attr->value;
        out->color = attr->color;
        out->domain = attr->domain;
        out->category = attr->category;
        at += sizeof(*attr);
    }
    if (base->flags & ANNOT_FLAG_ID) {
        CHECK(at + sizeof(struct annot_id) <= end);
        out->id = ((const struct annot_id *)at)->id;
        out->parent = ((const struct annot_id *)at)->reserved;
        CHECK(out->id != 0 || base->kind == ANNOT_REC_SPAN);
        at += sizeof(struct annot_id);
    }
    if (base->flags & ANNOT_FLAG_NAME_INLINE)
        at = take_bytes(at, end, base->name, out->text);
    else if (base->kind != ANNOT_REC_POP && out->value_kind != ANNOT_VALUE_STRUCT)
        read_string(mapped, base->name, out->text);
    if (base->flags & ANNOT_FLAG_VALUE_STRING)
        at = take_bytes(at, end, out->value, out->string);
    CHECK(at == end);
}

/* Follows the stack of pushed ranges through one block. */
struct stack_check {
    uint64_t open;
    uint64_t last_time;
    uint32_t payload_bytes; /* of the previous record */
    bool has_record;
};

static void check_payload(uint32_t size, struct stack_check *check)
{
    CHECK(check->has_record); /* the record precedes it in the same block */
    check->payload_bytes += size;
    CHECK(check->payload_bytes <= ANNOT_PAYLOAD_BYTES);
}

static void check_record(const struct seen_record *record, struct stack_check *check)
{
    check->has_record = true;
    check->payload_bytes = 0;
    if (record->kind == ANNOT_REC_SPAN || record->kind == ANNOT_REC_CLOCK)
        return; /* these have separate times */
    CHECK(record->time >= check->last_time);
    check->last_time = record->time;
    if (record->kind == ANNOT_REC_PUSH)
        check->open++;
    if (record->kind == ANNOT_REC_POP) {
        CHECK_INT(record->name, check->open - 1);
        check->open--;
    }
}

int arena_mixed_tid;

static void read_block(const struct mapped *mapped, const struct annot_block *block,
                       struct seen *seen, arena_visit visit, void *context)
{
    struct seen_record record;
    struct stack_check check = {.open = block->open_depth, .last_time = block->claim_time};
    uint32_t committed = annot_load_acquire(&block->committed);
    const uint8_t *at = (const uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE;
    const uint8_t *end = at + committed;
    CHECK(committed <= ANNOT_BLOCK_DATA_SIZE);
    seen->blocks++;
    if (block->tid == arena_mixed_tid)
        return;
    CHECK(block->open_count <= ANNOT_OPEN_DEPTH);
    CHECK(block->open_count <= block->open_depth);
    CHECK_INT(block->kept_depth, block->open_depth);
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        seen->lost[cause] += block->lost[cause];
    record.serial = block->thread_serial;
    record.sequence = block->sequence;
    record.tid = block->tid;
    while (at < end) {
        const struct annot_record *base = (const void *)at;
        CHECK(base->granules >= 1);
        CHECK(at + base->granules * ANNOT_GRANULE <= end);
        decode(mapped, at, base->granules * ANNOT_GRANULE, &record);
        if (record.kind == ANNOT_REC_PAYLOAD)
            check_payload(base->granules * ANNOT_GRANULE, &check);
        else
            check_record(&record, &check);
        seen->kinds[record.kind]++;
        seen->records += record.kind != ANNOT_REC_PAYLOAD;
        if (visit)
            visit(&record, context);
        at += base->granules * ANNOT_GRANULE;
    }
}

static const struct mapped *sorting;

static int by_sequence(const void *a, const void *b)
{
    const struct annot_block *left =
        (const void *)(sorting->blocks + (uint64_t) * (const uint32_t *)a * ANNOT_BLOCK_SIZE);
    const struct annot_block *right =
        (const void *)(sorting->blocks + (uint64_t) * (const uint32_t *)b * ANNOT_BLOCK_SIZE);
    if (left->thread_serial != right->thread_serial)
        return left->thread_serial < right->thread_serial ? -1 : 1;
    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

static bool is_overwriting(const struct mapped *mapped)
{
    return mapped->header->info.policy == ANNOT_POLICY_OVERWRITE_OLDEST;
}

static const struct annot_block *block_at(const struct mapped *mapped, uint32_t index)
{
    return (const void *)(mapped->blocks + (uint64_t)index * ANNOT_BLOCK_SIZE);
}

/* Losses of a cause that the blocks of a thread report; with overwriting, each block reports those
 * before it. */
/* The state of a block with records; FREE for others. */
static uint32_t state_of(const struct mapped *mapped, uint32_t index)
{
    uint32_t state = annot_load_acquire(&mapped->states[index]) & ANNOT_BLOCK_STATE_MASK;
    bool has_sums = state == ANNOT_BLOCK_SUMS || state == ANNOT_BLOCK_SUMS_DONE;
    return has_sums ? (uint32_t)ANNOT_BLOCK_FREE : state;
}

static uint64_t told_by_blocks(const struct mapped *mapped, uint32_t serial, int cause,
                               bool *ret_any)
{
    uint64_t told = 0;
    *ret_any = false;
    for (uint32_t i = 0; i < annot_load_acquire(&mapped->shared->high_water); i++) {
        const struct annot_block *block = block_at(mapped, i);
        if (state_of(mapped, i) == ANNOT_BLOCK_FREE || block->thread_serial != serial)
            continue;
        *ret_any = true;
        uint64_t all = (uint64_t)block->lost_before[cause] + block->lost[cause];
        if (!is_overwriting(mapped))
            told += block->lost[cause];
        else if (all > told)
            told = all;
    }
    return told;
}

/* Adds losses that no block reports, of threads that still have their record. */
static void add_untold(const struct mapped *mapped, struct seen *seen)
{
    uint32_t high = annot_load_acquire(&mapped->shared->thread_high);
    for (uint32_t i = 0; i < high; i++) {
        const struct annot_thread *thread = &mapped->threads[i];
        bool any = false;
        if (annot_load_acquire(&thread->state) != ANNOT_THREAD_USED ||
            annot_load_acquire(&thread->tid) == 0)
            continue;
        seen->threads++;
        for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
            seen->lost[cause] +=
                thread->lost[cause] - told_by_blocks(mapped, thread->serial, cause, &any);
        if (!any)
            seen->lost[ANNOT_LOSS_OVERWRITTEN] += thread->records;
    }
}

/* Adds losses before the first block of a thread; after it there are no holes. */
static void read_before(const struct annot_block *block, const struct annot_block *previous,
                        uint64_t records, struct seen *seen)
{
    bool is_first = !previous || previous->thread_serial != block->thread_serial;
    seen->lost[ANNOT_LOSS_OVERWRITTEN] += is_first ? block->records_before : 0;
    for (int cause = 0; is_first && cause < ANNOT_LOSS_COUNT; cause++)
        seen->lost[cause] += block->lost_before[cause];
    if (is_first)
        return;
    CHECK_INT(block->sequence, previous->sequence + 1);
    CHECK_INT(block->records_before, previous->records_before + records);
}

static void read_segment(const struct mapped *mapped, struct seen *seen, arena_visit visit,
                         void *context)
{
    uint32_t high = annot_load_acquire(&mapped->shared->high_water);
    uint32_t *order = calloc(high + 1, sizeof(*order));
    uint32_t count = 0;
    CHECK(order != NULL);
    check_strings(mapped);
    for (uint32_t i = 0; i < high; i++) {
        uint32_t state = state_of(mapped, i);
        if (state != ANNOT_BLOCK_FREE)
            order[count++] = i;
        seen->claimed_blocks += state == ANNOT_BLOCK_CLAIMED;
    }
    sorting = mapped;
    qsort(order, count, sizeof(*order), by_sequence);
    const struct annot_block *previous = NULL;
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct annot_block *block = block_at(mapped, order[i]);
        if (is_overwriting(mapped))
            read_before(block, previous, before, seen);
        before = seen->records;
        read_block(mapped, block, seen, visit, context);
        before = seen->records - before;
        previous = block;
    }
    free(order);
    add_untold(mapped, seen);
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        seen->lost[cause] += annot_load_relaxed(&mapped->shared->lost[cause]);
    seen->shared += annot_load_relaxed(&mapped->shared->lost[ANNOT_LOSS_SHARED]);
    for (int i = 0; i < ANNOT_MISUSE_COUNT; i++)
        seen->misuse[i] += annot_load_relaxed(&mapped->shared->misuse[i]);
    if (annot_load_acquire(&mapped->header->note.state) == 2)
        seen->note = mapped->header->note;
    seen->segments++;
    seen->exit_state = mapped->shared->exit_state;
    seen->identity = mapped->header->info.identity;
    seen->parent_identity = mapped->header->info.parent_identity;
    seen->fork_time = mapped->header->info.fork_time;
    read_string(mapped, mapped->shared->process_name, seen->process_name);
}

void arena_read(int pid, struct seen *seen, arena_visit visit, void *context)
{
    static char names[4096][64];
    struct mapped mapped;
    int count = arena_list(names, 4096);
    memset(seen, 0, sizeof(*seen));
    for (int i = 0; i < count; i++) {
        if (pid && atoi(names[i]) != pid)
            continue;
        if (!arena_map(names[i], &mapped))
            continue;
        read_segment(&mapped, seen, visit, context);
        arena_unmap(&mapped);
    }
    for (int cause = 0; cause < ANNOT_LOSS_COUNT; cause++)
        seen->lost_total += seen->lost[cause];
}

static void push_free(struct mapped *mapped, uint32_t index)
{
    uint64_t *head = &mapped->shared->free_head;
    uint64_t old = annot_load_relaxed(head);
    do {
        annot_store_relaxed(&mapped->nexts[index], (uint32_t)old);
        /* Partner: the producer's pop. */
    } while (!annot_cas_acq_rel(head, &old, ((old >> 32) + 1) << 32 | (index + 1)));
}

void arena_drain(struct mapped *mapped, bool all, struct seen *seen)
{
    uint32_t high = annot_load_acquire(&mapped->shared->high_water);
    for (uint32_t i = 0; i < high; i++) {
        uint32_t state = annot_load_acquire(&mapped->states[i]);
        uint32_t bits = state & ANNOT_BLOCK_STATE_MASK;
        const struct annot_block *block =
            (const void *)(mapped->blocks + (uint64_t)i * ANNOT_BLOCK_SIZE);
        if (bits == ANNOT_BLOCK_RELEASED) {
            read_block(mapped, block, seen, NULL, NULL);
            annot_store_release(&mapped->states[i], state & ~(uint32_t)ANNOT_BLOCK_STATE_MASK);
            push_free(mapped, i);
        } else if (all && bits == ANNOT_BLOCK_CLAIMED) {
            read_block(mapped, block, seen, NULL, NULL);
        }
    }
}
