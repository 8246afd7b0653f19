/* SPDX-License-Identifier: MIT */
/* Looks at one process once: the current stack of each thread, without pausing any.
 *
 * Threads that run or switch are sampled for a short while. Those that wait all the time are read:
 * registers by /proc and a BPF iterator, stack memory and Python frames by process_vm_readv; these
 * do not change while they wait. If a thread wakes up meanwhile, its inner frames may be wrong, as
 * in any reading without a pause; its ends show it where that is detected. Thread-safety: one
 * thread. */
#ifndef ANNOT_LOOK_H
#define ANNOT_LOOK_H

#include "intake_directory.h"
#include "names.h"
#include "sample.h"
#include "segment_reader.h"
#include "text.h"
#include "trace.h"

#include <stdbool.h>
#include <stdint.h>

enum look_source {
    LOOK_NOTHING = 0,   /* no stack could be read */
    LOOK_SAMPLED = 1,   /* by the BPF program, at that instant */
    LOOK_REGISTERS = 2, /* it waits: registers of its system call, then memory */
    LOOK_PYTHON = 3,    /* Python frames only, read from memory */
};

/* A variable of a Python frame. */
struct look_local {
    uint32_t frame; /* index among the thread's Python frames, the leaf is 0 */
    char *name, *value;
};

struct look_thread {
    int32_t tid, ns_tid;
    char comm[16];
    char state;                     /* as in /proc: 'R', 'S', 'D', 'T', ... */
    bool running;                   /* on a CPU, or ready to run */
    bool runnable;                  /* running, but without a CPU */
    uint8_t reason;                 /* enum wait_reason, if it does not run */
    uint8_t source;                 /* enum look_source */
    uint8_t native_end, python_end; /* enum stack_end */
    int32_t syscall;                /* of its wait; -1 = not in one or unknown */
    uint32_t stack, path;           /* ordinals in the trace */
    bool holds_gil;
    char name[64];             /* from Python; "" = not known */
    struct look_local *locals; /* of all Python frames, leaf first; owned by the look */
    uint32_t local_count;
};

struct look {
    struct trace *trace;      /* owns frames, stacks, paths and their strings */
    struct look_lines *lines; /* of its native frames */
    struct look_thread *threads;
    uint32_t thread_count;
    char comm[16];
    char command[COMMAND_TEXT_SIZE];
    bool is_python;          /* with a readable interpreter */
    bool locals_known;       /* with readable locals, if requested */
    char python_reason[200]; /* the reason why expected Python frames are missing; "" */
};

struct look_options {
    int32_t pid;
    uint32_t window_ms;          /* 0 = 100 */
    enum sampling_rung rung_max; /* 0 = the best */
    bool locals;                 /* read all threads, without sampling */
};

/* 0, -ESRCH, -EPERM, -ENOMEM. */
int look_at(const struct look_options *options, struct look **ret_look);
void look_destroy(struct look *look); /* accepts NULL */

/* ---- Source lines ----
 *
 *
 * Source lines of the native frames of a look, from the debug information of their files. Slow (it
 * reads parts of hundreds of megabytes), so look up only frames that are shown. */

struct look_lines;

/* Lines of frames of `trace`, from the files that process `pid` has mapped. NULL: out of memory.
 * destroy accepts NULL. */
struct look_lines *look_lines_create(const struct trace *trace, int32_t pid);
void look_lines_destroy(struct look_lines *lines);

/* false: unknown: no native frame, no debug information, or annot built without libdw. `ret_file`
 * is valid until destroy. */
bool look_lines_find(struct look_lines *lines, uint32_t frame, const char **ret_file,
                     int *ret_line);

/* The open ranges of a process's threads, from its segment in shared memory, for any recorder.
 * Foreign bytes: read by the intake's guarded reader. */

struct trace;

struct look_ranges {
    struct directory directory;
    struct segment segment;
    struct names names; /* of the segment */
    bool open;
    struct trace *trace;
};

/* Opens the newest segment of the process, if the user's own directory has one. */
void look_ranges_open(struct look_ranges *ranges, int32_t pid, struct trace *trace);
void look_ranges_close(struct look_ranges *ranges);

/* The path of the open ranges of the thread: 0 = no range, unknown, or out of memory. `ns_tid` is
 * in the process's namespace. */
uint32_t look_ranges_path(struct look_ranges *ranges, int32_t ns_tid);

/* The name that the process gave itself, as a string ordinal, or -ENOENT. */
int64_t look_ranges_process_name(struct look_ranges *ranges);

#endif
