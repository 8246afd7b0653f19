/* SPDX-License-Identifier: MIT */
/* What a program says about an event, as annot has it. Foreign bytes: sizes are honoured, numbers
 * that nobody gave name nothing. */
#ifndef ANNOT_NVTX_EVENT_H
#define ANNOT_NVTX_EVENT_H

#include "nvtx_api.h"
#include "nvtx_scope.h"
#include "nvtx_thread.h"

/* What start_range returns while nobody records: a range that no end closes. */
#define NVTX_RANGE_NONE ((nvtxRangeId_t)1)

/* A message in one of NVTX's three ways. Exactly one of the two names something, or text is "". */
struct nvtx_message {
    annot_name name;
    const char *text;
};

struct nvtx_message nvtx_message_registered(nvtxStringHandle_t handle);
struct nvtx_message nvtx_message_of(int32_t type, nvtxMessageValue_t value);

/* As text that stays; NULL: it has neither. */
const char *nvtx_message_text(const struct nvtx_message *message);

/* The name of it in libannot's table; 0: that is full. */
annot_name nvtx_message_name(int32_t type, nvtxMessageValue_t value);

/* The texts that it points to are the program's or this thread's. NULL attributes: an event without
 * a name. */
void nvtx_event_read(struct annot_event *ret_event, annot_domain domain,
                     const nvtxEventAttributes_t *attributes);

/* Whether attributes say nothing but a registered string; its name, or 0. */
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
