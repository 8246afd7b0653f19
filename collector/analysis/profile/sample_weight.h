/* SPDX-License-Identifier: MIT */
/* The weight of samples: CPU time, or one value of one set of samples, chosen by name.
 *
 * A name is "SET:VALUE" ("off-cpu:blocked"), or SET alone for its first value. A value name that
 * begins with the set's is given without that prefix: "alloc:bytes" is "alloc-bytes" of the set
 * "alloc".
 *
 * Values of memory come from allocations and frees together: "heap:allocated", "heap:held",
 * "heap:peak" and "heap:temporary" are bytes. A free takes the bytes of its block off: its weight
 * is negative, modulo 2^64, as is its count; sums are right because a free has the stack and path
 * of its allocation. Thread-safety: plain data. */
#ifndef ANNOT_SAMPLE_WEIGHT_H
#define ANNOT_SAMPLE_WEIGHT_H

#include "sample.h"
#include "trace.h"

/* Blocks freed within this time after their allocation are temporary. */
#define HEAP_TEMPORARY_NS INT64_C(10000000)

enum heap_weight {
    HEAP_WEIGHT_NONE = 0,
    HEAP_ALLOCATED,
    HEAP_HELD,      /* as trace_heap_window() says */
    HEAP_PEAK,      /* held when all processes together held most */
    HEAP_TEMPORARY, /* freed soon after the allocation */
};

/* All zero: CPU time, of any set. */
struct sample_weight {
    uint16_t set;
    uint8_t index;             /* of the value in its set */
    uint8_t heap;              /* enum heap_weight */
    const struct trace *trace; /* if `heap` */
};

/* The change of the bytes of memory, negative of frees that take bytes off; 0: not taken. */
int64_t sample_heap_weight(struct sample_weight weight, const struct sample *sample);

static inline bool sample_weight_takes(struct sample_weight weight, const struct sample_sets *sets,
                                       const struct sample *sample)
{
    if (weight.heap)
        return sample_heap_weight(weight, sample) != 0;
    return weight.set ? sample->set == weight.set : sample_role(sets, sample) == SAMPLE_ROLE_CPU;
}

/* 0 for samples without this weight. */
static inline uint64_t sample_weight_of(struct sample_weight weight, const struct sample_sets *sets,
                                        const struct sample *sample)
{
    if (!weight.set)
        return sample_cpu_ns(sets, sample);
    if (weight.heap)
        return (uint64_t)sample_heap_weight(weight, sample);
    bool has = sample->set == weight.set && weight.index < sample->value_count;
    return has ? (uint64_t)sample->values[weight.index] : 0;
}

/* The samples that it stands for: 1, or -1 modulo 2^64 of a free that takes bytes off. */
static inline uint64_t sample_weight_count(struct sample_weight weight, const struct sample *sample)
{
    return weight.heap && sample_heap_weight(weight, sample) < 0 ? UINT64_MAX : 1;
}

/* True if the recording has samples of memory. */
bool sample_heap_any(const struct trace *trace);

/* 0; -ENOENT: unknown name; -EDOM: its values cannot be summed. */
int sample_weight_find(const struct trace *trace, const char *name,
                       struct sample_weight *ret_weight);

/* Writes the names of all summable values, separated by ", ". Returns the length. */
size_t sample_weight_list(const struct trace *trace, char *buffer, size_t size);

/* Writes the name of a value within its set: "bytes". At most size - 1 bytes. */
const char *sample_value_label(const struct trace *trace, unsigned set, unsigned index,
                               char *buffer, size_t size);

/* The type of the values: a predefined one, or one of the recording. */
unsigned sample_weight_type(const struct trace *trace, struct sample_weight weight);

enum sample_unit { UNIT_NS = 0, UNIT_BYTES, UNIT_OTHER };

/* The unit in which values of a type are printed. */
enum sample_unit sample_unit_of(const struct trace *trace, unsigned type);

#endif
