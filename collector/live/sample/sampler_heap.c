/* SPDX-License-Identifier: MIT */
/* Implements sampler_heap.h. */
#include "sampler_heap.h"

#include "bpf_probes.h"
#include "elf_file.h"
#include "heap_blocks.h"
#include "sampler_bpf.h"
#include "sampler_records.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Watching -------------------------------------------------------------------------------- */

static int watch_functions(struct bpf_sampler *sampler, struct elf_file *file, const char *path)
{
    static const char *const names[] = {"annot_heap_allocated_v1", "annot_heap_freed_v1"};
    struct bpf_call_place place = {.path = path};
    int error = 0;
    for (unsigned i = 0; i < sizeof(names) / sizeof(*names) && !error; i++)
        error = sampler_find_exported(file, names[i], &place.offset)
                    ? bpf_program_watch_call(sampler->program, BPF_CALLS_HEAP, i, &place)
                    : -ENOENT;
    return error;
}

void sampler_watch_heap(struct bpf_sampler *sampler)
{
    const char *library = sampler->options.heap_library;
    struct elf_file *file = NULL;
    if (!library)
        return;
    int fd = open(library, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? -errno : elf_file_open(fd, &file);
    if (!error)
        error = watch_functions(sampler, file, library);
    sampler->heap.error = error;
    elf_file_close(file);
    if (fd >= 0)
        close(fd);
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The set has bytes and objects, and of frees the lifetime of the block. */
static int define_set(struct bpf_sampler *sampler, const char *name, enum value_type_number bytes,
                      uint16_t *ret_set)
{
    int64_t string = trace_string_add(sampler->options.trace, name, strlen(name));
    if (string < 0)
        return (int)string;
    const struct sample_set set = {
        .name = (uint32_t)string,
        .flags = SAMPLE_SET_HEAP,
        .count = bytes == VALUE_TYPE_FREE_BYTES ? 3 : 2,
        .types = {(uint16_t)bytes, (uint16_t)(bytes + 1),
                  bytes == VALUE_TYPE_FREE_BYTES ? VALUE_TYPE_LIFETIME : VALUE_TYPE_NONE}};
    int64_t number = sample_sets_add(trace_sets(sampler->options.trace), &set);
    if (number < 0)
        return (int)number;
    *ret_set = (uint16_t)number;
    return 0;
}

static int define_sets(struct bpf_sampler *sampler)
{
    struct heap_watch *heap = &sampler->heap;
    if (heap->freed)
        return 0;
    int error = define_set(sampler, "heap", VALUE_TYPE_ALLOC_BYTES, &heap->allocated);
    return error ? error : define_set(sampler, "heap-freed", VALUE_TYPE_FREE_BYTES, &heap->freed);
}

/* Blocks of that size that the sample stands for; at least one. */
static int64_t objects_of(const struct sampler_sample *record)
{
    uint64_t size = record->block_size ? record->block_size : 1;
    uint64_t objects = (record->block_weight + size / 2) / size;
    return objects ? (int64_t)objects : 1;
}

/* The stack of the caller of the library: its own functions are the innermost frames. */
static uint32_t without_library(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (; stack; stack = stacks_get_stack(stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
        uint32_t path = stacks_get_module(stacks, frame->module)->path;
        if (frame->module == 0 ||
            strcmp(text_base_name(trace_string(trace, path)->bytes), "libannot-heap.so") != 0)
            break;
    }
    return stack;
}

int sampler_keep_block(struct bpf_sampler *sampler, const struct sampler_sample *record,
                       struct queued_sample *sample)
{
    struct sampled *process = processes_find(&sampler->processes, record->head.pid);
    int error = define_sets(sampler);
    sample->sample.set = sampler->heap.allocated;
    sample->sample.id = record->block;
    sample->sample.stack = without_library(sampler->options.trace, sample->sample.stack);
    sample->sample.value_count = 2;
    sample->values[0] = (int64_t)(record->block_weight & INT64_MAX);
    sample->values[1] = objects_of(record);
    sampler->heap.blocks++;
    sampler->heap.endless += record->block == 0;
    return error || !process ? error : heap_blocks_add(&process->blocks, record->block, sample);
}

/* The recording format's limit of values: 13 days. */
#define LIFETIME_MAX (INT64_C(1) << 50)

int sampler_take_freed(struct bpf_sampler *sampler, const struct sampler_freed *record)
{
    const struct sampled *process = processes_find(&sampler->processes, record->head.pid);
    struct queued_sample sample;
    if (!process ||
        !heap_blocks_take(process->blocks, record->block, record->head.time_ns, &sample)) {
        sampler->heap.unknown++;
        return 0;
    }
    int64_t lifetime_ns = (int64_t)record->head.time_ns - sample.sample.time_ns;
    sample.values[2] = lifetime_ns < 0              ? 0
                       : lifetime_ns > LIFETIME_MAX ? LIFETIME_MAX
                                                    : lifetime_ns;
    sample.sample.value_count = 3;
    sample.sample.set = sampler->heap.freed;
    sample.sample.time_ns = (int64_t)record->head.time_ns;
    return sample_queue_add(&sampler->queue, &sample, sampler->now_ns);
}

/* ---- Counts ---------------------------------------------------------------------------------- */

int sampler_write_heap(const struct bpf_sampler *sampler, const uint64_t counters[SAMPLER_COUNTERS])
{
    const struct heap_watch *heap = &sampler->heap;
    struct trace *trace = sampler->options.trace;
    char note[128];
    int error = 0;
    if (heap->blocks)
        error = trace_fact_set(trace, FACT_COUNT, "sampled blocks of memory", heap->blocks);
    if (!error && heap->unknown)
        error = trace_fact_set(trace, FACT_COUNT,
                               "frees of blocks from before the recording or fork", heap->unknown);
    if (!error && heap->endless)
        error = trace_fact_set(trace, FACT_NOTE,
                               "sampled blocks count as held, as too many were live to see their "
                               "frees",
                               heap->endless);
    if (!error && counters[SAMPLER_COUNT_BLOCKS])
        error = trace_fact_set(trace, FACT_COUNT, "ns per stack of a sampled block in the kernel",
                               counters[SAMPLER_COUNT_BLOCK_NS] / counters[SAMPLER_COUNT_BLOCKS]);
    if (error || !heap->error)
        return error;
    snprintf(note, sizeof(note), "memory is not recorded: %s", strerror(-heap->error));
    return trace_fact_set(trace, FACT_NOTE, note, 1);
}
