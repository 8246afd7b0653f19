/* SPDX-License-Identifier: MIT */
/* Implements segment_maker.h. */
#include "segment_maker.h"

#include "clock_map.h"
#include "test.h"

#include <stdlib.h>

struct maker *maker_create(void)
{
    struct maker *maker = aligned_alloc(4096, (sizeof(*maker) + 4095) / 4096 * 4096);
    CHECK(maker != NULL);
    memset(maker, 0, sizeof(*maker));
    struct annot_segment_info *info = &maker->page.info;
    info->magic = ANNOT_SEGMENT_MAGIC;
    info->major = ANNOT_WIRE_MAJOR;
    info->total_size = sizeof(*maker);
    info->threads_offset = offsetof(struct maker, threads);
    info->thread_count = MAKER_THREADS;
    info->strings_offset = offsetof(struct maker, strings);
    info->strings_size = MAKER_STRINGS;
    info->block_states_offset = offsetof(struct maker, states);
    info->block_nexts_offset = offsetof(struct maker, nexts);
    info->blocks_offset = offsetof(struct maker, blocks);
    info->block_count = MAKER_BLOCKS;
    info->clock = ANNOT_CLOCK_MONOTONIC;
    info->pid = 1;
    maker->page.shared.string_used = ANNOT_STRING_UNIT;
    return maker;
}

void maker_destroy(struct maker *maker)
{
    free(maker);
}

uint32_t maker_string(struct maker *maker, uint8_t kind, uint16_t number, const char *text)
{
    uint32_t offset = maker->page.shared.string_used;
    struct annot_string *string = (void *)(maker->strings + offset);
    size_t length = strlen(text);
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    *string = (struct annot_string){
        .ready = 1, .length = (uint16_t)length, .kind = kind, .number = number, .hash = hash};
    memcpy(string + 1, text, length);
    maker->page.shared.string_used +=
        (uint32_t)(sizeof(*string) + (length + 15) / 16 * ANNOT_STRING_UNIT);
    return offset / ANNOT_STRING_UNIT;
}

struct annot_block *maker_block(struct maker *maker, uint32_t index, uint32_t serial,
                                uint32_t sequence, uint32_t state)
{
    struct annot_block *block = (void *)maker->blocks[index];
    memset(block, 0, ANNOT_BLOCK_SIZE);
    block->thread_serial = serial;
    block->sequence = sequence;
    block->tid = 100 + (int32_t)serial;
    block->generation = 1;
    block->claim_time = 1000;
    maker->states[index] = state;
    if (maker->page.shared.high_water <= index)
        maker->page.shared.high_water = index + 1;
    return block;
}

void maker_record(struct annot_block *block, struct annot_record record, const void *parts,
                  uint32_t parts_size)
{
    uint8_t *at = (uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE + block->committed;
    record.granules = (uint8_t)((sizeof(record) + parts_size + 15) / ANNOT_GRANULE);
    memcpy(at, &record, sizeof(record));
    if (parts_size > 0)
        memcpy(at + sizeof(record), parts, parts_size);
    block->committed += record.granules * (uint32_t)ANNOT_GRANULE;
}

static int keep(void *context, const struct event_batch *batch)
{
    struct maker_events *seen = context;
    CHECK(seen->count + batch->count <= 4096 && seen->batch_count < 64);
    memcpy(seen->events + seen->count, batch->events, batch->count * sizeof(*batch->events));
    for (uint32_t i = 0; i < batch->count; i++) {
        struct event *event = &seen->events[seen->count + i];
        const struct args args = event_args(batch, event);
        CHECK(seen->arg_count + args.count <= 4096);
        event->args = seen->arg_count;
        for (uint32_t k = 0; k < args.count; k++)
            seen->args[seen->arg_count++] = args.items[k];
    }
    seen->count += batch->count;
    seen->sources[seen->batch_count++] = batch->source;
    return 0;
}

void maker_attach(struct maker_events *seen, struct maker *maker)
{
    memset(seen, 0, sizeof(*seen));
    seen->trace = trace_create();
    CHECK(seen->trace && trace_process_add(seen->trace) == 0);
    CHECK_INT(clock_map_init(&seen->clock), 0);
    CHECK_INT(guard_install(), 0);
    CHECK_INT(segment_attach(&seen->segment, maker, sizeof(*maker)), 0);
    seen->drain = drain_create(&seen->segment, seen->trace, &seen->clock, 0);
    CHECK(seen->drain != NULL);
    seen->drain->sink = keep;
    seen->drain->sink_context = seen;
}

void maker_detach(struct maker_events *seen)
{
    drain_destroy(seen->drain);
    clock_map_fini(&seen->clock);
    trace_destroy(seen->trace);
}
