/* SPDX-License-Identifier: MIT */
/* The symbols of .symtab and .dynsym; without section headers those of the dynamic segment, counted
 * by its hash tables. Sources: gABI chapters 4 and 5; the GNU hash table as ld.so reads it. */

#include "elf_symbols.h"

#include "elf_file.h"
#include "elf_parts.h"

#include <string.h>

/* Limits for corrupt files. */
enum { HASH_SYMBOLS_MAX = 1 << 24, HASH_CHAIN_MAX = 1 << 12, DYNAMIC_MAX = 4096 };

struct symbol_table {
    const uint8_t *symbols;
    size_t count;
    const char *names; /* followed by a zero byte, or ending in one */
    size_t names_size;
    uint64_t names_place; /* in the file; 0 = compressed there */
    bool dynamic;
};

static bool visit_table(const struct symbol_table *table,
                        bool (*visit)(void *context, const struct elf_symbol *), void *context)
{
    for (size_t i = 0; i < table->count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, table->symbols + i * sizeof(symbol), sizeof(symbol));
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= table->names_size ||
            table->names[symbol.st_name] == 0)
            continue;
        struct elf_symbol result = {
            .name = table->names + symbol.st_name,
            .name_place = table->names_place ? table->names_place + symbol.st_name : 0,
            .address = symbol.st_value,
            .size = symbol.st_size,
            .type = ELF64_ST_TYPE(symbol.st_info),
            .binding = ELF64_ST_BIND(symbol.st_info),
            .dynamic = table->dynamic};
        if (!visit(context, &result))
            return false;
    }
    return true;
}

static bool section_table(struct elf_file *file, const Elf64_Shdr *section,
                          struct symbol_table *ret_table)
{
    if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= file->section_count)
        return false;
    const Elf64_Shdr *names = &file->sections[section->sh_link];
    if (names->sh_type != SHT_STRTAB)
        return false;
    const struct elf_piece *symbol_bytes = elf_piece_of_section(file, section, true);
    const struct elf_piece *name_bytes = elf_piece_of_section(file, names, true);
    if (!symbol_bytes || !name_bytes)
        return false;
    *ret_table = (struct symbol_table){.symbols = symbol_bytes->bytes,
                                       .count = symbol_bytes->size / sizeof(Elf64_Sym),
                                       .names = (const char *)name_bytes->bytes,
                                       .names_size = name_bytes->size,
                                       .names_place = name_bytes->unpacked ? 0 : name_bytes->offset,
                                       .dynamic = section->sh_type == SHT_DYNSYM};
    return true;
}

static bool word_at(struct elf_file *file, uint64_t address, uint32_t *ret_word)
{
    const uint8_t *bytes = elf_file_at(file, address, sizeof(*ret_word));
    if (!bytes)
        return false;
    memcpy(ret_word, bytes, sizeof(*ret_word));
    return true;
}

/* The chain of the last bucket ends with the last symbol. */
static uint64_t count_of_gnu_hash(struct elf_file *file, uint64_t address)
{
    uint32_t bucket_count, first, bloom_count, word, last = 0;
    if (!word_at(file, address, &bucket_count) || !word_at(file, address + 4, &first) ||
        !word_at(file, address + 8, &bloom_count))
        return 0;
    uint64_t buckets = address + 16 + 8ull * bloom_count;
    uint64_t chains = buckets + 4ull * bucket_count;
    const uint8_t *bytes = elf_file_at(file, buckets, 4ull * bucket_count);
    for (uint32_t i = 0; bytes && i < bucket_count; i++) {
        memcpy(&word, bytes + 4ull * i, sizeof(word));
        last = word > last ? word : last;
    }
    if (last < first || last == 0)
        return first;
    for (uint64_t i = last; i < HASH_SYMBOLS_MAX && word_at(file, chains + 4 * (i - first), &word);
         i++) {
        if (word & 1)
            return i + 1;
    }
    return 0;
}

struct dynamic {
    uint64_t symbols, names, names_size, hash, gnu_hash;
};

static struct dynamic read_dynamic(struct elf_file *file)
{
    struct dynamic dynamic = {0};
    struct elf_segment segment;
    if (!elf_file_header(file, PT_DYNAMIC, &segment))
        return dynamic;
    for (size_t i = 0; i < DYNAMIC_MAX && i < segment.file_size / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        const uint8_t *bytes =
            elf_file_at(file, segment.address + i * sizeof(entry), sizeof(entry));
        if (!bytes)
            break;
        memcpy(&entry, bytes, sizeof(entry));
        if (entry.d_tag == DT_NULL)
            break;
        if (entry.d_tag == DT_SYMTAB)
            dynamic.symbols = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRTAB)
            dynamic.names = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_STRSZ)
            dynamic.names_size = entry.d_un.d_val;
        else if (entry.d_tag == DT_HASH)
            dynamic.hash = entry.d_un.d_ptr;
        else if (entry.d_tag == DT_GNU_HASH)
            dynamic.gnu_hash = entry.d_un.d_ptr;
    }
    return dynamic;
}

/* The file offset of a loaded address; 0 = not loaded. */
static uint64_t offset_of(const struct elf_file *file, uint64_t address)
{
    for (size_t i = 0; i < file->header_count; i++) {
        const Elf64_Phdr *header = &file->headers[i];
        if (header->p_type == PT_LOAD && address >= header->p_vaddr &&
            address - header->p_vaddr < header->p_filesz)
            return header->p_offset + (address - header->p_vaddr);
    }
    return 0;
}

static bool dynamic_table(struct elf_file *file, struct symbol_table *ret_table)
{
    struct dynamic dynamic = read_dynamic(file);
    uint32_t hash_count;
    uint64_t count = 0;
    if (dynamic.hash && word_at(file, dynamic.hash + 4, &hash_count))
        count = hash_count;
    else if (dynamic.gnu_hash)
        count = count_of_gnu_hash(file, dynamic.gnu_hash);
    if (count == 0 || count > file->size / sizeof(Elf64_Sym) || dynamic.names_size == 0)
        return false;
    *ret_table = (struct symbol_table){
        .symbols = elf_file_at(file, dynamic.symbols, count * sizeof(Elf64_Sym)),
        .count = count,
        .names = (const char *)elf_file_at(file, dynamic.names, dynamic.names_size),
        .names_size = dynamic.names_size,
        .names_place = offset_of(file, dynamic.names),
        .dynamic = true};
    return ret_table->symbols && ret_table->names && ret_table->names[dynamic.names_size - 1] == 0;
}

void elf_file_symbols(struct elf_file *file,
                      bool (*visit)(void *context, const struct elf_symbol *), void *context)
{
    struct symbol_table table;
    bool dynamic_seen = false;
    for (size_t i = 0; i < file->section_count; i++) {
        const Elf64_Shdr *section = &file->sections[i];
        if ((section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM) ||
            !section_table(file, section, &table))
            continue;
        dynamic_seen |= table.dynamic;
        if (!visit_table(&table, visit, context))
            return;
    }
    if (!dynamic_seen && dynamic_table(file, &table))
        visit_table(&table, visit, context);
}

/* ---- One symbol ------------------------------------------------------------------------------ */

struct search {
    const char *name;
    struct elf_symbol *ret_symbol;
    bool found;
};

static bool compare_name(void *context, const struct elf_symbol *symbol)
{
    struct search *search = context;
    if (symbol->name[0] != search->name[0] || strcmp(symbol->name, search->name) != 0)
        return true;
    *search->ret_symbol = *symbol;
    search->found = true;
    return false;
}

static bool word_copied(const struct elf_file *file, uint64_t address, uint32_t *ret_word)
{
    return elf_file_copy_at(file, address, ret_word, sizeof(*ret_word));
}

static bool symbol_is(struct elf_file *file, const struct dynamic *dynamic, uint64_t index,
                      const struct search *search)
{
    Elf64_Sym symbol;
    char name[256];
    size_t size = strlen(search->name) + 1;
    if (!elf_file_copy_at(file, dynamic->symbols + index * sizeof(symbol), &symbol,
                          sizeof(symbol)) ||
        symbol.st_shndx == SHN_UNDEF || size > sizeof(name) ||
        symbol.st_name >= dynamic->names_size || dynamic->names_size - symbol.st_name < size ||
        !elf_file_copy_at(file, dynamic->names + symbol.st_name, name, size) ||
        memcmp(name, search->name, size) != 0)
        return false;
    uint64_t names_place = offset_of(file, dynamic->names);
    *search->ret_symbol =
        (struct elf_symbol){.name = search->name,
                            .name_place = names_place ? names_place + symbol.st_name : 0,
                            .address = symbol.st_value,
                            .size = symbol.st_size,
                            .type = ELF64_ST_TYPE(symbol.st_info),
                            .binding = ELF64_ST_BIND(symbol.st_info),
                            .dynamic = true};
    return true;
}

/* As ld.so does: a few reads, for any size of library. False: the file has no hash table. */
static bool search_hashes(struct elf_file *file, struct search *search)
{
    const struct dynamic dynamic = read_dynamic(file);
    uint32_t bucket_count, first, bloom_count, index, hash = 5381, chained = 0;
    for (const char *at = search->name; *at; at++)
        hash = hash * 33 + (uint8_t)*at;
    if (!dynamic.gnu_hash || !word_copied(file, dynamic.gnu_hash, &bucket_count) ||
        !word_copied(file, dynamic.gnu_hash + 4, &first) ||
        !word_copied(file, dynamic.gnu_hash + 8, &bloom_count) || bucket_count == 0)
        return false;
    uint64_t buckets = dynamic.gnu_hash + 16 + 8ull * bloom_count;
    uint64_t chains = buckets + 4ull * bucket_count;
    if (!word_copied(file, buckets + 4ull * (hash % bucket_count), &index) || index < first)
        return true;
    for (uint32_t i = 0; i < HASH_CHAIN_MAX && !search->found && !(chained & 1); i++) {
        if (!word_copied(file, chains + 4ull * (index - first + i), &chained))
            return true;
        if ((chained | 1) == (hash | 1))
            search->found = symbol_is(file, &dynamic, (uint64_t)index + i, search);
    }
    return true;
}

bool elf_file_find_exported(struct elf_file *file, const char *name, struct elf_symbol *ret_symbol)
{
    struct search search = {.name = name, .ret_symbol = ret_symbol};
    struct symbol_table table;
    if (!search_hashes(file, &search) && dynamic_table(file, &table))
        visit_table(&table, compare_name, &search);
    return search.found;
}

bool elf_file_find_symbol(struct elf_file *file, const char *name, struct elf_symbol *ret_symbol)
{
    struct search search = {.name = name, .ret_symbol = ret_symbol};
    struct symbol_table table;
    if (!search_hashes(file, &search))
        elf_file_symbols(file, compare_name, &search);
    for (size_t i = 0; i < file->section_count && !search.found; i++)
        if (file->sections[i].sh_type == SHT_SYMTAB &&
            section_table(file, &file->sections[i], &table))
            visit_table(&table, compare_name, &search);
    return search.found;
}

size_t elf_file_symbol_count(const struct elf_file *file)
{
    size_t count = 0;
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].sh_type == SHT_SYMTAB)
            count += file->sections[i].sh_size / sizeof(Elf64_Sym);
    return count;
}

/* ---- Static probes --------------------------------------------------------------------------- */

/* Static probes (USDT): places named in a program's source, from notes made by <sys/sdt.h>. A note
 * has three addresses as of link time (the second shows how far it was moved since), and three
 * texts. */

enum { NOTE_PROBE = 3, ADDRESSES = 3 };

static const char owner[8] = "stapsdt";

/* The next of the note's texts. NULL: it is not terminated. */
static const char *next_text(const uint8_t **at, const uint8_t *end)
{
    const char *text = (const char *)*at;
    const uint8_t *zero = memchr(*at, 0, (size_t)(end - *at));
    *at = zero ? zero + 1 : end;
    return zero ? text : NULL;
}

/* `moved` is the current address of the base; 0: unknown. */
static bool read_note(const uint8_t *bytes, size_t size, uint64_t moved, struct elf_probe *probe)
{
    uint64_t addresses[ADDRESSES];
    if (size < sizeof(addresses))
        return false;
    memcpy(addresses, bytes, sizeof(addresses));
    const uint8_t *at = bytes + sizeof(addresses), *end = bytes + size;
    uint64_t shift = moved && addresses[1] ? moved - addresses[1] : 0;
    *probe = (struct elf_probe){.provider = next_text(&at, end),
                                .name = next_text(&at, end),
                                .arguments = next_text(&at, end),
                                .address = addresses[0] + shift,
                                .semaphore = addresses[2] ? addresses[2] + shift : 0};
    return probe->provider && probe->name && probe->arguments;
}

static size_t padded(uint32_t size)
{
    return ((size_t)size + 3) & ~(size_t)3;
}

void elf_file_probes(struct elf_file *file, bool (*visit)(void *, const struct elf_probe *),
                     void *context)
{
    struct elf_section notes, base;
    uint64_t moved = elf_file_section(file, ".stapsdt.base", &base) ? base.address : 0;
    if (!elf_file_section(file, ".note.stapsdt", &notes))
        return;
    bool more = true;
    for (size_t at = 0; more && notes.size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr head;
        struct elf_probe probe;
        memcpy(&head, notes.bytes + at, sizeof(head));
        at += sizeof(head);
        size_t text_at = at + padded(head.n_namesz), end = text_at + padded(head.n_descsz);
        if (text_at > notes.size || head.n_descsz > notes.size - text_at)
            return;
        bool ours = head.n_type == NOTE_PROBE && head.n_namesz == sizeof(owner) &&
                    memcmp(notes.bytes + at, owner, sizeof(owner)) == 0;
        if (ours && read_note(notes.bytes + text_at, head.n_descsz, moved, &probe))
            more = visit(context, &probe);
        at = end < notes.size ? end : notes.size;
    }
}
