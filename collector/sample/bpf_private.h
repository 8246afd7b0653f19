/* SPDX-License-Identifier: MIT */
/* The insides of struct sampler_bpf, shared by loader, maps and ring. */
#ifndef ANNOT_BPF_PRIVATE_H
#define ANNOT_BPF_PRIVATE_H

#include "bpf_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>

/* An array map, mapped. */
struct bpf_area {
    uint8_t *bytes; /* NULL: not mapped */
    size_t size, stride;
};

struct bpf_ring {
    uint64_t *consumer; /* our page */
    const uint64_t *producer;
    const uint8_t *data; /* twice in a row, so that no record is broken */
    size_t size;
    uint64_t damaged; /* records passed over */
};

enum { BPF_LINKS_MAX = 8 };

struct sampler_bpf {
    struct bpf_object *object;
    int types_fd; /* the kernel's types that the object names */
    struct bpf_link *links[BPF_LINKS_MAX];
    size_t link_count;
    int *tick_fds; /* one perf event per CPU that is online */
    size_t tick_count;
    int processes_fd, rows_fd, counters_fd, switches_fd, ring_fd, seen_fd;
    int name_fd; /* the program that names the kernel's addresses; -1 = none */
    struct bpf_area mappings, rules, pythons;
    struct bpf_area stop; /* uint32_t: not 0 = no more context switches */
    struct bpf_area name; /* what the program at name_fd wrote */
    struct bpf_area segments[SAMPLER_SEGMENTS_MAX];
    pthread_t publisher; /* of the first segment, while the program is loaded */
    bool publishes;
    int publish_fd, publish_error;
    struct bpf_ring ring;
    int cpu_count; /* possible ones */
};

/* The compiled BPF program: generated from bpf/sampler.bpf.c by bpf/embed.py. */
extern const unsigned char sampler_bpf_object[];
extern const size_t sampler_bpf_object_size;

/* Makes the map of the row memory, with its first segment, before the object is loaded: for that
 * the kernel waits until all CPUs were seen idle, which takes as long as a third of the loading. */
int bpf_rows_begin(struct sampler_bpf *program);
/* Waits until the first segment is there. Once; nothing without a beginning. */
int bpf_rows_end(struct sampler_bpf *program);

/* Finds and maps the maps of the loaded object. */
int bpf_maps_open(struct sampler_bpf *program);
void bpf_maps_close(struct sampler_bpf *program);

int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size);
void bpf_ring_close(struct bpf_ring *ring);

/* Perf events on all CPUs online, disabled, with the tick program. */
int bpf_ticks_open(struct sampler_bpf *program, uint32_t frequency_hz);
void bpf_ticks_close(struct sampler_bpf *program);

#endif
