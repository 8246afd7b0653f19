/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The maps that the programs share, the configuration, the counters.
 *
 * Sizes of `switches` and `ring` are set by the loader. Maps of only one part are defined there. */
#ifndef ANNOT_MAPS_BPF_H
#define ANNOT_MAPS_BPF_H

#include "sampler_abi.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel_types.h"

const volatile struct sampler_config config SEC(".rodata.config");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 24);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SAMPLER_PROCESSES_MAX);
    __type(key, int32_t);
    __type(value, struct sampler_process);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLER_MAPPINGS_MAX);
    __type(key, uint32_t);
    __type(value, struct sampler_mapping);
} mappings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLER_RULES_MAX);
    __type(key, uint32_t);
    __type(value, struct unwind_rule);
} rules SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLER_PYTHONS_MAX);
    __type(key, uint32_t);
    __type(value, struct python_offsets);
} pythons SEC(".maps");

struct row_segment {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, SAMPLER_SEGMENT_ROWS);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, sizeof(struct unwind_row));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, SAMPLER_SEGMENTS_MAX);
    __type(key, uint32_t);
    __array(values, struct row_segment);
} rows SEC(".maps");

struct counters {
    uint64_t value[SAMPLER_COUNTERS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct counters);
} failures SEC(".maps");

static __always_inline void count_add(uint32_t which, uint64_t amount)
{
    uint32_t zero = 0;
    struct counters *counters = bpf_map_lookup_elem(&failures, &zero);

    if (counters && which < SAMPLER_COUNTERS)
        counters->value[which] += amount;
}

static __always_inline void count(uint32_t which)
{
    count_add(which, 1);
}

#endif
