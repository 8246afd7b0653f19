/* SPDX-License-Identifier: MIT */
/* Registered strings: see nvtx_scope.h. libannot's table of names is for some ten thousands; there
 * are programs that register a new one for each step. The text of those that find no place there is
 * kept here, and their handle is where it stands. */
#include "nvtx_scope.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ROOM = 64 << 20,     /* of addresses; memory is taken as it is used */
    TEXT_MAX = 1024 + 4, /* what is longer than a name may be shows that it was cut */
};

static char *room;   /* W: swapped once */
static size_t taken; /* W: all, atomic; may be more than there is */
static int is_full;  /* libannot's table; W: anybody, once */

/* NULL: there is none, or where handles would be numbers. */
static char *room_made(void)
{
    char *known = annot_load_acquire(&room); /* partner: the swap */
    if (known)
        return known;
    int error = errno;
    char *made = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = error;
    if (made == MAP_FAILED)
        return NULL;
    if ((uintptr_t)made > UINT32_MAX && annot_cas_acq_rel(&room, &known, made)) /* partner: above */
        return made;
    munmap(made, ROOM);
    errno = error;
    return known;
}

/* Zeros stand behind it. */
static nvtxStringHandle_t keep(const char *text)
{
    size_t length = strnlen(text, TEXT_MAX);
    char *memory = annot_load_relaxed(&taken) < ROOM - TEXT_MAX ? room_made() : NULL;
    size_t at = memory ? annot_fetch_add_relaxed(&taken, length + 1) : ROOM;
    if (at >= ROOM - TEXT_MAX)
        return NULL;
    memcpy(memory + at, text, length);
    return (nvtxStringHandle_t)(void *)(memory + at);
}

/* A table that once had no place is not asked again: it counts what it leaves out. */
nvtxStringHandle_t nvtx_string_make(const char *text)
{
    annot_name name = annot_load_relaxed(&is_full) ? 0 : annot_name_intern(text);
    if (name)
        return (nvtxStringHandle_t)(uintptr_t)name;
    annot_store_relaxed(&is_full, 1); /* any order will do */
    return keep(text ? text : "(null)");
}

const char *nvtx_string_text(nvtxStringHandle_t handle)
{
    const char *memory = annot_load_acquire(&room); /* partner: room_made */
    uintptr_t at = (uintptr_t)handle - (uintptr_t)memory;
    return memory && at < ROOM - TEXT_MAX ? memory + at : "";
}
