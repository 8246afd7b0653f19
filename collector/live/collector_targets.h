/* SPDX-License-Identifier: MIT */
/* Running programs that are assigned to a session. fini accepts a zeroed object.
 * Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_TARGETS_H
#define ANNOT_COLLECTOR_TARGETS_H

#include "intake_directory.h"
#include "target.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct intake;
struct trace;

struct target_file {
    char name[TARGET_NAME_SIZE];
};

struct targets {
    VEC(struct target_file) files;
    bool gate_held; /* closed for good by targets_shut_gate */
};

/* Does collector_annotate for a session in that directory. */
int targets_add(struct targets *targets, struct directory *directory, const struct target *target,
                uint64_t session_id, char *ret_other);

/* Notes the recording that has the annotations of a program. -EBUSY, or another error. */
int targets_note_other(struct trace *trace, const struct target *target, const char *other);

/* Ends the assignments when the session is over, and starts a new generation that leaves the gate
 * open, so that programs notice at their next event. */
void targets_release(struct targets *targets, struct directory *directory, uint64_t session_id);

/* Waits a little until they have left, and closes the gate unless other sessions record. */
void targets_shut_gate(struct targets *targets, struct directory *directory,
                       const struct intake *intake);
void targets_fini(struct targets *targets);

#endif
