/* SPDX-License-Identifier: MIT */
/* From the string ids of one segment to string ordinals of the trace.
 *
 * Each id is read from the segment once. What a segment may add to the trace is bounded: texts of
 * its table by the table's size, texts inside records by NAMES_INLINE_BYTES; beyond that names are
 * replaced by one that says so. Thread-safety: none. */
#ifndef ANNOT_INTAKE_NAMES_H
#define ANNOT_INTAKE_NAMES_H

#include "segment_reader.h"
#include "trace.h"

#define NAMES_INLINE_BYTES (UINT64_C(256) << 20)

typedef VEC(uint32_t) number_table; /* string ordinals by number */

struct names {
    const struct segment *segment;
    struct trace *trace;
    uint32_t **pages; /* by id / NAMES_PAGE; of ordinal + 1, 0 = not read yet */
    uint32_t page_count;
    uint64_t table_bytes, inline_bytes;
    number_table domains, categories;
    uint32_t walked;   /* ids before this one are in domains and categories */
    uint32_t walk_end; /* string_used / 16 at the last walk */
    uint64_t walk_cost;
    uint64_t broken; /* ids and texts that could not be believed */
};

/* `segment` and `trace` outlive it. 0 or -ENOMEM. */
int names_init(struct names *names, const struct segment *segment, struct trace *trace);
void names_fini(struct names *names);

/* Ordinals; 0 for id 0 and for what cannot be read. -ENOMEM, -EFAULT as negative numbers. */
int64_t names_by_id(struct names *names, uint32_t id);
int64_t names_inline(struct names *names, const char *bytes, size_t length);
int64_t names_domain(struct names *names, uint16_t number);
int64_t names_category(struct names *names, uint16_t number);

#endif
