/* SPDX-License-Identifier: MIT */
/* Shared by the BPF program and its loader: ring records and map values.
 *
 * One ring for all CPUs, in the order of reservation. Every record begins with struct sampler_head.
 * The parts of a stack (kernel, native, Python, raw copy) and code objects come before the first
 * sample that refers to them, once per LRU lifetime; samples carry hashes only. Times are
 * CLOCK_MONOTONIC nanoseconds unless stated otherwise; pids are those of the collector's namespace.
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
    SAMPLER_COPY_MAX = 32768,  /* bytes of stack sent when a table is missing */
    SAMPLER_TEXT_MAX = 512,    /* bytes of one string of a code object */
    SAMPLER_LINES_MAX = 4096,  /* bytes of a code object's line table */
    SAMPLER_COMMAND_MAX = 512, /* bytes of a command line */
    SAMPLER_PROCESSES_MAX = 16384,
    SAMPLER_MAPPINGS_MAX = 65536, /* of all processes */
    SAMPLER_RULES_MAX = 65536,
    SAMPLER_PYTHONS_MAX = 256,
    SAMPLER_SEGMENT_ROWS = 1 << 18, /* rows in one segment of the row memory */
    SAMPLER_SEGMENTS_MAX = 128,
};

/* Shorter SWITCHes have no kernel part: it would add a tenth to their cost, and far more where the
 * kernel's unwinder must be called (bpf/sleeper.bpf.h). */
enum { SAMPLER_KERNEL_STRETCH_NS = 20000 };

/* The system call that waits for locks, including an interpreter's. */
enum { SAMPLER_CALL_FUTEX = 202 };

/* Checks of kernel stacks recognised by their words (sleeper.bpf.h) against the kernel's unwinder,
 * each time; BLIND: recognised without comparing words, to see the check fail. */
enum sampler_sleepers {
    SAMPLER_SLEEPERS_TRUSTED = 0,
    SAMPLER_SLEEPERS_CHECKED = 1,
    SAMPLER_SLEEPERS_BLIND = 2
};

enum sampler_record_kind {
    SAMPLER_SAMPLE = 1,       /* struct sampler_sample */
    SAMPLER_SWITCH = 2,       /* struct sampler_switch */
    SAMPLER_KERNEL = 3,       /* struct sampler_part + uint64_t address[count], leaf first */
    SAMPLER_NATIVE = 4,       /* struct sampler_part + struct sampler_native[count] */
    SAMPLER_PYTHON = 5,       /* struct sampler_part + struct sampler_python[count] */
    SAMPLER_COPY = 6,         /* struct sampler_copy + bytes */
    SAMPLER_CODE = 7,         /* struct sampler_code + bytes */
    SAMPLER_FORK = 8,         /* struct sampler_fork: a new process, not a new thread */
    SAMPLER_EXEC = 9,         /* struct sampler_exec + command line */
    SAMPLER_EXIT = 10,        /* struct sampler_exit: of a thread */
    SAMPLER_SHORT = 11,       /* struct sampler_short */
    SAMPLER_LAUNCH = 12,      /* struct sampler_sample: launch of a queue's work */
    SAMPLER_PROBED = 13,      /* struct sampler_probed: exit of a function that is a range */
    SAMPLER_PROBED_ARGS = 14, /* struct sampler_probed_args: arguments at one of its places */
    SAMPLER_ALLOCATED = 15,   /* struct sampler_sample: a sampled block was allocated */
    SAMPLER_FREED = 16,       /* struct sampler_freed */
};

struct sampler_head {
    uint16_t kind; /* enum sampler_record_kind */
    uint16_t cpu;
    uint32_t size; /* of the whole record */
    uint64_t time_ns;
    int32_t pid, tid;
    int32_t ns_pid, ns_tid; /* in the task's own pid namespace */
    uint64_t process_start_ns,
        thread_start_ns; /* CLOCK_BOOTTIME of the task: with pid or tid an identity; field 22 of
                            stat has it in units of 10 ms */
};

/* Open ranges of the thread, innermost first. */
struct sampler_range {
    uint32_t name; /* of struct annot_open */
    uint32_t mark; /* 0: the thread's own; else enum sampler_mark, and in higher bits the domain's
                      number */
};

/* In place of the time of a range that is not the thread's own: enum annot_open_mark. */
enum sampler_mark {
    SAMPLER_MARK_OUTERMOST = 1,
    SAMPLER_MARK_INNER = 2,
    SAMPLER_MARK_INHERITED = 3,
    SAMPLER_MARK_KINDS = 3,  /* mask */
    SAMPLER_MARK_DOMAIN = 2, /* bits below the domain's number */
    SAMPLER_MARK_END = 1 << 18,
};

enum sampler_flags {
    SAMPLER_RANGES_KNOWN = 1u << 0,     /* the live stack was read (depth may be 0) */
    SAMPLER_RANGES_INHERITED = 1u << 1, /* forked, without an own event yet: see its FORK */
    SAMPLER_IN_KERNEL = 1u << 2,        /* sampled in kernel mode */
    SAMPLER_GC = 1u << 3,               /* its interpreter collects garbage in this thread */
    SAMPLER_HOLDS_GIL = 1u << 4,
    SAMPLER_COPIED = 1u << 5,     /* `native` refers to a SAMPLER_COPY */
    SAMPLER_PREEMPTED = 1u << 6,  /* SWITCH: was still runnable */
    SAMPLER_IO_WAIT = 1u << 7,    /* SWITCH: the kernel accounts it as waiting for I/O */
    SAMPLER_FAULTED = 1u << 8,    /* SWITCH: not in a system call: a page fault */
    SAMPLER_GIL_WAIT = 1u << 9,   /* SWITCH: a futex inside the interpreter's runtime */
    SAMPLER_STILL_OFF = 1u << 10, /* SWITCH: the recording ended before it ran again */
    SAMPLER_ASLEEP = 1u << 11,    /* SWITCH: it slept already, of unknown start: see below */
    SAMPLER_RETURNING =
        1u << 12,              /* in map `switches`: it runs again, and is about to be reported */
    SAMPLER_ADDS = 1u << 13,   /* in map `switches`: its last stretch is one of the short waits */
    SAMPLER_UNBORN = 1u << 14, /* in map `switches`: forked, and has not run yet */
};

struct sampler_sample {
    struct sampler_head head;

    union {
        uint64_t kernel;   /* hashes of the parts; 0 = none */
        uint64_t launched; /* LAUNCH: time, by the program's own clock */
        uint64_t block;    /* ALLOCATED: its number in the process */
    };

    uint64_t block_size, block_weight; /* ALLOCATED: bytes; bytes that the sample stands for */

    uint64_t native, python;
    uint32_t space;                 /* the mappings used (struct sampler_process) */
    uint32_t flags;                 /* enum sampler_flags */
    uint8_t native_end, python_end; /* enum stack_end */
    uint16_t launches;              /* LAUNCH: number of the thread's launches that it stands for */
    uint32_t range_depth;           /* open ranges; the innermost SAMPLER_RANGES_MAX follow */
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* record ends after the last used one */
};

/* A sampled block was freed, by any thread of its process. */
struct sampler_freed {
    struct sampler_head head;
    uint64_t block; /* as in its ALLOCATED */
};

/* Stretches not reported by a SWITCH, as they were shorter than the threshold or too many. */
struct sampler_short_waits {
    uint64_t begin_ns; /* of the first one */
    uint64_t blocked_ns, runnable_ns;
    uint64_t count; /* 0: empty */
};

struct sampler_short {
    struct sampler_head head; /* time_ns: start of the interval */
    uint64_t end_ns;          /* end of the interval */
    struct sampler_short_waits waits;
};

/* Interval of these reports for threads that switch: a reader that cuts an interval assumes an even
 * spread. So a thread that switches a lot reports more often. */
#define SAMPLER_SHORT_EVERY_NS 100000000ull
#define SAMPLER_SHORT_LEAST_NS 5000000ull

enum { SAMPLER_SHORT_MANY = 16 };

/* file_mode: the kind of file that a blocking system call waits for (st_mode & S_IFMT), or 0. */
struct sampler_switch {
    struct sampler_head head; /* time_ns: when it left the CPU */
    uint64_t wake_ns;         /* when it became runnable; 0 = always was, or unknown */
    uint64_t end_ns;          /* when it ran again */
    uint64_t used_ns;         /* the thread's CPU time until it left */
    uint64_t argument;        /* first argument of the system call */
    int32_t syscall;          /* -1 = not in one */
    uint32_t file_mode;
    uint32_t state; /* the kernel's __state: 0 running, 1 interruptible, 2 uninterruptible */
    uint32_t reserved0;
    uint64_t kernel, native, python; /* kernel: see SAMPLER_KERNEL_STRETCH_NS */
    uint32_t space, flags;
    uint8_t native_end, python_end;
    uint16_t reserved1;
    uint32_t range_depth;
    struct sampler_range ranges[SAMPLER_RANGES_MAX];
    struct sampler_short_waits unreported; /* in map `switches` only */
};

/* A thread that sleeps when sampling of its process begins, or at the end, as returned by the
 * program that lists such threads, not through the ring: its stretch has no stack, which is to be
 * read from outside. One of the first kind has SAMPLER_ASLEEP and begins at that time. Registers
 * are those with which it entered the kernel. */
struct sampler_asleep {
    struct sampler_head head; /* of the stretch */
    uint32_t key;             /* in map `switches` */
    uint32_t reserved;
    uint64_t rip, rsp, rbp, rbx;
};

struct sampler_part {
    struct sampler_head head;
    uint64_t hash;
    uint64_t base; /* CFA of the outermost native frame of the sample that sent it; 0 = none. Parts
                      of one stack may come with different samples, even of other threads: their
                      addresses on the C stack are compared relative to this */
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
    SAMPLER_PYTHON_ENTRY = 1u << 0, /* the outermost Python frame of a call of the eval function */
    SAMPLER_PYTHON_SHIM = 1u << 1,  /* not a frame but the mark of a C call, at `anchor` */
};

/* Leaf first. */
struct sampler_python {
    uint64_t code; /* address of its code object; 0 for a shim */
    uint64_t key;  /* hash of its name's and line table's addresses and first line: detects a reused
                      address */
    uint64_t anchor; /* an address on the C stack inside the frame of the eval function that runs
                        it (shim or cframe); 0 = unknown */
    int32_t instruction; /* byte offset into its bytecode, -1 = before the first */
    uint8_t owner;       /* as in the interpreter: 0 thread, 1 generator, ... */
    uint8_t flags;
    uint16_t reserved;
};

/* The user's stack, sent because tables were missing: to be unwound by the collector. `size` bytes
 * from rsp on follow. */
struct sampler_copy {
    struct sampler_head head;
    uint64_t hash; /* unique */
    uint32_t space;
    uint32_t size;
    uint64_t rip, rsp, rbp, rbx;
};

/* A code object, sent at first sight. Bytes that follow: the qualified name's unicode object, the
 * file name's, the line table's bytes, each `*_size` long as in memory (header included for unicode
 * objects, without it for the line table). 0 = unreadable. */
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
    int32_t parent_ns_pid, parent_ns_tid; /* in the parent's own namespace */
    uint64_t parent_start_ns;
    uint32_t uid;
    uint32_t space; /* inherited */
    uint8_t comm[16];
    uint32_t flags, range_depth; /* of the parent's thread */
    struct sampler_range ranges[SAMPLER_RANGES_MAX];
};

struct sampler_exec {
    struct sampler_head head;
    uint64_t image; /* the new image's number (struct sampler_process) */
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
    SAMPLER_PROBED_LEFT = 1u << 0, /* ended without a return: discovered later */
    SAMPLER_PROBED_MARK = 1u << 1, /* an instant, not a range */
    SAMPLER_PROBED_OPEN = 1u << 2, /* unfinished at the end of the recording */
};

struct sampler_probed {
    struct sampler_head head; /* time_ns: its end */
    uint64_t begin_ns;
    uint32_t function; /* number of the probe */
    uint32_t flags;    /* enum sampler_probed_flags */
};

enum {
    SAMPLER_ARGS_MAX = 6,
    SAMPLER_ARG_TEXT_SIZE = 128,
    SAMPLER_ARG_LISTS_MAX = 8192, /* lists of arguments; the first is empty */
};

/* Registers have the processor's numbers, then: */
enum { SAMPLER_ARG_RIP = 16, SAMPLER_ARG_NOTHING = 17, SAMPLER_ARG_BASES = 18 };

enum { SAMPLER_ARG_LOST = -1 }; /* the value is unreadable */

/* base + (index << shift) + offset is the value, or the address of its `size` bytes in memory. */
struct sampler_arg {
    int64_t offset;
    uint8_t base, index, shift;
    uint8_t size;
    uint8_t text;   /* the value is the address of a text */
    uint8_t length; /* register with its length; SAMPLER_ARG_NOTHING: it ends with NUL */
    uint8_t reserved[2];
};

/* Map `probe_wanted`, by list: the arguments to read at a place. */
struct sampler_args {
    uint32_t count;
    uint32_t texts; /* number of texts in it */
    struct sampler_arg items[SAMPLER_ARGS_MAX];
};

/* Sent before the record of its range. */
struct sampler_probed_args {
    struct sampler_head head; /* time_ns: start of the range */
    uint32_t function;        /* number of the probe */
    uint32_t list;
    uint64_t values[SAMPLER_ARGS_MAX];
    int32_t got[SAMPLER_ARGS_MAX]; /* for a text: bytes with a NUL; negative: unreadable */
    char texts[SAMPLER_ARGS_MAX][SAMPLER_ARG_TEXT_SIZE]; /* omitted without texts */
};

/* ---- Map values ------------------------------------------------------------------------------ */

enum sampler_process_flags {
    SAMPLER_WAIT_EXEC = 1u << 0, /* not sampled before its exec */
};

/* Map `processes`, by pid in the collector's namespace. A forked child inherits a copy in the
 * kernel; after an exec all but `flags` is 0 until the collector has filled it. */
struct sampler_process {
    uint32_t space;                        /* number of the snapshot of mappings; 0 = none */
    uint32_t mapping_first, mapping_count; /* in map `mappings` */
    uint32_t flags;
    int64_t tls_offset;    /* offset of libannot's live word from the thread pointer; 0 = unknown */
    uint32_t python;       /* 1 + index in map `pythons`; 0 = no interpreter known */
    int32_t cframe_offset; /* 3.11, 3.12: CFA of the eval function - its cframe; 0 = unknown, then
                              the program learns it */
    uint64_t runtime, runtime_end; /* _PyRuntime */
    uint64_t eval, eval_end;       /* _PyEval_EvalFrameDefault */
    uint64_t
        image; /* the kernel's number of the image described here; 0 = unknown. With any other, only
                  `flags` are valid: the collector wrote before it read the exec's record. */
};

enum sampler_mapping_kind {
    SAMPLER_MAPPING_TABLE = 1, /* rows are loaded */
    SAMPLER_MAPPING_LAZY = 2,  /* rows are loaded at the first hit: the program sets `wanted` */
    SAMPLER_MAPPING_FRAME_POINTER = 3, /* anonymous or no .eh_frame: follow rbp */
    SAMPLER_MAPPING_MISSING = 4,       /* its file or its rows are unavailable: walks end there */
};

/* Map `mappings`: slices sorted by `begin`. */
struct sampler_mapping {
    uint64_t begin, end;
    uint64_t bias; /* address - bias = row address: the load bias + unwind_table.base */
    uint32_t segment, row_first, row_count; /* in map `rows`[segment] */
    uint16_t kind;
    uint16_t wanted;
};

/* Map `failures`, per CPU: counts of dropped data. sampler_upkeep.c has their names. */
enum sampler_loss {
    SAMPLER_LOSS_RING_FULL_SAMPLE = 0,
    SAMPLER_LOSS_RING_FULL_STACK = 1, /* then the sample has no stack */
    SAMPLER_LOSS_RING_FULL_SWITCH = 2,
    SAMPLER_LOSS_RING_FULL_LIFE = 3, /* fork, exec, exit */
    SAMPLER_LOSS_RING_FULL_CODE = 4,
    SAMPLER_LOSS_SWITCH_RATE = 5,  /* above the rate cap */
    SAMPLER_LOSS_SWITCH_TABLE = 6, /* more threads off CPU than fit */
    SAMPLER_LOSS_PROCESS_TABLE = 7,
    SAMPLER_LOSS_BUSY = 8, /* the scratch memory was in use: a tick inside a tick */
    SAMPLER_LOSS_OTHER_UID = 9,
    SAMPLER_LOSS_SKIPPED = 10, /* fork, exec, exit: from the kernel's own count */
    SAMPLER_LOSS_UID_SAMPLE = 11,
    SAMPLER_LOSS_UID_SWITCH = 12,
    SAMPLER_LOSS_MALFORMED = 13, /* invalid records: counted by the reader */
    SAMPLER_LOSS_RING_FULL_PROBE = 14,
    SAMPLER_LOSS_PROBE_TABLE = 15, /* more threads with open probed functions than fit */
    SAMPLER_LOSS_PROBE_DEPTH = 16, /* more open ones in a thread than fit */
    SAMPLER_LOSS_COUNT = 17,
};

/* Also in map `failures`, after the losses: other counters. */
enum {
    SAMPLER_COUNT_TICKS = 17,
    SAMPLER_COUNT_SAMPLES = 18,
    SAMPLER_COUNT_SWITCHES = 19,
    SAMPLER_COUNT_SHORT = 20,          /* switches below the threshold */
    SAMPLER_COUNT_NS = 21,             /* spent in the sampling program */
    SAMPLER_COUNT_SWITCH_NS = 22,      /* likewise, when threads leave and enter CPUs */
    SAMPLER_COUNT_UNTOLD = 23,         /* returns to a CPU: unreported, and not found by CPU time */
    SAMPLER_COUNT_SLEEPERS_KNOWN = 24, /* kernel stacks recognised by their words */
    SAMPLER_COUNT_SLEEPERS_ASKED = 25, /* kernel stacks from the kernel's unwinder */
    SAMPLER_COUNT_SLEEPERS_MISTAKEN = 26, /* recognised ones that the unwinder then contradicted */
    SAMPLER_COUNT_REASONED = 27,          /* returns to a CPU: unreported, found by CPU time */
    SAMPLER_COUNT_LAUNCHES = 28,          /* with stacks */
    SAMPLER_COUNT_LAUNCH_NS = 29,         /* spent on them */
    SAMPLER_COUNT_BLOCKS = 30,            /* sampled blocks with stacks */
    SAMPLER_COUNT_BLOCK_NS = 31,          /* spent on them */
    SAMPLER_COUNTERS = 32
};

/* ---- Output of registers.bpf.c for a thread, and its process ---- */

struct registers_config {
    int32_t pid;            /* the process, in the reader's namespace */
    uint32_t pid_namespace; /* inode of the reader's namespace */
};

/* The thread's registers at its entry into the kernel. */
struct thread_registers {
    int32_t tid; /* in the reader's namespace */
    uint32_t reserved;
    uint64_t rip, rsp, rbp, rbx;
};

/* ---- Probes (probes.bpf.c) ---- */

enum {
    SAMPLER_PROBES_MAX = 4096, /* functions */
    SAMPLER_PROBED_MAX = 8192, /* threads with open ranges so far */
    SAMPLER_OPEN_MAX = 128,    /* open ranges of one of them; a power of 2 */
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
    struct sampler_head head; /* identity: for a goroutine, the thread that opened the first */
    uint64_t mm;              /* of their image */
    uint64_t start_ns;        /* of the thread */
    uint32_t count, beyond;   /* of pairs: begun above the limit */
    struct sampler_opened ranges[SAMPLER_OPEN_MAX];
};

/* The kind of a place, in the cookie that the kernel passes to the program. */
enum sampler_site {
    SAMPLER_SITE_ENTRY = 0,
    SAMPLER_SITE_LEAVE = 1,
    SAMPLER_SITE_LEAVE_IF = 2, /* detail: condition of a jump */
    SAMPLER_SITE_LEAVE_TO = 3, /* detail: register with the target */
    SAMPLER_SITE_RETURNED = 4, /* after the return */
};

/* From low to high: function 12 bits, kind 3, detail 4, GO, RESTARTS, bytes of the function before
 * the place 22, from it on 21: for an entry, and for static probes, the list of its arguments. */
#define SAMPLER_SITE_FUNCTION(cookie) ((uint32_t)((cookie)&4095))
#define SAMPLER_SITE_KIND(cookie)     ((uint32_t)((cookie) >> 12 & 7))
#define SAMPLER_SITE_DETAIL(cookie)   ((uint32_t)((cookie) >> 15 & 15))
#define SAMPLER_SITE_GO               (1ull << 19) /* Go code */
#define SAMPLER_SITE_RESTARTS         (1ull << 20) /* the function jumps to its own entry */
#define SAMPLER_SITE_BEFORE(cookie)   ((cookie) >> 21 & 0x3fffff)
#define SAMPLER_SITE_BEHIND(cookie)   ((cookie) >> 43)
#define SAMPLER_SITE_ARGS(cookie)     ((uint32_t)((cookie) >> 43)) /* 0: empty */

enum { SAMPLER_SITE_BEHIND_MAX = 1 << 21 };

/* ---- Configuration --------------------------------------------------------------------------- */

/* Set before the program is loaded; and layouts of foreign memory shared by both. */

/* Section .rodata.config: constants to the verifier. */
struct sampler_config {
    uint64_t threshold_ns;     /* shorter stretches off CPU are only counted */
    uint64_t rate_max;         /* stretches per second; 0 = switches are not sampled */
    uint64_t ring_bytes;       /* size of the ring */
    int64_t uid;               /* -1 = of all users */
    uint32_t pid_namespace;    /* inode of the collector's; 0 = the root namespace */
    uint32_t switch_has_state; /* tracepoint sched_switch has the state that led to it */
    uint32_t exit_has_group;   /* tracepoint sched_process_exit has a flag for the last thread */
    uint32_t user_is_unsafe;   /* see kernel_flaw_freezes() */
    uint32_t check_sleepers;   /* enum sampler_sleepers */
    uint32_t walks_at_leave;   /* stacks are taken when threads leave CPUs: see bpf/sched.bpf.h */
};

/* Section .bss.stop: set by the collector while the program runs. */
struct sampler_control {
    uint32_t stopped; /* stretches off CPU are frozen, to be listed */
    uint32_t listing; /* sampler_asleep lists unfinished stretches instead of opening new ones */
};

/* libannot's struct annot_thread and annot_open: the loader asserts these offsets. */
enum {
    LIVE_PID_OFFSET = 8, /* pid, tid, depth: 12 bytes */
    LIVE_RANGES_OFFSET = 128,
    LIVE_RANGE_SIZE = 16, /* name, instance, time */
    LIVE_RANGES = 32,
};

/* Length of a function's name with its kernel module, in the kernel's format. */
enum { KERNEL_NAME_MAX = 512 };

#endif
