/* SPDX-License-Identifier: MIT */
/* The kernel's part of the sampler: loads it, attaches it, gives access to its maps and ring.
 *
 * Pids are those of the caller's pid namespace, also as keys of map `processes`: the program
 * translates, and ignores tasks that this namespace does not show. Everything begins disabled but
 * fork, exec and exit, which are told from creation on for processes in the map.
 * Errors: 0 or -errno. Prints nothing. Thread-safety: one thread per object; creation also sets
 * and restores libbpf's print function, which is global. */
#ifndef ANNOT_BPF_PROGRAM_H
#define ANNOT_BPF_PROGRAM_H

#include "sampler_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program_options {
    uint32_t frequency_hz; /* 0 = no CPU samples */
    bool off_cpu;
    uint64_t off_cpu_threshold_ns; /* shorter stretches are only counted */
    uint32_t off_cpu_rate_max;     /* stretches a second; 0 = 500,000 */
    int64_t uid;                   /* only tasks of this real and effective uid; -1 = of all */
    uint32_t ring_bytes;           /* rounded up to a power of two; 0 = 16 MiB */
    uint32_t check_sleepers;       /* for tests: enum sampler_sleepers */
    bool walks_at_leave;           /* for tests: as where a thread's return cannot be met */
    bool measure;                  /* for benches: asks the verifier how long it took */
};

struct sampler_bpf;

enum { BPF_PROGRAM_REASON_MAX = 4096 };

/* -EPERM, -ENOSYS (built without eBPF), -errno; then `reason` says what failed, a sentence first,
 * behind it the last lines of libbpf's log. About 20 ms, on two processors. */
int bpf_program_create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                       char reason[BPF_PROGRAM_REASON_MAX]);
/* Threads that are in the kernel, or leave a CPU, have no stacks of their program:
 * kernel_flaw_freezes().
 */
bool bpf_program_user_is_unsafe(void);
void bpf_program_destroy(struct sampler_bpf *program);

/* CPU samples: on and off, and how many a second from now on. */
int bpf_program_enable(struct sampler_bpf *program);
int bpf_program_disable(struct sampler_bpf *program);
/* For good: no more ticks and context switches; bpf_program_still_off() tells what was going on. */
int bpf_program_stop(struct sampler_bpf *program);
int bpf_program_set_frequency(struct sampler_bpf *program, uint32_t frequency_hz);

/* ---- Maps -------------------------------------------------------------------------------------
 */

/* Map `processes`. set: -E2BIG when full; get, remove: -ENOENT. `exist` refuses to make a new entry
 * (-ENOENT): for one that may have exited since. */
int bpf_program_set_process(struct sampler_bpf *program, int32_t pid,
                            const struct sampler_process *process, bool exist);
int bpf_program_get_process(struct sampler_bpf *program, int32_t pid,
                            struct sampler_process *ret_process);
int bpf_program_remove_process(struct sampler_bpf *program, int32_t pid);

/* Mapped memory that the program reads while it is written: write entries that no process refers
 * to yet. NULL: the index is too high. */
struct sampler_mapping *bpf_program_mappings(struct sampler_bpf *program); /* the whole array */
struct unwind_rule *bpf_program_rule(struct sampler_bpf *program, uint32_t index);
struct python_offsets *bpf_program_python(struct sampler_bpf *program, uint32_t index);

/* SAMPLER_SEGMENT_ROWS rows, made at the first call (2 MiB of kernel memory, 5-15 ms). */
int bpf_program_row_segment(struct sampler_bpf *program, uint32_t index,
                            struct unwind_row **ret_rows);

/* Sums over all CPUs, by enum sampler_loss and what stands behind it. */
int bpf_program_counters(struct sampler_bpf *program, uint64_t ret_counters[SAMPLER_COUNTERS]);

/* The symbol of an address in the kernel, by asking it; without what stands behind a function's
 * name. 0; -ENOENT: it has none; -EOPNOTSUPP: the kernel cannot be asked (before 5.13). A few us.
 */
int bpf_program_kernel_name(struct sampler_bpf *program, uint64_t address, char *ret_name,
                            size_t size);

/* ---- Launches ----
 *
 * Tells, as SAMPLER_LAUNCH, what calls the function at that offset of the file: of processes in the
 * map. `path` is opened now. -EMFILE: so many files already; -errno. The first takes some 20 ms. */
int bpf_program_watch_launches(struct sampler_bpf *program, const char *path, uint64_t offset);

/* ---- Functions that are ranges ----
 *
 * Tells, as SAMPLER_PROBED, when they are left: by processes in the map. The kernel puts the places
 * into every process that runs the file. */

enum bpf_probe_kind {
    BPF_PROBE_CALLS, /* where functions begin and end, told apart by their stack */
    BPF_PROBE_PAIR,  /* begins and ends, wherever they are: an end is that of the last begin */
    BPF_PROBE_MARK,  /* told at once, as an instant */
    BPF_PROBE_KINDS,
};

struct bpf_probe_places {
    uint32_t number; /* of the function, below SAMPLER_PROBES_MAX: by it all else is asked */
    uint32_t count;
    const unsigned long *offsets;    /* in the file */
    const uint64_t *cookies;         /* SAMPLER_SITE_..., one of each place */
    const unsigned long *references; /* counters to be raised while it is there; NULL: none */
    bool returned;                   /* met when the function there has returned */
    enum bpf_probe_kind kind;
};

/* Adds places of one file, which is opened now. 0 or -errno. The first takes 10 ms, others some 0.1
 * ms each; taking them away makes the kernel wait for all CPUs. */
int bpf_program_probe(struct sampler_bpf *program, const char *path,
                      const struct bpf_probe_places *places);
/* From then on places whose cookie has that list tell this too, as SAMPLER_PROBED_ARGS; once any
 * place was added. 0 or -errno. */
int bpf_program_probe_args(struct sampler_bpf *program, uint32_t list,
                           const struct sampler_args *wanted);
/* Takes its places away; UINT32_MAX: those of all. */
void bpf_program_unprobe(struct sampler_bpf *program, uint32_t number);
/* How often it was entered by those in the map; or by all others, which are only slowed down. */
uint64_t bpf_program_probe_calls(const struct sampler_bpf *program, uint32_t number, bool foreign);

/* A thread, or a goroutine, that has had some open. */
struct bpf_probed {
    struct {
        uint64_t who;        /* tid, or an address */
        uint32_t pid, pairs; /* 1: of BPF_PROBE_PAIR */
    } who;

    struct sampler_open open;
};

/* The first, or the one behind it. 0; -ENOENT: there is none. */
int bpf_program_probed_next(struct sampler_bpf *program, struct bpf_probed *probed, bool first);
/* By its `who`. */
bool bpf_program_probed_find(struct sampler_bpf *program, struct bpf_probed *probed);
void bpf_program_probed_forget(struct sampler_bpf *program, const struct bpf_probed *probed);

/* ---- Records ----------------------------------------------------------------------------------
 */

/* Readable when the program wants to be drained: an exec, a missing table, a ring a quarter full;
 * also whenever anything is in the ring at the time of the poll(2). */
int bpf_program_fd(const struct sampler_bpf *program);

/* Where the kernel will put the next record: what bpf_program_drain() takes as its end. */
uint64_t bpf_program_position(const struct sampler_bpf *program);
/* Whether more than half of the ring waits to be taken. */
bool bpf_program_is_filling(const struct sampler_bpf *program);

/* `record`: aligned to 8 bytes, valid during the call; record->size bytes can be read, at least
 * as many as the fixed part of its kind has. Not 0 ends the drain; the record counts as taken if it
 * is negative, else it comes again. */
typedef int (*bpf_program_take)(void *context, const struct sampler_head *record);

/* Takes records in order up to `position`; stops early before one that is still being written.
 * 0 or what `take` returned. */
int bpf_program_drain(struct sampler_bpf *program, uint64_t position, bpf_program_take take,
                      void *context);

/* The part of a stack with that hash is sent again when it is met. */
void bpf_program_forget_part(struct sampler_bpf *program, uint64_t hash);

/* Threads that are off CPU now, as SAMPLER_SWITCH with SAMPLER_STILL_OFF and end_ns = now; and the
 * short waits that were not told yet, as SAMPLER_SHORT. */
int bpf_program_still_off(struct sampler_bpf *program, bpf_program_take take, void *context);

/* Opens a stretch off CPU for each thread that sleeps, is of a process in the map, and has none;
 * tells those (free(*ret_threads)). `known`: tells those that have one instead, are not back yet,
 * and whose stacks are taken only then. 0; -errno; without off_cpu there are none. Some ns for each
 * thread of the machine. */
int bpf_program_find_asleep(struct sampler_bpf *program, bool known,
                            struct sampler_asleep **ret_threads, size_t *ret_count);
/* Whether that stretch goes on: if so, the thread's memory stood still since. */
bool bpf_program_is_asleep(struct sampler_bpf *program, const struct sampler_asleep *thread);

/* What a program costs, for tests and benches: how many instructions the kernel's verifier walked
 * through, and how long it took (0: not options.measure); how often it ran, and how long, while the
 * kernel counted that (BPF_ENABLE_STATS). false: no more programs. */
struct bpf_program_cost {
    const char *name;
    uint32_t verified;
    uint64_t verify_ns;
    uint64_t runs, run_ns;
};

bool bpf_program_cost(const struct sampler_bpf *program, size_t index,
                      struct bpf_program_cost *ret_cost);

/* Where the time of bpf_program_create() went, by the wall clock. Maps are made meanwhile on
 * another thread: `maps` is what is left to wait for, `maps_all` what they took on both. */
struct bpf_program_times {
    uint64_t open_ns, types_ns, maps_ns, maps_all_ns, load_ns, attach_ns;
};

void bpf_program_times(const struct sampler_bpf *program, struct bpf_program_times *ret_times);

/* ---- User registers of the threads of a process that wait in the kernel, by a BPF iterator
 * (Linux 5.15, CAP_BPF and CAP_PERFMON) ---- */

struct bpf_registers {
    struct thread_registers *threads; /* free */
    size_t count;
};

/* 0, or -errno: they cannot be had, wholly or in part, which is no failure of whoever looks. */
int bpf_registers_read(int32_t pid, struct bpf_registers *ret_registers);

#endif
