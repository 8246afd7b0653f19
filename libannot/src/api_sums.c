/* SPDX-License-Identifier: MIT */
/* Sums of tracer.h: blocks of the pool that a thread keeps, and whoever has the sums writes in. */
#include "api.h"
#include "block.h"
#include "clock.h"
#include "overwrite.h"
#include "proc.h"
#include "strings.h"

#include <annot/tracer.h>
#include <annot_barrier.h>
#include <string.h>
#include <unistd.h>

#define NO_BLOCK UINT32_MAX

_Static_assert((int)ANNOT_SUM_CALLS == (int)ANNOT_WIRE_SUM_CALLS &&
                   (int)ANNOT_SUM_LINES == (int)ANNOT_WIRE_SUM_LINES &&
                   (int)ANNOT_SUM_CALLEES == (int)ANNOT_WIRE_SUM_CALLEES &&
                   sizeof(struct annot_wire_sum) ==
                       offsetof(struct annot_wire_sum, count) + sizeof(struct annot_sum) &&
                   offsetof(struct annot_wire_sum, since) ==
                       offsetof(struct annot_wire_sum, count) + offsetof(struct annot_sum, since),
               "a sum is where the collector reads it");

int annot_sums_begin(struct annot_sums *sums)
{
    *sums = (struct annot_sums){0};
    FORWARD_VALUE(sums_begin, 0, sums);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !control->thread || !segment_get(control->segment))
        return 0;
    *sums = (struct annot_sums){
        .segment = control->segment,
        .serial = control->serial,
        .thread = (uint32_t)(control->thread - control->segment->threads),
        .block = NO_BLOCK,
        .used = ANNOT_SUMS_OF_BLOCK,
        .pid = getpid(),
        .tid = control->thread->tid,
    };
    return 1;
}

int annot_sums_are_current(const struct annot_sums *sums)
{
    FORWARD_VALUE(sums_are_current, 0, sums);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    return control && control->thread && control->segment == sums->segment &&
           control->serial == sums->serial && sums->pid == getpid();
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static APART void fill_header(const struct annot_sums *sums, struct annot_block *block)
{
    const struct segment *segment = sums->segment;
    const struct annot_thread *thread = &segment->threads[sums->thread];
    memset(block, 0, sizeof(*block));
    block->thread_index = sums->thread;
    block->thread_serial = sums->serial;
    block->sequence = sums->blocks;
    block->tid = sums->tid;
    block->generation = segment->made_generation;
    memcpy(block->comm, thread->comm, sizeof(block->comm));
    clock_both(&block->claim_time, &block->claim_ns);
}

/* Half of the pool is for sums, which stay. Threads that come at the same time may take one more
 * each. */
static APART int take_block(struct annot_sums *sums)
{
    struct segment *segment = sums->segment;
    uint32_t index;
    if (annot_load_relaxed(&segment->sum_blocks) >= (segment->block_count + 1) / 2)
        return 0;
    int error = block_claim(segment, &index);
    if (error && segment->policy == ANNOT_POLICY_OVERWRITE_OLDEST)
        error = overwrite_claim(segment, &index);
    if (error)
        return 0;
    fill_header(sums, segment_block(segment, index));
    block_publish(segment, index, ANNOT_BLOCK_SUMS);
    annot_fetch_add_relaxed(&segment->sum_blocks, 1u);
    sums->block = index;
    sums->blocks++;
    sums->used = 0;
    return 1;
}

/* ANNOT_SUM_REFERENCE */
static uint32_t reference_of(const struct segment *segment, const struct annot_sum *sum)
{
    if (!sum)
        return 0;
    uint64_t offset = (uint64_t)((const uint8_t *)sum - (const uint8_t *)segment_block(segment, 0));
    uint32_t in_block = (uint32_t)(offset % ANNOT_BLOCK_SIZE) - ANNOT_BLOCK_HEADER_SIZE;
    return ANNOT_SUM_REFERENCE((uint32_t)(offset / ANNOT_BLOCK_SIZE),
                               in_block / (uint32_t)sizeof(struct annot_wire_sum));
}

struct annot_sum *annot_sums_add(struct annot_sums *sums, enum annot_sum_kind kind,
                                 const struct annot_place *place)
{
    FORWARD_VALUE(sums_add, NULL, sums, kind, place);
    struct segment *segment = sums->segment;
    if (!segment || place->code == 0 || place->code > ANNOT_SUM_CODE_MASK)
        return NULL;
    if (!strings_sync_one(segment, place->code) ||
        (sums->used == ANNOT_SUMS_OF_BLOCK && !take_block(sums))) {
        annot_fetch_add_relaxed(&segment->header->shared.lost[ANNOT_LOSS_POOL_FULL], 1);
        return NULL;
    }
    struct annot_block *block = segment_block(segment, sums->block);
    struct annot_wire_sum *sum =
        (struct annot_wire_sum *)((uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE) + sums->used++;
    *sum = (struct annot_wire_sum){
        .what = (uint32_t)kind << ANNOT_SUM_KIND_SHIFT | place->code,
        .where = kind == ANNOT_SUM_CALLS ? reference_of(segment, place->caller) : place->line,
    };
    /* Partner: the collector's load of committed. */
    annot_store_release(&block->committed, sums->used * (uint32_t)sizeof(*sum));
    return (struct annot_sum *)&sum->count;
}

void annot_sums_end(struct annot_sums *sums)
{
    FORWARD(sums_end, sums);
    struct segment *segment = sums->segment;
    if (segment && sums->pid == getpid()) {
        if (sums->block != NO_BLOCK)
            block_end_sums(segment, sums->serial);
        segment_put(segment);
    }
    *sums = (struct annot_sums){0};
}

OWN(annot_sums_begin);
OWN(annot_sums_are_current);
OWN(annot_sums_add);
OWN(annot_sums_end);
