/* SPDX-License-Identifier: MIT */
/* The session's filter, stored into the masks of its segments.
 *
 * A segment is told when it is new, when the rules have changed, and when its table has new
 * strings: so what its process stored at the same time is put right. Numbers are judged once per
 * change of the rules. Thread-safety: none. */
#ifndef ANNOT_INTAKE_FILTER_MASKS_H
#define ANNOT_INTAKE_FILTER_MASKS_H

#include "names.h"

#include <annot_filter.h>

struct filter_rules {
    uint32_t revision; /* 0: there has never been a filter; else changes with the text */
    uint32_t size;
    char text[ANNOT_FILTER_MAX];
};

/* What one segment has been told; {0} is nothing. */
struct filter_told {
    uint32_t revision;
    uint32_t strings_used; /* of its table, by then */
    uint32_t next;         /* numbers below are in `masks` */
    size_t functions;      /* of names->functions, how many are told */
    struct annot_filter_masks masks;
};

/* 0, -ENOMEM, -EFAULT. Cost: a load if there is nothing to tell. */
int filter_masks_tell(const struct filter_rules *rules, struct names *names,
                      struct filter_told *told);

#endif
