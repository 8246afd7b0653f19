/* SPDX-License-Identifier: MIT */
/* The interface between the fake libcupti's functions and the data they deliver. */
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

/* The context of all launches. It is never dereferenced. */
#define FAKE_CONTEXT ((CUcontext)(uintptr_t)0xc0de)

/* The kind in which kernels are recorded now: serialized kernels have a separate kind. */
uint32_t fake_kernel_kind(uint32_t kind);
/* Size of a record in CUDA 13.0. 0: this kind was not recorded. */
size_t fake_record_size(uint32_t kind);
/* Common parts of both generations. */
void fake_rule(int holds, const char *text);
void fake_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                    void *userdata);
CUptiResult fake_enable(CUpti_ActivityKind kind);
CUptiResult fake_next(uint8_t *buffer, size_t size, CUpti_Activity **record);
/* True if the other subscriber accepts one with these parameters. */
bool fake_can_share(const CUpti_SubscriberParams *params);

/* Uses the subscriber's functions, by its generation. */
bool fake_has_buffers(void);
void fake_request(uint8_t **buffer, size_t *size, size_t *max_records);
void fake_complete(uint8_t *buffer, size_t size, size_t valid);

/* The clock of CUPTI if no other was registered. */
uint64_t fake_realtime_ns(void);

/* Adds a record to the current buffer. Returns the current buffer. */
void fake_deliver(const uint8_t *record, size_t size);
void fake_complete_now(void);

/* Additions to the recording (fake_events.c): the call that requests an event; a call of the driver
 * as one of the runtime; unified memory that moves; taking all buffers, and more than all. */
void fake_call_event(const uint8_t *record);
void fake_make_runtime(uint8_t *record);
void fake_move_memory(void);
void fake_starve(void);
/* Depending on FAKE_PC, after the 20th launch: its context loses a module, or is destroyed. Weak:
 * true if no samples of it are left (fake_pc.c). */
void fake_lose(CUcontext context);
bool fake_pc_is_empty(CUcontext context, bool destroyed) __attribute__((weak));
void fake_overrun(void);

/* From here on, kernel names end in an x, at the same addresses as before. */
void fake_rename(void);

/* The GPU work of a launch: a copy, if it has bytes; a kernel, if it has a name; else a graph. */
struct fake_work {
    const char *name;
    uint64_t ns, bytes, node;
    uint32_t graph, correlation;
};

/* Calls back for one side of a driver call, or for both sides and returns its number
 * (fake_launch.c). */
void fake_call(CUpti_CallbackId id, uint32_t correlation, CUpti_ApiCallbackSite site);
uint32_t fake_call_around(CUpti_CallbackId id);
/* The work runs from now on, in sequence. */
void fake_run(const struct fake_work *work, size_t count);

/* The devices of FAKE_GPUS instead of the recorded one (fake_devices.c): their records, optionally
 * one of a device that the program may not use. fake_place_work() sets the device of stream
 * work. */
void fake_put_devices(const uint8_t *record, size_t size, bool hidden);
void fake_place_work(uint8_t *record, uint32_t kind);

/* Delivers waiting records, and those of fake_launch(). */
void fake_flush(bool forced);
/* The subscriber leaves: the remaining buffers are returned, or never. */
void fake_leave(void);
void fake_launches_flush(void);

#endif
