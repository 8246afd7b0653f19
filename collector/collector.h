/* SPDX-License-Identifier: MIT */
/* The collector: one recording session from its first moment to the finished file.
 *
 *     collector_create -> { poll collector_fd for collector_timeout_ms; collector_step }* ->
 *     collector_finish -> collector_destroy
 *
 * Composes directory, intake and store, and is the only one to do so. Prints nothing, never exits;
 * messages go to the sink of base/log.h. Programs never wait for it: killed at any time, they go
 * on, and collector_recover completes what it left. Thread-safety: one thread per object. */
#ifndef ANNOT_COLLECTOR_H
#define ANNOT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;

/* {0} is the default of all but `output`. */
struct collector_options {
    const char *directory; /* NULL: $ANNOT_DIR or the default place */
    const char *output;    /* the recording; must not exist, unless `overwrite` */
    bool overwrite;
    const char *command; /* what is recorded, for humans */
    const char *version; /* of annot */
    uint64_t pool_bytes; /* buffer of each process; 0 = 16 MiB */
    bool paused;         /* programs begin to record at collector_open_gate only */
};

/* 0 or -errno. Where it failed is told in error->what. */
struct collector_error {
    char what[256]; /* "cannot write FILE: No space left on device" */
    char hint[256];
};

int collector_create(const struct collector_options *options, struct collector **ret_collector,
                     struct collector_error *ret_error);
void collector_destroy(struct collector *collector);

/* Removes the recording again: the command could not be started. Devices are left alone. */
void collector_remove_output(const struct collector *collector);

/* The value for ANNOT_SESSION of the command, and of ANNOT_DIR. */
const char *collector_session_text(const struct collector *collector);
const char *collector_directory(const struct collector *collector);

/* Programs begin to record. Done by collector_create unless it was paused. 0 or -errno. */
int collector_open_gate(struct collector *collector);

/* Readable when there is something to do at once; else call collector_step after the timeout,
 * which adapts: 1 ms while data flow, 16 ms when nothing happens. */
int collector_fd(const struct collector *collector);
int collector_timeout_ms(const struct collector *collector);

/* Drains all there is. 0, or -errno of the file: the recording then holds what was whole, and
 * programs are told to stop. The error sticks. */
int collector_step(struct collector *collector);

/* A child of the caller ended. */
void collector_note_exit(struct collector *collector, int pid, int wait_status);
/* The command itself: its status goes into the recording. */
void collector_note_command(struct collector *collector, int wait_status);

struct collector_counts {
    uint32_t process_count, live_count, thread_count;
    uint64_t event_count, lost_count, file_bytes, shared_bytes;
};

void collector_count(const struct collector *collector, struct collector_counts *ret_counts);

/* Closes the gate, drains for the last time, completes the file, leaves the directory as it was.
 * 0 or the first -errno, for instance of a full disk: then session and segments stay, and
 * collector_recover completes the recording. The trace stays readable until collector_destroy. */
int collector_finish(struct collector *collector);
const struct trace *collector_trace(const struct collector *collector);

/* What was done about one session whose collector died or could not write. */
struct collector_recovered {
    char recording[4096]; /* "" if there was nothing to keep */
    uint64_t event_count; /* appended */
    uint32_t process_count;
    bool resumed; /* an existing recording was completed, not a new one made */
    int error;    /* 0 or -errno: then the session was left as it is */
};

/* Completes the recordings of dead collectors in the directory (NULL: the default one); segments
 * that belong to no session go the same way if `orphans`. Calls back per session. Returns how many
 * there were, or -errno. */
int collector_recover(const char *directory, bool orphans,
                      void (*done)(void *context, const struct collector_recovered *what),
                      void *context);

#endif
