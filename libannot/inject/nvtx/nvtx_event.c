/* SPDX-License-Identifier: MIT */
/* See nvtx_event.h. */
#include "nvtx_event.h"

#include "strings.h"

#include <string.h>

struct nvtx_message nvtx_message_of(int32_t type, nvtxMessageValue_t value)
{
    struct nvtx_message message = {0, ""};
    if (type == NVTX_MESSAGE_TYPE_ASCII)
        message.text = value.ascii;
    else if (type == NVTX_MESSAGE_TYPE_UNICODE)
        message.text = nvtx_thread_text(value.unicode);
    else if (type == NVTX_MESSAGE_TYPE_REGISTERED)
        message.name = nvtx_string_of(value.registered);
    return message;
}

const char *nvtx_message_text(const struct nvtx_message *message)
{
    const struct annot_string *string = message->name ? strings_get(message->name) : NULL;
    return string ? string_bytes(string) : message->text;
}

annot_name nvtx_message_name(int32_t type, nvtxMessageValue_t value)
{
    struct nvtx_message message = nvtx_message_of(type, value);
    return message.name ? message.name : annot_name_intern(message.text);
}

static void set_payload(struct annot_event *event, const nvtxEventAttributes_t *from)
{
    event->payload_kind = ANNOT_PAYLOAD_INT64;
    switch (from->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
        event->payload_kind = ANNOT_PAYLOAD_UINT64;
        event->payload.uint64 = from->payload.ullValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT64:
        event->payload.int64 = from->payload.llValue;
        break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
        event->payload.int64 = from->payload.uiValue;
        break;
    case NVTX_PAYLOAD_TYPE_INT32:
        event->payload.int64 = from->payload.iValue;
        break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
    case NVTX_PAYLOAD_TYPE_FLOAT:
        event->payload_kind = ANNOT_PAYLOAD_DOUBLE;
        event->payload.float64 = from->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE
                                     ? from->payload.dValue
                                     : (double)from->payload.fValue;
        break;
    default:
        event->payload_kind = ANNOT_PAYLOAD_NONE;
    }
}

static void fill(struct annot_event *event, annot_domain domain, const nvtxEventAttributes_t *from)
{
    struct nvtx_message message = nvtx_message_of(from->messageType, from->message);
    event->text = message.text;
    event->name = message.name;
    if (from->category)
        event->category = nvtx_category_of(domain, from->category);
    if (from->colorType == NVTX_COLOR_ARGB)
        event->color = from->color;
    if (from->payloadType)
        set_payload(event, from);
}

/* Of a shorter struct only what is whole in it: the rest is zero, "not said". A message is the last
 * thing of it, and half a pointer none. */
static __attribute__((noinline, cold)) void
fill_short(struct annot_event *event, annot_domain domain, const nvtxEventAttributes_t *from)
{
    nvtxEventAttributes_t whole = {0};
    if (from)
        memcpy(&whole, from, from->size);
    if (from && from->size < offsetof(nvtxEventAttributes_t, messageType))
        whole.payloadType = NVTX_PAYLOAD_UNKNOWN;
    whole.messageType = NVTX_MESSAGE_UNKNOWN;
    fill(event, domain, &whole);
}

void nvtx_event_read(struct annot_event *ret_event, annot_domain domain,
                     const nvtxEventAttributes_t *attributes)
{
    *ret_event = (struct annot_event){.domain = domain};
    if (__builtin_expect(attributes && attributes->size >= sizeof(*attributes), 1))
        fill(ret_event, domain, attributes);
    else
        fill_short(ret_event, domain, attributes);
}
