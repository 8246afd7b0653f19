/* SPDX-License-Identifier: MIT */
/* The cache of ids is a two-level table, so that its memory follows the names in use. Domains and
 * categories are found by walking the table of strings; an entry that its writer never finished
 * is stepped over to the next one whose hash is right. */
#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_PAGE = 1024,
    WALK_FACTOR = 64, /* walks together may read this many tables */
};

int names_init(struct names *names, const struct segment *segment, struct trace *trace)
{
    *names = (struct names){.segment = segment, .trace = trace, .walked = 1};
    names->page_count = segment->info.strings_size / ANNOT_STRING_UNIT / NAMES_PAGE + 1;
    names->pages = calloc(names->page_count, sizeof(*names->pages));
    return names->pages ? 0 : -ENOMEM;
}

void names_fini(struct names *names)
{
    for (uint32_t i = 0; names->pages && i < names->page_count; i++)
        free(names->pages[i]);
    free(names->pages);
    vec_free(&names->domains);
    vec_free(&names->categories);
}

static uint32_t *slot(struct names *names, uint32_t id)
{
    uint32_t **page = &names->pages[id / NAMES_PAGE];
    if (!*page)
        *page = calloc(NAMES_PAGE, sizeof(**page));
    return *page ? *page + id % NAMES_PAGE : NULL;
}

/* The ordinal of a string that is read for the first time; 0 and `broken` if it is nonsense. */
static int64_t read_text(struct names *names, uint32_t id)
{
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX];
    int found = segment_read_string(names->segment, id, &string, bytes);
    if (found == -EFAULT)
        return found;
    if (found == 1) {
        names->table_bytes += sizeof(string) + (string.length + (size_t)15) / 16 * 16;
        if (names->table_bytes <= names->segment->info.strings_size)
            return trace_string_add(names->trace, bytes, string.length);
    }
    names->broken++;
    return 0;
}

int64_t names_by_id(struct names *names, uint32_t id)
{
    if (id == 0)
        return 0;
    if (id >= names->segment->info.strings_size / ANNOT_STRING_UNIT) {
        names->broken++;
        return 0;
    }
    uint32_t *known = slot(names, id);
    if (!known)
        return -ENOMEM;
    if (*known != 0)
        return *known - 1;
    int64_t ordinal = read_text(names, id);
    if (ordinal >= 0)
        *known = (uint32_t)ordinal + 1;
    return ordinal;
}

int64_t names_inline(struct names *names, const char *bytes, size_t length)
{
    static const char beyond[] = "(too many different texts)";
    if (names->inline_bytes > NAMES_INLINE_BYTES)
        return trace_string_add(names->trace, beyond, sizeof(beyond) - 1);
    uint32_t before = trace_string_count(names->trace);
    int64_t ordinal = trace_string_add(names->trace, bytes, length);
    if (trace_string_count(names->trace) != before)
        names->inline_bytes += length;
    return ordinal;
}

static uint32_t fnv1a(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    return hash;
}

/* Remembers a domain or category. */
static int note_number(struct names *names, uint32_t id, const struct annot_string *string)
{
    bool domain = string->kind == ANNOT_STRING_DOMAIN;
    if (!domain && string->kind != ANNOT_STRING_CATEGORY)
        return 0;
    int64_t ordinal = names_by_id(names, id);
    if (ordinal < 0)
        return (int)ordinal;
    number_table *table = domain ? &names->domains : &names->categories;
    while (table->count <= string->number)
        if (vec_push(table, 0) != 0)
            return -ENOMEM;
    table->items[string->number] = (uint32_t)ordinal;
    return 0;
}

/* Notes domains and categories up to the end of the table. */
static int walk(struct names *names)
{
    struct annot_shared shared;
    int error = segment_read_shared(names->segment, &shared);
    uint64_t table = names->segment->info.strings_size;
    uint32_t end = (uint32_t)((shared.string_used < table ? shared.string_used : table) / 16);
    if (error != 0 || end <= names->walk_end || names->walk_cost > WALK_FACTOR * table)
        return error;
    names->walk_end = end;
    bool clean = true;
    for (uint32_t id = names->walked; id < end;) {
        struct annot_string string;
        char bytes[ANNOT_STRING_MAX];
        int found = segment_read_string(names->segment, id, &string, bytes);
        if (found == -EFAULT)
            return found;
        bool whole = found == 1 && string.hash == fnv1a(bytes, string.length);
        clean = clean && whole;
        id += whole ? 1 + (string.length + 15u) / 16 : 1;
        names->walk_cost += 16;
        if (whole)
            error = note_number(names, id - 1 - (string.length + 15u) / 16, &string);
        if (error != 0)
            return error;
        if (clean)
            names->walked = id;
    }
    return 0;
}

static int64_t by_number(struct names *names, const number_table *table, uint16_t number)
{
    if (number == 0)
        return 0;
    int error = number < table->count && table->items[number] != 0 ? 0 : walk(names);
    if (error != 0)
        return error;
    return number < table->count ? table->items[number] : 0;
}

int64_t names_domain(struct names *names, uint16_t number)
{
    return by_number(names, &names->domains, number);
}

int64_t names_category(struct names *names, uint16_t number)
{
    return by_number(names, &names->categories, number);
}
