/* SPDX-License-Identifier: MIT */
/* The kernel's part of the sampler: loads it, attaches it, gives access to its maps and ring.
 *
 * Pids are those of the caller's pid namespace, also as keys of map `processes`: the program
 * translates, and ignores tasks invisible in this namespace. All is disabled at first except fork,
 * exec and exit, which are reported from creation on for processes in the map.
 * Errors: 0 or -errno. Prints nothing. Thread-safety: one thread per object; creation also sets
 * and restores libbpf's print function, which is global. */
#ifndef ANNOT_BPF_PROGRAM_H
#define ANNOT_BPF_PROGRAM_H

#include "sampler_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;

struct bpf_program_options {
    uint32_t frequency_hz; /* 0 = no CPU samples */
    bool off_cpu;
    uint64_t off_cpu_threshold_ns; /* shorter stretches are only counted */
    uint32_t off_cpu_rate_max;     /* stretches per second; 0 = 500,000 */
    int64_t uid;                   /* only tasks of this real and effective uid; -1 = of all */
    uint32_t ring_bytes;           /* rounded up to a power of two; 0 = 16 MiB */
    uint32_t check_sleepers;       /* for tests: enum sampler_sleepers */
    bool walks_at_leave;           /* for tests: as if a thread's return could not be hooked */
    bool measure;                  /* for benches: records the verifier's time */
};

struct sampler_bpf;

enum { BPF_PROGRAM_REASON_MAX = 4096 };

/* -EPERM, -ENOSYS (built without eBPF), -errno; then `reason` describes the failure in a sentence,
 * followed by the last lines of libbpf's log. About 20 ms, with `off_cpu` 40. */
int bpf_program_create(const struct bpf_program_options *options, struct sampler_bpf **ret_program,
                       char reason[BPF_PROGRAM_REASON_MAX]);

/* True if user stacks of threads that are in the kernel, or leave a CPU, must not be read:
 * kernel_flaw_freezes(). */
bool bpf_program_user_is_unsafe(void);
void bpf_program_destroy(struct sampler_bpf *program);

/* CPU samples: on and off; the frequency is set below. */
int bpf_program_enable(struct sampler_bpf *program);
int bpf_program_disable(struct sampler_bpf *program);

/* Stops ticks and context switches permanently; then bpf_program_still_off() lists the unfinished
 * stretches. */
int bpf_program_stop(struct sampler_bpf *program);

/* Call once: the time per tick is known for two frequencies. On error the processors that could not
 * be changed keep the old one. */
int bpf_program_set_frequency(struct sampler_bpf *program, uint32_t frequency_hz);

/* The CPU time that the tick at that time on that processor stands for. */
uint64_t bpf_program_tick_ns(const struct sampler_bpf *program, unsigned cpu, uint64_t time_ns);

/* ---- Maps ------------------------------------------------------------------------------------ */

/* Map `processes`. set: -E2BIG when full; get, remove: -ENOENT. `exist` refuses to add an entry
 * (-ENOENT), as the process may have exited since. */
int bpf_program_set_process(struct sampler_bpf *program, int32_t pid,
                            const struct sampler_process *process, bool exist);
int bpf_program_get_process(struct sampler_bpf *program, int32_t pid,
                            struct sampler_process *ret_process);
int bpf_program_remove_process(struct sampler_bpf *program, int32_t pid);

/* Mapped memory that the program reads while it is written: write only entries that no process
 * refers to yet. NULL: the index is too high. */
struct sampler_mapping *bpf_program_mappings(struct sampler_bpf *program); /* the whole array */
struct unwind_rule *bpf_program_rule(struct sampler_bpf *program, uint32_t index);
struct python_offsets *bpf_program_python(struct sampler_bpf *program, uint32_t index);

/* SAMPLER_SEGMENT_ROWS rows, allocated at the first call (2 MiB of kernel memory, 5-15 ms). */
int bpf_program_row_segment(struct sampler_bpf *program, uint32_t index,
                            struct unwind_row **ret_rows);

/* Sums over all CPUs, by enum sampler_loss and the counters after it. */
int bpf_program_counters(struct sampler_bpf *program, uint64_t ret_counters[SAMPLER_COUNTERS]);

/* The symbol of a kernel address, from the kernel, without the suffix of a function's name. 0;
 * -ENOENT: no symbol; -EOPNOTSUPP: not supported (before 5.13). A few us. */
int bpf_program_kernel_name(struct sampler_bpf *program, uint64_t address, char *ret_name,
                            size_t size);

/* ---- Records --------------------------------------------------------------------------------- */

/* Readable when the program wants to be drained: an exec, a missing table, a ring a quarter full;
 * also whenever the ring is not empty at the time of the poll(2). */
int bpf_program_fd(const struct sampler_bpf *program);

/* The position of the next record: an end for bpf_program_drain(). */
uint64_t bpf_program_position(const struct sampler_bpf *program);

/* True if more than half of the ring is full. */
bool bpf_program_is_filling(const struct sampler_bpf *program);

/* `record`: aligned to 8 bytes, valid during the call; record->size bytes can be read, at least
 * as many as the fixed part of its kind has. Not 0 ends the drain; the record counts as taken if it
 * is negative, else it is passed again. */
typedef int (*bpf_program_take)(void *context, const struct sampler_head *record);

/* Takes records in order up to `position`; stops early before one that is still being written.
 * Returns 0 or the result of `take`. */
int bpf_program_drain(struct sampler_bpf *program, uint64_t position, bpf_program_take take,
                      void *context);

/* Makes the program send the part of a stack with that hash again at its next use. */
void bpf_program_forget_part(struct sampler_bpf *program, uint64_t hash);

/* Reports threads that are off CPU now, as SAMPLER_SWITCH with SAMPLER_STILL_OFF and end_ns = now;
 * and the unreported short waits, as SAMPLER_SHORT. */
int bpf_program_still_off(struct sampler_bpf *program, bpf_program_take take, void *context);

/* Opens a stretch off CPU for each sleeping thread of a process in the map that has none; returns
 * these (free(*ret_threads)). `known`: returns instead those that have one, are not back yet, and
 * would have their stacks taken only then. 0; -errno; without off_cpu the list is empty. Some ns
 * for each thread of the machine. */
int bpf_program_find_asleep(struct sampler_bpf *program, bool known,
                            struct sampler_asleep **ret_threads, size_t *ret_count);

/* True if that stretch goes on: then the thread's memory has not changed since. */
bool bpf_program_is_asleep(struct sampler_bpf *program, const struct sampler_asleep *thread);

/* The cost of a program, for tests and benches: number of instructions the kernel's verifier
 * followed, and its time (0: not options.measure); number of runs and their time, while the kernel
 * counted them (BPF_ENABLE_STATS). false: no more programs. */
struct bpf_program_cost {
    const char *name;
    uint32_t verified;
    uint64_t verify_ns;
    uint64_t runs, run_ns;
};

bool bpf_program_cost(const struct sampler_bpf *program, size_t index,
                      struct bpf_program_cost *ret_cost);

/* The parts of the time of bpf_program_create(), by the wall clock. Maps are made meanwhile on
 * another thread: `maps` is the remaining wait, `maps_all` their time on both. */
struct bpf_program_times {
    uint64_t open_ns, types_ns, maps_ns, maps_all_ns, load_ns, attach_ns;
};

void bpf_program_times(const struct sampler_bpf *program, struct bpf_program_times *ret_times);

/* ---- For the other files of the program ---- */

/* Opens another copy of its programs and maps, all without autoload. NULL: errno. */
struct bpf_object *bpf_open_object(const struct sampler_bpf *program);

/* Likewise for another object file. */
struct bpf_object *bpf_open_bytes(const struct sampler_bpf *program, const void *bytes,
                                  size_t size);

/* ---- Kernels that a BPF program can freeze by reading a program's memory ----
 *
 * From Linux 5.18 until "mm: Fix copy_from_user_nofault()" (6.4, and stable releases), such a read
 * takes the lock of the vmalloc areas. A tick may have interrupted its holder, and at a switch of
 * threads the run queue's lock is held, which the holder's interrupts need: the machine hangs
 * forever. There, user memory is not read in a tick that interrupted the kernel, nor at a
 * switch. */

/* From uname(): release "6.1.0-18-amd64", version "#1 SMP Debian 6.1.76-1 (...)". */
bool kernel_flaw_freezes(const char *release, const char *version);

#endif
