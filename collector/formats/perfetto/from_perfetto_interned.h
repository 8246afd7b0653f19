/* SPDX-License-Identifier: MIT */
/* Names, frames and stacks that packets of a sequence refer to by number. Thread-safety: one thread
 * per reader. */
#ifndef ANNOT_FROM_PERFETTO_INTERNED_H
#define ANNOT_FROM_PERFETTO_INTERNED_H

#include "from_perfetto.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto;
struct proto_field;

/* Tables of interned numbers of a sequence. */
enum perfetto_table {
    PERFETTO_CATEGORIES,
    PERFETTO_NAMES,
    PERFETTO_KEYS,
    PERFETTO_FUNCTIONS,
    PERFETTO_FRAMES,     /* function << 32 | mapping */
    PERFETTO_CALLSTACKS, /* 1 + place in frame_lists */
    PERFETTO_PATHS,
    PERFETTO_MAPPINGS, /* its path */
    PERFETTO_STRINGS,
    PERFETTO_STACKS, /* of a callstack: the ordinal */
};

/* Adds the values of a field, single or packed. Too many are counted. 0 or -ENOMEM. */
int perfetto_numbers(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);

/* The same for doubles, as their bits. */
int perfetto_doubles(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field);

/* Reserves `bytes` more for entries of sequences; false, and counted: beyond the limit. */
bool perfetto_hold(struct perfetto *trace, size_t bytes);

/* The value of a number; 0: unknown. */
uint64_t perfetto_find(const struct perfetto_sequence *sequence, enum perfetto_table table,
                       uint64_t iid);

/* InternedData. 0 or -ENOMEM. */
int perfetto_intern(struct perfetto *trace, struct perfetto_sequence *sequence,
                    struct proto message);

/* The ordinal of a callstack; 0: unknown, or see the sink's error. */
uint32_t perfetto_stack(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid);

/* Drops the meanings of its numbers. */
void perfetto_forget(struct perfetto *trace, struct perfetto_sequence *sequence);
uint32_t perfetto_text(struct perfetto *trace, const struct proto *bytes);

#endif
