/* SPDX-License-Identifier: MIT */
/* The ring of the BPF program and the ticks of its CPUs, opened while it is loaded; see
 * bpf_program.h for their use. Thread-safety: one thread per object. */
#ifndef ANNOT_BPF_PROGRAM_RING_H
#define ANNOT_BPF_PROGRAM_RING_H

#include <stddef.h>
#include <stdint.h>

struct bpf_ring;
struct sampler_bpf;

int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size);
void bpf_ring_close(struct bpf_ring *ring);

/* Opens perf events on all CPUs online, disabled, with the tick program. */
int bpf_ticks_open(struct sampler_bpf *program, uint32_t frequency_hz);
void bpf_ticks_close(struct sampler_bpf *program);

#endif
