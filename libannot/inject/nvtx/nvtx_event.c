/* SPDX-License-Identifier: MIT */
/* See nvtx_event.h. */
#include "nvtx_event.h"

#include "strings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Texts ------------------------------------------------------------------------------------
 */

char *nvtx_text_put(char *at, uint32_t c)
{
    if (c < 0x80) {
        *at++ = (char)c;
        return at;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x800) {
        *at++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *at++ = (char)(0xe0 | c >> 12);
        } else {
            *at++ = (char)(0xf0 | c >> 18);
            *at++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *at++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *at++ = (char)(0x80 | (c & 0x3f));
    return at;
}

const char *nvtx_text_from_wide(const wchar_t *wide, char text[NVTX_TEXT_SIZE])
{
    char *at = text, *end = text + NVTX_TEXT_SIZE - 5;
    if (!wide)
        return NULL;
    for (; *wide && at <= end; wide++)
        at = nvtx_text_put(at, (uint32_t)*wide);
    *at = 0;
    return text;
}

/* ---- Names that hold numbers ----------------------------------------------------------------- */

static const struct part {
    const char *mark, *key;
    uint8_t length; /* of the mark */
    uint8_t kind;   /* enum annot_payload_kind; none: dropped */
} parts[] = {
    {", seq = ", "seq", 8, ANNOT_PAYLOAD_INT64},
    {", op_id = ", "op_id", 10, ANNOT_PAYLOAD_INT64},
    {", sizes = ", "sizes", 10, ANNOT_PAYLOAD_STRING},
    {", input_op_ids = ", NULL, 17, ANNOT_PAYLOAD_NONE},
};

static const struct part *part_at(const char *text)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strncmp(text, parts[i].mark, parts[i].length) == 0)
            return &parts[i];
    return NULL;
}

static void add(struct nvtx_numbered *read, const struct part *part, const char *value)
{
    if (!part->key || read->count == NVTX_NUMBERED_VALUES)
        return;
    read->values[read->count++] = part->kind == ANNOT_PAYLOAD_INT64
                                      ? annot_value_int64(part->key, atoll(value))
                                      : annot_value_string(part->key, value);
}

int nvtx_numbered_read(struct nvtx_numbered *read, const char *text, const char *numbers)
{
    if ((size_t)(numbers - text) >= sizeof(read->text) / 2)
        return 0;
    strncpy(read->text, text, sizeof(read->text) - 1);
    read->text[sizeof(read->text) - 1] = '\0';
    read->count = 0;
    for (char *at = read->text + (numbers - text); at;) {
        const struct part *part = part_at(at);
        char *next = strchr(at + 1, ',');
        while (next && !part_at(next))
            next = strchr(next + 1, ',');
        *at = '\0';
        if (next)
            *next = '\0';
        add(read, part, at + part->length);
        if (next)
            *next = ',';
        at = next;
    }
    return 1;
}

/* ---- Events -----------------------------------------------------------------------------------
 */

struct nvtx_message nvtx_message_registered(nvtxStringHandle_t handle)
{
    annot_name name = nvtx_string_of(handle);
    return (struct nvtx_message){name, name ? "" : nvtx_string_text(handle)};
}

struct nvtx_message nvtx_message_of(int32_t type, nvtxMessageValue_t value)
{
    struct nvtx_message message = {0, ""};
    if (type == NVTX_MESSAGE_TYPE_ASCII)
        message.text = value.ascii;
    else if (type == NVTX_MESSAGE_TYPE_UNICODE)
        message.text = nvtx_thread_text(value.unicode);
    else if (type == NVTX_MESSAGE_TYPE_REGISTERED)
        message = nvtx_message_registered(value.registered);
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

/* Converts NVTX's kind to enum annot_payload_kind; others are dropped. */
static uint8_t payload_kind_of(int32_t type)
{
    static const uint8_t kinds[] = {
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT64] = ANNOT_PAYLOAD_UINT64,
        [NVTX_PAYLOAD_TYPE_INT64] = ANNOT_PAYLOAD_INT64,
        [NVTX_PAYLOAD_TYPE_DOUBLE] = ANNOT_PAYLOAD_DOUBLE,
        [NVTX_PAYLOAD_TYPE_UNSIGNED_INT32] = ANNOT_PAYLOAD_INT64,
        [NVTX_PAYLOAD_TYPE_INT32] = ANNOT_PAYLOAD_INT64,
        [NVTX_PAYLOAD_TYPE_FLOAT] = ANNOT_PAYLOAD_DOUBLE,
    };
    return (uint32_t)type < sizeof(kinds) ? kinds[type] : ANNOT_PAYLOAD_NONE;
}

/* Returns the bits of a number, in annot's width. */
static uint64_t payload_of(const nvtxEventAttributes_t *from)
{
    if (__builtin_expect(from->payloadType < NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, 1))
        return from->payload.ullValue;
    if (from->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT32)
        return from->payload.uiValue;
    if (from->payloadType == NVTX_PAYLOAD_TYPE_INT32)
        return (uint64_t)(int64_t)from->payload.iValue;
    double wide = (double)from->payload.fValue;
    uint64_t bits = 0;
    memcpy(&bits, &wide, sizeof(bits));
    return bits;
}

static inline void put(struct annot_event *event, const struct annot_event *named,
                       const nvtxEventAttributes_t *from)
{
    uint8_t kind = payload_kind_of(from->payloadType);
    *event = (struct annot_event){
        .text = named->text,
        .name = named->name,
        .domain = named->domain,
        .category = named->category,
        .color = from->colorType == NVTX_COLOR_ARGB ? from->color : 0,
        .payload_kind = kind,
        .payload.uint64 = kind ? payload_of(from) : 0,
    };
}

/* Reads an event that needs calls. */
static __attribute__((noinline)) void fill(struct annot_event *event, annot_domain domain,
                                           const nvtxEventAttributes_t *from)
{
    struct nvtx_message message = nvtx_message_of(from->messageType, from->message);
    const struct annot_event named = {
        .text = message.text,
        .name = message.name,
        .domain = domain,
        .category = from->category ? nvtx_category_of(domain, from->category) : 0};
    put(event, &named, from);
}

/* Reads only complete members of a shorter struct: the rest is zero, "unspecified". The message is
 * the last member, and half a pointer is not used. */
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
    if (__builtin_expect(!attributes || attributes->size < sizeof(*attributes), 0)) {
        fill_short(ret_event, domain, attributes);
    } else if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED && !attributes->category) {
        struct nvtx_message message = nvtx_message_registered(attributes->message.registered);
        const struct annot_event named = {
            .text = message.text, .name = message.name, .domain = domain};
        put(ret_event, &named, attributes);
    } else {
        fill(ret_event, domain, attributes);
    }
}
