/* SPDX-License-Identifier: MIT */
/* Processes that wanted to take part, or that one would expect, and that do not: with the reason,
 * in one sentence for humans, and with the events that they lost. From the slots behind the wake
 * page, and from a look at the collector's descendants that run under another uid.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_REFUSALS_H
#define ANNOT_INTAKE_REFUSALS_H

#include "hash_map.h"
#include "lives.h"
#include "proc_info.h"
#include "session_file.h"
#include "trace.h"
#include "vec.h"

/* ---- The slots of processes that cannot take part, behind the wake page ---------------------- */

/* Foreign bytes, copied. A slot
 * is for the sessions whose generations have its own between them; when no file is left of any of
 * these, it is given back. */

/* Before the gate opens: what is there by then is others', as the session's file says from now on.
 * 0 or -errno. */
int refusal_pages_begin(const struct directory *directory, const struct session_file *file);

/* Gives slots back. One whose owner died while it took it stays taken: nothing is counted there. */
void refusal_pages_sweep(const struct directory *directory);

/* ---- What they say --------------------------------------------------------------------------- */

/* A slot of a process of this session. */
struct refused {
    uint64_t owner, time_ns;
    uint64_t told;    /* events that its entry in the trace has as lost */
    uint32_t process; /* its ordinal in the trace */
    bool ours, entered;
    bool over; /* it takes part by now */
    struct process_watch watch;
};

/* A process that somebody attached to, as it names itself. */
struct refusal_target {
    int32_t pid;
    uint64_t pid_ns;
};

struct refusals {
    struct trace *trace;  /* outlives it */
    struct lives *lives;  /* the same; NULL: there is none */
    struct wide_map seen; /* by pid, reason and command name */
    int64_t next_scan_ns;
    struct refusal_target collector; /* whose children may be ours */
    VEC(struct refusal_target) targets;
    VEC(struct refused) refused;
    VEC(uint64_t) recorded;      /* of a recovery: by process, what the recording says */
    struct annot_refusals pages; /* the last copy */
};

void refusals_init(struct refusals *refusals, struct trace *trace, struct lives *lives);
void refusals_fini(struct refusals *refusals);

/* Of a recovery: instead of init. The trace is that of the recording, and the slots say what its
 * processes lost, from the session's begin on. 0 or -ENOMEM. */
int refusals_resume(struct refusals *refusals, struct trace *trace,
                    const struct directory *directory, const struct annot_session *session);

/* It belongs to the session, whatever it knows. 0 or -ENOMEM. */
int refusals_add_target(struct refusals *refusals, int32_t pid, uint64_t pid_ns);

/* Notes one, once. `reason`: enum annot_refusal; `detail`: see annot_refusal_slot. 0 or -ENOMEM. */
int refusals_note(struct refusals *refusals, const struct annot_refusal_slot *slot);

/* The same in words, for a process that cannot say it itself. */
int refusals_say(struct refusals *refusals, int32_t pid, const char *comm, const char *reason);

/* Reads the slots, and, if it is due, looks for descendants of other uids. The look costs a pass
 * over /proc and takes at most about 1/200 of the time. `last`: nothing comes later. 0 or -ENOMEM.
 */
int refusals_poll(struct refusals *refusals, const struct directory *directory,
                  const struct session_file *session, bool last);

/* How many that lost events still run. */
uint32_t refusals_living(struct refusals *refusals);

#endif
