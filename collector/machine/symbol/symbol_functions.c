/* SPDX-License-Identifier: MIT */
/* Finds functions by patterns of their names, and their exits. */
#include "symbol_functions.h"

#include "elf_symbols.h"
#include "options.h"
#include "symbol_code.h"
#include "symbol_debug.h"
#include "symbol_module.h"
#include "symbol_name.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Larger ones are not functions. */
enum { FUNCTION_MAX = 2 << 20, WORD_MAX = 64 };

struct found {
    char *raw; /* as in the file */
    uint64_t address, size;
    uint8_t type;
};

struct finding {
    const char *pattern;
    char word[WORD_MAX]; /* part of every matching name; "": unknown */
    VEC(struct found) matches, parts;
    bool full;   /* a file had a full symbol table, not only the dynamic linker's */
    bool failed; /* out of memory */
};

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The part after the last "::", without arguments. */
static const char *last_part(const char *pattern, size_t length)
{
    const char *part = pattern;
    for (size_t i = 0; i + 1 < length; i++)
        if (pattern[i] == ':' && pattern[i + 1] == ':')
            part = pattern + i + 2;
    return part;
}

/* Finds the longest word of the last part, without arguments: mangled names contain it too. */
static void find_word(struct finding *finding)
{
    size_t length = strcspn(finding->pattern, "(<[");
    const char *end = finding->pattern + length, *at = last_part(finding->pattern, length);
    if (*end == '[' || strncmp(at, "operator", 8) == 0)
        return;
    for (size_t word = 0, best = 0; at < end; at += word ? word : 1) {
        for (word = 0; at + word < end && is_word(at[word]);)
            word++;
        if (word <= best || word >= WORD_MAX)
            continue;
        memcpy(finding->word, at, word);
        finding->word[word] = 0;
        best = word;
    }
}

/* The start of the arguments: the last parenthesis that opens at the outer level. */
static size_t arguments_at(const char *name)
{
    size_t length = strlen(name), level = 0;
    const char *close = strrchr(name, ')');
    for (size_t i = close ? (size_t)(close - name) + 1 : 0; i-- > 0;) {
        level += name[i] == ')';
        if (name[i] == '(' && --level == 0)
            return i;
    }
    return length;
}

/* The start of the name itself: instances of templates have their type before it. */
static size_t name_at(const char *name, size_t end)
{
    size_t level = 0;
    for (size_t i = end; i-- > 0;) {
        level += name[i] == '>' || name[i] == ')';
        level -= (name[i] == '<' || name[i] == '(') && level > 0;
        if (name[i] == ' ' && level == 0)
            return i >= 8 && memcmp(name + i - 8, "operator", 8) == 0 ? 0 : i + 1;
    }
    return 0;
}

/* Copies of a function that a compiler made for some callers count as the function. */
static size_t clone_at(const char *name)
{
    static const char *const marks[] = {".constprop.", ".isra.", ".lto_priv.", ".llvm."};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const char *mark = strstr(name, marks[i]);
        if (mark && (!first || mark < first))
            first = mark;
    }
    return first ? (size_t)(first - name) : strlen(name);
}

static bool matches_part(const char *pattern, const char *name, size_t length)
{
    char part[SYMBOL_NAME_SIZE];
    if (length >= sizeof(part))
        return false;
    memcpy(part, name, length);
    part[length] = 0;
    return fnmatch(pattern, part, 0) == 0;
}

static bool matches(const struct finding *finding, const char *raw)
{
    char name[SYMBOL_NAME_SIZE];
    const char *pattern = finding->pattern;
    if (finding->word[0] && !strstr(raw, finding->word))
        return false;
    if (fnmatch(pattern, raw, 0) == 0 || matches_part(pattern, raw, clone_at(raw)))
        return true;
    (void)symbol_demangle(raw, name);
    size_t end = arguments_at(name), begin = name_at(name, end);
    return fnmatch(pattern, name, 0) == 0 || matches_part(pattern, name + begin, end - begin);
}

/* ---- Symbols --------------------------------------------------------------------------------- */

static void keep(struct finding *finding, const struct elf_symbol *symbol, bool part)
{
    struct found found = {strdup(symbol->name), symbol->address, symbol->size, symbol->type};
    int error = !found.raw ? -ENOMEM
                : part     ? vec_push(&finding->parts, found)
                           : vec_push(&finding->matches, found);
    if (error == 0)
        return;
    free(found.raw);
    finding->failed = true;
}

static bool take_symbol(void *context, const struct elf_symbol *symbol)
{
    struct finding *finding = context;
    bool code = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
    finding->full = finding->full || !symbol->dynamic;
    if (!code || symbol->address == 0)
        return true;
    if (strstr(symbol->name, ".cold"))
        keep(finding, symbol, true);
    else if (!strstr(symbol->name, ".part.") && matches(finding, symbol->name))
        keep(finding, symbol, false);
    return !finding->failed;
}

static void read_symbols(struct finding *finding, struct elf_file *file, const char *path)
{
    struct elf_file *debug = NULL;
    char *debug_path = NULL;
    elf_file_symbols(file, take_symbol, finding);
    if (finding->full || finding->failed)
        return;
    if (symbol_debug_open(file, path, &debug, &debug_path) ||
        symbol_debug_open_packed(file, &debug))
        elf_file_symbols(debug, take_symbol, finding);
    elf_file_close(debug);
    free(debug_path);
}

static int by_address(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return a->size > b->size ? -1 : a->size < b->size;
}

/* ---- Functions ------------------------------------------------------------------------------- */

static bool is_part_of(const struct found *part, const char *raw)
{
    size_t length = strlen(raw);
    return strncmp(part->raw, raw, length) == 0 && strncmp(part->raw + length, ".cold", 5) == 0 &&
           (part->raw[length + 5] == 0 || part->raw[length + 5] == '.');
}

static bool read_piece(struct elf_file *file, const struct found *found, struct code_piece *piece)
{
    piece->address = found->address;
    piece->size = found->size;
    piece->bytes =
        found->size <= FUNCTION_MAX ? elf_file_at(file, found->address, found->size) : NULL;
    return piece->bytes != NULL;
}

static int read_exits(struct elf_file *file, const struct finding *finding,
                      const struct found *found, struct code_exits *ret_exits)
{
    struct code_piece pieces[CODE_PIECES_MAX];
    size_t count = 1;
    if (!read_piece(file, found, &pieces[0]))
        return -EBADMSG;
    for (size_t i = 0; i < finding->parts.count && count < CODE_PIECES_MAX; i++) {
        const struct found *part = &finding->parts.items[i];
        if (part->size && is_part_of(part, found->raw))
            count += read_piece(file, part, &pieces[count]);
    }
    return code_exits_find(pieces, count, ret_exits);
}

/* Truncates its name to the readable part. */
static int add_function(struct elf_file *file, const struct finding *finding, struct found *found,
                        struct code_functions *functions)
{
    struct code_function function = {.begin = found->address, .end = found->address + found->size};
    char name[SYMBOL_NAME_SIZE];
    if (found->type == STT_GNU_IFUNC || found->size == 0) {
        functions->chosen += found->type == STT_GNU_IFUNC;
        functions->unsized += found->type != STT_GNU_IFUNC;
        return 0;
    }
    if (functions->items.count == CODE_FUNCTIONS_MAX) {
        functions->beyond++;
        return 0;
    }
    int error = read_exits(file, finding, found, &function.exits);
    if (error != 0) {
        functions->refused += error == -EBADMSG;
        return error == -EBADMSG ? 0 : error;
    }
    found->raw[clone_at(found->raw)] = 0;
    (void)symbol_demangle(found->raw, name);
    function.name = strdup(name);
    if (function.name && vec_push(&functions->items, function) == 0)
        return 0;
    free(function.name);
    code_exits_fini(&function.exits);
    return -ENOMEM;
}

static bool has_section(struct elf_file *file, const char *name)
{
    struct elf_section section;
    return elf_file_section(file, name, &section);
}

/* True for code that throws or unwinds, by a name that it imports. */
static bool has_unwinder(struct elf_file *file)
{
    static const char *const names[] = {"libstdc++", "libc++",   "libgcc_s",
                                        "libunwind", "_Unwind_", "__cxa_throw"};
    struct elf_section strings;
    bool found = !elf_file_section(file, ".dynstr", &strings);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
        found = memmem(strings.bytes, strings.size, names[i], strlen(names[i])) != NULL;
    return found;
}

/* True if it links, and may load, only the C library: any other library may be written in C++, and
 * throw through a callback. */
static bool is_alone(struct elf_file *file)
{
    static const char *const known[] = {"libc.so",  "libm.so",       "libdl.so",  "librt.so",
                                        "ld-linux", "libpthread.so", "linux-vdso"};
    struct elf_section strings;
    bool alone = elf_file_section(file, ".dynstr", &strings);
    for (size_t at = 0, length; alone && at < strings.size; at += length + 1) {
        const char *text = (const char *)strings.bytes + at;
        length = strnlen(text, strings.size - at);
        bool loads = (length == 6 && memcmp(text, "dlopen", 6) == 0) ||
                     (length == 7 && memcmp(text, "dlmopen", 7) == 0);
        bool library = memmem(text, length, ".so", 3) != NULL;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            library &= length < strlen(known[i]) || memcmp(text, known[i], strlen(known[i])) != 0;
        alone = !loads && !library;
    }
    return alone;
}

/* True for a program of C alone: a library of C may be called, and called back, by C++. */
static bool is_plain(struct elf_file *file)
{
    struct elf_segment interpreter;
    return elf_file_header(file, PT_INTERP, &interpreter) &&
           !has_section(file, ".gcc_except_table") && !has_unwinder(file) && is_alone(file);
}

static void free_found(struct finding *finding)
{
    for (size_t i = 0; i < finding->matches.count; i++)
        free(finding->matches.items[i].raw);
    for (size_t i = 0; i < finding->parts.count; i++)
        free(finding->parts.items[i].raw);
    vec_free(&finding->matches);
    vec_free(&finding->parts);
}

int code_functions_find(struct elf_file *file, const char *path, const char *pattern,
                        struct code_functions *ret_functions)
{
    struct finding finding = {.pattern = pattern};
    *ret_functions = (struct code_functions){0};
    if (elf_file_machine(file) != EM_X86_64)
        return 0;
    find_word(&finding);
    read_symbols(&finding, file, path);
    int error = finding.failed ? -ENOMEM : 0;
    if (finding.matches.count > 0)
        qsort(finding.matches.items, finding.matches.count, sizeof(struct found), by_address);
    for (size_t i = 0; i < finding.matches.count && error == 0; i++)
        if (i == 0 || finding.matches.items[i].address != finding.matches.items[i - 1].address)
            error = add_function(file, &finding, &finding.matches.items[i], ret_functions);
    ret_functions->partial = !finding.full;
    ret_functions->go = has_section(file, ".gopclntab") || has_section(file, ".note.go.buildid");
    ret_functions->plain = !ret_functions->go && is_plain(file);
    free_found(&finding);
    if (error != 0)
        code_functions_fini(ret_functions);
    return error;
}

void code_functions_fini(struct code_functions *functions)
{
    for (size_t i = 0; i < functions->items.count; i++) {
        free(functions->items.items[i].name);
        code_exits_fini(&functions->items.items[i].exits);
    }
    vec_free(&functions->items);
}

/* ---- Symbol near ----------------------------------------------------------------------------- */

/* Functions of a file with names similar to a missing one. */

enum { INSIDE = 1, FAR = 100 }; /* distance of names that contain the wanted one */

struct nearness {
    const char *wanted;
    unsigned limit;
    struct code_near *near;
    unsigned distances[CODE_NEAR_MAX];
    bool full;
};

/* Removes arguments and template arguments from a demangled name. */
static void cut_arguments(char *name)
{
    char *end = name + strcspn(name, "(<");
    if (end > name && strncmp(name, "operator", 8) != 0)
        *end = 0;
}

/* The part after the last "::" or ".". */
static const char *last_name(const char *name)
{
    const char *colon = strrchr(name, ':'), *dot = strrchr(name, '.');
    const char *at = colon > dot ? colon : dot;
    return at && at[1] ? at + 1 : name;
}

static unsigned distance_of(const struct nearness *nearness, const char *name)
{
    const char *wanted = last_name(nearness->wanted), *last = last_name(name);
    size_t length = strlen(wanted);
    if (strcasecmp(wanted, last) == 0)
        return 0;
    unsigned distance = options_distance(wanted, last);
    if (distance <= nearness->limit)
        return distance;
    return length >= 4 && strcasestr(last, wanted) ? nearness->limit + INSIDE : FAR;
}

static void insert(struct nearness *nearness, const char *name, unsigned distance)
{
    struct code_near *near = nearness->near;
    uint32_t at = near->count;
    for (uint32_t i = 0; i < near->count; i++)
        if (strcmp(near->names[i], name) == 0)
            return;
    while (at > 0 && nearness->distances[at - 1] > distance)
        at--;
    if (at == CODE_NEAR_MAX)
        return;
    near->count += near->count < CODE_NEAR_MAX;
    for (uint32_t i = near->count - 1; i > at; i--) {
        memcpy(near->names[i], near->names[i - 1], sizeof(near->names[i]));
        nearness->distances[i] = nearness->distances[i - 1];
    }
    memcpy(near->names[at], name, strlen(name) + 1);
    nearness->distances[at] = distance;
}

static bool compare_symbol(void *context, const struct elf_symbol *symbol)
{
    struct nearness *nearness = context;
    char name[SYMBOL_NAME_SIZE];
    nearness->full = nearness->full || !symbol->dynamic;
    if (symbol->type != STT_FUNC || symbol->address == 0)
        return true;
    (void)symbol_demangle(symbol->name, name);
    cut_arguments(name);
    unsigned distance = distance_of(nearness, name);
    if (distance < FAR && strlen(name) < CODE_NEAR_SIZE)
        insert(nearness, name, distance);
    return true;
}

void code_functions_near(struct elf_file *file, const char *path, const char *wanted,
                         struct code_near *ret_near)
{
    struct nearness nearness = {.wanted = wanted, .near = ret_near};
    struct elf_file *debug = NULL;
    char *debug_path = NULL;
    *ret_near = (struct code_near){0};
    if (strpbrk(wanted, "*?[("))
        return;
    nearness.limit = options_near_limit(last_name(wanted)) - 1;
    nearness.limit = nearness.limit > 0 ? nearness.limit : 1;
    elf_file_symbols(file, compare_symbol, &nearness);
    if (nearness.full)
        return;
    if (symbol_debug_open(file, path, &debug, &debug_path) ||
        symbol_debug_open_packed(file, &debug))
        elf_file_symbols(debug, compare_symbol, &nearness);
    elf_file_close(debug);
    free(debug_path);
}
