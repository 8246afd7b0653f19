/* SPDX-License-Identifier: MIT */
/* The BPF programs at functions of programs: those that are ranges, the one that libannot-gpu calls
 * at a launch, and those that libannot-heap calls for a sampled block. Loaded when the first is
 * added, as most recordings have none. The kernel puts the places into every process that runs the
 * file; the programs report only processes in the map.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_BPF_PROBES_H
#define ANNOT_BPF_PROBES_H

#include "sampler_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler_bpf;

enum bpf_calls { BPF_CALLS_LAUNCHES, BPF_CALLS_HEAP, BPF_CALLS_COUNT };

/* ---- Calls that annot's libraries make for the sampler ---- */

struct bpf_call_place {
    const char *path; /* the file, opened now */
    uint64_t offset;  /* of the function in it */
};

/* Reports the calls of the function at that place: `which` 0 of BPF_CALLS_LAUNCHES as
 * SAMPLER_LAUNCH; 0 and 1 of BPF_CALLS_HEAP as SAMPLER_ALLOCATED and SAMPLER_FREED. -EMFILE: too
 * many files; -errno. The first takes some 20 ms. */
int bpf_program_watch_call(struct sampler_bpf *program, enum bpf_calls calls, unsigned which,
                           const struct bpf_call_place *place);

/* ---- Functions that are ranges: reported, as SAMPLER_PROBED, when they are left ---- */

enum bpf_probe_kind {
    BPF_PROBE_CALLS, /* starts and ends of functions, matched by their stack */
    BPF_PROBE_PAIR,  /* starts and ends anywhere: an end closes the last start */
    BPF_PROBE_MARK,  /* reported at once, as an instant */
    BPF_PROBE_KINDS,
};

struct bpf_probe_places {
    uint32_t number; /* of the function, below SAMPLER_PROBES_MAX: its key in the calls below */
    uint32_t count;
    const unsigned long *offsets;    /* in the file */
    const uint64_t *cookies;         /* SAMPLER_SITE_..., one for each place */
    const unsigned long *references; /* counters to be raised while it is attached; NULL: none */
    bool returned;                   /* runs when the function has returned */
    enum bpf_probe_kind kind;
};

/* Adds places of one file, which is opened now. 0 or -errno. The first takes 10 ms, others some 0.1
 * ms each; removing them makes the kernel wait for all CPUs. */
int bpf_program_probe(struct sampler_bpf *program, const char *path,
                      const struct bpf_probe_places *places);

/* Makes places with that list in their cookie report these arguments, as SAMPLER_PROBED_ARGS; call
 * it after a place was added. 0 or -errno. */
int bpf_program_probe_args(struct sampler_bpf *program, uint32_t list,
                           const struct sampler_args *wanted);

/* Removes its places; UINT32_MAX: those of all. */
void bpf_program_unprobe(struct sampler_bpf *program, uint32_t number);

/* The number of its calls in processes of the map; or in all others, which are only slowed down. */
uint64_t bpf_program_probe_calls(const struct sampler_bpf *program, uint32_t number, bool foreign);

/* A thread, or a goroutine, that has had open ranges. */
struct bpf_probed {
    struct {
        uint64_t who;        /* tid, or an address */
        uint32_t pid, pairs; /* 1: for BPF_PROBE_PAIR */
    } who;

    struct sampler_open open;
};

/* The first entry, or the one after it. 0; -ENOENT: no more. */
int bpf_program_probed_next(struct sampler_bpf *program, struct bpf_probed *probed, bool first);

/* Finds the entry of its `who`. */
bool bpf_program_probed_find(struct sampler_bpf *program, struct bpf_probed *probed);
void bpf_program_probed_forget(struct sampler_bpf *program, const struct bpf_probed *probed);

/* ---- For the loader ---- */

bool bpf_program_is_of_calls(const char *name);
void bpf_calls_close(struct sampler_bpf *program);
void bpf_probes_close(struct sampler_bpf *program);

#endif
