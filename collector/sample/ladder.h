/* SPDX-License-Identifier: MIT */
/* Which way of sampling this machine allows this user, and what would lift it.
 * Used by sampler_create and by `annot doctor`. Thread-safety: none needed. */
#ifndef ANNOT_LADDER_H
#define ANNOT_LADDER_H

#include "trace.h"

struct ladder_step {
    enum sampling_rung rung;
    bool possible;
    char reason[200]; /* why not; "" if possible */
    char hint[300];   /* the command that lifts it; "" if there is none */
};

enum { LADDER_STEPS = 3 };

/* Tries each for real (loads the BPF program, reads memory of itself), best first. */
void ladder_try(struct ladder_step steps[LADDER_STEPS]);

#endif
