/* SPDX-License-Identifier: MIT */
/* See nvtx_text.h. */
#include "nvtx_text.h"

#include <stddef.h>
#include <stdlib.h>

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
