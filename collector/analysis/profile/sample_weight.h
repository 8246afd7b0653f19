/* SPDX-License-Identifier: MIT */
/* What samples are weighed by: CPU time, or one value of one set of samples, as people name it.
 *
 * A name is "SET:VALUE" ("off-cpu:blocked"), or SET alone, its first value. A value whose name
 * begins with the set's is called without that: "alloc:bytes" is "alloc-bytes" of the set "alloc".
 * Thread-safety: plain data. */
#ifndef ANNOT_SAMPLE_WEIGHT_H
#define ANNOT_SAMPLE_WEIGHT_H

#include "sample.h"
#include "trace.h"

/* All zero: CPU time, whatever set it is of. */
struct sample_weight {
    uint16_t set;
    uint8_t index; /* of the value in its set */
};

static inline bool sample_weight_takes(struct sample_weight weight, const struct sample_sets *sets,
                                       const struct sample *sample)
{
    return weight.set ? sample->set == weight.set : sample_role(sets, sample) == SAMPLE_ROLE_CPU;
}

/* 0 of samples that it doesn't take. */
static inline uint64_t sample_weight_of(struct sample_weight weight, const struct sample_sets *sets,
                                        const struct sample *sample)
{
    if (!weight.set)
        return sample_cpu_ns(sets, sample);
    bool has = sample->set == weight.set && weight.index < sample->value_count;
    return has ? (uint64_t)sample->values[weight.index] : 0;
}

/* 0; -ENOENT: there is none of that name; -EDOM: its values do not add up. */
int sample_weight_find(const struct trace *trace, const char *name,
                       struct sample_weight *ret_weight);

/* The names of all that add up, with ", " between. Returns the length. */
size_t sample_weight_list(const struct trace *trace, char *buffer, size_t size);

/* What a value of a set is called within it: "bytes". At most size - 1 bytes. */
const char *sample_value_label(const struct trace *trace, unsigned set, unsigned index,
                               char *buffer, size_t size);

/* The type of the values: a fixed one, or one of the recording. */
unsigned sample_weight_type(const struct trace *trace, struct sample_weight weight);

enum sample_unit { UNIT_NS = 0, UNIT_BYTES, UNIT_OTHER };

/* How values of a type are printed. */
enum sample_unit sample_unit_of(const struct trace *trace, unsigned type);

#endif
