/* SPDX-License-Identifier: MIT */
/* CUPTI's session: the subscription, alone or beside another tool, and the kinds of activities that
 * it records.
 *
 * Threads: one at a time, with the window's lock. dropped: any. next, clock, anchor: the thread of
 * gpu_thread.c. */
#ifndef ANNOT_GPU_SESSION_H
#define ANNOT_GPU_SESSION_H

#include <cupti.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Since CUDA 13.3, tools may use CUPTI side by side. */
#define CUPTI_SHARES 130300

#ifndef CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN 64
#endif

/* Subscribes, and registers buffers and clock. 0, or -errno with a line in `text`. */
int gpu_session_open(CUpti_CallbackFunc on_call, char *text, size_t size);
void gpu_session_shut(void);

/* True if another tool uses CUPTI, too. */
bool gpu_session_is_shared(void);

/* Switches the callback of a call on or off. */
void gpu_session_follow(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);

/* Excludes a call of the runtime from its records. */
void gpu_session_leave_out(CUpti_CallbackId runtime_call);

/* Requests buffers with complete activities; or, forced, all. */
void gpu_session_flush(bool forced);

/* Records dropped since the last call. Any thread. */
size_t gpu_session_dropped(void);

/* A gpu_next_record for buffers of this session; fails once a shared session is shut. */
CUptiResult gpu_session_next(uint8_t *buffer, size_t size, CUpti_Activity **record);

/* The clock of its records, enum gpu_clock; and emits an anchor of it, if needed. */
uint8_t gpu_session_clock(void);
void gpu_session_anchor(void);

/* ---- Kinds of activities ---- */

/* Activities that are recorded in addition to work of the GPU. */
struct gpu_wanted {
    bool runtime, driver; /* calls of these */
    bool events, unified; /* events of streams; memory migrations */
    bool pc;              /* samples of the program counter */
    uint32_t pc_period;   /* one in 2^this cycles; 0: CUPTI chooses */
};

extern struct gpu_wanted gpu_wanted;

/* Sets gpu_wanted from ANNOT_GPU_KINDS. */
void gpu_kinds_read(void);

/* A window begins or ends. */
void gpu_kinds_enable(bool on);

/* In a window: lets kernels overlap again if sampling turned out to be impossible. */
void gpu_kinds_look(void);

#endif
