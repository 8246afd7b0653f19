/* SPDX-License-Identifier: MIT */
/* Settings of libannot-gpu: ANNOT_GPU and related variables, read by gpu_inject.c. */
#ifndef ANNOT_GPU_SETTINGS_H
#define ANNOT_GPU_SETTINGS_H

#include "gpu_plan.h"

#include <stdbool.h>
#include <stdint.h>

enum gpu_stacks {
    GPU_STACKS_SAMPLED = 0, /* of one launch of many */
    GPU_STACKS_EXACT,
    GPU_STACKS_OFF
};

enum { GPU_COMPLAINTS = 4 };

struct gpu_settings {
    bool wanted;
    const char *complaints[GPU_COMPLAINTS]; /* notes for each recording; NULL: end */
    bool nodes; /* of graphs, each kernel; else as a whole. W: our thread, without a window */
    bool nodes_requested; /* the same, before the budget lowered it */
    double budget;        /* percent; 0: no limit */
    uint8_t stacks;       /* enum gpu_stacks */
    struct gpu_plan plan; /* W: gpu_trigger.c */
};

extern struct gpu_settings gpu_settings;

/* True if the comma-separated list has the word. */
bool gpu_has_word(const char *words, const char *word);

#endif
