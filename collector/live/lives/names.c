/* SPDX-License-Identifier: MIT */
/* The cache of ids is a two-level table, so that its memory follows the names in use. Domains and
 * categories are found by walking the table of strings; the walk skips an unfinished entry to the
 * next one with a valid hash. */
#include "names.h"

#include "stacks.h"
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WALK_FACTOR = 64, /* all walks together may read this many tables */
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
    vec_free(&names->schemas);
    vec_free(&names->numbers);
    vec_free(&names->scopes);
    vec_free(&names->observers);
    vec_free(&names->functions);
    vec_free(&names->queues);
    map64_free(&names->joined);
    map64_free(&names->least);
}

struct names *names_detach(struct names *from)
{
    struct names *names = malloc(sizeof(*names));
    if (!names)
        return NULL;
    *names = (struct names){
        .pages = from->pages, .page_count = from->page_count, .domains = from->domains};
    from->pages = NULL;
    from->page_count = 0;
    from->domains = (number_table){0};
    return names;
}

void names_destroy(struct names *names)
{
    if (names)
        names_fini(names);
    free(names);
}

static uint32_t *slot(struct names *names, uint32_t id)
{
    uint32_t **page = &names->pages[id / NAMES_PAGE];
    if (!*page)
        *page = calloc(NAMES_PAGE, sizeof(**page));
    return *page ? *page + id % NAMES_PAGE : NULL;
}

/* The part of a text before a separator, or all of it; *rest moves past it. */
static struct trace_string take_part(struct trace_string *rest, char separator)
{
    const char *end = memchr(rest->bytes, separator, rest->length);
    uint32_t length = end ? (uint32_t)(end - rest->bytes) : rest->length;
    struct trace_string part = {rest->bytes, length};
    uint32_t used = end ? length + 1 : length;
    *rest = (struct trace_string){rest->bytes + used, rest->length - used};
    return part;
}

/* Parses a field that is only a number. `text` ends with a NUL or a separator. */
static bool take_number(struct trace_string *rest, int base, uint64_t *ret_number)
{
    char digits[24], *end;
    struct trace_string part = take_part(rest, '\x1f');
    if (part.length == 0 || part.length >= sizeof(digits))
        return false;
    memcpy(digits, part.bytes, part.length);
    digits[part.length] = 0;
    *ret_number = strtoull(digits, &end, base);
    return *end == 0;
}

/* Names the function of "FILE", "OFFSET" and perhaps "INODE", or "file+0xoffset". */
static int64_t add_function(struct names *names, const char *bytes, size_t length)
{
    char file[ANNOT_STRING_MAX + 1], text[NAMES_FUNCTION_MAX + 32];
    struct trace_string rest = {bytes, (uint32_t)length}, path = take_part(&rest, '\x1f');
    struct names_function function = {.pid = names->pid, .file = file};
    memcpy(file, path.bytes, path.length);
    file[path.length] = 0;
    const char *slash = strrchr(file, '/');
    const char *base = slash && slash[1] ? slash + 1 : file;
    if (!take_number(&rest, 16, &function.offset) ||
        (rest.length != 0 && !take_number(&rest, 10, &function.inode)))
        return trace_string_add(names->trace, base, strlen(base));
    size_t size = names->function ? names->function(names->function_context, &function, text) : 0;
    if (size > 0 && size <= NAMES_FUNCTION_MAX)
        return trace_string_add(names->trace, text, size);
    int shown =
        snprintf(text, sizeof(text), "%.*s+0x%" PRIx64, NAMES_FUNCTION_MAX, base, function.offset);
    return trace_string_add(names->trace, text, (size_t)shown);
}

/* A parsed CODE; take_code returns false if it is invalid. */
struct code {
    struct trace_string name, file;
    int32_t line;
    uint8_t kind; /* its letter */
    uint64_t least_ns;
};

static bool take_code(struct trace_string rest, struct code *code)
{
    uint64_t line;
    code->name = take_part(&rest, '\x1f');
    code->file = take_part(&rest, '\x1f');
    bool numbered = take_number(&rest, 10, &line) && line <= INT32_MAX;
    code->line = numbered ? (int32_t)line : 0;
    struct trace_string kind = take_part(&rest, '\x1f');
    code->kind = kind.length == 1 ? (uint8_t)*kind.bytes : 0;
    code->least_ns = 0;
    bool timed = rest.length == 0 || (take_number(&rest, 10, &code->least_ns) &&
                                      code->least_ns <= ANNOT_CODE_LEAST_NS_MAX);
    return numbered && timed && code->kind &&
           strchr(ANNOT_CODE_KIND_PYTHON ANNOT_CODE_KIND_C ANNOT_CODE_KIND_TASK, code->kind);
}

/* The label of a function, equal to that of sample frames. */
static int64_t label_of(struct trace *trace, const struct code *code)
{
    bool python = code->kind == *ANNOT_CODE_KIND_PYTHON;
    if (code->kind == *ANNOT_CODE_KIND_TASK)
        return trace_context_label(trace, LABEL_TASK, code->name.bytes, code->name.length);
    int64_t text = trace_string_add(trace, code->name.bytes, code->name.length);
    int64_t path = python ? trace_string_add(trace, code->file.bytes, code->file.length) : 0;
    if (text < 0 || path < 0)
        return -ENOMEM;
    if (python)
        return trace_python_label(trace, (uint32_t)text, (uint32_t)path, code->line);
    const struct label label = {.text = (uint32_t)text, .kind = FRAME_NATIVE};
    return text ? stacks_label(trace_stacks(trace), &label) : 0;
}

/* Counts traced functions, except those by which pyannot tests if tracing works. */
static int count_traced(struct trace *trace, const struct code *code)
{
    static const char own[] = "/pyannot/_trace.py";
    size_t length = sizeof(own) - 1;
    if (code->file.length == 0 ||
        (code->file.length >= length &&
         memcmp(code->file.bytes + code->file.length - length, own, length) == 0))
        return 0;
    int error = trace_fact_set(trace, FACT_COUNT, TRACE_FACT_TRACED,
                               trace_fact_value(trace, TRACE_FACT_TRACED) + 1);
    return error == -ENOMEM ? error : 0;
}

/* The name that stands for its label; for an invalid CODE its text. */
static int64_t add_code(struct names *names, uint32_t id, const char *bytes, size_t length)
{
    struct code code;
    if (!take_code((struct trace_string){bytes, (uint32_t)length}, &code)) {
        names->broken++;
        return trace_string_add(names->trace, code.name.bytes, code.name.length);
    }
    if ((code.least_ns != 0 && map64_put(&names->least, id, code.least_ns) != 0) ||
        count_traced(names->trace, &code) != 0)
        return -ENOMEM;
    int64_t label = label_of(names->trace, &code);
    return label < 0 ? label : trace_label_name(names->trace, (uint32_t)label);
}

static int64_t note_function(struct names *names, uint32_t id, uint8_t kind,
                             struct trace_string text)
{
    bool code = kind == NAMES_PYTHON_CALL;
    const struct scope calls = {.observer = code ? OBSERVER_PYTHON_CALLS : OBSERVER_NATIVE_CALLS};
    int64_t ordinal = code ? add_code(names, id, text.bytes, text.length)
                           : add_function(names, text.bytes, text.length);
    int64_t scope = trace_scope_add(names->trace, &calls);
    struct names_known_function function = {id, (uint32_t)ordinal, kind};
    names->call_scopes[kind] = scope > 0 ? (uint32_t)scope : 0;
    if (scope == -ENOMEM || (ordinal >= 0 && vec_push(&names->functions, function) != 0))
        return -ENOMEM;
    return ordinal;
}

int names_read(struct names *names, uint32_t id, struct annot_string *ret_string, char *bytes)
{
    uint32_t size = names->segment->info.strings_size;
    int found = id < size / ANNOT_STRING_UNIT
                    ? segment_read_string(names->segment, id, ret_string, bytes)
                    : 0;
    if (found == 1)
        names->table_bytes += sizeof(*ret_string) + (ret_string->length + (size_t)15) / 16 * 16;
    if (found == -EFAULT || (found == 1 && names->table_bytes <= size))
        return found;
    names->broken++;
    return 0;
}

/* Reads a string for the first time, with its kind. The ordinal; 0: invalid. */
static int64_t read_text(struct names *names, uint32_t id, uint8_t *ret_kind)
{
    struct annot_string string;
    char bytes[ANNOT_STRING_MAX];
    int found = names_read(names, id, &string, bytes);
    if (found != 1)
        return found;
    *ret_kind = string.kind == ANNOT_STRING_FUNCTION ? NAMES_NATIVE_CALL
                : string.kind == ANNOT_STRING_CODE   ? NAMES_PYTHON_CALL
                                                     : NAMES_TEXT;
    if (*ret_kind != NAMES_TEXT)
        return note_function(names, id, *ret_kind, (struct trace_string){bytes, string.length});
    return trace_string_add(names->trace, bytes, string.length);
}

int64_t names_by_id(struct names *names, uint32_t id)
{
    if (id == 0)
        return 0;
    uint32_t cached = names_entry(names, id);
    uint8_t kind = NAMES_TEXT;
    if (cached || !names->segment)
        return cached ? names_entry_ordinal(cached) : 0;
    if (id >= names->segment->info.strings_size / ANNOT_STRING_UNIT) {
        names->broken++;
        return 0;
    }
    uint32_t *known = slot(names, id);
    if (!known)
        return -ENOMEM;
    int64_t ordinal = read_text(names, id, &kind);
    if (ordinal > NAMES_ORDINAL_MAX)
        ordinal = 0;
    if (ordinal >= 0)
        *known = ((uint32_t)ordinal + 1) | (uint32_t)kind << NAMES_KIND_SHIFT;
    return ordinal;
}

int64_t names_inline(struct names *names, const char *bytes, size_t length)
{
    static const char beyond[] = "(too many different texts)";
    if (names->inline_bytes > NAMES_INLINE_BYTES) {
        names->cut++;
        return trace_string_add(names->trace, beyond, sizeof(beyond) - 1);
    }
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

static int put_number(number_table *table, uint16_t number, uint32_t value)
{
    while (table->count <= number)
        if (vec_push(table, 0) != 0)
            return -ENOMEM;
    table->items[number] = value;
    return 0;
}

/* Stores a domain or category. */
static int note_number(struct names *names, uint32_t id, const struct annot_string *string)
{
    int64_t ordinal = names_by_id(names, id);
    if (ordinal < 0)
        return (int)ordinal;
    bool domain = string->kind == ANNOT_STRING_DOMAIN;
    while (names->numbers.count <= string->number)
        if (vec_push(&names->numbers, (struct names_number){0}) != 0)
            return -ENOMEM;
    names->numbers.items[string->number] = (struct names_number){id, string->parent, !domain};
    return put_number(domain ? &names->domains : &names->categories, string->number,
                      (uint32_t)ordinal);
}

/* Stores "COUNTER", unit separator, "UNIT". Its domain precedes it in the table. */
static int note_unit(struct names *names, const struct annot_string *string, const char *bytes)
{
    struct trace_string rest = {bytes, string->length}, counter = take_part(&rest, '\x1f');
    uint32_t domain =
        string->number < names->domains.count ? names->domains.items[string->number] : 0;
    int64_t name = names_inline(names, counter.bytes, counter.length);
    int64_t unit = names_inline(names, rest.bytes, rest.length);
    if (name < 0 || unit < 0)
        return -ENOMEM;
    int error = trace_unit_set(names->trace, domain, (uint32_t)name, (uint32_t)unit);
    names->broken += error == -EINVAL || error == -ENOSPC;
    return error == -ENOMEM ? error : 0;
}

/* Stores "OBSERVER", unit separator, "ROLE", unit separator, and a name that the next string
 * defines. */
static int note_observer(struct names *names, const struct annot_string *string, const char *bytes)
{
    struct trace_string rest = {bytes, string->length};
    uint64_t observer, role;
    if (!take_number(&rest, 10, &observer) || !take_number(&rest, 10, &role) ||
        observer > UINT16_MAX || role > UINT16_MAX) {
        names->broken++;
        return 0;
    }
    while (names->observers.count <= string->number)
        if (vec_push(&names->observers, (struct names_observer){0}) != 0)
            return -ENOMEM;
    names->observers.items[string->number] =
        (struct names_observer){(uint16_t)observer, (uint16_t)role};
    return 0;
}

static int note_string(struct names *names, uint32_t id, const struct annot_string *string,
                       const char *bytes)
{
    switch (string->kind) {
    case ANNOT_STRING_DOMAIN:
    case ANNOT_STRING_CATEGORY:
        return note_number(names, id, string);
    case ANNOT_STRING_SCHEMA:
        return put_number(&names->schemas, string->number, id);
    case ANNOT_STRING_FUNCTION:
    case ANNOT_STRING_CODE: {
        int64_t ordinal = names_by_id(names, id);
        return ordinal < 0 ? (int)ordinal : 0;
    }
    case ANNOT_STRING_COUNTER_UNIT:
        return note_unit(names, string, bytes);
    case ANNOT_STRING_OBSERVED:
        return note_observer(names, string, bytes);
    case ANNOT_STRING_QUEUE:
        return vec_push(&names->queues, id);
    default:
        return 0;
    }
}

/* Reads domains, categories, their observers, schemas and units up to the end of the table. */
int names_walk(struct names *names)
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
            error = note_string(names, id - 1 - (string.length + 15u) / 16, &string, bytes);
        if (error != 0)
            return error;
        if (clean)
            names->walked = id;
    }
    return 0;
}

/* True if the domain or category is defined: its name may be empty. */
static bool is_reported(const struct names *names, uint16_t number)
{
    return number == 0 || (number < names->numbers.count && names->numbers.items[number].id != 0);
}

static int64_t by_number(struct names *names, const number_table *table, uint16_t number)
{
    if (number == 0)
        return 0;
    bool known = (number < table->count && table->items[number] != 0) || is_reported(names, number);
    int error = known || !names->segment ? 0 : names_walk(names);
    if (error != 0)
        return error;
    return number < table->count ? table->items[number] : 0;
}

int64_t names_domain(struct names *names, uint16_t number)
{
    return by_number(names, &names->domains, number);
}

/* 0 or -ENOMEM. */
static int keep_scope(struct names *names, uint16_t number, struct names_scope scope)
{
    while (names->scopes.count <= number)
        if (vec_push(&names->scopes, (struct names_scope){0}) != 0)
            return -ENOMEM;
    names->scopes.items[number] = scope;
    return 0;
}

static struct names_observer observer_of(const struct names *names, uint16_t number)
{
    return number < names->observers.count ? names->observers.items[number]
                                           : (struct names_observer){0};
}

/* Undefined numbers may be defined later, so they are looked up again. */
static int64_t find_scope(struct names *names, uint16_t domain, uint16_t category)
{
    int64_t domain_name = by_number(names, &names->domains, domain);
    int64_t category_name = by_number(names, &names->categories, category);
    if (domain_name < 0 || category_name < 0)
        return domain_name < 0 ? domain_name : category_name;
    struct names_observer by = observer_of(names, category);
    if (by.observer == OBSERVER_PROGRAM)
        by = observer_of(names, domain);
    const struct scope scope = {.domain = (uint32_t)domain_name,
                                .category = (uint32_t)category_name,
                                .observer = by.observer,
                                .role = by.role};
    int64_t ordinal = trace_scope_add(names->trace, &scope);
    if (ordinal == -ENOSPC) {
        names->broken++;
        return 0;
    }
    bool complete = is_reported(names, domain) && is_reported(names, category);
    if (ordinal > 0 && complete &&
        keep_scope(names, category ? category : domain,
                   (struct names_scope){(uint32_t)ordinal, domain}) != 0)
        return -ENOMEM;
    return ordinal;
}

int64_t names_scope(struct names *names, uint16_t domain, uint16_t category)
{
    uint16_t number = category ? category : domain;
    if (number == 0)
        return 0;
    struct names_scope known = {0};
    if (number < names->scopes.count)
        known = names->scopes.items[number];
    return known.ordinal != 0 && known.domain == domain ? known.ordinal
                                                        : find_scope(names, domain, category);
}

int64_t names_schema(struct names *names, uint16_t number, char *text)
{
    struct annot_string string;
    int64_t id = by_number(names, &names->schemas, number);
    int found = id > 0 ? segment_read_string(names->segment, (uint32_t)id, &string, text) : 0;
    if (id < 0 || found == -EFAULT)
        return id < 0 ? id : found;
    return found == 1 && string.kind == ANNOT_STRING_SCHEMA ? string.length : 0;
}

int64_t names_join(struct names *names, uint32_t group, uint32_t series)
{
    char text[2 * ANNOT_STRING_MAX + 2];
    uint64_t key = ((uint64_t)group << 32 | series) + 1;
    const uint64_t *known = map64_find(&names->joined, key);
    if (known)
        return (int64_t)*known;
    int length = snprintf(text, sizeof(text), "%s/%s", trace_string(names->trace, group)->bytes,
                          trace_string(names->trace, series)->bytes);
    size_t size = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    int64_t ordinal = names_inline(names, text, size);
    if (ordinal >= 0 && names->joined.count < NAMES_JOINED_MAX &&
        map64_put(&names->joined, key, (uint64_t)ordinal) != 0)
        return -ENOMEM;
    return ordinal;
}
