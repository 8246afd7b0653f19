/* SPDX-License-Identifier: MIT */
/* Ranks and a radix sort: a table of half a million symbols must be there within 100 ms. */
#include "symbol_sort.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASS_LABEL = 4,   /* no function: rank bit 11 */
    CLASS_UNSIZED = 2, /* a function without a size: bit 10 */
    CLASS_LOCAL = 1,   /* bit 9 */
    CLASS_SHIFT = 9,   /* of the rank; below: 3 bits of underscores, 6 of the length */
    UNDERSCORES_MAX = 7,
    LENGTH_MAX = 63,
    DIGIT_BITS = 8,
    DIGITS = 6, /* of an address */
    DIGIT_VALUES = 1 << DIGIT_BITS,
};

uint64_t symbol_rank(const struct elf_symbol *symbol)
{
    unsigned class = 0;
    if (symbol->type == STT_NOTYPE)
        class = CLASS_LABEL;
    else if (symbol->size == 0)
        class = CLASS_UNSIZED;
    if (symbol->binding == STB_LOCAL)
        class |= CLASS_LOCAL;
    size_t underscores = strspn(symbol->name, "_");
    size_t length = strnlen(symbol->name, LENGTH_MAX);
    /* Mangled names begin with an underscore by rule, not by modesty. */
    if (underscores == 1 && (symbol->name[1] == 'Z' || symbol->name[1] == 'R'))
        underscores = 0;
    if (underscores > UNDERSCORES_MAX)
        underscores = UNDERSCORES_MAX;
    return (uint64_t) class << CLASS_SHIFT | underscores << 6 | length;
}

static unsigned digit_of(const struct symbol_entry *entry, unsigned digit)
{
    return entry->key >> (SYMBOL_RANK_BITS + digit * DIGIT_BITS) & (DIGIT_VALUES - 1);
}

/* One pass: from `entries` into `other` by one digit, stable. */
static void sort_by_digit(const struct symbol_entry *entries, struct symbol_entry *other,
                          size_t count, unsigned digit, const size_t *counts)
{
    size_t places[DIGIT_VALUES], at = 0;
    for (size_t i = 0; i < DIGIT_VALUES; i++) {
        places[i] = at;
        at += counts[i];
    }
    for (size_t i = 0; i < count; i++)
        other[places[digit_of(&entries[i], digit)]++] = entries[i];
}

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = ((const struct symbol_entry *)left)->key;
    uint64_t b = ((const struct symbol_entry *)right)->key;
    return (a > b) - (a < b);
}

static void sort_by_address(struct symbol_entry *entries, size_t count)
{
    static const size_t none[DIGIT_VALUES];
    struct symbol_entry *other = malloc(count * sizeof(*other)), *from = entries, *to = other;
    size_t counts[DIGITS][DIGIT_VALUES];
    if (!other) {
        qsort(entries, count, sizeof(*entries), compare_keys);
        return;
    }
    for (unsigned digit = 0; digit < DIGITS; digit++)
        memcpy(counts[digit], none, sizeof(none));
    for (size_t i = 0; i < count; i++) {
        for (unsigned digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(&entries[i], digit)]++;
    }
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        if (counts[digit][digit_of(&entries[0], digit)] == count)
            continue; /* all the same */
        sort_by_digit(from, to, count, digit, counts[digit]);
        struct symbol_entry *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries)
        memcpy(entries, from, count * sizeof(*entries));
    free(other);
}

static unsigned rank_of(const struct symbol_entry *entry)
{
    return (unsigned)(entry->key >> SYMBOL_SOURCE_BITS) & 0xfff;
}

static bool better(const struct symbol_entry *a, const struct symbol_entry *b)
{
    unsigned rank_a = rank_of(a), rank_b = rank_of(b);
    if (rank_a >> CLASS_SHIFT != rank_b >> CLASS_SHIFT)
        return rank_a >> CLASS_SHIFT < rank_b >> CLASS_SHIFT;
    return a->size != b->size ? a->size > b->size : rank_a < rank_b;
}

size_t symbol_sort(struct symbol_entry *entries, size_t count)
{
    if (count == 0)
        return 0;
    sort_by_address(entries, count);
    size_t kept = 0;
    uint64_t covered = 0; /* up to here, functions with known sizes reach */
    for (size_t i = 0, next; i < count; i = next) {
        uint64_t address = entries[i].key >> SYMBOL_RANK_BITS;
        struct symbol_entry best = entries[i];
        for (next = i + 1; next < count && entries[next].key >> SYMBOL_RANK_BITS == address; next++)
            best = better(&entries[next], &best) ? entries[next] : best;
        bool label = (rank_of(&best) >> CLASS_SHIFT & CLASS_LABEL) != 0;
        if (label && best.size == 0 && address < covered)
            continue;
        if (!label && address + best.size > covered)
            covered = address + best.size;
        entries[kept++] = best;
    }
    return kept;
}
