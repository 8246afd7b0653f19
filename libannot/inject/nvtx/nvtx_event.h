/* SPDX-License-Identifier: MIT */
/* Attributes of a program's event as an annot event. Untrusted bytes: sizes are honoured, unknown
 * handles get an empty name. */
#ifndef ANNOT_NVTX_EVENT_H
#define ANNOT_NVTX_EVENT_H

#include "nvtx_api.h"
#include "nvtx_scope.h"
#include "nvtx_thread.h"

/* Returned by start_range without a recording: a range that no end closes. */
#define NVTX_RANGE_NONE ((nvtxRangeId_t)1)

/* A message in one of NVTX's three forms. Exactly one of the two is set, or text is "". */
struct nvtx_message {
    annot_name name;
    const char *text;
};

struct nvtx_message nvtx_message_registered(nvtxStringHandle_t handle);
struct nvtx_message nvtx_message_of(int32_t type, nvtxMessageValue_t value);

/* Returns it as a permanent text; NULL if it has neither. */
const char *nvtx_message_text(const struct nvtx_message *message);

/* Returns its name in libannot's table; 0 if that is full. */
annot_name nvtx_message_name(int32_t type, nvtxMessageValue_t value);

/* Reads an event. Its texts belong to the program or this thread. NULL attributes: an event without
 * a name. */
void nvtx_event_read(struct annot_event *ret_event, annot_domain domain,
                     const nvtxEventAttributes_t *attributes);

/* Returns the name if attributes have only a registered string, else 0. */
static inline annot_name nvtx_plain_name(const nvtxEventAttributes_t *attributes)
{
    if (!attributes || attributes->size < sizeof(*attributes) ||
        attributes->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
        return 0;
    if ((uint32_t)attributes->colorType | (uint32_t)attributes->payloadType | attributes->category)
        return 0;
    return nvtx_string_of(attributes->message.registered);
}

#endif
