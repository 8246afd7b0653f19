/* SPDX-License-Identifier: MIT */
/* The page that kill_target, recorder_target and their tests share. */
#ifndef ANNOT_KILL_COUNTS_H
#define ANNOT_KILL_COUNTS_H

#include <stdint.h>

enum { KILL_SLOTS = 64 };

struct kill_counts {
    uint32_t slot_count;
    uint32_t holding; /* workers that wait in their middle */
    uint32_t go_on;
    uint32_t pid;               /* of recorder_target, once it runs */
    uint64_t calls[KILL_SLOTS]; /* one writer each */
};

#endif
