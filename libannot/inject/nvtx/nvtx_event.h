/* SPDX-License-Identifier: MIT */
/* Attributes of a program's event as an annot event, and texts of programs: wide characters as
 * UTF-8, and names that contain numbers. Untrusted bytes: sizes are honoured, unknown handles get
 * an empty name. Reentrant; async-signal-safe. */
#ifndef ANNOT_NVTX_EVENT_H
#define ANNOT_NVTX_EVENT_H

#include "nvtx.h"
#include "nvtx_scope.h"
#include "nvtx_thread.h"

#include <annot/values.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

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

/* ---- Texts ---- */

/* Returns `text`; NULL for NULL. Invalid characters become U+FFFD; longer texts are cut. */
const char *nvtx_text_from_wide(const wchar_t *wide, char text[NVTX_TEXT_SIZE]);

/* Writes a character as UTF-8, without a NUL, in up to four bytes. Returns the end. */
char *nvtx_text_put(char *at, uint32_t c);

/* ---- Names that hold numbers ---- */

/* PyTorch's emit_nvtx makes them: "aten::mm, seq = 7, op_id = 41, sizes = [[8, 128], [128, 64]],
 * input_op_ids = [(39,0)]". Each would be a name used once: sums by name would be useless, and the
 * table of names would fill. The event's name is the part before the numbers; the numbers become
 * key-values. */

enum { NVTX_NUMBERED_TEXT = 384, NVTX_NUMBERED_VALUES = 3 };

/* The result of nvtx_numbered_read(). */
struct nvtx_numbered {
    char text[NVTX_NUMBERED_TEXT];
    struct annot_value values[NVTX_NUMBERED_VALUES];
    size_t count;
};

/* Returns the comma before its numbers; NULL: no numbers. */
static inline const char *nvtx_numbers_of(const char *text)
{
    const char *comma = text ? strchr(text, ',') : NULL;
    while (comma && strncmp(comma, ", seq = ", 8) != 0 && strncmp(comma, ", op_id = ", 10) != 0 &&
           strncmp(comma, ", sizes = ", 10) != 0)
        comma = strchr(comma + 1, ',');
    return comma;
}

/* `numbers`: from nvtx_numbers_of(). Returns 0 if the name is too long, and is recorded whole. Long
 * texts after the name are cut. Ids of inputs are dropped: each is the op_id of another event. */
int nvtx_numbered_read(struct nvtx_numbered *read, const char *text, const char *numbers);

#endif
