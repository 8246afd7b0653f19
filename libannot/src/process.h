/* SPDX-License-Identifier: MIT */
/* What the process as a whole does: join and leave sessions, fork, exit.
 *
 * Threads: any, lock-free. While one thread makes the segment, others wait for it a bounded time
 * (2 ms) and then make one themselves; the first to be published wins. State that a forked child
 * must not inherit stands on a wiped page. */
#ifndef ANNOT_PROCESS_H
#define ANNOT_PROCESS_H

#include "control.h"
#include "strings.h"

enum { RANGE_COUNTER_BITS = 44 };

/* Set in the id of a range whose start could not be recorded: so its end is counted, too. */
#define RANGE_DROPPED (UINT64_C(1) << (RANGE_COUNTER_BITS - 1))

/* Once, in the constructor; `secure` says AT_SECURE. */
void process_setup(int secure);

/* Whether the next event makes an attempt to join, and is not the first one of a forked child. */
int process_may_join(uint64_t generation);

/* The segment for the gate's generation with a reference for the caller, or NULL: this process
 * takes no part. Cost: loads; at a new generation some hundred microseconds. */
struct segment *process_join(uint64_t generation);

/* Whether that is decided already: it is the cheap case of process_join. */
int process_takes_no_part(uint64_t generation);

/* Whether an attempt failed a moment ago for want of descriptors. */
int process_is_put_off(void);

/* Whether it ran already when it joined a session: ranges may end whose begin nobody recorded. */
int process_is_late(void);

/* 20 bits that stand above the counter in range ids. */
uint64_t process_nonce(void);
/* Takes `count` range ids; returns the first. */
uint64_t process_take_ranges(uint64_t count);

/* The first of PROCESS_ID_BATCH ids of flows or tracks, a multiple of it; 0: not possible. No other
 * process of this machine has them, also if none of them records yet. */
enum { PROCESS_ID_BATCH = 1024 };

uint64_t process_take_ids(void);

/* An event that found no thread state to count in. Moved to a segment by process_flush. */
void process_lose(enum annot_loss cause);
/* The same, at once into the segment if there is one. */
void process_lose_now(enum annot_loss cause);
/* A name that finds no room in the table. */
void process_leave_name(void);
/* The id of a name; 0, and counted: the table is full. */
uint32_t process_intern(const struct string_key *key);
/* The same of a process that takes no part: told if that was not its choice. */
void process_miss(void);
void process_flush(struct segment *segment);
/* The same at once, for a thread that cannot join. */
void process_tell_losses(uint64_t generation);
void process_misuse(struct segment *segment, enum annot_misuse misuse);

void process_set_name(uint32_t name);
/* Brings a string that no record refers to into the segment. */
void process_tell_string(uint32_t id);

/* Brings new domains and categories into the segment and its masks, before they are used. Cost,
 * without new ones: three loads. */
void process_tell_numbers(void);

/* Nobody records: gives up the segment of the last recording. For moments that an event does not
 * pay for. */
void process_let_go(void);

/* fork handler of the child; the others are in entry.h. */
void process_fork_child(void);

/* Orderly end of the process. */
void process_exit(void);

const char *process_status(void);

#endif
