/* SPDX-License-Identifier: MIT */
/* The facts that decide which way of sampling is open to this process, from /proc and /sys (only
 * read, nothing is tried); and the choice of the way, with its remedy: from trials and facts of the
 * machine to one sentence and one command. Used by sampler_create and `annot doctor`.
 * Thread-safety: any thread. */
#ifndef ANNOT_LADDER_H
#define ANNOT_LADDER_H

#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Facts ----------------------------------------------------------------------------------- */

/* The facts that decide which way of sampling is open to this process, from /proc and /sys. Only
 * read, nothing is tried. */

enum container_kind {
    CONTAINER_NONE = 0,
    CONTAINER_DOCKER = 1,
    CONTAINER_PODMAN = 2,
    CONTAINER_KUBERNETES = 3,
    CONTAINER_OTHER = 4,
};

/* Numbers of the kernel's ABI. */
enum {
    FACT_CAP_SYS_PTRACE = 19,
    FACT_CAP_SYS_ADMIN = 21,
    FACT_CAP_PERFMON = 38,
    FACT_CAP_BPF = 39
};

struct host_facts {
    char kernel[65];         /* "6.1.0-18-amd64" */
    unsigned kernel_version; /* major << 8 | minor; 0 = unknown */
    char machine[65];        /* "x86_64" */
    uint32_t uid;            /* effective */
    uint64_t effective;      /* capabilities, by bit */
    uint64_t bounding;
    bool no_new_privileges; /* file capabilities have no effect */
    int seccomp_mode;       /* 0 none, 1 strict, 2 filter; -1 = unknown */
    bool user_namespace;    /* capabilities are valid only inside it */
    bool nosuid;            /* file capabilities have no effect on the program's mount */
    bool has_btf;
    int perf_paranoid; /* kernel.perf_event_paranoid; INT32_MIN = unknown */
    int yama_scope;    /* kernel.yama.ptrace_scope; INT32_MIN = no Yama */
    bool lockdown_confidential;
    enum container_kind container;
    char program[256]; /* resolved path of this program, quoted for a shell; "" = unknown */
};

void host_facts_read(struct host_facts *facts);

static inline bool host_facts_may(const struct host_facts *facts, unsigned capability)
{
    return (facts->effective >> capability & 1) != 0;
}

/* ---- Rungs ----------------------------------------------------------------------------------- */

struct ladder_step {
    enum sampling_rung rung;
    bool possible;
    char reason[200]; /* why it is impossible; "" if possible */
    char hint[300];   /* the command to fix it; "" if unknown */
};

enum { LADDER_STEPS = 3 };

/* Really tries each (loads the BPF program, reads its own memory), best first. */
void ladder_try(struct ladder_step steps[LADDER_STEPS]);

/* ---- Causes ---------------------------------------------------------------------------------- */

struct ladder_trial {
    struct host_facts facts;
    int error;                 /* of loading the BPF program: -errno */
    char detail[160];          /* its first line */
    int bpf_errno, perf_errno; /* of harmless calls; 0 = they reach the kernel */
};

/* Set reason and hint; the reason is never empty. */
void ladder_explain_bpf(const struct ladder_trial *trial, struct ladder_step *step);
void ladder_explain_remote(const struct host_facts *facts, int error, struct ladder_step *step);

#endif
