/* SPDX-License-Identifier: MIT */
/* See nvtx_text.h. */
#include "nvtx_text.h"

#include <stddef.h>

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
