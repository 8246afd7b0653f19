/* SPDX-License-Identifier: MIT */
/* Implements perfetto_heap.h. One packet has all texts, frames, stacks and dumps: the reader keeps
 * what it needs of a dump only until the end of its packet. Numbers of texts, frames and stacks are
 * those of the recording plus 1. */
#include "perfetto_heap.h"

#include "call_label.h"
#include "export.h"
#include "export_facts.h"
#include "export_heap.h"
#include "export_ids.h"
#include "perfetto_fields.h"
#include "perfetto_sequence.h"
#include "perfetto_tracks.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>

enum {
    KNOWN_LABEL = 1,
    KNOWN_FRAME = 2,
    KNOWN_PATH = 4,
    DEPTH_MAX = 2048,
};

/* ---- The object ------------------------------------------------------------------------------ */

int perfetto_heap_init(struct perfetto_heap *heap, struct perfetto_tracks *tracks,
                       const struct export_job *job, uint32_t number)
{
    const struct trace *trace = tracks->px->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    *heap = (struct perfetto_heap){.tracks = tracks, .prefixes = job->options->strip_prefix};
    if (!sample_heap_any(trace))
        return 0;
    uint32_t most = stacks_frame_count(stacks), labels = stacks_label_count(stacks);
    uint32_t strings = trace_string_count(trace);
    most = labels > most ? labels : most;
    most = strings > most ? strings : most;
    heap->sequence = number;
    heap->stack_count = stacks_stack_count(stacks);
    heap->known = calloc(most + 1ull, 1);
    heap->name_of = calloc(labels + 1ull, sizeof(*heap->name_of));
    int error = chosen_frames_init(&heap->frames, trace, export_frames(job->options));
    if (!error)
        error = vec_push(&heap->nodes, ((struct perfetto_heap_node){0}));
    if (!error && (!heap->known || !heap->name_of))
        error = -ENOMEM;
    return error ? error : export_heap_find_peak(job, &heap->peak_ns);
}

void perfetto_heap_fini(struct perfetto_heap *heap)
{
    chosen_frames_fini(&heap->frames);
    map64_free(&heap->index);
    map64_free(&heap->of_stack);
    wide_map_free(&heap->by_frame);
    vec_free(&heap->nodes);
    strtab_free(&heap->names);
    vec_free(&heap->sums);
    free(heap->name_of);
    free(heap->known);
    *heap = (struct perfetto_heap){0};
}

/* ---- Stacks as the reader sees them ---------------------------------------------------------- */

/* The file of a Python function stands for its module. */
static uint32_t path_of(const struct trace *trace, const struct frame *frame)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t source = stacks_get_label(stacks, frame->label)->source;
    uint32_t path = frame->kind == FRAME_PYTHON ? stacks_get_source(stacks, source)->path
                                                : stacks_get_module(stacks, frame->module)->path;
    return path < trace_string_count(trace) ? path : 0;
}

/* The number of a label's text, which other labels may have as well; -ENOMEM. */
static int64_t name_of(struct perfetto_heap *heap, uint32_t label)
{
    char text[CALL_LABEL_SIZE];
    if (heap->name_of[label])
        return heap->name_of[label];
    size_t length = call_label(heap->tracks->px->trace, label, heap->prefixes, text, sizeof(text));
    int64_t name = strtab_add(&heap->names, text, length);
    if (name >= 0)
        heap->name_of[label] = (uint32_t)name + 1;
    return name < 0 ? name : name + 1;
}

/* The node of a frame called by the stack `parent`; -ENOMEM. */
static int64_t node_below(struct perfetto_heap *heap, uint32_t parent, uint32_t number)
{
    const struct trace *trace = heap->tracks->px->trace;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), number);
    int64_t name = name_of(heap, frame->label);
    if (name < 0)
        return name;
    const struct wide_key *key =
        WIDE_KEY(parent, (uint64_t)name, path_of(trace, frame), frame->address);
    const uint64_t *found = wide_map_find(&heap->by_frame, key);
    if (found)
        return (int64_t)*found;
    const struct perfetto_heap_node node = {parent, number};
    int error = wide_map_put(&heap->by_frame, key, heap->nodes.count);
    if (!error)
        error = vec_push(&heap->nodes, node);
    return error ? error : (int64_t)heap->nodes.count - 1;
}

static int64_t node_of(struct perfetto_heap *heap, uint32_t stack)
{
    uint32_t frames[DEPTH_MAX];
    const uint64_t *found = map64_find(&heap->of_stack, stack + 1ull);
    if (found)
        return (int64_t)*found;
    uint32_t count = chosen_frames_get(&heap->frames, stack, frames, DEPTH_MAX);
    int64_t node = 0;
    for (uint32_t i = 0; i < count && node >= 0; i++)
        node = node_below(heap, (uint32_t)node, frames[i]);
    if (node >= 0 && map64_put(&heap->of_stack, stack + 1ull, (uint64_t)node) != 0)
        return -ENOMEM;
    return node;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static struct perfetto_heap_sums *sums_of(struct perfetto_heap *heap, uint32_t process,
                                          uint32_t stack)
{
    int64_t node = node_of(heap, stack);
    uint64_t key = ((uint64_t)process << 32 | (uint32_t)node) + 1;
    const uint64_t *found = node < 0 ? NULL : map64_find(&heap->index, key);
    if (found)
        return &heap->sums.items[*found];
    const struct perfetto_heap_sums sums = {.process = process, .node = (uint32_t)node};
    if (node < 0 || map64_put(&heap->index, key, heap->sums.count) != 0 ||
        vec_push(&heap->sums, sums) != 0)
        return NULL;
    return &heap->sums.items[heap->sums.count - 1];
}

static void add(struct perfetto_heap_sums *sums, enum perfetto_dump dump, struct heap_change change)
{
    sums->at[dump].bytes += change.bytes > 0 ? change.bytes : 0;
    sums->at[dump].blocks += change.bytes > 0 ? change.blocks : 0;
    sums->at[dump].freed_bytes -= change.bytes < 0 ? change.bytes : 0;
    sums->at[dump].freed_blocks -= change.bytes < 0 ? change.blocks : 0;
}

int perfetto_heap_put(struct perfetto_heap *heap, const struct sample *sample)
{
    const struct trace *trace = heap->tracks->px->trace;
    const struct trace_thread *thread = trace_thread_get(trace, sample->thread);
    struct heap_change at_end = {0};
    if (heap->sequence && thread)
        at_end = export_heap_at(trace, sample, HEAP_HELD);
    if (at_end.bytes == 0)
        return 0;
    struct perfetto_heap_sums *sums =
        sums_of(heap, thread->process, sample->stack < heap->stack_count ? sample->stack : 0);
    if (!sums)
        return -ENOMEM;
    add(sums, PERFETTO_AT_PEAK, export_heap_at(trace, sample, HEAP_PEAK));
    add(sums, PERFETTO_AT_END, at_end);
    return 0;
}

/* ---- Texts, frames and stacks ---------------------------------------------------------------- */

/* Returns true the first time, and remembers it. */
static bool learn(struct perfetto_heap *heap, uint32_t number, uint8_t what)
{
    bool is_new = !(heap->known[number] & what);
    heap->known[number] |= what;
    return is_new;
}

static void put_text(struct proto_writer *packet, uint64_t number, const char *text)
{
    proto_begin(packet, PX_HEAP_STRINGS);
    proto_uint(packet, PX_INTERNED_IID, number);
    proto_text(packet, PX_INTERNED_NAME, text);
    proto_end(packet);
}

/* Texts: labels, then paths of files. Path 0: unknown. */
static void put_mapping(struct perfetto_heap *heap, uint32_t path)
{
    const struct trace *trace = heap->tracks->px->trace;
    struct proto_writer *packet = &heap->tracks->px->packet;
    uint64_t text = stacks_label_count(trace_stacks_get(trace)) + 1ull + path;
    if (!learn(heap, path, KNOWN_PATH))
        return;
    put_text(packet, text, path ? trace_string(trace, path)->bytes : "[unknown]");
    proto_begin(packet, PX_HEAP_MAPPINGS);
    proto_uint(packet, PX_INTERNED_IID, path + 1ull);
    proto_uint(packet, PX_MAPPING_PATHS, text);
    proto_end(packet);
}

static void put_label(struct perfetto_heap *heap, uint32_t label)
{
    char text[CALL_LABEL_SIZE];
    if (!learn(heap, label, KNOWN_LABEL))
        return;
    call_label(heap->tracks->px->trace, label, heap->prefixes, text, sizeof(text));
    put_text(&heap->tracks->px->packet, label + 1ull, text);
}

static void put_frame(struct perfetto_heap *heap, uint32_t number)
{
    const struct trace *trace = heap->tracks->px->trace;
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), number);
    struct proto_writer *packet = &heap->tracks->px->packet;
    uint32_t path = path_of(trace, frame);
    if (!learn(heap, number, KNOWN_FRAME))
        return;
    put_mapping(heap, path);
    put_label(heap, frame->label);
    proto_begin(packet, PX_HEAP_FRAMES);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_FRAME_FUNCTION_NAME, frame->label + 1ull);
    proto_uint(packet, PX_FRAME_MAPPING, path + 1ull);
    proto_uint(packet, PX_FRAME_REL_PC, frame->address);
    proto_end(packet);
}

/* A frame after all others, for stacks without one. */
static uint32_t put_no_stack(struct perfetto_heap *heap)
{
    const struct stacks *stacks = trace_stacks_get(heap->tracks->px->trace);
    struct proto_writer *packet = &heap->tracks->px->packet;
    uint32_t number = stacks_frame_count(stacks);
    uint64_t text = stacks_label_count(stacks) + 1ull + trace_string_count(heap->tracks->px->trace);
    if (!learn(heap, number, KNOWN_FRAME))
        return number;
    put_mapping(heap, 0);
    put_text(packet, text, "[no stack]");
    proto_begin(packet, PX_HEAP_FRAMES);
    proto_uint(packet, PX_INTERNED_IID, number + 1ull);
    proto_uint(packet, PX_FRAME_FUNCTION_NAME, text);
    proto_uint(packet, PX_FRAME_MAPPING, 1);
    proto_end(packet);
    return number;
}

/* A stack of several processes is written for each of them: `number` is that of the sums. */
static void put_stack(struct perfetto_heap *heap, uint32_t node, uint64_t number)
{
    struct proto_writer *packet = &heap->tracks->px->packet;
    uint32_t frames[DEPTH_MAX], count = 0;
    for (; node; node = heap->nodes.items[node].parent)
        frames[count++] = heap->nodes.items[node].frame;
    for (uint32_t i = 0; i < count; i++)
        put_frame(heap, frames[i]);
    if (count == 0)
        frames[count++] = put_no_stack(heap);
    proto_begin(packet, PX_HEAP_CALLSTACKS);
    proto_uint(packet, PX_INTERNED_IID, number);
    while (count-- > 0)
        proto_uint(packet, PX_CALLSTACK_FRAMES, frames[count] + 1ull);
    proto_end(packet);
}

/* ---- Dumps ----------------------------------------------------------------------------------- */

static int64_t end_of(const struct trace *trace, uint32_t process)
{
    int64_t end_ns = trace_process_get(trace, process)->end_ns, last_ns = session_end_ns(trace);
    return end_ns > 0 && end_ns < last_ns ? end_ns : last_ns;
}

static void put_sample(struct proto_writer *packet, const struct perfetto_heap_sums *sums,
                       enum perfetto_dump dump, uint64_t number)
{
    if (sums->at[dump].bytes == 0 && sums->at[dump].freed_bytes == 0)
        return;
    proto_begin(packet, PX_HEAP_DUMP_SAMPLES);
    proto_uint(packet, PX_HEAP_SAMPLE_CALLSTACK, number);
    proto_uint(packet, PX_HEAP_SAMPLE_ALLOCATED, (uint64_t)sums->at[dump].bytes);
    proto_uint(packet, PX_HEAP_SAMPLE_FREED, (uint64_t)sums->at[dump].freed_bytes);
    proto_uint(packet, PX_HEAP_SAMPLE_ALLOC_COUNT, (uint64_t)sums->at[dump].blocks);
    proto_uint(packet, PX_HEAP_SAMPLE_FREE_COUNT, (uint64_t)sums->at[dump].freed_blocks);
    proto_end(packet);
}

/* The sums from `first` on are those of one process. */
static size_t put_dump(struct perfetto_heap *heap, size_t first, enum perfetto_dump dump)
{
    const struct perfetto_tracks *tracks = heap->tracks;
    struct proto_writer *packet = &tracks->px->packet;
    uint32_t process = heap->sums.items[first].process;
    size_t i = first;
    proto_begin(packet, PX_HEAP_DUMPS);
    proto_uint(packet, PX_HEAP_DUMP_PID, tracks->ids->pids[process]);
    perfetto_put_time(tracks->px, PX_HEAP_DUMP_TIMESTAMP,
                      dump == PERFETTO_AT_PEAK ? heap->peak_ns
                                               : end_of(tracks->px->trace, process));
    proto_text(packet, PX_HEAP_DUMP_NAME, "heap");
    for (; i < heap->sums.count && heap->sums.items[i].process == process; i++)
        put_sample(packet, &heap->sums.items[i], dump, i + 1);
    proto_end(packet);
    return i;
}

static int by_process(const void *left, const void *right)
{
    const struct perfetto_heap_sums *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* The reader takes the times of dumps from the coarse clock, here equal to the other. */
static void begin_sequence(struct perfetto_heap *heap)
{
    perfetto_clock_sequence(heap->tracks->px, heap->sequence, PX_CLOCK_MONOTONIC_COARSE);
}

/* Of a process, the dump at the peak, if it ran then, comes before that at its end: the reader
 * takes differences. */
static void put_dumps(struct perfetto_heap *heap)
{
    for (size_t i = 0; i < heap->sums.count;) {
        if (heap->peak_ns < end_of(heap->tracks->px->trace, heap->sums.items[i].process))
            put_dump(heap, i, PERFETTO_AT_PEAK);
        i = put_dump(heap, i, PERFETTO_AT_END);
    }
}

int perfetto_heap_finish(struct perfetto_heap *heap)
{
    struct perfetto_output *px = heap->tracks->px;
    if (heap->sums.count == 0)
        return 0;
    qsort(heap->sums.items, heap->sums.count, sizeof(struct perfetto_heap_sums), by_process);
    begin_sequence(heap);
    struct proto_writer *packet = perfetto_packet_begin(px);
    proto_uint(packet, PX_PACKET_SEQUENCE_ID, heap->sequence);
    proto_uint(packet, PX_PACKET_SEQUENCE_FLAGS, PX_NEEDS_INCREMENTAL_STATE);
    perfetto_put_time(px, PX_PACKET_TIMESTAMP, session_end_ns(px->trace));
    proto_begin(packet, PX_PACKET_PROFILE);
    for (size_t i = 0; i < heap->sums.count; i++)
        put_stack(heap, heap->sums.items[i].node, i + 1);
    put_dumps(heap);
    proto_end(packet);
    perfetto_packet_end(px);
    return px->error;
}
