/* SPDX-License-Identifier: MIT */
/* The insides of struct sampler_bpf, shared by loader, maps and ring, and what they need to know of
 * the running kernel. Thread-safety: one thread per object. */
#ifndef ANNOT_BPF_PARTS_H
#define ANNOT_BPF_PARTS_H

#include "bpf_program.h"
#include "vec.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The running kernel's types -------------------------------------------------------------- */

/* The running kernel's type information, as far as the BPF program needs it.
 *
 * It has 130,000 types of which the program names twenty. libbpf would copy all of it and search it
 * from end to end once for each of them; here it is passed over once, and libbpf is given what is
 * left. Errors: -errno; -EBADMSG: it is not as described in the kernel's Documentation/bpf/btf.rst.
 * */

struct btf;

enum { KERNEL_BTF_NAMES_MAX = 1024 };

struct kernel_btf {
    const uint8_t *bytes; /* the whole file */
    size_t size;
    uint8_t *read;        /* = bytes if it was read, not mapped */
    const uint8_t *types; /* inside it */
    uint32_t types_size;
    const char *strings;
    uint32_t strings_size;
    uint32_t *places; /* of each type, in `types` */
    uint32_t type_count;
};

int kernel_btf_open(struct kernel_btf *kernel);
void kernel_btf_close(struct kernel_btf *kernel);

/* How many arguments a tracepoint has, by its typedef btf_trace_NAME; 0 = unknown. */
unsigned kernel_btf_arguments(const struct kernel_btf *kernel, const char *typedef_name);

/* The structures that `local` has, too, with those of their members that any structure of `local`
 * has, and pointers to nothing: written to a file. */
int kernel_btf_reduce(const struct kernel_btf *kernel, const struct btf *local, int fd);

/* ---- Kernels that a BPF program can freeze --------------------------------------------------- */

/* Kernels that a BPF program can freeze by reading a program's memory.
 *
 * From Linux 5.18 until "mm: Fix copy_from_user_nofault()" (6.4, and stable releases), such a read
 * takes the lock of the vmalloc areas. A tick may have interrupted its holder, and at a switch of
 * threads the run queue's lock is held, which the holder's interrupts want: the machine stands
 * still for good. There, nothing of the program is read in a tick that met the kernel, nor at a
 * switch. */

/* Of uname(): release "6.1.0-18-amd64", version "#1 SMP Debian 6.1.76-1 (...)". */
bool kernel_flaw_freezes(const char *release, const char *version);

/* ---- The loaded program ---------------------------------------------------------------------- */

/* The insides of struct sampler_bpf, shared by loader, maps and ring. */

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

enum { BPF_LINKS_MAX = 8, BPF_OBJECTS = 2, BPF_MAPS_MAX = 24, BPF_PROGRAMS_MAX = 12 };

enum { BPF_LAUNCHES_MAX = 16 };

/* Who walks stacks of launches, and with what memory: made when a program is met that launches. */
#define BPF_LAUNCHES_MAP "launch_walks"

struct bpf_launches {
    struct bpf_object *object; /* a third time the same file; NULL: none was met */
    struct bpf_link *links[BPF_LAUNCHES_MAX];
    size_t count;
};

/* Functions that are ranges: bpf_probes.c. */
struct bpf_probe_link {
    uint32_t number;       /* of the function */
    int fd;                /* -1: */
    struct bpf_link *link; /* of one place */
};

struct bpf_probes {
    struct bpf_object *object; /* NULL: there are none */
    bool multi;                /* one link for many places */
    int open_fd;
    struct bpf_area calls;
    VEC(struct bpf_probe_link) links;
};

/* How a thread is met that has come back to a CPU. */
enum bpf_returns {
    RETURNS_UNSEEN = 0,     /* not at all */
    RETURNS_TRACEPOINT = 1, /* sched_exit_tp, Linux 6.17 */
    RETURNS_KPROBE = 2,
    RETURNS_COUNT = 3,
};

/* Map by map, on two threads; see bpf_maps.c. */
struct bpf_making {
    struct bpf_map *maps[BPF_MAPS_MAX];
    int fds[BPF_MAPS_MAX];
    size_t count;
    _Atomic size_t next;     /* to be taken in hand */
    _Atomic uint64_t all_ns; /* of both threads */
    pthread_t helper;
    bool began, helped, joined;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    size_t done;
    int error;
    int publish_fd, publish_error; /* of the first segment of the row memory */
};

struct sampler_bpf {
    /* One file, opened twice: what sees context switches is loaded beside the rest, on a thread of
     * its own. The second is NULL without it. A program is loaded with one of them only (autoload),
     * maps are the same. */
    struct bpf_object *objects[BPF_OBJECTS];
    struct bpf_making making;
    struct bpf_program_times times;
    char *verifier_logs; /* of each program in turn; NULL: not measured */
    int types_fd;        /* the kernel's types that the object names */
    struct bpf_link *links[BPF_LINKS_MAX];
    size_t link_count;
    uint64_t threshold_ns;
    enum bpf_returns returns;
    struct bpf_program *returned; /* what meets it; NULL: nothing */
    struct bpf_launches launches;
    struct bpf_probes probes;
    struct bpf_link *asleep; /* of `links`: the iterator over sleeping threads; NULL: none */
    int *tick_fds;           /* one perf event per CPU that is online */
    size_t tick_count;
    int processes_fd, rows_fd, counters_fd, switches_fd, ring_fd, seen_fd;
    int name_fd; /* the program that names the kernel's addresses; -1 = none */
    struct bpf_area mappings, rules, pythons;
    struct bpf_area stop; /* struct sampler_control */
    struct bpf_area name; /* what the program at name_fd wrote */
    struct bpf_area segments[SAMPLER_SEGMENTS_MAX];
    struct bpf_ring ring;
    int cpu_count; /* possible ones */
};

/* The compiled BPF program: generated from bpf/sampler.bpf.c by bpf/embed.py. */
extern const unsigned char sampler_bpf_object[];
extern const size_t sampler_bpf_object_size;
/* From bpf/probes.bpf.c. */
extern const unsigned char probes_bpf_object[];
extern const size_t probes_bpf_object_size;

/* Another copy of its programs and maps, none of which is loaded. NULL: errno. */
struct bpf_object *bpf_open_object(const struct sampler_bpf *program);
/* The same of another object file. */
struct bpf_object *bpf_open_bytes(const struct sampler_bpf *program, const void *bytes,
                                  size_t size);
/* Constants as the sampler's own object has them. 0 or -errno. */
int bpf_copy_config(const struct sampler_bpf *program, struct bpf_object *object);

bool bpf_program_is_of_launches(const char *name);
void bpf_launches_close(struct sampler_bpf *program);
void bpf_probes_close(struct sampler_bpf *program);

/* Maps the values of an array map. 0 or -errno. */
int bpf_area_open(struct bpf_area *area, int fd, size_t value_size, size_t count);
void bpf_area_close(struct bpf_area *area);

/* Makes the maps of objects[0], from here on; their sizes are set. bpf_making_join() takes part in
 * it, gives them to the object, and returns when all are there; bpf_making_end() when the first
 * segment of the row memory can be used: for that the kernel waits until all CPUs were seen idle,
 * which takes as long as loading. End: always, once, also without a beginning. 0 or -errno. */
int bpf_making_begin(struct sampler_bpf *program);
int bpf_making_join(struct sampler_bpf *program);
int bpf_making_end(struct sampler_bpf *program);
/* Gives the maps of objects[0] to another object of the same file. 0 or -errno. */
int bpf_making_share(const struct sampler_bpf *program, struct bpf_object *object);

/* Map `rows` with its first segment: its descriptor; that of the segment in *ret_fd, to be given to
 * bpf_rows_publish(). -errno. */
int bpf_rows_make(struct sampler_bpf *program, int *ret_fd);
int bpf_rows_publish(struct sampler_bpf *program, uint32_t index, int fd);

/* Finds and maps the maps of the loaded object. */
int bpf_maps_open(struct sampler_bpf *program);
void bpf_maps_close(struct sampler_bpf *program);

int bpf_ring_open(struct bpf_ring *ring, int fd, size_t size);
void bpf_ring_close(struct bpf_ring *ring);

/* Perf events on all CPUs online, disabled, with the tick program. */
int bpf_ticks_open(struct sampler_bpf *program, uint32_t frequency_hz);
void bpf_ticks_close(struct sampler_bpf *program);

#endif
