/* SPDX-License-Identifier: MIT */
/* Processes that should take part, or would be expected to, and do not: with the reason, in one
 * sentence for humans, and the number of lost events. Sources: the slots after the wake page, and a
 * look at the collector's descendants that run under another uid.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_REFUSALS_H
#define ANNOT_INTAKE_REFUSALS_H

#include "hash_map.h"
#include "lives.h"
#include "proc_info.h"
#include "session_file.h"
#include "trace.h"
#include "vec.h"

/* ---- The slots of processes that cannot take part, after the wake page ----------------------- */

/* Foreign bytes, copied. A slot belongs to the sessions whose generations enclose its own; when no
 * file of these sessions is left, it is freed. */

/* Call before the gate opens: existing slots belong to other sessions, and the session's file
 * records that. 0 or -errno. */
int refusal_pages_begin(const struct directory *directory, const struct session_file *file);

/* Frees slots. A slot stays taken if its owner died while taking it: it has no counts. */
void refusal_pages_sweep(const struct directory *directory);

/* ---- Reports --------------------------------------------------------------------------------- */

/* A slot of a process of this session. */
struct refused {
    uint64_t owner, time_ns;
    uint64_t published; /* lost events already in its entry in the trace */
    uint32_t process;   /* its ordinal in the trace */
    bool ours, entered;
    bool over; /* it takes part now */
    struct process_watch watch;
};

/* A process attached to, by its own ids. */
struct refusal_target {
    int32_t pid;
    uint64_t pid_ns;
};

struct refusals {
    struct trace *trace;  /* outlives the refusals */
    struct lives *lives;  /* likewise; NULL: no registry */
    struct wide_map seen; /* by pid, reason and command name */
    int64_t next_scan_ns;
    struct refusal_target collector; /* its children may belong to the session */
    VEC(struct refusal_target) targets;
    VEC(struct refused) refused;
    VEC(uint64_t) recorded;      /* in a recovery: the recorded loss by process */
    struct annot_refusals pages; /* the last copy */
};

void refusals_init(struct refusals *refusals, struct trace *trace, struct lives *lives);
void refusals_fini(struct refusals *refusals);

/* Use in a recovery instead of init. The trace is that of the recording; the slots hold its
 * processes' losses from the session's start on. 0 or -ENOMEM. */
int refusals_resume(struct refusals *refusals, struct trace *trace,
                    const struct directory *directory, const struct annot_session *session);

/* Counts the process to the session in any case. 0 or -ENOMEM. */
int refusals_add_target(struct refusals *refusals, int32_t pid, uint64_t pid_ns);

/* Notes a refusal, once. `reason`: enum annot_refusal; `detail`: see annot_refusal_slot. 0 or
 * -ENOMEM. */
int refusals_note(struct refusals *refusals, const struct annot_refusal_slot *slot);

/* As refusals_note, with a text, for a process that cannot report it itself. */
int refusals_say(struct refusals *refusals, int32_t pid, const char *comm, const char *reason);

/* Reads the slots, and, when due, searches for descendants of other uids. The search is a pass over
 * /proc and takes at most about 1/200 of the time. `last`: no later call follows. 0 or -ENOMEM. */
int refusals_poll(struct refusals *refusals, const struct directory *directory,
                  const struct session_file *session, bool last);

/* The number of processes with lost events that still run. */
uint32_t refusals_living(struct refusals *refusals);

#endif
