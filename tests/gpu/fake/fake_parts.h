/* SPDX-License-Identifier: MIT */
/* The two halves of the libcupti for tests: its functions, and what they deliver. */
#ifndef FAKE_PARTS_H
#define FAKE_PARTS_H

#include "fake_cupti.h"

#include <cupti.h>
#include <stdbool.h>

enum { FAKE_KINDS = 64, FAKE_CALLS = 1024 };

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
    uint32_t windows;
};

extern struct fake fake;

/* Bytes of a record, as CUDA 13.0 has them; 0: no kind that was recorded. */
size_t fake_record_size(uint32_t kind);
/* Delivers what waits; what was launched by fake_launch(). */
void fake_flush(bool forced);
void fake_launches_flush(void);

#endif
