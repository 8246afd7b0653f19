/* SPDX-License-Identifier: MIT */
/* Merges the sources of names of one file, and caches the names looked up. */
#include "symbol_module.h"
#include "elf_symbols.h"
#include "hash_map.h"
#include "strtab.h"
#include "symbol_debug.h"
#include "symbol_name.h"
#include "text.h"
#include "vec.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Table of symbols ------------------------------------------------------------------------ */

/* Addresses of functions and places of their names in files: 16 bytes a symbol, so that a library
 * of half a million costs 8 MiB. One symbol per address, the best, by a radix sort: such a table
 * must be ready within 100 ms. `{0}` is empty. Foreign bytes: bounded.
 *
 *     symbol_table_add_file* -> symbol_table_finish -> { find, name }* */

enum { SYMBOL_SOURCES = 8, SYMBOL_RANGES = 32 };

struct symbol_entry {
    uint64_t key;  /* address << 16 | rank while building (less is better), then source */
    uint32_t size; /* 0 = unknown */
    uint32_t name; /* offset in its source */
};

/* A string table of a file, or `texts`. */
struct symbol_source {
    struct elf_file *file;
    uint64_t base; /* base of the entries' offsets */
};

struct symbol_table {
    VEC(struct symbol_entry) entries;
    struct symbol_source sources[SYMBOL_SOURCES];
    size_t source_count;
    struct elf_file *files[SYMBOL_SOURCES]; /* own objects, closed by free */
    size_t file_count;

    struct {
        uint64_t begin, end;
    } code[SYMBOL_RANGES]; /* ranges of functions */

    size_t code_count;
    struct strtab texts; /* names outside of files: of PLT entries */
    bool complete;       /* a file had all symbols, not only those for the dynamic linker */
    bool failed;         /* out of memory: the table is valid but incomplete */
};

struct symbol_hit {
    size_t index;
    uint64_t begin, end; /* end 0 = unknown */
    bool guessed;        /* the function's end is unknown */
};

/* ---- The table ------------------------------------------------------------------------------- */

/* Addresses of programs end below 2^48. NESTING_MAX: how far back a function that contains others
 * is searched for. */
static const uint64_t ADDRESS_END = 1ull << 48;

enum { SYMBOLS_MAX = 1 << 24, NESTING_MAX = 64, SOURCE_TEXTS = SYMBOL_SOURCES };

/* The parts of symbol_entry.key below the address. */
enum {
    SYMBOL_RANK_BITS = 16,
    SYMBOL_SOURCE_BITS = 4,
    SYMBOL_SOURCE_MASK = (1 << SYMBOL_SOURCE_BITS) - 1,
};

enum {
    CLASS_LABEL = 4,   /* not a function: rank bit 11 */
    CLASS_UNSIZED = 2, /* a function without a size: bit 10 */
    CLASS_LOCAL = 1,   /* bit 9 */
    CLASS_SHIFT = 9,   /* of the rank; below: 3 bits of underscores, 6 of the length */
    UNDERSCORES_MAX = 7,
    LENGTH_MAX = 63,
    DIGIT_BITS = 8,
    DIGITS = 6, /* of an address */
    DIGIT_VALUES = 1 << DIGIT_BITS,
};

/* Less is better: functions before labels, exported before local ones, then plain
 * names before those with leading underscores, short ones before long ones. 12 bits. */
static uint64_t rank(const struct elf_symbol *symbol)
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
    /* Mangled names always begin with an underscore. */
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
            continue; /* all equal */
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

/* Sorts by address and keeps one symbol of each: the best class, of these the largest, of these the
 * best rank. Drops labels inside of a function with a known size. Returns the number kept. */
static size_t sort(struct symbol_entry *entries, size_t count)
{
    if (count == 0)
        return 0;
    sort_by_address(entries, count);
    size_t kept = 0;
    uint64_t covered = 0; /* end of the functions with known sizes so far */
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

/* Adds the executable segments of this file as code ranges. Call first. */
static void symbol_table_add_code(struct symbol_table *table, const struct elf_file *file)
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

/* The end of the code range around an address; 0 = not code. */
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

/* The source that covers this place, added if needed; SYMBOL_SOURCES: too many. */
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

/* False for labels inside of functions, and for linkers' mapping symbols. */
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
        .key = symbol->address << SYMBOL_RANK_BITS | rank(symbol) << SYMBOL_SOURCE_BITS | source,
        .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
        .name = (uint32_t)(symbol->name_place - table->sources[source].base),
    };
    add(table, &entry);
    return !table->failed;
}

/* Takes over `file`, even if it has no symbols. */
static void symbol_table_add_file(struct symbol_table *table, struct elf_file *file)
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

/* Sorts, keeps the best of each address, frees memory used only for building. */
static void symbol_table_finish(struct symbol_table *table)
{
    table->entries.count = sort(table->entries.items, table->entries.count);
    size_t count = table->entries.count;
    struct symbol_entry *fitting =
        count ? realloc(table->entries.items, count * sizeof(*fitting)) : NULL;
    if (fitting) {
        table->entries.items = fitting;
        table->entries.capacity = count;
    }
}

static void symbol_table_free(struct symbol_table *table)
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

/* The last entry at or before an address, counted from 1; 0 = not found. */
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

static bool symbol_table_find(const struct symbol_table *table, uint64_t address,
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
    bool is_exact = table->entries.items[found - 1].size == 0 && table->complete;
    *ret_hit = hit_of(table, found - 1, !is_exact);
    return true;
}

/* The name as in the file, truncated to the buffer; its length, 0 = unreadable. */
static size_t symbol_table_name(const struct symbol_table *table, size_t index, char *buffer,
                                size_t size)
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
    /* Short reads first: the file may end within the buffer's length. */
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

/* Adds a function with the given name. */
static void symbol_table_add_text(struct symbol_table *table, uint64_t address, uint32_t size,
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

/* ---- Stubs: found by their one indirect jump, with any linker's code around it --------------- */

enum { SLOTS_MAX = 1 << 20, JUMP_SIZE = 6, NAME_MAX_BYTES = 4096, STUB_SIZE = 16 };

/* A pointer that ld.so fills with the address of the symbol. */
struct slot {
    uint64_t address;
    uint32_t symbol;
};

struct slots {
    VEC(struct slot) list;
    struct elf_section symbols, names;
};

static int compare_slots(const void *left, const void *right)
{
    uint64_t a = ((const struct slot *)left)->address, b = ((const struct slot *)right)->address;
    return (a > b) - (a < b);
}

static void collect_slots(struct slots *slots, struct elf_file *file, const char *name)
{
    struct elf_section section;
    if (!elf_file_section(file, name, &section))
        return;
    for (size_t at = 0; section.size - at >= sizeof(Elf64_Rela) && slots->list.count < SLOTS_MAX;
         at += sizeof(Elf64_Rela)) {
        Elf64_Rela entry;
        memcpy(&entry, section.bytes + at, sizeof(entry));
        uint64_t type = ELF64_R_TYPE(entry.r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        struct slot slot = {entry.r_offset, (uint32_t)ELF64_R_SYM(entry.r_info)};
        if (vec_push(&slots->list, slot) != 0)
            return;
    }
}

/* NULL: unnamed. */
static const char *slot_name(const struct slots *slots, uint32_t symbol, size_t *ret_length)
{
    Elf64_Sym entry;
    if (symbol == 0 || symbol >= slots->symbols.size / sizeof(entry))
        return NULL;
    memcpy(&entry, slots->symbols.bytes + symbol * sizeof(entry), sizeof(entry));
    if (entry.st_name == 0 || entry.st_name >= slots->names.size)
        return NULL;
    const char *name = (const char *)slots->names.bytes + entry.st_name;
    *ret_length = strnlen(name, slots->names.size - entry.st_name);
    return *ret_length < NAME_MAX_BYTES ? name : NULL;
}

/* `stub`: its address; `target`: the pointer that it jumps through. */
static void add_stub(struct symbol_table *table, const struct slots *slots,
                     const struct elf_section *stub, uint64_t target)
{
    struct slot key = {target, 0};
    size_t length;
    const struct slot *slot =
        bsearch(&key, slots->list.items, slots->list.count, sizeof(key), compare_slots);
    const char *name = slot ? slot_name(slots, slot->symbol, &length) : NULL;
    if (!name)
        return;
    char text[NAME_MAX_BYTES + 8];
    snprintf(text, sizeof(text), "%.*s@plt", (int)length, name);
    symbol_table_add_text(table, stub->address, (uint32_t)stub->size, text);
}

/* Adds every `jmp *offset(%rip)` of a section. Stubs begin at multiples of 16, or of 8 without an
 * endbr64 first (.plt.got). */
static void add_stubs(struct symbol_table *table, const struct slots *slots, struct elf_file *file,
                      const char *name)
{
    struct elf_section section;
    if (!elf_file_section(file, name, &section))
        return;
    for (size_t at = 0; at + JUMP_SIZE <= section.size; at++) {
        if (section.bytes[at] != 0xff || section.bytes[at + 1] != 0x25)
            continue;
        int32_t offset;
        memcpy(&offset, section.bytes + at + 2, sizeof(offset));
        uint64_t target = section.address + at + JUMP_SIZE + (uint64_t)(int64_t)offset;
        size_t unit = at % STUB_SIZE == 8 ? 8 : STUB_SIZE;
        size_t begin = at - at % unit, rest = section.size - begin;
        struct elf_section stub = {.address = section.address + begin,
                                   .size = rest < unit ? rest : unit};
        add_stub(table, slots, &stub, target);
        at += JUMP_SIZE - 1;
    }
}

/* Reads sections of `file`; the caller trims it. */
static void symbol_plt_add(struct symbol_table *table, struct elf_file *file)
{
    static const char *const stubs[] = {".plt", ".plt.sec", ".plt.got"};
    struct slots slots = {0};
    struct elf_section got;
    if (elf_file_machine(file) != EM_X86_64 || !elf_file_section(file, ".dynsym", &slots.symbols) ||
        !elf_file_section(file, ".dynstr", &slots.names))
        return;
    collect_slots(&slots, file, ".rela.plt");
    if (elf_file_section(file, ".plt.got", &got))
        collect_slots(&slots, file, ".rela.dyn");
    if (slots.list.count)
        qsort(slots.list.items, slots.list.count, sizeof(struct slot), compare_slots);
    for (size_t i = 0; slots.list.count && i < sizeof(stubs) / sizeof(*stubs); i++)
        add_stubs(table, &slots, file, stubs[i]);
    vec_free(&slots.list);
}

enum { MANGLED_MAX = 4096, NO_LINE = UINT32_MAX };

struct symbol_module {
    struct elf_file *file; /* own */
    char *path, *debug_path;
    bool loaded, lines_tried;
    struct symbol_table table;
    struct strtab texts;
    struct map64 names;   /* index in the table + 1 -> ordinal of its name */
    struct map64 sources; /* address + 1 -> ordinal of a file << 32 | line; NO_LINE = unknown */
    struct symbol_lines *lines;
};

struct symbol_module *symbol_module_create(struct elf_file *file, const char *path)
{
    struct symbol_module *module = calloc(1, sizeof(*module));
    if (!module)
        return NULL;
    module->path = strdup(path);
    if (module->path && elf_file_reopen(file, &module->file) == 0)
        return module;
    symbol_module_destroy(module);
    return NULL;
}

void symbol_module_destroy(struct symbol_module *module)
{
    if (!module)
        return;
    symbol_lines_destroy(module->lines);
    symbol_table_free(&module->table);
    strtab_free(&module->texts);
    map64_free(&module->names);
    map64_free(&module->sources);
    elf_file_close(module->file);
    free(module->path);
    free(module->debug_path);
    free(module);
}

static void add_again(struct symbol_module *module)
{
    struct elf_file *file;
    if (elf_file_reopen(module->file, &file) == 0)
        symbol_table_add_file(&module->table, file);
    else
        module->table.failed = true;
}

/* Loads its own symbols; if these are incomplete, also those of a debug file or of the compressed
 * table. */
static void load(struct symbol_module *module)
{
    struct elf_file *other;
    module->loaded = true;
    symbol_table_add_code(&module->table, module->file);
    add_again(module);
    if (!module->table.complete) {
        if (symbol_debug_open(module->file, module->path, &other, &module->debug_path) ||
            symbol_debug_open_packed(module->file, &other))
            symbol_table_add_file(&module->table, other);
    }
    symbol_plt_add(&module->table, module->file);
    symbol_table_finish(&module->table);
    elf_file_trim(module->file);
}

/* NULL: unreadable, or out of memory. */
static const char *name_of(struct symbol_module *module, size_t index)
{
    const uint64_t *known = map64_find(&module->names, index + 1);
    if (known)
        return strtab_get(&module->texts, *known)->bytes;
    char mangled[MANGLED_MAX], name[SYMBOL_NAME_SIZE];
    if (symbol_table_name(&module->table, index, mangled, sizeof(mangled)) == 0)
        return NULL;
    int64_t ordinal = strtab_add(&module->texts, name, symbol_demangle(mangled, name));
    if (ordinal < 0 || map64_put(&module->names, index + 1, (uint64_t)ordinal) != 0)
        return NULL;
    return strtab_get(&module->texts, (size_t)ordinal)->bytes;
}

bool symbol_module_find(struct symbol_module *module, uint64_t address, struct symbol *ret_symbol)
{
    struct symbol_hit hit;
    if (!module->loaded)
        load(module);
    if (!symbol_table_find(&module->table, address, &hit))
        return false;
    const char *name = name_of(module, hit.index);
    if (!name)
        return false;
    *ret_symbol =
        (struct symbol){.name = name, .begin = hit.begin, .end = hit.end, .guessed = hit.guessed};
    return true;
}

struct search {
    bool (*is)(const char *name);
    void (*visit)(void *context, uint64_t begin, uint64_t end);
    void *context;
};

static bool take_match(void *context, const struct elf_symbol *symbol)
{
    const struct search *search = context;
    if (search->is(symbol->name))
        search->visit(search->context, symbol->address,
                      symbol->address + (symbol->size ? symbol->size : 1));
    return true;
}

void symbol_module_each(struct symbol_module *module, bool (*is)(const char *name),
                        void (*visit)(void *context, uint64_t begin, uint64_t end), void *context)
{
    struct search search = {is, visit, context};
    if (!module->loaded)
        load(module);
    for (size_t i = 0; i < module->table.file_count; i++) {
        elf_file_symbols(module->table.files[i], take_match, &search);
        elf_file_trim(module->table.files[i]);
    }
}

size_t symbol_path_text(const char *path, uint64_t address, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    text_format(&text, "%s+0x%llx", text_base_name(path), (unsigned long long)address);
    return text.length;
}

static struct symbol_lines *open_lines(const struct symbol_module *module, const char *path)
{
    int fd = symbol_debug_open_same(module->file, path);
    struct symbol_lines *lines = fd < 0 ? NULL : symbol_lines_create(fd);
    if (fd >= 0)
        close(fd);
    return lines;
}

static void load_lines(struct symbol_module *module)
{
    struct elf_file *debug;
    module->lines_tried = true;
    module->lines = open_lines(module, module->path);
    if (module->lines)
        return;
    if (!module->debug_path) {
        if (!symbol_debug_open(module->file, module->path, &debug, &module->debug_path))
            return;
        elf_file_close(debug);
    }
    module->lines = open_lines(module, module->debug_path);
}

/* The demangled name, kept with the module. NULL: out of memory. */
static const char *readable(struct symbol_module *module, const char *name)
{
    char text[SYMBOL_NAME_SIZE];
    size_t length = symbol_demangle(name, text);
    int64_t ordinal = strtab_add(&module->texts, text, length);
    return ordinal < 0 ? NULL : strtab_get(&module->texts, (uint64_t)ordinal)->bytes;
}

size_t symbol_module_places(struct symbol_module *module, uint64_t address,
                            struct symbol_place places[SYMBOL_PLACES_MAX])
{
    if (!module->lines_tried)
        load_lines(module);
    if (!module->lines || address == UINT64_MAX)
        return 0;
    size_t count = symbol_lines_places(module->lines, address, places);
    for (size_t i = 0; i < count; i++) {
        places[i].name = places[i].name ? readable(module, places[i].name) : NULL;
        if (!places[i].name && i + 1 < count)
            return 0;
    }
    return count;
}

int symbol_module_arguments(struct symbol_module *module, const struct code_entry *entry,
                            code_argument_visit *visit, void *context)
{
    if (!module->lines_tried)
        load_lines(module);
    return module->lines ? symbol_lines_arguments(module->lines, entry, visit, context) : -ENOENT;
}

bool symbol_module_line(struct symbol_module *module, uint64_t address, const char **ret_file,
                        int *ret_line)
{
    if (!module->lines_tried)
        load_lines(module);
    if (!module->lines || address == UINT64_MAX)
        return false;
    const uint64_t *known = map64_find(&module->sources, address + 1);
    uint64_t value = known ? *known : NO_LINE;
    if (!known) {
        const char *file;
        int line;
        if (symbol_lines_find(module->lines, address, &file, &line)) {
            int64_t ordinal = strtab_add(&module->texts, file, strlen(file));
            if (ordinal < 0)
                return false;
            value = (uint64_t)ordinal << 32 | (uint32_t)line;
        }
        if (map64_put(&module->sources, address + 1, value) != 0)
            return false;
    }
    if (value == NO_LINE)
        return false;
    *ret_file = strtab_get(&module->texts, value >> 32)->bytes;
    *ret_line = (int)(uint32_t)value;
    return true;
}
