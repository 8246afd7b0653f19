/* SPDX-License-Identifier: MIT */
/* Hostile segments: the input overwrites parts of a valid one, and every operation of a collector
 * on a segment is done twice. Checks the invariants of the result.
 *
 * Input: pieces of {uint32 offset, uint16 length, bytes}. The first byte chooses if the block
 * states are all RELEASED, so that mutations of records are reached, and if the segment is a flight
 * recorder. */
#include "clock_map.h"
#include "drain.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BLOCKS = 8, THREADS = 4, STRINGS_SIZE = 4096, BLOCKS_OFFSET = 16384 };

#define SEGMENT_SIZE (BLOCKS_OFFSET + BLOCKS * ANNOT_BLOCK_SIZE)

struct layout {
    struct annot_segment page;
    struct annot_thread threads[THREADS];
    uint8_t strings[STRINGS_SIZE];
    uint32_t states[BLOCKS], nexts[BLOCKS];
};

_Static_assert(sizeof(struct layout) <= BLOCKS_OFFSET, "the layout fits");

static void fill_info(struct annot_segment_info *info)
{
    info->magic = ANNOT_SEGMENT_MAGIC;
    info->major = ANNOT_WIRE_MAJOR;
    info->total_size = SEGMENT_SIZE;
    info->threads_offset = offsetof(struct layout, threads);
    info->thread_count = THREADS;
    info->strings_offset = offsetof(struct layout, strings);
    info->strings_size = STRINGS_SIZE;
    info->block_states_offset = offsetof(struct layout, states);
    info->block_nexts_offset = offsetof(struct layout, nexts);
    info->blocks_offset = BLOCKS_OFFSET;
    info->block_count = BLOCKS;
    info->pid = 1;
}

static void fill_block(struct annot_block *block, uint32_t index)
{
    struct annot_record *record = (void *)((uint8_t *)block + ANNOT_BLOCK_HEADER_SIZE);
    block->thread_serial = index / 3;
    block->sequence = index % 3;
    block->tid = 10;
    for (int i = 0; i < 100; i++)
        record[i] = (struct annot_record){.time = (uint64_t)i,
                                          .kind = i % 2 ? ANNOT_REC_POP : ANNOT_REC_PUSH,
                                          .granules = 1,
                                          .name = i % 2 ? 0 : 1};
    block->committed = 100 * sizeof(*record);
}

static void fill(uint8_t *bytes, bool released)
{
    struct layout *layout = (void *)bytes;
    struct annot_string *string = (void *)(layout->strings + ANNOT_STRING_UNIT);
    memset(bytes, 0, SEGMENT_SIZE);
    fill_info(&layout->page.info);
    *string = (struct annot_string){.ready = 1, .length = 5, .kind = ANNOT_STRING_NAME};
    memcpy(string + 1, "hello", 5);
    layout->page.shared.string_used = 48;
    layout->page.shared.high_water = BLOCKS;
    layout->page.shared.thread_high = THREADS;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        layout->states[i] = released || i % 3 < 2 ? ANNOT_BLOCK_RELEASED : ANNOT_BLOCK_CLAIMED;
        fill_block((void *)(bytes + BLOCKS_OFFSET + i * ANNOT_BLOCK_SIZE), i);
    }
}

static void overlay(uint8_t *bytes, const uint8_t *data, size_t size)
{
    while (size > 6) {
        uint32_t offset;
        uint16_t length;
        memcpy(&offset, data, 4);
        memcpy(&length, data + 4, 2);
        data += 6;
        size -= 6;
        size_t count = length < size ? length : size;
        offset %= SEGMENT_SIZE;
        if (count > SEGMENT_SIZE - offset)
            count = SEGMENT_SIZE - offset;
        memcpy(bytes + offset, data, count);
        data += count;
        size -= count;
    }
}

struct seen {
    const struct trace *trace;
    int64_t last_ns[1024];
    uint64_t count;
};

/* Parents lead to the top, and every track has a known name. */
static void check_tracks(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_lane_count(trace); i++) {
        uint32_t levels = 0, at = i + 1;
        for (; at != 0 && levels <= TRACE_LANE_LEVELS; levels++) {
            if (trace_lane_get(trace, at - 1)->name >= trace_string_count(trace))
                abort();
            at = trace_lane_get(trace, at - 1)->parent;
        }
        if (levels > TRACE_LANE_LEVELS)
            abort();
    }
}

static void check_args(const struct trace *trace, struct args args)
{
    uint32_t strings = trace_string_count(trace);
    for (uint32_t i = 0; i < args.count; i++)
        if (args.items[i].key >= strings || args.items[i].kind > VALUE_STRING ||
            (args.items[i].kind == VALUE_STRING && args.items[i].value.uint64 >= strings))
            abort();
}

/* Batches are of known threads, in time order, and use known strings. Key-values belong to calls of
 * the program. */
static int check_batch(void *context, const struct event_batch *batch)
{
    struct seen *seen = context;
    if (batch->thread >= trace_thread_count(seen->trace) || batch->count > DECODE_EVENTS_MAX)
        abort();
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        bool late = event->kind == EVENT_SPAN;
        uint32_t threads = trace_thread_count(seen->trace);
        if (!event_known_kind(event->kind) || late != (batch->late != 0) ||
            (late ? event->thread >= threads || event->end_ns < event->time_ns
                  : event->thread != batch->thread) ||
            event->name >= trace_string_count(seen->trace) ||
            event->scope >= trace_scope_count(seen->trace) ||
            (event->value_kind == VALUE_STRING &&
             event->value.uint64 >= trace_string_count(seen->trace)) ||
            (event_has_lane(event->kind) && !event_is_own_span(event) &&
             event->lane >= trace_lane_count(seen->trace)))
            abort();
        if (event->arg_count && !event_is_record(event->kind))
            abort();
        check_args(seen->trace, event_args(batch, event));
        if (late) /* in no order */
            continue;
        int64_t *last = &seen->last_ns[batch->thread % 1024];
        if (batch->thread < 1024 && event->time_ns < *last)
            abort();
        *last = event->time_ns;
    }
    seen->count += batch->count;
    return 0;
}

/* Counted samples have known threads, stacks and sets. */
static int check_samples(void *context, const struct sample *samples, size_t count)
{
    const struct seen *seen = context;
    const struct sample_sets *sets = trace_sets_get(seen->trace);
    for (size_t i = 0; i < count; i++) {
        const struct sample *sample = &samples[i];
        if (sample->thread >= trace_thread_count(seen->trace) || sample->stack == 0 ||
            sample->stack >= stacks_stack_count(trace_stacks_get(seen->trace)) ||
            sample_role(sets, sample) < SAMPLE_ROLE_CALLS || sample->value_count != 2 ||
            sample->values[0] < 0 || sample->values[1] < 0 || sample->time_ns > sample->end_ns)
            abort();
    }
    return 0;
}

/* Parents come before their children, and names refer to existing labels. */
static void check_calls(const struct trace *trace)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (uint32_t i = 1; i < stacks_stack_count(stacks); i++)
        if (stacks_get_stack(stacks, i)->parent >= i)
            abort();
    for (uint32_t i = 0; i < trace_label_name_count(trace); i++) {
        const struct trace_label_name *name = trace_label_name_get(trace, i);
        if (name->string >= trace_string_count(trace) || name->label == 0 ||
            name->label >= stacks_label_count(stacks))
            abort();
    }
}

static void run(struct segment *segment, struct clock_map *clock)
{
    struct annot_note note = {0};
    struct seen seen = {0};
    struct trace *trace = trace_create();
    int64_t process = trace ? trace_process_add(trace) : -1;
    struct drain *drain = process >= 0 ? drain_create(segment, trace, clock, 0) : NULL;
    if (!drain)
        abort();
    seen.trace = trace;
    drain->sink = check_batch;
    drain->sink_context = &seen;
    drain->samples = check_samples;
    drain->samples_context = &seen;
    drain->decoder.recover = true;
    for (int depth = DRAIN_RELEASED; depth <= DRAIN_DEAD; depth++) {
        if (drain_visit(drain, (enum drain_depth)depth) < 0 || drain_publish(drain) != 0)
            abort();
        if (!drain->broken && names_walk(&drain->decoder.names) == -ENOMEM)
            abort();
        drain_free(drain, DRAIN_ALL);
    }
    check_tracks(trace);
    check_calls(trace);
    if (segment_read_note(segment, &note) == 1 && note.state != 2)
        abort();
    if (drain_finish(drain) != 0 || seen.count > 3 * BLOCKS * DECODE_EVENTS_MAX)
        abort();
    drain_destroy(drain);
    trace_destroy(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *bytes;
    static struct clock_map clock;
    struct segment segment = {0};
    if (!bytes) {
        bytes =
            mmap(NULL, SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED || guard_install() != 0 || clock_map_init(&clock) != 0)
            abort();
    }
    if (size < 1)
        return 0;
    fill(bytes, data[0] & 1);
    if (data[0] & 2)
        ((struct annot_segment_info *)bytes)->policy = ANNOT_POLICY_OVERWRITE_OLDEST;
    overlay(bytes, data + 1, size - 1);
    if (segment_attach(&segment, bytes, SEGMENT_SIZE) == 0)
        run(&segment, &clock);
    return 0;
}
