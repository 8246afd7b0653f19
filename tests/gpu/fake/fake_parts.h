/* SPDX-License-Identifier: MIT */
/* The two halves of the libcupti for tests: its functions, and what they deliver. */
#ifndef FAKE_PARTS_H
#define FAKE_PARTS_H

#include "fake_cupti.h"

#include <cupti.h>
#include <stdbool.h>

enum { FAKE_KINDS = 64, FAKE_CALLS = 1024, FAKE_DEFAULT_STREAM = 7 };

struct fake {
    uint32_t version;
    CUpti_CallbackFunc callback;
    void *userdata;
    bool calls[FAKE_CALLS];
    bool kinds[FAKE_KINDS];
    bool was_enabled;
    CUpti_BuffersCallbackRequestFunc requested;
    CUpti_BuffersCallbackCompleteFunc completed;
    CUpti_TimestampCallbackFunc clock;
    CUpti_ActivityThreadIdType thread_ids;
    size_t dropped;
    uint32_t windows, calls_left_out;
    bool has_unified;
    bool is_shared; /* the subscriber is one of several */
    CUpti_BuffersCallbackRequestFunc_v2 requested_v2;
    CUpti_BuffersCallbackCompleteFunc_v2 completed_v2;
};

extern struct fake fake;

/* Of all launches: it is never looked into. */
#define FAKE_CONTEXT ((CUcontext)(uintptr_t)0xc0de)

/* As kernels are recorded now: those that run one after the other have a kind of their own. */
uint32_t fake_kernel_kind(uint32_t kind);
/* Bytes of a record, as CUDA 13.0 has them; 0: no kind that was recorded. */
size_t fake_record_size(uint32_t kind);
/* What both generations do. */
void fake_rule(int holds, const char *text);
void fake_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                    void *userdata);
CUptiResult fake_enable(CUpti_ActivityKind kind);
CUptiResult fake_next(uint8_t *buffer, size_t size, CUpti_Activity **record);
/* Whether the other subscriber lets one in that asks so. */
bool fake_can_share(const CUpti_SubscriberParams *params);

/* Of the subscriber, by its generation. */
bool fake_has_buffers(void);
void fake_request(uint8_t **buffer, size_t *size, size_t *max_records);
void fake_complete(uint8_t *buffer, size_t size, size_t valid);

/* The clock of a CUPTI to which nobody gave one. */
uint64_t fake_realtime_ns(void);

/* Into the buffer that is being filled; that one comes back. */
void fake_deliver(const uint8_t *record, size_t size);
void fake_complete_now(void);

/* What was not recorded (fake_events.c): the call that asks for an event; a call of the driver as
 * one of the runtime; unified memory that moves; all buffers are taken, and more than all. */
void fake_call_event(const uint8_t *record);
void fake_make_runtime(uint8_t *record);
void fake_move_memory(void);
void fake_starve(void);
/* By FAKE_PC, after the 20th launch: its context loses a module, or is destroyed. Weak: whether
 * nothing of it is left to be taken (fake_pc.c). */
void fake_lose(CUcontext context);
bool fake_pc_is_empty(CUcontext context, bool destroyed) __attribute__((weak));
void fake_overrun(void);

/* Names of kernels end on an x from here on, in the places where they were. */
void fake_rename(void);

/* What a launch makes the GPU do: a copy, if it has bytes; a kernel, if it has a name; or a graph.
 */
struct fake_work {
    const char *name;
    uint64_t ns, bytes, node;
    uint32_t graph, correlation;
};

/* One side of a call of the driver; both sides of one: its number (fake_launch.c). */
void fake_call(CUpti_CallbackId id, uint32_t correlation, CUpti_ApiCallbackSite site);
uint32_t fake_call_around(CUpti_CallbackId id);
/* It runs from now on, one after the other. */
void fake_run(const struct fake_work *work, size_t count);

/* The devices of FAKE_GPUS in place of the recorded one (fake_devices.c): their records, perhaps
 * one of a device that the program may not use; and which of them did what is on a stream. */
void fake_put_devices(const uint8_t *record, size_t size, bool hidden);
void fake_place_work(uint8_t *record, uint32_t kind);

/* Delivers what waits; what was launched by fake_launch(). */
void fake_flush(bool forced);
/* Its subscriber leaves: what is left comes back, or never. */
void fake_leave(void);
void fake_launches_flush(void);

#endif
