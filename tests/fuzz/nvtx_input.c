/* SPDX-License-Identifier: MIT */
/* See nvtx_input.h. */
#include "nvtx_input.h"

#include "arena.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 8, TEXT_SIZE = 3000, INPUTS_OF_A_SESSION = 64, HANDLES = 8 };

/* Called by the arena: there are no tests here. */
void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}

uint64_t nvtx_take(struct nvtx_input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->at < input->end; i++)
        value |= (uint64_t)*input->at++ << 8 * i;
    return value;
}

/* Results of calls, as arguments of later calls. */
static uint64_t handles[HANDLES];
static unsigned handle_count;

void nvtx_keep(uint64_t handle)
{
    handles[handle_count++ % HANDLES] = handle;
}

uint64_t nvtx_take_handle(struct nvtx_input *input)
{
    uint8_t which = (uint8_t)nvtx_take(input, 1);
    return which & 0x80 ? nvtx_take(input, 8) : handles[which % HANDLES];
}

/* ---- Texts ----------------------------------------------------------------------------------- */

const char *nvtx_take_text(struct nvtx_input *input)
{
    static char huge[TEXT_SIZE], text[TEXTS][32];
    static unsigned next;
    unsigned kind = (unsigned)nvtx_take(input, 1) % 4;
    char *at = text[next++ % TEXTS];
    memset(huge, 'h', sizeof(huge) - 1);
    if (kind == 0)
        return NULL;
    if (kind == 1)
        return huge + nvtx_take(input, 2) % sizeof(huge);
    for (unsigned i = 0; i < 31; i++) /* usually not UTF-8 */
        at[i] = (char)nvtx_take(input, 1);
    at[31] = 0;
    return at;
}

const wchar_t *nvtx_take_wide(struct nvtx_input *input)
{
    static wchar_t huge[TEXT_SIZE], text[32];
    unsigned kind = (unsigned)nvtx_take(input, 1) % 4;
    wmemset(huge, L'\u00fc', TEXT_SIZE - 1);
    if (kind == 0)
        return NULL;
    if (kind == 1)
        return huge + nvtx_take(input, 2) % TEXT_SIZE;
    for (unsigned i = 0; i < 31; i++)
        text[i] = (wchar_t)nvtx_take(input, 4);
    text[31] = 0;
    return text;
}

nvtxMessageValue_t nvtx_take_message(struct nvtx_input *input, int32_t type)
{
    nvtxMessageValue_t value;
    value.registered = (nvtxStringHandle_t)(uintptr_t)nvtx_take_handle(input);
    if (type == NVTX_MESSAGE_TYPE_ASCII)
        value.ascii = nvtx_take_text(input);
    if (type == NVTX_MESSAGE_TYPE_UNICODE)
        value.unicode = nvtx_take_wide(input);
    return value;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

void *nvtx_shortened(const void *whole, size_t size, size_t said, size_t least)
{
    size_t length = said < size ? said : size;
    if (length < least)
        length = least;
    void *copy = malloc(length);
    if (copy)
        memcpy(copy, whole, length);
    return copy;
}

/* ---- Recordings ------------------------------------------------------------------------------ */

static unsigned inputs;

void nvtx_input_begin(void)
{
    if (inputs % INPUTS_OF_A_SESSION == 0)
        arena_begin(NULL);
}

void nvtx_input_end(void)
{
    if (++inputs % INPUTS_OF_A_SESSION == 0) {
        arena_end();
        arena_clean();
    }
}
