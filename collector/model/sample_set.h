/* SPDX-License-Identifier: MIT */
/* What samples measure: value types, and the sets of them that samples bring.
 *
 * A sample belongs to a set, which says how many values it has, of which types, and what its times
 * mean. Readers go by types and flags, never by a set's number: CPU time is whatever has the type
 * VALUE_TYPE_CPU. Numbers below VALUE_TYPE_OWN and SAMPLE_SET_OWN are the format's, the same in
 * every recording; those from there on are defined by each recording, with names. What is not
 * defined has no type, no flag and no name. Thread-safety: none. */
#ifndef ANNOT_MODEL_SAMPLE_SET_H
#define ANNOT_MODEL_SAMPLE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are those of the recording format: explicit and append-only. */
enum value_type_number {
    VALUE_TYPE_NONE = 0,
    VALUE_TYPE_CPU = 1, /* the first five are nanoseconds */
    VALUE_TYPE_RUNNABLE = 2,
    VALUE_TYPE_BLOCKED = 3,
    VALUE_TYPE_WALL = 4,
    VALUE_TYPE_GPU = 5,
    VALUE_TYPE_SAMPLES = 6,
    VALUE_TYPE_CALLS = 7,
    VALUE_TYPE_ALLOC_BYTES = 8,
    VALUE_TYPE_ALLOC_OBJECTS = 9,
    VALUE_TYPE_FREE_BYTES = 10,
    VALUE_TYPE_FREE_OBJECTS = 11,
    VALUE_TYPE_CYCLES = 12,
    VALUE_TYPE_INSTRUCTIONS = 13,
    VALUE_TYPE_CACHE_MISSES = 14,
    VALUE_TYPE_BRANCH_MISSES = 15,
    VALUE_TYPE_FLOPS = 16,
    VALUE_TYPE_DRAM_BYTES = 17,
    VALUE_TYPE_ENERGY = 18, /* microjoules */
    VALUE_TYPE_FIXED = 19,
    VALUE_TYPE_OWN = 64,
};

/* Whether values of a type add up. Numbers of the recording format. */
enum value_sum {
    VALUE_SUM_UNKNOWN = 0, /* nothing is known of it */
    VALUE_SUM_ADDS = 1,
    VALUE_SUM_LEVEL = 2, /* a temperature: there is no sum */
};

struct value_type {
    uint32_t name, unit; /* strings; of fixed ones 0: value_type_name() */
    uint8_t sum;         /* enum value_sum */
};

enum sample_set_flags {
    SAMPLE_SET_EXACT = 1u << 0,    /* each counts for itself: nothing was left out between them */
    SAMPLE_SET_STRETCH = 1u << 1,  /* from time_ns to end_ns; the values are its parts, in order */
    SAMPLE_SET_HEAP = 1u << 2,     /* `id` is the address of a block */
    SAMPLE_SET_INTERVAL = 1u << 3, /* what was counted from time_ns to end_ns: no instant */
    SAMPLE_SET_FLAGS_KNOWN = (1u << 4) - 1,
};

enum sample_set_number {
    SAMPLE_SET_NONE = 0,
    SAMPLE_SET_CPU = 1,     /* {cpu} */
    SAMPLE_SET_OFF_CPU = 2, /* STRETCH {blocked, runnable} */
    SAMPLE_SET_FIXED = 3,
    SAMPLE_SET_OWN = 16,
    SAMPLE_SET_MAX = 4096,
};

/* What readers of CPU time and waits take a set for; from its flags and types. */
enum sample_role {
    SAMPLE_ROLE_OTHER = 0,
    SAMPLE_ROLE_CPU = 1,     /* at an instant, with CPU time */
    SAMPLE_ROLE_OFF_CPU = 2, /* stretches of blocked or runnable time */
};

enum { SAMPLE_VALUES_MAX = 8, VALUE_TYPE_MAX = 4096 };

struct sample_set {
    uint32_t name;   /* string; of fixed ones 0: sample_set_name() */
    uint32_t period; /* of the first value: one sample stands for so much; 0: not constant */
    uint8_t flags;   /* enum sample_set_flags, and unknown ones */
    uint8_t count;   /* of types: at most SAMPLE_VALUES_MAX */
    uint8_t role;    /* enum sample_role: derived */
    uint16_t types[SAMPLE_VALUES_MAX];
};

/* Of one trace: trace_sets(). Read by the functions below. */
struct sample_sets {
    struct sample_set *sets; /* by number; fixed ones are in sample_sets_fixed */
    uint32_t count, capacity;
    struct value_types *types;
};

extern const struct sample_set sample_sets_fixed[SAMPLE_SET_FIXED];

struct sample_sets *sample_sets_create(void);
void sample_sets_destroy(struct sample_sets *sets);

/* Never NULL: what is not defined is all zero. `sets` NULL: fixed ones only. Valid until the next
 * one is added. */
static inline const struct sample_set *sample_set_get(const struct sample_sets *sets,
                                                      unsigned number)
{
    if (number < SAMPLE_SET_FIXED)
        return &sample_sets_fixed[number];
    return sets && number < sets->count ? &sets->sets[number] : &sample_sets_fixed[0];
}
const struct value_type *value_type_get(const struct sample_sets *sets, unsigned number);

/* One more than the highest number. */
unsigned sample_sets_count(const struct sample_sets *sets);
unsigned value_types_count(const struct sample_sets *sets);

/* The number of a new one. -ENOMEM; -ENOSPC: too many. */
int64_t sample_sets_add(struct sample_sets *sets, const struct sample_set *set);
int64_t value_types_add(struct sample_sets *sets, const struct value_type *type);

/* For readers, whose numbers are given. What the format defines stays as it is. -ENOMEM; -EBADMSG:
 * no such number can be, or there is another definition of it. */
int sample_sets_define(struct sample_sets *sets, unsigned number, const struct sample_set *set);
int value_types_define(struct sample_sets *sets, unsigned number, const struct value_type *type);

/* Of fixed ones; NULL: the string of the definition. Constant text. */
const char *sample_set_fixed_name(unsigned number);
const char *value_type_fixed_name(unsigned number);
const char *value_type_fixed_unit(unsigned number);

/* Where in the set's values those of a type are; -1: it has none. */
static inline int sample_set_index(const struct sample_set *set, unsigned type)
{
    for (int i = 0; i < set->count; i++)
        if (set->types[i] == type)
            return i;
    return -1;
}

#endif
