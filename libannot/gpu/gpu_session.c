/* SPDX-License-Identifier: MIT */
/* How CUPTI is subscribed to.
 *
 * The clock is registered once in a process: CUPTI takes a second time amiss. cuptiFinalize is
 * never called: it made a window 10 ms longer, began the numbers of calls anew, and launches after
 * a window were as fast without it (tests/gpu/README.md).
 * Threads: that of the window, one after the other. */
#include "gpu_parts.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

static CUpti_SubscriberHandle subscriber;
static bool has_clock;

static uint64_t CUPTIAPI clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The name that the one before us gave, as newer versions tell it; else what is mapped. */
static void say_holder(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
    CUpti_SubscriberHandle other = NULL;
    CUpti_SubscriberParams params = {
        .structSize = CUpti_SubscriberParams_STRUCT_SIZE,
        .subscriberName = "annot",
        .oldSubscriberName = name,
        .oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN,
    };
    if (cupti.subscribe_v2 && cupti.subscribe_v2(&other, on_call, NULL, &params) == CUPTI_SUCCESS &&
        other)
        (void)cupti.unsubscribe(other);
    const char *tool = gpu_library_of_tool();
    snprintf(text, size, "another tool uses CUPTI: %s", name[0] ? name : tool ? tool : "unknown");
}

static int subscribe(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    CUptiResult result = cupti.subscribe(&subscriber, on_call, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        say_holder(on_call, text, size);
        return -EBUSY;
    }
    if (result != CUPTI_SUCCESS) {
        gpu_library_say(text, size, "cuptiSubscribe", result);
        return -EIO;
    }
    return 0;
}

/* Before anything is enabled. */
static int prepare(char *text, size_t size)
{
    CUptiResult result = CUPTI_SUCCESS;
    if (!has_clock)
        result = cupti.register_clock(clock_ns);
    has_clock = has_clock || result == CUPTI_SUCCESS;
    if (result == CUPTI_SUCCESS)
        result = cupti.register_callbacks(gpu_buffer_requested, gpu_buffer_completed);
    if (result == CUPTI_SUCCESS)
        result = cupti.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (result == CUPTI_SUCCESS)
        return 0;
    gpu_library_say(text, size, "CUPTI", result);
    return -EIO;
}

int gpu_session_open(CUpti_CallbackFunc on_call, char *text, size_t size)
{
    int error = subscribe(on_call, text, size);
    if (error != 0)
        return error;
    error = prepare(text, size);
    if (error != 0)
        gpu_session_shut();
    return error;
}

void gpu_session_shut(void)
{
    (void)cupti.unsubscribe(subscriber);
    subscriber = NULL;
}

void gpu_session_follow(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on)
{
    (void)cupti.enable_callback(on, subscriber, domain, id);
}

void gpu_session_enable(CUpti_ActivityKind kind, bool on)
{
    (void)(on ? cupti.activity_enable(kind) : cupti.activity_disable(kind));
}

void gpu_session_flush(bool forced)
{
    (void)cupti.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}
