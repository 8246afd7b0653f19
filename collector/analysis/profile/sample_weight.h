/* SPDX-License-Identifier: MIT */
/* The weight of samples: CPU time, or one value of one set of samples, chosen by name.
 *
 * A name is "SET:VALUE" ("off-cpu:blocked"), or SET alone for its first value. A value name that
 * begins with the set's is given without that prefix: "alloc:bytes" is "alloc-bytes" of the set
 * "alloc". Thread-safety: plain data. */
#ifndef ANNOT_SAMPLE_WEIGHT_H
#define ANNOT_SAMPLE_WEIGHT_H

#include "sample.h"
#include "trace.h"

/* All zero: CPU time, of any set. */
struct sample_weight {
    uint16_t set;
    uint8_t index; /* of the value in its set */
};

static inline bool sample_weight_takes(struct sample_weight weight, const struct sample_sets *sets,
                                       const struct sample *sample)
{
    return weight.set ? sample->set == weight.set : sample_role(sets, sample) == SAMPLE_ROLE_CPU;
}

/* 0 for samples without this weight. */
static inline uint64_t sample_weight_of(struct sample_weight weight, const struct sample_sets *sets,
                                        const struct sample *sample)
{
    if (!weight.set)
        return sample_cpu_ns(sets, sample);
    bool has = sample->set == weight.set && weight.index < sample->value_count;
    return has ? (uint64_t)sample->values[weight.index] : 0;
}

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
