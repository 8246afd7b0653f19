/* SPDX-License-Identifier: MIT */
/* Collecting and finding of symbol_table.h; symbol_sort.c puts them in order. */
#include "symbol_table.h"
#include "symbol_sort.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* Addresses of programs end below 2^48. How far back a function that reaches over others is
 * looked for. */
static const uint64_t ADDRESS_END = 1ull << 48;

enum { SYMBOLS_MAX = 1 << 24, NESTING_MAX = 64, SOURCE_TEXTS = SYMBOL_SOURCES };

void symbol_table_add_code(struct symbol_table *table, const struct elf_file *file)
{
    size_t count = elf_file_segment_count(file);
    for (size_t i = 0; i < count && table->code_count < SYMBOL_RANGES; i++) {
        struct elf_segment segment = elf_file_segment(file, i);
        if (!(segment.flags & PF_X) || segment.address >= ADDRESS_END ||
            segment.size > ADDRESS_END - segment.address)
            continue;
        table->code[table->code_count].begin = segment.address;
        table->code[table->code_count++].end = segment.address + segment.size;
    }
}

/* The end of the code around an address; 0 = no code is there. */
static uint64_t code_end(const struct symbol_table *table, uint64_t address)
{
    for (size_t i = 0; i < table->code_count; i++) {
        if (address >= table->code[i].begin && address < table->code[i].end)
            return table->code[i].end;
    }
    return 0;
}

static void add(struct symbol_table *table, const struct symbol_entry *entry)
{
    if (table->entries.count >= SYMBOLS_MAX || vec_push(&table->entries, *entry) != 0)
        table->failed = true;
}

/* The source that can tell this place, a new one if need be; SYMBOL_SOURCES: none. */
static size_t source_of(struct symbol_table *table, struct elf_file *file, uint64_t place)
{
    for (size_t i = table->source_count; i-- > 0;) {
        const struct symbol_source *source = &table->sources[i];
        if (source->file == file && place >= source->base && place - source->base <= UINT32_MAX)
            return i;
    }
    if (table->source_count == SYMBOL_SOURCES)
        return SYMBOL_SOURCES;
    uint64_t half = 1ull << 31;
    table->sources[table->source_count] =
        (struct symbol_source){.file = file, .base = place > half ? place - half : 0};
    return table->source_count++;
}

/* Labels inside of functions, and those by which linkers mark kinds of bytes. */
static bool is_function(const struct elf_symbol *symbol)
{
    if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
        return true;
    return symbol->type == STT_NOTYPE && symbol->name[0] != '$' && symbol->name[0] != '.';
}

struct visit {
    struct symbol_table *table;
    struct elf_file *file;
};

static bool take_symbol(void *context, const struct elf_symbol *symbol)
{
    const struct visit *visit = context;
    struct symbol_table *table = visit->table;
    uint64_t end = symbol->address < ADDRESS_END ? code_end(table, symbol->address) : 0;
    table->complete |= !symbol->dynamic;
    if (end == 0 || symbol->name_place == 0 || !is_function(symbol))
        return true;
    size_t source = source_of(table, visit->file, symbol->name_place);
    if (source == SYMBOL_SOURCES)
        return true;
    uint64_t size = symbol->size < end - symbol->address ? symbol->size : end - symbol->address;
    struct symbol_entry entry = {
        .key = symbol->address << SYMBOL_RANK_BITS | symbol_rank(symbol) << SYMBOL_SOURCE_BITS |
               source,
        .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
        .name = (uint32_t)(symbol->name_place - table->sources[source].base),
    };
    add(table, &entry);
    return !table->failed;
}

void symbol_table_add_file(struct symbol_table *table, struct elf_file *file)
{
    if (table->file_count == SYMBOL_SOURCES) {
        elf_file_close(file);
        return;
    }
    table->files[table->file_count++] = file;
    struct visit visit = {table, file};
    elf_file_symbols(file, take_symbol, &visit);
    elf_file_trim(file);
}

void symbol_table_add_text(struct symbol_table *table, uint64_t address, uint32_t size,
                           const char *name)
{
    int64_t text = strtab_add(&table->texts, name, strlen(name));
    if (text < 0)
        table->failed = true;
    if (text < 0 || address >= ADDRESS_END || code_end(table, address) == 0)
        return;
    struct symbol_entry entry = {
        .key = address << SYMBOL_RANK_BITS | SOURCE_TEXTS, .size = size, .name = (uint32_t)text};
    add(table, &entry);
}

void symbol_table_finish(struct symbol_table *table)
{
    table->entries.count = symbol_sort(table->entries.items, table->entries.count);
    size_t count = table->entries.count;
    struct symbol_entry *fitting =
        count ? realloc(table->entries.items, count * sizeof(*fitting)) : NULL;
    if (fitting) {
        table->entries.items = fitting;
        table->entries.capacity = count;
    }
}

void symbol_table_free(struct symbol_table *table)
{
    for (size_t i = 0; i < table->file_count; i++)
        elf_file_close(table->files[i]);
    vec_free(&table->entries);
    strtab_free(&table->texts);
    *table = (struct symbol_table){0};
}

static uint64_t address_of(const struct symbol_entry *entry)
{
    return entry->key >> SYMBOL_RANK_BITS;
}

/* The last entry at or before an address, counted from 1; 0 = none. */
static size_t entry_before(const struct symbol_table *table, uint64_t address)
{
    size_t low = 0, high = table->entries.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address_of(&table->entries.items[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct symbol_hit hit_of(const struct symbol_table *table, size_t index, bool guessed)
{
    const struct symbol_entry *entry = &table->entries.items[index];
    uint64_t begin = address_of(entry);
    return (struct symbol_hit){index, begin, entry->size ? begin + entry->size : 0, guessed};
}

bool symbol_table_find(const struct symbol_table *table, uint64_t address,
                       struct symbol_hit *ret_hit)
{
    uint64_t end = code_end(table, address);
    size_t found = end ? entry_before(table, address) : 0;
    if (found == 0 || code_end(table, address_of(&table->entries.items[found - 1])) != end)
        return false;
    for (size_t i = found; i > 0 && found - i < NESTING_MAX; i--) {
        const struct symbol_entry *entry = &table->entries.items[i - 1];
        if (address - address_of(entry) < entry->size) {
            *ret_hit = hit_of(table, i - 1, false);
            return true;
        }
        if (entry->size == 0 && i == found && table->complete)
            break;
    }
    bool told = table->entries.items[found - 1].size == 0 && table->complete;
    *ret_hit = hit_of(table, found - 1, !told);
    return true;
}

size_t symbol_table_name(const struct symbol_table *table, size_t index, char *buffer, size_t size)
{
    const struct symbol_entry *entry = &table->entries.items[index];
    size_t number = entry->key & SYMBOL_SOURCE_MASK;
    if (number == SOURCE_TEXTS) {
        const struct strtab_entry *text = strtab_get(&table->texts, entry->name);
        size_t length = text->length < size - 1 ? text->length : size - 1;
        memcpy(buffer, text->bytes, length);
        buffer[length] = '\0';
        return length;
    }
    const struct symbol_source *source = &table->sources[number];
    uint64_t place = source->base + entry->name;
    /* Short reads first: the end of the file may be nearer than the buffer is long. */
    for (size_t length = 0; length + 1 < size;) {
        size_t part = size - 1 - length < 64 ? size - 1 - length : 64;
        while (part && !elf_file_read(source->file, place + length, buffer + length, part))
            part /= 2;
        buffer[length + part] = '\0';
        if (part == 0 || strlen(buffer + length) < part)
            return strlen(buffer);
        length += part;
    }
    return strlen(buffer);
}
