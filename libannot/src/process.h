/* SPDX-License-Identifier: MIT */
/* Actions of the process as a whole: join and leave sessions, fork, exit.
 *
 * Threads: any, lock-free. While one thread makes the segment, others wait for it a bounded time (2
 * ms) and then make one themselves; the first to be published wins. State that a forked child must
 * not inherit stands on a wiped page. */
#ifndef ANNOT_PROCESS_H
#define ANNOT_PROCESS_H

#include "control.h"
#include "strings.h"

enum { RANGE_COUNTER_BITS = 44 };

/* Set in the id of a range with an unrecorded start, so that its end is counted as lost, too. */
#define RANGE_DROPPED (UINT64_C(1) << (RANGE_COUNTER_BITS - 1))

/* Once, in the constructor; `secure`: AT_SECURE. */
void process_setup(int secure);

/* True if the next event attempts to join, and is not the first one of a forked child. */
int process_may_join(uint64_t generation);

/* Returns the segment for the gate's generation with a reference for the caller, or NULL if this
 * process takes no part. Cost: loads; at a new generation some hundred microseconds. */
struct segment *process_join(uint64_t generation);

/* True if that is decided already: the cheap case of process_join. */
int process_takes_no_part(uint64_t generation);

/* True if a recent attempt failed for lack of descriptors. */
int process_is_put_off(void);

/* True if it was running before it joined a session: ranges may end without a recorded begin. */
int process_is_late(void);

/* 20 bits that stand above the counter in range ids. */
uint64_t process_nonce(void);
/* Takes `count` range ids; returns the first. */
uint64_t process_take_ranges(uint64_t count);

/* Returns the first of PROCESS_ID_BATCH ids of flows or tracks, a multiple of it; 0: not possible.
 * They are unique on this machine, also among processes that do not record yet. */
enum { PROCESS_ID_BATCH = 1024 };

uint64_t process_take_ids(void);

/* Counts an event without a thread state to count in. Moved to a segment by process_flush. */
void process_lose(enum annot_loss cause);
/* The same, directly in the segment if there is one. */
void process_lose_now(enum annot_loss cause);
/* Counts a name without room in the table. */
void process_leave_name(void);
/* Returns the id of a name; 0, and counted, if the table is full. */
uint32_t process_intern(const struct string_key *key);
/* The same for a process that takes no part: reported unless that was its choice. */
void process_miss(void);
void process_flush(struct segment *segment);
/* The same at once, for a thread that cannot join. */
void process_emit_losses(uint64_t generation);
void process_misuse(struct segment *segment, enum annot_misuse misuse);

void process_set_name(uint32_t name);
/* Copies a string that no record refers to into the segment. */
void process_emit_string(uint32_t id);

/* Copies new domains and categories into the segment and its masks, before they are used. Cost,
 * without new ones: three loads. */
void process_emit_numbers(void);

/* Without a recording: releases the segment of the last one. For moments off an event's path. */
void process_let_go(void);

/* fork handler of the child; the others are in entry.h. */
void process_fork_child(void);

/* Orderly end of the process. */
void process_exit(void);

const char *process_status(void);

#endif
