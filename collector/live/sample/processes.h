/* SPDX-License-Identifier: MIT */
/* The processes that are sampled, as the records tell it: mappings, image, interpreter, names.
 *
 * A process is a pid and a start time; each exec begins another image of it. One that ended is
 * kept for two more steps, for records that still name it. Thread-safety: one thread per object. */
#ifndef ANNOT_PROCESSES_H
#define ANNOT_PROCESSES_H

#include "hash_map.h"
#include "lives.h"
#include "modules.h"
#include "perf_ring.h"
#include "python_runtime.h"
#include "sampler_abi.h"
#include "symbolizer.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping_list;
struct space;

/* Open ranges: of a record, or of those that a forked process has from its parent, as of the fork.
 */
struct sampled_ranges {
    bool known;
    uint32_t depth, count;
    struct sampler_range ranges[SAMPLER_RANGES_MAX]; /* innermost first */
    int32_t pid;                                     /* whose names they are */
    uint32_t path;                                   /* in the trace; 0: to be found out */
    uint64_t time_ns;                                /* when they were open */
};

enum interpreter_state {
    INTERPRETER_NONE = 0, /* no module of it is one */
    INTERPRETER_WAIT = 1, /* not initialised yet: ask again */
    INTERPRETER_FOUND = 2,
    INTERPRETER_UNKNOWN = 3, /* there is one that we cannot read; see runtime.reason */
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

/* What /proc or the kernel's table said at the last look, and no record did: that it has ended, is
 * another image, is not to be sampled any more. */
enum process_doubt { DOUBT_NONE = 0, DOUBT_GONE = 1, DOUBT_IMAGE = 2, DOUBT_FOREIGN = 3 };

struct sampled {
    struct process *entry; /* of the registry, where it hangs; NULL: another one has the pid */
    int32_t pid, ns_pid;
    uint64_t start_ns; /* CLOCK_BOOTTIME; 0 = not told yet */
    uint64_t family;   /* changes with exec only: forked processes share code objects */
    bool fresh_list;   /* the list begins with the exec that is being told */
    uint64_t fresh_ns;
    uint32_t fresh_floor; /* space_floor after that exec */
    bool changed;         /* list or values are not published */
    bool replaced;        /* something was mapped in the place of something else */
    bool exited;
    bool waits_exec;  /* not sampled before its exec */
    uint64_t exec_ns; /* when its image began; 0 = no exec was told */
    uint64_t image;   /* its number (struct sampler_process); 0 = unknown */
    uint64_t exit_step;
    enum process_doubt doubt;
    bool foreign; /* it became another user's, which is counted: nothing more is told of it */
    uint64_t proc_ticks;   /* field 22 of its stat when it was first looked at; 0 = not yet */
    uint32_t space_floor;  /* spaces up to this number belong to images before the last exec */
    uint64_t published_ns; /* when it was written last */
    struct mapping_list *list;
    size_t compared_count; /* of the list, when it was last compared with /proc */
    uint64_t compared_ns;
    struct space *space; /* published; NULL = none */
    int64_t tls_offset;  /* of libannot's live words; 0 = unknown */
    int64_t served_ns;   /* when the segment was made whose offset was taken last */
    struct sampled_interpreter interpreter;
    struct asked_source *code; /* of what its image makes at run time; made at the first question */
    struct map64 waiting;      /* an address of that + 1 -> a frame that waits for its name */
    struct sampled_ranges inherited;
    struct wide_map threads; /* tid and start -> ordinal in the trace + 1 */
    bool active;             /* the registry knows that its image did something */
};

struct processes {
    struct lives *lives;           /* where they hang; outlives it */
    struct symbolizer *symbolizer; /* outlives it */
    VEC(struct sampled *) all;     /* living ones and just ended ones */
    uint64_t last_family;
};

void processes_fini(struct processes *processes);

/* NULL: not tracked. */
struct sampled *processes_find(const struct processes *processes, int32_t pid);

/* A process that nothing is known of, with an empty list; replaces one of that pid. The task is the
 * process at that time. NULL: out of memory. */
struct sampled *processes_add(struct processes *processes, const struct lives_task *task,
                              uint64_t time_ns);

/* A child that shares mappings, space and interpreter with its parent. NULL: out of memory. */
struct sampled *processes_fork(struct processes *processes, const struct lives_task *task,
                               uint64_t time_ns, const struct sampled *parent);

/* Another image: nothing of the old one holds, but a list that already is the new one's. */
void sampled_exec(struct processes *processes, struct sampled *process, uint64_t now_ns,
                  uint64_t step);

/* Forgets those that ended more than two steps ago. */
void processes_sweep(struct processes *processes, uint64_t now_ns, uint64_t step);

/* What the kernel told. 0 or -ENOMEM. */
int sampled_apply_note(struct sampled *process, struct modules *modules,
                       const struct perf_note *note);

/* Reads all of it from /proc. 0, -ESRCH, -errno. */
int sampled_read_maps(struct sampled *process, struct modules *modules);

/* What is unmapped is not told: once the list has grown much, or for some seconds, drops what
 * /proc does not list any more. Nothing is added, for that will be told in its turn. 0 or -ENOMEM.
 */
int sampled_prune_maps(struct sampled *process, uint64_t now_ns);

#endif
