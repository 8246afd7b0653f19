/* SPDX-License-Identifier: MIT */
/* From what was tried and what the machine tells of itself to one sentence and one remedy.
 * Thread-safety: no state. */
#ifndef ANNOT_LADDER_CAUSES_H
#define ANNOT_LADDER_CAUSES_H

#include "host_facts.h"
#include "ladder.h"

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
