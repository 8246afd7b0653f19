/* SPDX-License-Identifier: MIT */
/* Arena and open addressing of strtab.h. Invariant: slots are at most half full; each holds the
 * first ordinal of its text. Thread-safety: none. */
#include "strtab.h"

#include "hash.h"

#include <errno.h>
#include <stdlib.h>

enum { ARENA_PAGE = 64 * 1024, FIRST_SLOTS = 64, MAX_LENGTH = 1 << 24 };

static char *arena_copy(struct strtab *table, const char *bytes, size_t length)
{
    if (table->page_size - table->page_used < length + 1) {
        size_t size = length + 1 > ARENA_PAGE ? length + 1 : ARENA_PAGE;
        char *page = malloc(size);
        if (!page || vec_push(&table->pages, page) != 0) {
            free(page);
            return NULL;
        }
        table->page_used = 0;
        table->page_size = size;
    }
    char *copy = table->pages.items[table->pages.count - 1] + table->page_used;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    table->page_used += length + 1;
    return copy;
}

/* The slot of this text, or the free one for it. */
static uint32_t *probe(const struct strtab *table, const char *bytes, size_t length)
{
    size_t mask = table->slot_count - 1;
    for (size_t at = hash_bytes(bytes, length) & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &table->slots[at];
        if (*slot == 0)
            return slot;
        const struct strtab_entry *entry = strtab_get(table, *slot - 1);
        if (entry->length == length && memcmp(entry->bytes, bytes, length) == 0)
            return slot;
    }
}

static int reserve_slot(struct strtab *table)
{
    if ((table->count + 1) * 2 <= table->slot_count)
        return 0;
    struct strtab grown = *table;
    grown.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    for (size_t i = 0; i < table->count; i++) {
        const struct strtab_entry *entry = strtab_get(table, i);
        uint32_t *slot = probe(&grown, entry->bytes, entry->length);
        if (*slot == 0)
            *slot = (uint32_t)i + 1;
    }
    free(table->slots);
    table->slots = grown.slots;
    table->slot_count = grown.slot_count;
    return 0;
}

static int reserve_entry(struct strtab *table)
{
    if (table->count < table->blocks.count * STRTAB_BLOCK)
        return 0;
    struct strtab_entry *block = malloc(STRTAB_BLOCK * sizeof(*block));
    if (block && vec_push(&table->blocks, block) == 0)
        return 0;
    free(block);
    return -ENOMEM;
}

static int64_t append_at(struct strtab *table, uint32_t *slot, const char *bytes, size_t length)
{
    char *copy = arena_copy(table, bytes, length);
    if (!copy || reserve_entry(table) != 0)
        return -ENOMEM;
    size_t ordinal = table->count++;
    table->blocks.items[ordinal / STRTAB_BLOCK][ordinal % STRTAB_BLOCK] =
        (struct strtab_entry){copy, (uint32_t)length};
    if (*slot == 0)
        *slot = (uint32_t)ordinal + 1;
    return (int64_t)ordinal;
}

int64_t strtab_add(struct strtab *table, const char *bytes, size_t length)
{
    if (length > MAX_LENGTH || table->count >= INT32_MAX || reserve_slot(table) != 0)
        return -ENOMEM;
    uint32_t *slot = probe(table, bytes, length);
    return *slot != 0 ? (int64_t)*slot - 1 : append_at(table, slot, bytes, length);
}

int64_t strtab_append(struct strtab *table, const char *bytes, size_t length)
{
    if (length > MAX_LENGTH || table->count >= INT32_MAX || reserve_slot(table) != 0)
        return -ENOMEM;
    return append_at(table, probe(table, bytes, length), bytes, length);
}

void strtab_free(struct strtab *table)
{
    for (size_t i = 0; i < table->pages.count; i++)
        free(table->pages.items[i]);
    vec_free(&table->pages);
    for (size_t i = 0; i < table->blocks.count; i++)
        free(table->blocks.items[i]);
    vec_free(&table->blocks);
    free(table->slots);
    *table = (struct strtab){0};
}
