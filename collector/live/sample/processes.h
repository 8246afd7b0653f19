/* SPDX-License-Identifier: MIT */
/* The sampled processes, as known from records: mappings, image, interpreter, names.
 *
 * A process is identified by pid and start time; each exec begins another image of it. It is kept
 * for two more steps after its end, for records that still name it. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_PROCESSES_H
#define ANNOT_PROCESSES_H

#include "hash_map.h"
#include "lives.h"
#include "modules.h"
#include "perf_ring.h"
#include "python_runtime.h"
#include "sampler_abi.h"
#include "sampler_memory.h"
#include "symbolizer.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_blocks;
struct mapping_list;
struct space;

/* Open ranges: of a record, or those that a forked process has from its parent, as of the fork. */
struct sampled_ranges {
    bool known;
    uint32_t depth, count;
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* innermost first */
    int32_t pid;                                     /* process of the names */
    uint32_t path;                                   /* in the trace; 0: not resolved yet */
    uint64_t time_ns;                                /* time at which they were open */
};

enum interpreter_state {
    INTERPRETER_NONE = 0, /* no module of it is one */
    INTERPRETER_WAIT = 1, /* not initialised yet: retry */
    INTERPRETER_FOUND = 2,
    INTERPRETER_UNKNOWN = 3, /* an unsupported interpreter; see runtime.reason */
};

struct sampled_interpreter {
    enum interpreter_state state;
    struct module *module;
    uint32_t python; /* 1 + index in map `pythons` */
    uint64_t next_try_ns, tries;
    struct python_doubt doubt;
    uint64_t bias; /* load bias of its module */
    struct python_runtime runtime;
};

/* A finding of the last look at /proc or the kernel's table that no record confirms: it has ended,
 * is another image, is not to be sampled any more. */
enum process_doubt { DOUBT_NONE = 0, DOUBT_GONE = 1, DOUBT_IMAGE = 2, DOUBT_FOREIGN = 3 };

struct sampled {
    struct process
        *entry; /* of the registry, which refers back to it; NULL: the pid has another owner */
    int32_t pid, ns_pid;
    uint64_t start_ns; /* CLOCK_BOOTTIME; 0 = not yet known */
    uint64_t family;   /* changes only with exec: forked processes share code objects */
    bool fresh_list;   /* the list begins with the exec being processed */
    uint64_t fresh_ns;
    uint32_t fresh_floor; /* space_floor after that exec */
    bool changed;         /* list or values must be published */
    bool replaced;        /* a mapping was replaced by another */
    bool exited;
    bool waits_exec;  /* not sampled before its exec */
    uint64_t exec_ns; /* start of its image; 0 = no exec reported */
    uint64_t image;   /* its number (struct sampler_process); 0 = unknown */
    uint64_t exit_step;
    enum process_doubt doubt;
    bool foreign;          /* it became another user's, which is counted: its records are ignored */
    uint64_t proc_ticks;   /* field 22 of its stat at the first look; 0 = not yet */
    uint32_t space_floor;  /* spaces up to this number belong to images before the last exec */
    uint64_t published_ns; /* time of the last publication */
    struct mapping_list *list;
    size_t compared_count; /* of the list, at the last comparison with /proc */
    uint64_t compared_ns;
    struct space *space; /* published; NULL = none */
    int64_t tls_offset;  /* of libannot's live words; 0 = unknown */
    int64_t served_ns;   /* creation time of the segment that gave tls_offset */
    struct sampled_interpreter interpreter;
    struct requested_source
        *code;            /* of code its image makes at run time; made at the first look-up */
    struct map64 waiting; /* address + 1 -> a frame that waits for its name */
    struct sampled_ranges inherited;
    struct wide_map threads;    /* tid and start -> ordinal in the trace + 1 */
    struct heap_blocks *blocks; /* sampled and not freed; NULL: none so far */
    struct memory_shown memory;
    bool active; /* reported to the registry as having done something */
};

struct processes {
    struct lives *lives;           /* they are attached to it; outlives it */
    struct symbolizer *symbolizer; /* outlives it */
    VEC(struct sampled *) all;     /* living and recently ended ones */
    uint64_t last_family;
};

void processes_fini(struct processes *processes);

/* NULL: not tracked. */
struct sampled *processes_find(const struct processes *processes, int32_t pid);

/* Adds an unknown process, with an empty list; replaces one of that pid. The task is the process at
 * that time. NULL: out of memory. */
struct sampled *processes_add(struct processes *processes, const struct lives_task *task,
                              uint64_t time_ns);

/* Adds a child that shares mappings, space and interpreter with its parent. NULL: out of memory. */
struct sampled *processes_fork(struct processes *processes, const struct lives_task *task,
                               uint64_t time_ns, const struct sampled *parent);

/* Starts another image: discards the state of the old one, except a list that is already the new
 * one's. */
void sampled_exec(struct processes *processes, struct sampled *process, uint64_t now_ns,
                  uint64_t step);

/* Drops those that ended more than two steps ago. */
void processes_sweep(struct processes *processes, uint64_t now_ns, uint64_t step);

/* Applies a kernel event. 0 or -ENOMEM. */
int sampled_apply_note(struct sampled *process, struct modules *modules,
                       const struct perf_note *note);

/* Reads the whole list from /proc. 0, -ESRCH, -errno. */
int sampled_read_maps(struct sampled *process, struct modules *modules);

/* Unmapping is not reported: once the list has grown much, or for some seconds, drops mappings
 * that /proc does not list any more. Adds none, as these will be reported. 0 or -ENOMEM. */
int sampled_prune_maps(struct sampled *process, uint64_t now_ns);

#endif
