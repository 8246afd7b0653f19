/* SPDX-License-Identifier: MIT */
/* Interned strings: see strings.h. */
#include "strings.h"

#include "proc.h"
#include "testpoint.h"

#include <annot_barrier.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MIRROR_MOST = ANNOT_STRINGS_SIZE_DEFAULT,
    MIRROR_LEAST = 64 * 1024,
    NUMBERS = UINT16_MAX + 1,
    BACKING_STEP = 64 * 1024,
};

uint8_t *strings_mirror;
static uint32_t mirror_size = MIRROR_MOST; /* W: strings_setup; a power of two */
static uint32_t table_size;                /* a string has two units: at most half full */
static uint32_t *table;                    /* open addressing; ids, 0 = empty */
uint32_t *strings_numbered;
static uint32_t mirror_used = ANNOT_STRING_UNIT; /* W: all, atomic */
static uint32_t last_number;                     /* of domains and categories; W: all, atomic */
static uint32_t last_schema;                     /* W: all, atomic */

int strings_setup(void)
{
    const uint64_t most = proc_private_room() / PROC_ROOM_PARTS;
    while (mirror_size > MIRROR_LEAST && mirror_size > most)
        mirror_size /= 2;
    table_size = mirror_size / ANNOT_STRING_UNIT;
    const size_t size = mirror_size + ((size_t)table_size + NUMBERS) * sizeof(uint32_t);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    strings_mirror = memory;
    table = (uint32_t *)(strings_mirror + mirror_size);
    strings_numbered = table + table_size;
    return 0;
}

static struct annot_string *at_offset(uint32_t offset)
{
    return (struct annot_string *)(strings_mirror + offset);
}

static uint32_t size_of(uint32_t length)
{
    return (uint32_t)sizeof(struct annot_string) +
           ((length + ANNOT_STRING_UNIT - 1) & ~(uint32_t)(ANNOT_STRING_UNIT - 1));
}

/* The first word of a string: ready, length, kind, flags. */
static uint64_t word_make(const struct string_key *key)
{
    return (uint64_t)key->length << 32 | (uint64_t)key->kind << 48 | (uint64_t)key->flags << 56;
}

static uint32_t word_size(uint64_t word)
{
    return size_of((uint16_t)(word >> 32));
}

uint32_t text_cut(const char *text, uint32_t limit)
{
    uint32_t length = limit;
    while (length > limit - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

void string_key_init(struct string_key *key, const char *text, enum annot_string_kind kind)
{
    if (!text)
        text = "(null)";
    size_t length = strnlen(text, ANNOT_STRING_MAX + 1);
    *key = (struct string_key){.bytes = text, .kind = (uint8_t)kind};
    if (length > ANNOT_STRING_MAX) {
        length = text_cut(text, ANNOT_STRING_MAX);
        key->flags = ANNOT_STRING_CUT;
    }
    key->length = (uint16_t)length;
}

static uint32_t hash_of(const struct string_key *key)
{
    uint32_t hash = UINT32_C(0x811c9dc5);
    for (uint32_t i = 0; i < key->length; i++)
        hash = (hash ^ (unsigned char)key->bytes[i]) * UINT32_C(0x01000193);
    return hash;
}

static int equal(uint32_t id, const struct string_key *key, uint32_t hash)
{
    const struct annot_string *string = at_offset(id * ANNOT_STRING_UNIT);
    /* Atomic, because a late swap in reserve may still attempt this word, and fail. */
    uint64_t word = annot_load_relaxed((const uint64_t *)string) & ~UINT64_C(0xffffffff);
    return (word | (uint64_t)ANNOT_STRING_CUT << 56) ==
               (word_make(key) | (uint64_t)ANNOT_STRING_CUT << 56) &&
           string->hash == hash &&
           ((key->kind != ANNOT_STRING_CATEGORY && key->kind != ANNOT_STRING_OBSERVED) ||
            string->parent == key->parent) &&
           (key->kind != ANNOT_STRING_COUNTER_UNIT || string->number == key->number) &&
           memcmp(string_bytes(string), key->bytes, key->length) == 0;
}

/* Reserves by one swap of the first word at the end; a thread that finds it taken moves the end. */
static uint32_t reserve(const struct string_key *key)
{
    const uint32_t limit = mirror_size / 4 * (4 - (uint32_t)key->sparing);
    uint32_t used = annot_load_acquire(&mirror_used); /* partner: the swaps below */
    for (;;) {
        uint64_t *word = (uint64_t *)(strings_mirror + used);
        uint64_t found;
        if (used + size_of(key->length) > limit)
            return 0;
        int mine = (found = annot_load_acquire(word)) == 0 &&
                   annot_cas_acq_rel(word, &found, word_make(key)); /* partner: itself */
        TESTPOINT("intern:reserved");
        uint32_t offset = used;
        uint32_t next = used + (mine ? size_of(key->length) : word_size(found));
        if (annot_cas_acq_rel(&mirror_used, &used, next))
            used = next;
        if (mine)
            return offset / ANNOT_STRING_UNIT;
    }
}

static uint16_t next_number(uint32_t *last)
{
    uint32_t number = annot_load_relaxed(last);
    do {
        if (number == UINT16_MAX)
            return 0;
    } while (!annot_cas_acq_rel(last, &number, number + 1)); /* partner: itself */
    return (uint16_t)(number + 1);
}

static int is_numbered(uint8_t kind)
{
    return kind == ANNOT_STRING_DOMAIN || kind == ANNOT_STRING_CATEGORY ||
           kind == ANNOT_STRING_SCHEMA || kind == ANNOT_STRING_OBSERVED;
}

static uint32_t append(const struct string_key *key, uint32_t hash)
{
    uint16_t number = key->number;
    if (is_numbered(key->kind) && number == 0) {
        number = next_number(key->kind == ANNOT_STRING_SCHEMA ? &last_schema : &last_number);
        if (number == 0)
            return 0;
    }
    uint32_t id = reserve(key);
    if (id == 0)
        return 0;
    struct annot_string *string = at_offset(id * ANNOT_STRING_UNIT);
    string->number = number;
    string->parent = key->parent;
    string->hash = hash;
    memcpy(string + 1, key->bytes, key->length);
    TESTPOINT("intern:filled");
    annot_store_release(&string->ready, 1u); /* partner: loads of `ready` in sync and get */
    if (key->kind == ANNOT_STRING_DOMAIN || key->kind == ANNOT_STRING_CATEGORY)
        annot_store_release(&strings_numbered[number], id); /* partner: strings_by_number */
    return id;
}

uint32_t strings_intern(const struct string_key *key)
{
    if (!strings_mirror)
        return 0;
    uint32_t hash = hash_of(key);
    uint32_t slot = hash * UINT32_C(0x9e3779b1) ^ key->kind * 0x5bd1u ^ key->parent * 0x9e37u;
    uint32_t mine = 0;
    for (uint32_t probe = 0; probe < table_size; probe++, slot++) {
        uint32_t *entry = &table[slot & (table_size - 1)];
        uint32_t id = annot_load_acquire(entry); /* partner: the swap below */
        if (id == 0) {
            if (mine == 0)
                mine = append(key, hash);
            if (mine == 0)
                return 0;
            /* Partner: the load above. Losing against the same text wastes one string. */
            if (annot_cas_acq_rel(entry, &id, mine))
                return mine;
        }
        if (equal(id, key, hash))
            return id;
    }
    return 0;
}

/* Concurrent threads may each append the name. */
uint16_t strings_observe(const struct string_key *observed, const struct string_key *name)
{
    uint16_t number = strings_number(strings_intern(observed));
    if (number == 0 || strings_by_number(number))
        return number;
    struct string_key key = *name;
    key.number = number;
    return append(&key, hash_of(&key)) ? number : 0;
}

uint16_t strings_number(uint32_t id)
{
    return id ? at_offset(id * ANNOT_STRING_UNIT)->number : 0;
}

const struct annot_string *strings_get(uint32_t id)
{
    uint64_t offset = (uint64_t)id * ANNOT_STRING_UNIT;
    if (id == 0 || !strings_mirror ||
        offset >= annot_load_acquire(&mirror_used)) /* partner: reserve */
        return NULL;
    const struct annot_string *string = at_offset((uint32_t)offset);
    if (annot_load_acquire(&string->ready) != 1 || /* partner: append */
        string_length(string) > ANNOT_STRING_MAX ||
        offset + size_of(string_length(string)) > mirror_size)
        return NULL;
    return string;
}

uint32_t strings_last_number(void)
{
    return annot_load_acquire(&last_number); /* partner: next_number */
}

const struct annot_string *strings_by_number(uint32_t number)
{
    if (!strings_mirror || number >= NUMBERS)
        return NULL;
    return strings_get(annot_load_acquire(&strings_numbered[number])); /* partner: append */
}

/* Reserves memory. Returns 0 if a string that ends there can't be stored. */
static APART int back(struct segment *segment, uint32_t end)
{
    uint32_t backed = annot_load_relaxed(&segment->strings_backed);
    if (end > segment->strings_size)
        return 0;
    while (end > backed) {
        uint32_t next = backed + BACKING_STEP;
        if (next > segment->strings_size)
            next = segment->strings_size;
        if (segment_populate(segment, segment->strings + backed, next - backed) != 0)
            return 0;
        if (annot_cas_acq_rel(&segment->strings_backed, &backed, next)) /* partner: itself */
            backed = next;
    }
    return 1;
}

static void raise_used(struct segment *segment, uint32_t end)
{
    uint32_t *used = &segment->header->shared.string_used;
    uint32_t old = annot_load_relaxed(used);
    /* Partner: the collector's acquire load. Below it, every first word is written. */
    while (old < end && !annot_cas_acq_rel(used, &old, end))
        continue;
}

/* Returns the size of a string in the mirror. */
static uint32_t size_at(uint32_t offset)
{
    return word_size(
        annot_load_acquire((uint64_t *)(strings_mirror + offset))); /* partner: reserve */
}

/* Writes the first word, not ready. */
static void copy_word(struct segment *segment, uint32_t offset)
{
    uint64_t none = 0, word = annot_load_acquire((uint64_t *)(strings_mirror + offset));
    annot_cas_acq_rel((uint64_t *)(segment->strings + offset), &none, word & ~UINT64_C(0xffffffff));
    TESTPOINT("strings:word");
    raise_used(segment, offset + word_size(word));
}

/* Two threads may copy the same string: they store the same words. */
static void copy_rest(struct segment *segment, uint32_t offset)
{
    uint32_t size = size_at(offset);
    const uint64_t *from = (const uint64_t *)(strings_mirror + offset);
    uint64_t *to = (uint64_t *)(segment->strings + offset);
    for (uint32_t i = 1; i < size / sizeof(uint64_t); i++)
        annot_store_relaxed(&to[i], from[i]);
    TESTPOINT("strings:copied");
    /* Partner: the collector's acquire load of `ready`. */
    annot_store_release((uint32_t *)to, 1u);
}

static APART void copy_whole(struct segment *segment, uint32_t offset)
{
    copy_word(segment, offset);
    copy_rest(segment, offset);
}

uint32_t strings_sync(struct segment *segment)
{
    uint32_t limit = annot_load_acquire(&segment->strings_limit); /* partner: the swap below */
    uint32_t used = annot_load_acquire(&mirror_used);             /* partner: reserve */
    uint32_t offset = limit * ANNOT_STRING_UNIT;
    if (offset >= used || offset >= segment->strings_size)
        return limit;
    while (offset < used) {
        if (annot_load_acquire(&at_offset(offset)->ready) != 1) /* partner: append */
            break;
        if (!back(segment, offset + size_at(offset)))
            break;
        copy_whole(segment, offset);
        offset += size_at(offset);
    }
    uint32_t reached = offset / ANNOT_STRING_UNIT;
    while (limit < reached && !annot_cas_acq_rel(&segment->strings_limit, &limit, reached))
        continue;
    return reached > limit ? reached : limit;
}

int strings_copy(struct segment *segment, uint32_t id)
{
    uint32_t target = id * ANNOT_STRING_UNIT;
    if (!strings_get(id) || target >= segment->strings_size)
        return 0;
    if (target < annot_load_relaxed(&segment->header->shared.string_used) &&
        annot_load_acquire((uint32_t *)(segment->strings + target)) == 1) /* partner: copy_rest */
        return 1;
    uint32_t offset = annot_load_relaxed(&segment->strings_limit) * ANNOT_STRING_UNIT;
    while (offset <= target) {
        if (!back(segment, offset + size_at(offset)))
            return 0;
        copy_word(segment, offset);
        if (offset == target)
            copy_rest(segment, offset);
        offset += size_at(offset);
    }
    return 1;
}

int strings_sync_one(struct segment *segment, uint32_t id)
{
    return id != 0 && (id < strings_sync(segment) || strings_copy(segment, id));
}

void strings_after_fork(void)
{
    uint32_t offset = ANNOT_STRING_UNIT;
    /* The last one may be reserved without mirror_used having been raised. */
    while (strings_mirror &&
           (offset < mirror_used ||
            (offset < mirror_size && *(const uint64_t *)(strings_mirror + offset) != 0))) {
        struct annot_string *string = at_offset(offset);
        if (string->ready != 1) {
            string->kind = 0; /* readers skip it */
            string->ready = 1;
        }
        offset += size_of(string->length);
    }
    if (strings_mirror)
        mirror_used = offset;
}
