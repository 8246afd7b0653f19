/* SPDX-License-Identifier: MIT */
/* The kinds of events in one table. Thread-safety: constant data. */
#include "event.h"

enum {
    RANGE_OPENS = EVENT_CALL | EVENT_OPENS,
    RANGE_CLOSES = EVENT_CALL | EVENT_CLOSES,
};

const uint8_t event_traits[256] = {
    [EVENT_PUSH] = RANGE_OPENS,
    [EVENT_POP] = RANGE_CLOSES,
    [EVENT_START] = EVENT_CALL,
    [EVENT_END] = EVENT_CALL,
    [EVENT_MARK] = EVENT_CALL,
    [EVENT_COUNTER] = EVENT_CALL,
    [EVENT_LOST] = EVENT_CLOSES | EVENT_HAS_END,
    [EVENT_EDGE] = EVENT_CLOSES,
    [EVENT_FLOW_BEGIN] = EVENT_CALL,
    [EVENT_FLOW_STEP] = EVENT_CALL,
    [EVENT_FLOW_END] = EVENT_CALL,
    [EVENT_TRACK_BEGIN] = EVENT_CALL,
    [EVENT_TRACK_END] = EVENT_CALL,
    [EVENT_TRACK_MARK] = EVENT_CALL,
    [EVENT_TRACK_HIDDEN] = EVENT_CALL,
    [EVENT_SPAN] = EVENT_CALL | EVENT_HAS_END | EVENT_OWN_TIME,
    [EVENT_RESUME] = EVENT_CLOSES,
};

const char *loss_name(enum loss loss)
{
    static const char *const names[LOSS_COUNT] = {
        [LOSS_POOL_FULL] = "buffer full",
        [LOSS_NO_MEMORY] = "shared memory full",
        [LOSS_THREAD_LIMIT] = "too many threads or tracks",
        [LOSS_INTERRUPTED] = "its thread or process was busy",
        [LOSS_COLLECTOR_LATE] = "collector not scheduled",
        [LOSS_OVERWRITTEN] = "overwritten by newer records",
        [LOSS_CORRUPT] = "damaged data",
        [LOSS_TOO_LARGE] = "record too large",
        [LOSS_SHARED] = "from tasks that share another thread's storage",
        [LOSS_REFUSED] = "its process could not take part",
        [LOSS_MISSING] = "in a missing volume",
    };
    return (unsigned)loss < LOSS_COUNT ? names[loss] : "unknown cause";
}
