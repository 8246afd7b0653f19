/* SPDX-License-Identifier: MIT */
/* Names of records: see spell.h. */
#include "spell.h"

#include "proc.h"
#include "process.h"
#include "strings.h"

#include <annot_barrier.h>
#include <string.h>

/* A hash of length, beginning and end: good enough for a cache that compares the whole text. */
static uint32_t cache_slot(const char *text, size_t length)
{
    uint64_t first = 0, last = 0;
    if (length >= 8) {
        memcpy(&first, text, 8);
        memcpy(&last, text + length - 8, 8);
    } else if (length >= 4) {
        memcpy(&first, text, 4);
        memcpy(&last, text + length - 4, 4);
    } else if (length > 0) {
        first = (unsigned char)text[0];
        last = (uint64_t)(unsigned char)text[length / 2] << 8 | (unsigned char)text[length - 1];
    }
    uint64_t hash = (first ^ (last << 7 | last >> 57) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(hash >> 56);
}

_Static_assert(NAME_CACHE_SIZE == 1 << 8, "cache_slot gives eight bits");

uint32_t spell_by_text(struct control *control, const char *text)
{
    if (!text)
        return 0;
    size_t length = strlen(text);
    uint32_t id = control->keep->cache[cache_slot(text, length)];
    if (id == 0)
        return 0;
    const struct annot_string *string = strings_known(id);
    if (annot_load_relaxed(&string->length) != length ||
        memcmp(string_bytes(string), text, length) != 0)
        return 0;
    control->keep->by_address[spell_slot(text)] = id;
    return id;
}

/* Returns the id in the mirror; 0: the text must go into the record. The key is built on the stack,
 * where another task that shares the thread's storage does not change it. */
static APART uint32_t intern(const char *text, struct spelled *spelled)
{
    struct string_key key;
    string_key_init(&key, text, ANNOT_STRING_NAME);
    key.sparing = spelled->manner == SPELL_SPARING ? 2 : 0;
    spelled->key = key;
    return spelled->manner == SPELL_INLINE ? 0 : strings_intern(&key);
}

uint32_t spell_ready(struct control *control, uint32_t name)
{
    if (name < control->name_limit)
        return name;
    control->name_limit = strings_sync(control->segment);
    return name < control->name_limit || strings_copy(control->segment, name) ? name : 0;
}

/* Writes the name into the record: of an id that is only in the mirror, or the key's. */
static APART void spell_inline(struct control *control, struct spelled *spelled, uint32_t id)
{
    struct string_key *key = &spelled->key;
    const struct annot_string *string = strings_get(id);
    if (id) {
        key->bytes = string ? string_bytes(string) : "";
        key->length = string ? (uint16_t)string_length(string) : 0;
        key->flags = string ? annot_load_relaxed(&string->flags) & ANNOT_STRING_CUT : 0;
    }
    spelled->flags =
        ANNOT_FLAG_NAME_INLINE | (key->flags & ANNOT_STRING_CUT ? ANNOT_FLAG_NAME_CUT : 0);
    if (spelled->manner == SPELL_INTERNED && (id == 0 || string)) /* else the id is invalid */
        process_misuse(control->segment, ANNOT_MISUSE_NAME_INLINE);
}

/* Caches the id, unless the text was cut. */
static void cache(struct control *control, uint32_t id)
{
    const struct annot_string *string = strings_get(id);
    if (string && !annot_load_relaxed(&string->flags))
        control->keep->cache[cache_slot(string_bytes(string), string_length(string))] = id;
}

static APART uint32_t find(struct control *control, const char *text, struct spelled *spelled)
{
    if (spelled->id)
        return spelled->id;
    uint32_t id = spelled->manner == SPELL_INLINE ? 0 : spell_cached(control, text);
    return id ? id : intern(text, spelled);
}

APART void spell_name(struct control *control, const char *text, struct spelled *spelled)
{
    spelled->key.length = spelled->key.flags = 0;
    uint32_t id = find(control, text, spelled);
    if (spelled->key.flags & ANNOT_STRING_CUT)
        process_misuse(control->segment, ANNOT_MISUSE_NAME_CUT);
    else if (id && spelled->key.length && spelled->manner == SPELL_INTERNED)
        cache(control, id);
    spelled->id = spell_ready(control, id);
    spelled->key.length = spelled->id ? 0 : spelled->key.length;
    if (spelled->id == 0)
        spell_inline(control, spelled, id);
}
