/* SPDX-License-Identifier: MIT */
/* The name field of a record: the id of a string that is ready in the segment, or the text.
 *
 * Threads: all for the control block's own thread, with its BUSY mark set. */
#ifndef ANNOT_SPELL_H
#define ANNOT_SPELL_H

#include "control.h"
#include "strings.h"

#include <annot_barrier.h>
#include <string.h>

/* In: id, or 0. Out: id, or 0 and the key. */
struct spelled {
    struct string_key key;
    uint32_t id;
    uint8_t manner; /* enum spell_manner */
    uint8_t flags;  /* enum annot_record_flags */
};

enum spell_manner {
    SPELL_INTERNED = 0,
    SPELL_SPARING = 1, /* leaves half of the table to names that repeat */
    SPELL_INLINE = 2,  /* a text that rarely repeats */
};

/* Resolves a name. `text`: used if the id is 0; NULL is "(null)". Key length 0: there is an id. */
void spell_name(struct control *control, const char *text, struct spelled *spelled);

/* The slot of a text's address in keep->by_address. */
static inline uint32_t spell_slot(const char *text)
{
    return (uint32_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

_Static_assert(NAME_CACHE_SIZE == 1 << 8, "spell_slot gives eight bits");

uint32_t spell_by_text(struct control *control, const char *text);

/* Returns the id of a text in the calling thread's caches, or 0. A text is usually at the same
 * address as before; its bytes are compared nevertheless. */
static inline uint32_t spell_cached(struct control *control, const char *text)
{
    uint32_t id = control->keep->by_address[spell_slot(text)];
    if (__builtin_expect(id != 0 && text != NULL, 1)) {
        const struct annot_string *string = strings_known(id);
        uint32_t length = annot_load_relaxed(&string->length);
        if (__builtin_expect(strncmp(text, string_bytes(string), length) == 0 && !text[length], 1))
            return id;
    }
    return spell_by_text(control, text);
}

/* Returns the id if it is ready in the segment, or 0. */
uint32_t spell_ready(struct control *control, uint32_t name);

#endif
