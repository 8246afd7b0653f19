/* SPDX-License-Identifier: MIT */
/* Which way of sampling this machine allows this user, and what would lift it: from what was tried
 * and what the machine tells of itself to one sentence and one remedy.
 * Used by sampler_create and by `annot doctor`. Thread-safety: none needed. */
#ifndef ANNOT_LADDER_H
#define ANNOT_LADDER_H

#include "host_facts.h"
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

/* ---- Causes ---- */

struct ladder_trial {
    struct host_facts facts;
    int error;                 /* of loading the BPF program: -errno */
    char detail[160];          /* its first line */
    int bpf_errno, perf_errno; /* of harmless calls; 0 = they get through to the kernel */
};

/* Set reason and hint; the reason is never empty. */
void ladder_explain_bpf(const struct ladder_trial *trial, struct ladder_step *step);
void ladder_explain_remote(const struct host_facts *facts, int error, struct ladder_step *step);

#endif
