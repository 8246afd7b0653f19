/* SPDX-License-Identifier: MIT */
/* The internals of struct sampler_bpf, shared by loader, maps, ring and probes. Thread-safety: one
 * thread per object. */
#ifndef ANNOT_BPF_STATE_H
#define ANNOT_BPF_STATE_H

#include "bpf_probes.h"
#include "bpf_program.h"
#include "kernel_btf.h"
#include "vec.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The compiled BPF program: generated from bpf/sampler.bpf.c by bpf/embed.py. */
extern const unsigned char sampler_bpf_object[];

extern const size_t sampler_bpf_object_size;

/* From bpf/probes.bpf.c. */
extern const unsigned char probes_bpf_object[];

extern const size_t probes_bpf_object_size;

/* An array map, mapped. */
struct bpf_area {
    uint8_t *bytes; /* NULL: not mapped */
    size_t size, stride;
};

struct bpf_ring {
    uint64_t *consumer; /* our page */
    const uint64_t *producer;
    const uint8_t *data; /* mapped twice in a row, so that no record is split */
    size_t size;
    uint64_t damaged; /* skipped records */
};

enum { BPF_LINKS_MAX = 8, BPF_OBJECTS = 3, BPF_MAPS_MAX = 24, BPF_PROGRAMS_MAX = 12 };

enum { BPF_CALL_LINKS_MAX = 16 };

/* Programs that walk stacks of calls of annot's libraries, and their memory: made when the first
 * file is watched. */
#define BPF_CALLS_MAP "call_walks"

struct bpf_call_links {
    struct bpf_object *object; /* another copy of the file; NULL: not needed yet */
    struct bpf_link *links[BPF_CALL_LINKS_MAX];
    size_t count;
};

/* Functions that are ranges: bpf_probes.c. */
struct bpf_probe_link {
    uint32_t number;       /* of the function */
    int fd;                /* -1: */
    struct bpf_link *link; /* for one place */
};

struct bpf_probes {
    struct bpf_object *object; /* NULL: not loaded */
    bool multi;                /* one link for many places */
    int open_fd;
    struct bpf_area calls;
    VEC(struct bpf_probe_link) links;
};

/* The hook at which a thread returns to a CPU. */
enum bpf_returns {
    RETURNS_UNSEEN = 0,     /* no hook */
    RETURNS_TRACEPOINT = 1, /* sched_exit_tp, Linux 6.17 */
    RETURNS_KPROBE = 2,
    RETURNS_COUNT = 3,
};

/* Programs that load one after the other; the verifier takes as long for each of these parts. */
enum bpf_part {
    BPF_PART_REST,
    BPF_PART_SWITCHES, /* threads that leave a CPU; NULL without them, as the next */
    BPF_PART_RETURNS,  /* threads that have returned to a CPU */
};

/* Makes map by map, on two threads; see bpf_program_maps.c. */
struct bpf_making {
    struct bpf_map *maps[BPF_MAPS_MAX];
    int fds[BPF_MAPS_MAX];
    size_t count;
    _Atomic size_t next;     /* index of the next map */
    _Atomic uint64_t all_ns; /* of both threads */
    pthread_t helper;
    bool began, helped, joined;
    pthread_mutex_t lock; /* of all fields below */
    pthread_cond_t changed;
    size_t done;
    int error;
    int publish_fd, publish_error; /* of the first segment of the row memory */
    _Atomic bool published;        /* publish_error is set */
};

/* The clock of a CPU's samples: a perf event. */
struct bpf_tick {
    int fd; /* -1: the CPU is offline */
    uint64_t period_ns;
    uint64_t old_period_ns, old_end_ns; /* until old_end_ns; 0: the period never changed */
    uint64_t second_ns;                 /* the second tick of the new period comes later */
};

struct sampler_bpf {
    /* One file, opened for each of enum bpf_part, which load concurrently, each on a separate
     * thread. A program is loaded with only one of them (autoload), maps are shared. */
    struct bpf_object *objects[BPF_OBJECTS];
    struct bpf_typed typed;
    struct bpf_making making;
    struct bpf_program_times times;
    char *verifier_logs; /* of each program in turn; NULL: not measured */
    int types_fd;        /* the kernel's types named in the object */
    struct bpf_link *links[BPF_LINKS_MAX];
    size_t link_count;
    uint64_t threshold_ns;
    enum bpf_returns returns;
    struct bpf_program *returned; /* its program; NULL: none */
    struct bpf_call_links calls[BPF_CALLS_COUNT];
    struct bpf_probes probes;
    struct bpf_link *asleep; /* in `links`: the iterator over sleeping threads; NULL: none */
    struct bpf_tick *ticks;  /* by CPU; NULL: not opened */
    int processes_fd, rows_fd, counters_fd, switches_fd, ring_fd, seen_fd;
    int name_fd; /* the program that names kernel addresses; -1 = none */
    struct bpf_area mappings, rules, pythons;
    struct bpf_area stop; /* struct sampler_control */
    struct bpf_area name; /* output of the program at name_fd */
    struct bpf_area segments[SAMPLER_SEGMENTS_MAX];
    struct bpf_ring ring;
    int cpu_count; /* possible CPUs */
};

#endif
