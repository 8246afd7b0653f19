/* SPDX-License-Identifier: MIT */
/* What the BPF program and its loader share: ring records and map values.
 *
 * One ring for all CPUs, in the order of reservation. Every record begins with struct sampler_head.
 * The parts of a stack (kernel, native, Python, raw copy) and code objects come before the first
 * sample that names them, once per LRU lifetime; samples carry hashes only. Times are
 * CLOCK_MONOTONIC nanoseconds unless said otherwise; pids are those of the collector's namespace.
 * Fixed-width integers only. Thread-safety: plain data. */
#ifndef ANNOT_SAMPLER_ABI_H
#define ANNOT_SAMPLER_ABI_H

#include "python_offsets.h"
#include "unwind_rule.h"

enum {
    SAMPLER_NATIVE_MAX = 512,
    SAMPLER_PYTHON_MAX = 512,
    SAMPLER_KERNEL_MAX = 64,
    SAMPLER_RANGES_MAX = 32,
    SAMPLER_COPY_MAX = 32768,  /* bytes of stack sent when a table is missing      */
    SAMPLER_TEXT_MAX = 512,    /* bytes of one string of a code object             */
    SAMPLER_LINES_MAX = 4096,  /* bytes of a code object's line table              */
    SAMPLER_COMMAND_MAX = 512, /* bytes of a command line                          */
    SAMPLER_PROCESSES_MAX = 16384,
    SAMPLER_MAPPINGS_MAX = 65536, /* of all processes                                */
    SAMPLER_RULES_MAX = 65536,
    SAMPLER_PYTHONS_MAX = 256,
    SAMPLER_SEGMENT_ROWS = 1 << 18, /* rows in one segment of the row memory         */
    SAMPLER_SEGMENTS_MAX = 128,
};

/* Shorter SWITCHes have no kernel part: it would add a tenth to what they cost, and far more where
 * the kernel must be asked (bpf/sleeper.bpf.h). */
enum { SAMPLER_KERNEL_STRETCH_NS = 20000 };

enum { SAMPLER_CALL_FUTEX = 202 }; /* system call that waits for locks, an interpreter's too */

/* Whether kernel stacks that are known by their words (sleeper.bpf.h) are held against what the
 * kernel says, each time; BLIND: known without a look at the words, to see the check fail. */
enum sampler_sleepers {
    SAMPLER_SLEEPERS_TRUSTED = 0,
    SAMPLER_SLEEPERS_CHECKED = 1,
    SAMPLER_SLEEPERS_BLIND = 2
};

enum sampler_record_kind {
    SAMPLER_SAMPLE = 1,       /* struct sampler_sample                                     */
    SAMPLER_SWITCH = 2,       /* struct sampler_switch                                     */
    SAMPLER_KERNEL = 3,       /* struct sampler_part + uint64_t address[count], leaf first */
    SAMPLER_NATIVE = 4,       /* struct sampler_part + struct sampler_native[count]        */
    SAMPLER_PYTHON = 5,       /* struct sampler_part + struct sampler_python[count]        */
    SAMPLER_COPY = 6,         /* struct sampler_copy + bytes                               */
    SAMPLER_CODE = 7,         /* struct sampler_code + bytes                               */
    SAMPLER_FORK = 8,         /* struct sampler_fork: a new process, not a new thread      */
    SAMPLER_EXEC = 9,         /* struct sampler_exec + command line                        */
    SAMPLER_EXIT = 10,        /* struct sampler_exit: of a thread                          */
    SAMPLER_SHORT = 11,       /* struct sampler_short                                      */
    SAMPLER_LAUNCH = 12,      /* struct sampler_sample: where work of a queue was launched */
    SAMPLER_PROBED = 13,      /* struct sampler_probed: a function that is a range was left */
    SAMPLER_PROBED_ARGS = 14, /* struct sampler_probed_args: what was told at a place of it */
};

struct sampler_head {
    uint16_t kind; /* enum sampler_record_kind */
    uint16_t cpu;
    uint32_t size; /* of the whole record */
    uint64_t time_ns;
    int32_t pid, tid;
    int32_t ns_pid, ns_tid;                     /* in the task's own pid namespace */
    uint64_t process_start_ns, thread_start_ns; /* CLOCK_BOOTTIME of the task: with pid or tid an
                                                   identity; 10 ms of it is field 22 of stat */
};

/* Open ranges of the thread, innermost first. */
struct sampler_range {
    uint32_t name; /* of struct annot_open */
    uint32_t mark; /* 0: the thread's own; else enum sampler_mark, above it the domain's number */
};

/* What is in place of the time of a range that is none of the thread's: enum annot_open_mark. */
enum sampler_mark {
    SAMPLER_MARK_OUTERMOST = 1,
    SAMPLER_MARK_INNER = 2,
    SAMPLER_MARK_INHERITED = 3,
    SAMPLER_MARK_KINDS = 3,  /* mask */
    SAMPLER_MARK_DOMAIN = 2, /* bits below the number */
    SAMPLER_MARK_END = 1 << 18,
};

enum sampler_flags {
    SAMPLER_RANGES_KNOWN = 1u << 0,     /* the live stack was read (depth may be 0)          */
    SAMPLER_RANGES_INHERITED = 1u << 1, /* forked, no event of its own yet: see its FORK     */
    SAMPLER_IN_KERNEL = 1u << 2,        /* sampled in kernel mode                            */
    SAMPLER_GC = 1u << 3,               /* its interpreter collects garbage in this thread   */
    SAMPLER_HOLDS_GIL = 1u << 4,
    SAMPLER_COPIED = 1u << 5,     /* `native` names a SAMPLER_COPY                     */
    SAMPLER_PREEMPTED = 1u << 6,  /* SWITCH: was still runnable                        */
    SAMPLER_IO_WAIT = 1u << 7,    /* SWITCH: the kernel counts it as waiting for I/O   */
    SAMPLER_FAULTED = 1u << 8,    /* SWITCH: not in a system call: a page fault        */
    SAMPLER_GIL_WAIT = 1u << 9,   /* SWITCH: a futex inside the interpreter's runtime  */
    SAMPLER_STILL_OFF = 1u << 10, /* SWITCH: the recording ended before it ran again   */
    SAMPLER_ASLEEP = 1u << 11,    /* SWITCH: it slept already, since when is not known: see below */
    SAMPLER_RETURNING = 1u << 12, /* in map `switches`: it runs again, and is about to tell */
    SAMPLER_ADDS = 1u << 13,   /* in map `switches`: its last stretch is one of the short waits */
    SAMPLER_UNBORN = 1u << 14, /* in map `switches`: forked, and has not run yet */
};

struct sampler_sample {
    struct sampler_head head;

    union {
        uint64_t kernel;   /* hashes of the parts; 0 = none */
        uint64_t launched; /* LAUNCH: when, as the program's own clock tells it */
    };

    uint64_t native, python;
    uint32_t space;                 /* the mappings that were used (struct sampler_process) */
    uint32_t flags;                 /* enum sampler_flags */
    uint8_t native_end, python_end; /* enum stack_end */
    uint16_t launches;              /* LAUNCH: of this thread, that it stands for */
    uint32_t range_depth;           /* open ranges; the innermost SAMPLER_RANGES_MAX follow */
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* record is cut behind the last used one */
};

/* Stretches that are told by no SWITCH, as they were shorter than the threshold or too many. */
struct sampler_short_waits {
    uint64_t begin_ns; /* of the first one */
    uint64_t blocked_ns, runnable_ns;
    uint64_t count; /* 0: none */
};

struct sampler_short {
    struct sampler_head head; /* time_ns: from when on they were added up */
    uint64_t end_ns;          /* until then */
    struct sampler_short_waits waits;
};

/* How often they are told, by threads that switch: where a reader cuts such an interval, it takes
 * them as spread evenly. So those of a thread that switches a lot are told more often. */
#define SAMPLER_SHORT_EVERY_NS 100000000ull
#define SAMPLER_SHORT_LEAST_NS 5000000ull

enum { SAMPLER_SHORT_MANY = 16 };

/* Of the kind of file that a blocking system call waits for (st_mode & S_IFMT), or 0. */
struct sampler_switch {
    struct sampler_head head; /* time_ns: when it left the CPU */
    uint64_t wake_ns;         /* when it became runnable; 0 = was so all the time, or unknown */
    uint64_t end_ns;          /* when it ran again */
    uint64_t used_ns;         /* of CPU time, by the thread until it left */
    uint64_t argument;        /* first argument of the system call */
    int32_t syscall;          /* -1 = none */
    uint32_t file_mode;
    uint32_t state; /* as the kernel's __state: 0 running, 1 interruptible, 2 uninterruptible */
    uint32_t reserved0;
    uint64_t kernel, native, python; /* kernel: see SAMPLER_KERNEL_STRETCH_NS */
    uint32_t space, flags;
    uint8_t native_end, python_end;
    uint16_t reserved1;
    uint32_t range_depth;
    struct sampler_range ranges[SAMPLER_RANGES_MAX];
    struct sampler_short_waits untold; /* in map `switches` only */
};

/* A thread that sleeps when its process is begun with, or at the end, as the program that looks for
 * such tells it, not through the ring: its stretch has no stack, which is to be read from outside.
 * Of the first kind it has SAMPLER_ASLEEP and begins at that time. Registers are those with which
 * it entered the kernel. */
struct sampler_asleep {
    struct sampler_head head; /* of that stretch */
    uint32_t key;             /* in map `switches` */
    uint32_t reserved;
    uint64_t rip, rsp, rbp, rbx;
};

struct sampler_part {
    struct sampler_head head;
    uint64_t hash;
    uint64_t base; /* CFA of the outermost native frame of the sample that brought it; 0 = none.
                      Parts of one stack may come with different samples, of other threads even:
                      their addresses on the C stack are compared relative to this */
    uint32_t space;
    uint16_t count;
    uint8_t end; /* enum stack_end */
    uint8_t reserved;
};

/* Leaf first. `cfa`: the frame's memory lies in [cfa of the frame before, cfa). */
struct sampler_native {
    uint64_t address; /* program counter; of callers: the return address */
    uint64_t cfa;
};

enum sampler_python_flags {
    SAMPLER_PYTHON_ENTRY = 1u << 0, /* the outermost Python frame of its eval function's call    */
    SAMPLER_PYTHON_SHIM = 1u << 1,  /* no frame but the mark of a C call: `anchor` tells where   */
};

/* Leaf first. */
struct sampler_python {
    uint64_t code;   /* address of its code object; 0 for a shim */
    uint64_t key;    /* of its name's and line table's addresses and first line: tells a reused
                        address apart */
    uint64_t anchor; /* an address on the C stack inside the frame of the eval function that runs
                        it (shim or cframe); 0 = unknown */
    int32_t instruction; /* byte offset into its bytecode, -1 = before the first */
    uint8_t owner;       /* as the interpreter says: 0 thread, 1 generator, ... */
    uint8_t flags;
    uint16_t reserved;
};

/* The user's stack, because tables were missing: to be unwound by the collector. `size` bytes from
 * rsp on follow. */
struct sampler_copy {
    struct sampler_head head;
    uint64_t hash; /* unique */
    uint32_t space;
    uint32_t size;
    uint64_t rip, rsp, rbp, rbx;
};

/* A code object, when first met. Bytes that follow: the qualified name's unicode object, the file
 * name's, the line table's bytes, each `*_size` long as it lies in memory (header included for
 * unicode objects, without it for the line table). 0 = not readable. */
struct sampler_code {
    struct sampler_head head;
    uint64_t code, key;
    uint32_t space;
    int32_t first_line;
    uint32_t name_size, file_size;
    uint32_t lines_size;   /* bytes that follow */
    uint32_t lines_length; /* of the whole table */
};

struct sampler_fork {
    struct sampler_head head; /* the child; time_ns of the fork */
    int32_t parent_pid, parent_tid;
    int32_t parent_ns_pid, parent_ns_tid; /* as the parent's own namespace numbers them */
    uint64_t parent_start_ns;
    uint32_t uid;
    uint32_t space; /* inherited */
    uint8_t comm[16];
    uint32_t flags, range_depth; /* of the parent's thread */
    struct sampler_range ranges[SAMPLER_RANGES_MAX];
};

struct sampler_exec {
    struct sampler_head head;
    uint64_t image; /* number of the new one (struct sampler_process) */
    uint32_t uid;
    uint32_t command_size; /* bytes that follow, arguments end with NUL */
    uint8_t comm[16];
};

struct sampler_exit {
    struct sampler_head head;
    int32_t code;  /* wait status */
    uint32_t last; /* 1: the whole process ended */
    uint8_t comm[16];
};

enum sampler_probed_flags {
    SAMPLER_PROBED_LEFT = 1u << 0, /* without a return: by then it was gone */
    SAMPLER_PROBED_MARK = 1u << 1, /* an instant, not a range */
    SAMPLER_PROBED_OPEN = 1u << 2, /* the recording ended before it */
};

struct sampler_probed {
    struct sampler_head head; /* time_ns: when it ended */
    uint64_t begin_ns;
    uint32_t function; /* number of the probe */
    uint32_t flags;    /* enum sampler_probed_flags */
};

enum {
    SAMPLER_ARGS_MAX = 6,
    SAMPLER_ARG_TEXT_SIZE = 128,
    SAMPLER_ARG_LISTS_MAX = 8192, /* places that tell arguments; the first is none */
};

/* Registers are numbered as the processor does, then: */
enum { SAMPLER_ARG_RIP = 16, SAMPLER_ARG_NOTHING = 17, SAMPLER_ARG_BASES = 18 };

enum { SAMPLER_ARG_LOST = -1 }; /* not even the value could be read */

/* base + (index << shift) + offset is the value, or where `size` bytes of it lie in memory. */
struct sampler_arg {
    int64_t offset;
    uint8_t base, index, shift;
    uint8_t size;
    uint8_t text;   /* the value is the address of one */
    uint8_t length; /* what has its length; SAMPLER_ARG_NOTHING: it ends with NUL */
    uint8_t reserved[2];
};

/* Map `probe_wanted`, by list: what a visit of a place tells. */
struct sampler_args {
    uint32_t count;
    uint32_t texts; /* how many are some */
    struct sampler_arg items[SAMPLER_ARGS_MAX];
};

/* Before what it belongs to is told. */
struct sampler_probed_args {
    struct sampler_head head; /* time_ns: when that began */
    uint32_t function;        /* number of the probe */
    uint32_t list;
    uint64_t values[SAMPLER_ARGS_MAX];
    int32_t got[SAMPLER_ARGS_MAX]; /* of a text: bytes with a NUL; negative: not readable */
    char texts[SAMPLER_ARGS_MAX][SAMPLER_ARG_TEXT_SIZE]; /* missing where none are some */
};

/* ---- Map values ------------------------------------------------------------------------------ */

enum sampler_process_flags {
    SAMPLER_WAIT_EXEC = 1u << 0, /* not sampled before its exec */
};

/* Map `processes`, by pid as the collector's namespace has it. A forked child inherits a copy in
 * the kernel; after an exec all but `flags` is 0 until the collector has filled it. */
struct sampler_process {
    uint32_t space;                        /* number of the snapshot of mappings; 0 = none */
    uint32_t mapping_first, mapping_count; /* in map `mappings` */
    uint32_t flags;
    int64_t tls_offset;    /* of libannot's live word from the thread pointer; 0 = unknown */
    uint32_t python;       /* 1 + index in map `pythons`; 0 = no interpreter known */
    int32_t cframe_offset; /* 3.11, 3.12: CFA of the eval function - its cframe; 0 = unknown, then
                              the program learns it */
    uint64_t runtime, runtime_end; /* _PyRuntime */
    uint64_t eval, eval_end;       /* _PyEval_EvalFrameDefault */
    uint64_t image; /* the kernel's number of the image that all this describes; 0 = unknown. With
                       any other, only `flags` count: the collector wrote before it read of the
                       exec. */
};

enum sampler_mapping_kind {
    SAMPLER_MAPPING_TABLE = 1, /* rows are loaded                                             */
    SAMPLER_MAPPING_LAZY = 2,  /* rows are loaded at the first hit: the program sets `wanted`   */
    SAMPLER_MAPPING_FRAME_POINTER = 3, /* anonymous or no .eh_frame: follow rbp                */
    SAMPLER_MAPPING_MISSING = 4,       /* its file or its rows cannot be had: walks end there  */
};

/* Map `mappings`: slices sorted by `begin`. */
struct sampler_mapping {
    uint64_t begin, end;
    uint64_t bias; /* address - bias = row address: the load bias + unwind_table.base */
    uint32_t segment, row_first, row_count; /* in map `rows`[segment] */
    uint16_t kind;
    uint16_t wanted;
};

/* Map `failures`, per CPU: what did not get through. sampler_upkeep.c has their names. */
enum sampler_loss {
    SAMPLER_LOSS_RING_FULL_SAMPLE = 0,
    SAMPLER_LOSS_RING_FULL_STACK = 1, /* then the sample names no stack */
    SAMPLER_LOSS_RING_FULL_SWITCH = 2,
    SAMPLER_LOSS_RING_FULL_LIFE = 3, /* fork, exec, exit */
    SAMPLER_LOSS_RING_FULL_CODE = 4,
    SAMPLER_LOSS_SWITCH_RATE = 5,  /* above the rate cap */
    SAMPLER_LOSS_SWITCH_TABLE = 6, /* more threads off CPU than fit */
    SAMPLER_LOSS_PROCESS_TABLE = 7,
    SAMPLER_LOSS_BUSY = 8, /* the scratch memory was in use: a tick inside a tick */
    SAMPLER_LOSS_OTHER_UID = 9,
    SAMPLER_LOSS_SKIPPED = 10, /* fork, exec, exit: from what the kernel counts */
    SAMPLER_LOSS_UID_SAMPLE = 11,
    SAMPLER_LOSS_UID_SWITCH = 12,
    SAMPLER_LOSS_MALFORMED = 13, /* records that none of ours can be: counted by who takes them */
    SAMPLER_LOSS_RING_FULL_PROBE = 14,
    SAMPLER_LOSS_PROBE_TABLE = 15, /* more threads than fit had probed functions open */
    SAMPLER_LOSS_PROBE_DEPTH = 16, /* more of them in a thread than fit */
    SAMPLER_LOSS_COUNT = 17,
};

/* Also in map `failures`, behind the losses: not losses. */
enum {
    SAMPLER_COUNT_TICKS = 17,
    SAMPLER_COUNT_SAMPLES = 18,
    SAMPLER_COUNT_SWITCHES = 19,
    SAMPLER_COUNT_SHORT = 20,             /* switches below the threshold */
    SAMPLER_COUNT_NS = 21,                /* spent in the sampling program */
    SAMPLER_COUNT_SWITCH_NS = 22,         /* the same when threads leave and enter CPUs */
    SAMPLER_COUNT_UNTOLD = 23,            /* returns to a CPU: not told, nor found by CPU time */
    SAMPLER_COUNT_SLEEPERS_KNOWN = 24,    /* kernel stacks that were known by their words */
    SAMPLER_COUNT_SLEEPERS_ASKED = 25,    /* those that the kernel was asked for */
    SAMPLER_COUNT_SLEEPERS_MISTAKEN = 26, /* those known that the kernel then told otherwise */
    SAMPLER_COUNT_REASONED = 27,          /* returns to a CPU: not told, found by CPU time */
    SAMPLER_COUNT_LAUNCHES = 28,          /* whose stacks were taken */
    SAMPLER_COUNT_LAUNCH_NS = 29,         /* spent on that */
    SAMPLER_COUNTERS = 30
};

/* ---- What the program registers.bpf.c tells of a thread, and of which process ---- */

struct registers_config {
    int32_t pid;            /* the process, as the reader numbers it */
    uint32_t pid_namespace; /* inode of the reader's */
};

/* As the thread had them when it entered the kernel. */
struct thread_registers {
    int32_t tid; /* as the reader numbers it */
    uint32_t reserved;
    uint64_t rip, rsp, rbp, rbx;
};

/* ---- Probes (probes.bpf.c) ---- */

enum {
    SAMPLER_PROBES_MAX = 4096, /* functions */
    SAMPLER_PROBED_MAX = 8192, /* threads that have had some open */
    SAMPLER_OPEN_MAX = 128,    /* in one of them; a power of 2 */
};

/* In place of a function: a range of a pair that has ended, below others. */
enum { SAMPLER_OPENED_NONE = 0xffffffff };

struct sampler_opened {
    uint64_t begin_ns;
    int64_t place; /* stack pointer at the entry */
    uint32_t function, reserved;
};

/* Map `probe_open`. */
struct sampler_open {
    struct sampler_head head; /* who: of a goroutine, the thread that opened the first */
    uint64_t mm;              /* of the image that opened them */
    uint64_t start_ns;        /* of the thread */
    uint32_t count, beyond;   /* of pairs: begun above those that fit */
    struct sampler_opened ranges[SAMPLER_OPEN_MAX];
};

/* What a place is, which the kernel tells the program with each visit. */
enum sampler_site {
    SAMPLER_SITE_ENTRY = 0,
    SAMPLER_SITE_LEAVE = 1,
    SAMPLER_SITE_LEAVE_IF = 2, /* detail: condition of a jump */
    SAMPLER_SITE_LEAVE_TO = 3, /* detail: register with the target */
    SAMPLER_SITE_RETURNED = 4, /* behind the return */
};

/* From low to high: function 12 bits, kind 3, detail 4, GO, RESTARTS, bytes of the function before
 * the place 22, from it on 21: of an entry, and of static probes, the list of its arguments. */
#define SAMPLER_SITE_FUNCTION(cookie) ((uint32_t)((cookie)&4095))
#define SAMPLER_SITE_KIND(cookie)     ((uint32_t)((cookie) >> 12 & 7))
#define SAMPLER_SITE_DETAIL(cookie)   ((uint32_t)((cookie) >> 15 & 15))
#define SAMPLER_SITE_GO               (1ull << 19) /* code of Go */
#define SAMPLER_SITE_RESTARTS         (1ull << 20) /* it jumps to its own entry */
#define SAMPLER_SITE_BEFORE(cookie)   ((cookie) >> 21 & 0x3fffff)
#define SAMPLER_SITE_BEHIND(cookie)   ((cookie) >> 43)
#define SAMPLER_SITE_ARGS(cookie)     ((uint32_t)((cookie) >> 43)) /* 0: none */

enum { SAMPLER_SITE_BEHIND_MAX = 1 << 21 };

/* ---- What the loader tells ------------------------------------------------------------------- */

/* Before the program is loaded; and layouts of foreign memory that both must agree on. */

/* Section .rodata.config: constants to the verifier. */
struct sampler_config {
    uint64_t threshold_ns;     /* shorter stretches off CPU are only counted */
    uint64_t rate_max;         /* stretches a second; 0 = no switches are looked at */
    uint64_t ring_bytes;       /* size of the ring */
    int64_t uid;               /* -1 = of all users */
    uint32_t pid_namespace;    /* inode of the collector's; 0 = it is the root namespace */
    uint32_t switch_has_state; /* tracepoint sched_switch tells the state that led to it */
    uint32_t exit_has_group;   /* tracepoint sched_process_exit tells whether it is the last */
    uint32_t user_is_unsafe;   /* see kernel_flaw_freezes() */
    uint32_t check_sleepers;   /* enum sampler_sleepers */
    uint32_t walks_at_leave;   /* stacks are taken when threads leave CPUs: see bpf/sched.bpf.h */
};

/* Section .bss.stop: set by the collector while the program runs. */
struct sampler_control {
    uint32_t stopped; /* what is off CPU stays as it is, to be listed */
    uint32_t listing; /* sampler_asleep tells those whose stretches go on, instead of new ones */
};

/* libannot's struct annot_thread and annot_open: the loader asserts that they still lie so. */
enum {
    LIVE_PID_OFFSET = 8, /* pid, tid, depth: 12 bytes */
    LIVE_RANGES_OFFSET = 128,
    LIVE_RANGE_SIZE = 16, /* name, instance, time */
    LIVE_RANGES = 32,
};

/* Of a function and its kernel module, as the kernel writes them. */
enum { KERNEL_NAME_MAX = 512 };

#endif
