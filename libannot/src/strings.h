/* SPDX-License-Identifier: MIT */
/* Interned strings: a private mirror of the string table, and copies of it in segments.
 *
 * The mirror is inherited by forked children and outlives segments, and the table of every segment
 * has the same offsets: an id cached at a call site stays valid for the life of the process and its
 * children. Threads: any, also signal handlers; lock-free, append-only.
 * Invariants: the first word of a string (length, kind) is stored in one swap with its reservation,
 * so a reader of the table can always step over unfinished ones. A record refers only to strings
 * that are ready in its segment. */
#ifndef ANNOT_STRINGS_H
#define ANNOT_STRINGS_H

#include "segment.h"

#include <annot_barrier.h>
#include <stddef.h>

struct string_key {
    const char *bytes;
    uint16_t length;     /* at most ANNOT_STRING_MAX */
    uint8_t kind;        /* enum annot_string_kind */
    uint8_t flags : 6;   /* enum annot_string_flags */
    uint8_t sparing : 2; /* quarters of the table that it leaves to others */
    uint16_t parent;     /* ANNOT_STRING_CATEGORY, ANNOT_STRING_OBSERVED: domain */
    /* ANNOT_STRING_COUNTER_UNIT: domain; of numbered strings: 0, or the number it gets */
    uint16_t number;
};

/* Maps mirror and hash table. Returns 0 or negative errno. Called once, in the constructor. */
int strings_setup(void);

/* A forked child has one thread: strings that others were writing will never be ready. */
void strings_after_fork(void);

/* Returns where to cut a text that is longer than `limit`, at a character boundary. */
uint32_t text_cut(const char *text, uint32_t limit);

/* Bytes of a text, cut at a character at ANNOT_STRING_MAX. NULL becomes "(null)". */
void string_key_init(struct string_key *key, const char *text, enum annot_string_kind kind);

/* Returns the id of a string, made if missing. 0: the table is full. */
uint32_t strings_intern(const struct string_key *key);

/* Returns the number of a domain or category `name` with the observer in `observed`
 * (ANNOT_STRING_OBSERVED), made if missing; 0: the table is full. */
uint16_t strings_observe(const struct string_key *observed, const struct string_key *name);

/* Returns the number of an interned domain, category or schema. */
uint16_t strings_number(uint32_t id);

/* Returns the ready string of an id, or NULL. */
const struct annot_string *strings_get(uint32_t id);

/* Returns the highest number that a domain or category has, or is about to have. */
uint32_t strings_last_number(void);

/* Returns the ready domain or category of a number, or NULL. */
const struct annot_string *strings_by_number(uint32_t number);

/* Ids of domains and categories by number, 0 = not ready; all 65,536. */
extern uint32_t *strings_numbered __attribute__((visibility("hidden")));

/* The mirror; NULL: out of memory. */
extern uint8_t *strings_mirror __attribute__((visibility("hidden")));

/* The string of an id that strings_intern returned. */
static inline const struct annot_string *strings_known(uint32_t id)
{
    return (const struct annot_string *)(strings_mirror + (uint64_t)id * ANNOT_STRING_UNIT);
}

/* Copies all new strings of the mirror into the segment, as far as space and memory allow. Returns
 * the limit below which every id is ready there. Cost: one load without new ones. */
uint32_t strings_sync(struct segment *segment);

/* The same for one id that strings_sync did not reach. Returns 1 if it is ready there. */
int strings_copy(struct segment *segment, uint32_t id);
/* Both: returns 1 if one id is ready in the segment. */
int strings_sync_one(struct segment *segment, uint32_t id);

/* Length and kind of a ready string. In one atomic load, because a late swap in `reserve` may still
 * attempt that word, and fail. */
static inline uint32_t string_length(const struct annot_string *string)
{
    return (uint16_t)(annot_load_relaxed((const uint64_t *)string) >> 32);
}

static inline uint8_t string_kind(const struct annot_string *string)
{
    return (uint8_t)(annot_load_relaxed((const uint64_t *)string) >> 48);
}

static inline const char *string_bytes(const struct annot_string *string)
{
    return (const char *)(string + 1);
}

#endif
