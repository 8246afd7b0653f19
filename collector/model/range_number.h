/* SPDX-License-Identifier: MIT */
/* The numbers that programs write into their logs (annot_current), for the pushed ranges of a
 * recording: docs/wire-format.md says how they are made. Each thread's pushes must be told in their
 * order. Where recorded ranges are missing (overwritten, damaged) the count is lost, and the
 * thread's later ranges have no number. Thread-safety: none. */
#ifndef ANNOT_RANGE_NUMBER_H
#define ANNOT_RANGE_NUMBER_H

#include "trace.h"
#include "vec.h"

struct range_numbers {
    VEC(struct range_instances {
        uint32_t count; /* of pushes so far */
        bool unknown;
    })
    threads;
};

/* Each event of a thread, in its order. Of a push its number, or 0: none is known. `ret_number` is
 * 0 for other events. 0 or -ENOMEM. */
int range_number_note(struct range_numbers *numbers, const struct trace *trace,
                      const struct event *event, uint64_t *ret_number);
void range_numbers_fini(struct range_numbers *numbers);

#endif
