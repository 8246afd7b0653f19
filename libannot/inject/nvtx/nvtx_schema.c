/* SPDX-License-Identifier: MIT */
/* See nvtx_schema.h. */
#include "nvtx_schema.h"

#include "nvtx_extension.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <string.h>
#include <wchar.h>

/* A table entry is claimed by one swap; objects are complete before. */

enum { MEMORY_SIZE = 4 << 20, PLACES = 32768, OBJECTS = PLACES / 2, TEXT_MAX = 255 };

static _Alignas(16) char memory[MEMORY_SIZE];
static size_t memory_used; /* W: all, atomic; may exceed the size */
static struct nvtx_object *places[PLACES];
static uint32_t object_count;

void *nvtx_registry_memory(size_t size)
{
    if (size > MEMORY_SIZE || annot_load_relaxed(&memory_used) > MEMORY_SIZE - size)
        return NULL;
    size = (size + 15) / 16 * 16;
    size_t at = annot_fetch_add_relaxed(&memory_used, size);
    return at <= MEMORY_SIZE - size ? memory + at : NULL;
}

const char *nvtx_registry_text(const char *text)
{
    size_t length = text ? strnlen(text, TEXT_MAX) : 0;
    char *copy = length ? nvtx_registry_memory(length + 1) : NULL;
    return copy ? memcpy(copy, text, length) : "";
}

/* ---- Hashes ---------------------------------------------------------------------------------- */

uint64_t nvtx_hash_text(uint64_t hash, const char *text)
{
    for (size_t i = 0; text && text[i] && i < TEXT_MAX; i++)
        hash = nvtx_hash(hash, (unsigned char)text[i]);
    return nvtx_hash(hash, 0x100);
}

/* ---- The table ------------------------------------------------------------------------------- */

static struct nvtx_object **place_at(uint64_t key, uint32_t probe)
{
    return &places[(nvtx_hash(key, 1) + probe) % PLACES];
}

/* Ids that we issue are hashes of the contents, including the domain. */
#define ID_OURS (UINT64_C(1) << 62)

static annot_domain domain_of(annot_domain domain, uint64_t id)
{
    return id & ID_OURS ? 0 : domain;
}

static uint64_t key_of(uint32_t kind, annot_domain domain, uint64_t id)
{
    return nvtx_hash(id, (uint64_t)kind << 16 | domain_of(domain, id));
}

static int is_it(const struct nvtx_object *object, const struct nvtx_object *wanted)
{
    return object->id == wanted->id && object->kind == wanted->kind &&
           domain_of(object->domain, object->id) == domain_of(wanted->domain, wanted->id);
}

/* Returns NULL if not found, or the table is full. */
static struct nvtx_object *find_or_add(struct nvtx_object *wanted, int may_add)
{
    uint64_t key = key_of(wanted->kind, wanted->domain, wanted->id);
    for (uint32_t i = 0; i < PLACES; i++) {
        struct nvtx_object **place = place_at(key, i);
        struct nvtx_object *found = annot_load_acquire(place); /* partner: the swap */
        if (!found && (!may_add || annot_cas_acq_rel(place, &found, wanted)))
            return may_add ? wanted : NULL; /* partner: itself, and find */
        if (is_it(found, wanted))
            return found;
    }
    return NULL;
}

void *nvtx_registry_find(enum nvtx_object_kind kind, annot_domain domain, uint64_t id)
{
    struct nvtx_object wanted = {.id = id, .kind = (uint8_t)kind, .domain = domain};
    return id >= NVTX_ID_STATIC ? find_or_add(&wanted, 0) : NULL;
}

int nvtx_registry_begin(struct nvtx_object *wanted, uint64_t theirs, uint64_t given)
{
    uint64_t contents = nvtx_hash(wanted->hash, (uint64_t)wanted->kind << 16 | wanted->domain);
    wanted->id = theirs ? theirs : given ? given : ID_OURS | (contents & (ID_OURS - 1));
    if (wanted->id < NVTX_ID_STATIC || (!theirs && given >= NVTX_ID_DYNAMIC))
        return 0;
    const struct nvtx_object *found = find_or_add(wanted, 0);
    if (found)
        return found->hash == wanted->hash ? 2 : 0;
    return 1;
}

uint64_t nvtx_registry_enter(struct nvtx_object *object)
{
    if (annot_load_relaxed(&object_count) >= OBJECTS)
        return 0;
    object->number = annot_fetch_add_relaxed(&object_count, 1) + 1;
    const struct nvtx_object *entered = find_or_add(object, 1);
    return entered && entered->hash == object->hash ? object->id : 0;
}

void nvtx_registry_clear(void)
{
    memset(memory, 0, memory_used < MEMORY_SIZE ? memory_used : MEMORY_SIZE);
    memset(places, 0, sizeof(places));
    memory_used = 0;
    object_count = 0;
}

/* ---- Reports of unsupported data ------------------------------------------------------------- */

void nvtx_emit(annot_domain domain, const char *name, const char *what)
{
    const struct annot_value value = annot_value_string("name", name ? name : "");
    const struct annot_event event = {
        .text = what,
        .domain = domain,
        .category = annot_category_observed(domain, "nvtx", ANNOT_OBSERVER_NVTX, 0),
        .values = &value,
        .value_count = 1};
    annot_mark_event(&event);
}

void nvtx_emit_once(struct nvtx_object *object, const char *name, const char *what)
{
    if (!annot_enabled() || annot_load_relaxed(&object->is_reported))
        return;
    annot_store_relaxed(&object->is_reported, (uint8_t)1);
    nvtx_emit(object->domain, name, what);
}

enum { SEMANTICS_MAX = 16, SIZE_AT_MOST = 1 << 30 };

const void *nvtx_semantics_of(const struct nvtx_semantics *list, enum nvtx_semantics_id id)
{
    for (uint32_t i = 0; list && i < SEMANTICS_MAX; i++, list = list->next)
        if (list->id == id &&
            list->size >= (id == NVTX_SEMANTICS_COUNTER ? sizeof(struct nvtx_semantics_counter)
                                                        : sizeof(struct nvtx_semantics_number)))
            return list;
    return NULL;
}

static uint64_t number_of(const struct nvtx_semantics *list, enum nvtx_semantics_id id)
{
    const struct nvtx_semantics_number *found = nvtx_semantics_of(list, id);
    return found ? found->number : 0;
}

/* ---- Schemas --------------------------------------------------------------------------------- */

static int is_schema(const struct nvtx_schema_given *given)
{
    const uint64_t needed = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT;
    return given && (given->fields & needed) == needed && given->type >= NVTX_SCHEMA_STATIC &&
           given->type <= NVTX_SCHEMA_UNION_INTERNAL && given->entries && given->count > 0 &&
           given->count <= NVTX_ENTRIES_MAX;
}

static const char *name_of(const struct nvtx_schema_given *given)
{
    return given->fields & NVTX_SCHEMA_HAS_NAME ? given->name : NULL;
}

static uint64_t hash_entry(uint64_t hash, const struct nvtx_entry_given *entry)
{
    const struct nvtx_semantics_counter *counter =
        nvtx_semantics_of(entry->semantics, NVTX_SEMANTICS_COUNTER);
    hash = nvtx_hash(nvtx_hash(hash, entry->flags), entry->type);
    hash = nvtx_hash(nvtx_hash(hash, entry->detail), entry->offset);
    hash = nvtx_hash(hash, number_of(entry->semantics, NVTX_SEMANTICS_TIME));
    hash = nvtx_hash(hash, number_of(entry->semantics, NVTX_SEMANTICS_SCOPE));
    if (counter) {
        hash = nvtx_hash(nvtx_hash(hash, counter->flags), counter->scale);
        hash = nvtx_hash_text(nvtx_hash(hash, counter->divisor), counter->unit);
    }
    return nvtx_hash_text(hash, entry->name);
}

static uint64_t hash_schema(const struct nvtx_schema_given *given)
{
    uint64_t hash = nvtx_hash_text(given->type, name_of(given));
    if (given->fields & NVTX_SCHEMA_HAS_FLAGS)
        hash = nvtx_hash(hash, given->flags);
    if (given->fields & NVTX_SCHEMA_HAS_SIZE)
        hash = nvtx_hash(hash, given->size);
    if (given->fields & NVTX_SCHEMA_HAS_ALIGNMENT)
        hash = nvtx_hash(hash, given->alignment);
    for (size_t i = 0; i < given->count; i++)
        hash = hash_entry(hash, &given->entries[i]);
    return hash;
}

/* Counters of a group have their unit in their name. */
static void name_entry(struct nvtx_entry *entry, const struct nvtx_entry_given *given)
{
    const struct nvtx_semantics_counter *counter =
        nvtx_semantics_of(given->semantics, NVTX_SEMANTICS_COUNTER);
    const char *unit = counter ? counter->unit : NULL;
    char name[256];
    size_t length = given->name ? strnlen(given->name, 200) : 0;
    memcpy(name, given->name ? given->name : "", length);
    name[length] = 0;
    if (unit && *unit) {
        size_t more = strnlen(unit, 50);
        memcpy(name + length, " [", 2);
        memcpy(name + length + 2, unit, more);
        memcpy(name + length + 2 + more, "]", 2);
    }
    entry->name = nvtx_registry_text(name);
    if (*entry->name)
        entry->key = annot_name_intern(entry->name);
    if (!counter)
        return;
    entry->counter_flags = counter->flags;
    entry->scale = counter->scale;
    entry->divisor = counter->divisor;
}

static void fill_entry(struct nvtx_entry *entry, const struct nvtx_entry_given *given)
{
    const struct nvtx_semantics_number *time =
        nvtx_semantics_of(given->semantics, NVTX_SEMANTICS_TIME);
    entry->flags = given->flags;
    entry->type = given->type;
    entry->detail = given->detail;
    entry->offset = given->offset;
    entry->has_time = time != NULL;
    entry->time = time ? time->number : 0;
    entry->scope = number_of(given->semantics, NVTX_SEMANTICS_SCOPE);
    name_entry(entry, given);
}

/* True if another entry, by its index, holds the length of this one, or the selector of a union. */
static int refers(const struct nvtx_schema *schema, const struct nvtx_entry *entry)
{
    const struct nvtx_type *type;
    if ((entry->flags & NVTX_ENTRY_ARRAYS) == NVTX_ENTRY_ARRAY_LENGTH_ENTRY)
        return 1;
    if (entry->flags & NVTX_ENTRY_ARRAYS || entry->type < NVTX_ID_STATIC)
        return 0;
    type = nvtx_registry_find(NVTX_OBJECT_TYPE, schema->type.object.domain, entry->type);
    return type ? type->type == NVTX_SCHEMA_UNION : entry->detail > 0;
}

/* If a schema has more lengths than slots, only the first ones are connected. */
static void connect_entries(struct nvtx_schema *schema)
{
    uint8_t slots = 0;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_entry *entry = &schema->entries[i];
        if (entry->detail >= schema->type.count || !refers(schema, entry))
            continue;
        struct nvtx_entry *from = &schema->entries[entry->detail];
        if (!from->keeps && slots < NVTX_SLOTS)
            from->keeps = ++slots;
        entry->takes = from->keeps;
    }
}

static int is_plain(const struct nvtx_entry *entry)
{
    int is_number =
        entry->plain.class >= NVTX_CLASS_SIGNED && entry->plain.class <= NVTX_CLASS_REAL;
    int is_attribute = entry->type >= NVTX_TYPE_RANGE_ID && entry->type <= NVTX_TYPE_SCOPE;
    return is_number && !is_attribute && entry->type < NVTX_TYPE_STRING_HANDLE && !entry->flags &&
           entry->key && !entry->keeps;
}

/* Sets the offsets of the entries, if they are constant and all entries are plain numbers. */
static void find_plain(struct nvtx_schema *schema)
{
    uint64_t cursor = 0, end = 0;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_entry *entry = &schema->entries[i];
        if (entry->type < NVTX_TYPE_COUNT)
            entry->plain = nvtx_layout_of(0, entry->type);
        entry->plain_offset = nvtx_entry_offset(schema, i, cursor, entry->plain.alignment);
        cursor = entry->plain_offset + entry->plain.size;
        if (!is_plain(entry) || entry->plain_offset > SIZE_AT_MOST)
            return;
        if (cursor > end)
            end = cursor;
    }
    if (schema->type.type == NVTX_SCHEMA_STATIC && (!schema->size || end <= schema->size))
        schema->plain_size = end;
}

uint64_t nvtx_schema_register(annot_domain domain, const struct nvtx_schema_given *given,
                              uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_TYPE, .domain = domain};
    if (!is_schema(given)) {
        if (given && annot_enabled())
            nvtx_emit(domain, name_of(given), "a schema that makes no sense");
        return 0;
    }
    head.hash = hash_schema(given);
    uint64_t own = given->fields & NVTX_SCHEMA_HAS_ID ? given->id : 0;
    int is_new = nvtx_registry_begin(&head, theirs, own);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct nvtx_schema *schema =
        nvtx_registry_memory(sizeof(*schema) + given->count * sizeof(schema->entries[0]));
    if (!schema)
        return 0;
    schema->type.object = head;
    schema->type.name = nvtx_registry_text(name_of(given));
    schema->type.type = (uint32_t)given->type;
    schema->type.count = (uint32_t)given->count;
    if (given->fields & NVTX_SCHEMA_HAS_FLAGS)
        schema->role = given->flags & NVTX_SCHEMA_ROLES;
    if (given->fields & NVTX_SCHEMA_HAS_SIZE && given->size <= SIZE_AT_MOST)
        schema->size = given->size;
    if (given->fields & NVTX_SCHEMA_HAS_ALIGNMENT)
        schema->alignment = given->alignment;
    for (size_t i = 0; i < given->count; i++)
        fill_entry(&schema->entries[i], &given->entries[i]);
    connect_entries(schema);
    find_plain(schema);
    return nvtx_registry_enter(&schema->type.object);
}

/* ---- Enums ----------------------------------------------------------------------------------- */

static int is_enum(const struct nvtx_enum_given *given)
{
    const uint64_t needed = NVTX_ENUM_HAS_ENTRIES | NVTX_ENUM_HAS_COUNT | NVTX_ENUM_HAS_SIZE;
    return given && (given->fields & needed) == needed && given->values && given->count > 0 &&
           given->count <= NVTX_ENUM_VALUES_MAX &&
           (given->size == 1 || given->size == 2 || given->size == 4 || given->size == 8);
}

static uint64_t hash_enum(const struct nvtx_enum_given *given)
{
    uint64_t hash = nvtx_hash(0, given->size);
    for (size_t i = 0; i < given->count; i++) {
        hash = nvtx_hash_text(hash, given->values[i].name);
        hash = nvtx_hash(nvtx_hash(hash, given->values[i].value), given->values[i].is_flag != 0);
    }
    return hash;
}

uint64_t nvtx_enum_register(annot_domain domain, const struct nvtx_enum_given *given,
                            uint64_t theirs)
{
    struct nvtx_object head = {.kind = NVTX_OBJECT_TYPE, .domain = domain};
    if (!is_enum(given)) {
        if (given && annot_enabled())
            nvtx_emit(domain, given->fields & NVTX_ENUM_HAS_NAME ? given->name : NULL,
                      "an enum that makes no sense");
        return 0;
    }
    head.hash = hash_enum(given);
    uint64_t own = given->fields & NVTX_ENUM_HAS_ID ? given->id : 0;
    int is_new = nvtx_registry_begin(&head, theirs, own);
    if (is_new != 1)
        return is_new ? head.id : 0;
    struct nvtx_enum *made =
        nvtx_registry_memory(sizeof(*made) + given->count * sizeof(made->values[0]));
    if (!made)
        return 0;
    made->type.object = head;
    made->type.name = "";
    made->type.count = (uint32_t)given->count;
    made->size = (uint32_t)given->size;
    for (size_t i = 0; i < given->count; i++)
        made->values[i] =
            (struct nvtx_enum_value){nvtx_registry_text(given->values[i].name),
                                     given->values[i].value, given->values[i].is_flag != 0};
    return nvtx_registry_enter(&made->type.object);
}

/* ---- Layouts of types ------------------------------------------------------------------------ */

/* Sizes of types, and offsets of a schema's entries. */

#define LAYOUT(size, class)                                                                        \
    {                                                                                              \
        (size), (size), NVTX_CLASS_##class, NULL                                                   \
    }

static const struct nvtx_layout layouts[NVTX_TYPE_COUNT] = {
    [NVTX_TYPE_CHAR] = LAYOUT(1, CHARACTER),
    [NVTX_TYPE_UCHAR] = LAYOUT(1, UNSIGNED),
    [3] = LAYOUT(sizeof(short), SIGNED),
    [4] = LAYOUT(sizeof(short), UNSIGNED),
    [5] = LAYOUT(sizeof(int), SIGNED),
    [6] = LAYOUT(sizeof(int), UNSIGNED),
    [7] = LAYOUT(sizeof(long), SIGNED),
    [8] = LAYOUT(sizeof(long), UNSIGNED),
    [9] = LAYOUT(sizeof(long long), SIGNED),
    [10] = LAYOUT(sizeof(long long), UNSIGNED),
    [11] = LAYOUT(1, SIGNED),
    [12] = LAYOUT(1, UNSIGNED),
    [13] = LAYOUT(2, SIGNED),
    [14] = LAYOUT(2, UNSIGNED),
    [15] = LAYOUT(4, SIGNED),
    [16] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_INT64] = LAYOUT(8, SIGNED),
    [NVTX_TYPE_UINT64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_FLOAT] = LAYOUT(4, REAL),
    [NVTX_TYPE_DOUBLE] = LAYOUT(8, REAL),
    [NVTX_TYPE_LONG_DOUBLE] = LAYOUT(sizeof(long double), REAL),
    [NVTX_TYPE_SIZE] = LAYOUT(sizeof(size_t), UNSIGNED),
    [NVTX_TYPE_ADDRESS] = LAYOUT(sizeof(void *), ADDRESS),
    [NVTX_TYPE_WCHAR] = LAYOUT(sizeof(wchar_t), CHARACTER),
    [NVTX_TYPE_CHAR8] = LAYOUT(1, CHARACTER),
    [NVTX_TYPE_CHAR16] = LAYOUT(2, CHARACTER),
    [NVTX_TYPE_CHAR32] = LAYOUT(4, CHARACTER),
    [NVTX_TYPE_BYTE] = LAYOUT(1, BYTE),
    [NVTX_TYPE_INT128] = LAYOUT(16, WIDE),
    [NVTX_TYPE_UINT128] = LAYOUT(16, WIDE),
    [NVTX_TYPE_FLOAT16] = LAYOUT(2, REAL),
    [NVTX_TYPE_FLOAT32] = LAYOUT(4, REAL),
    [NVTX_TYPE_FLOAT64] = LAYOUT(8, REAL),
    [NVTX_TYPE_FLOAT128] = LAYOUT(16, REAL),
    [NVTX_TYPE_BF16] = LAYOUT(2, REAL),
    [NVTX_TYPE_TF32] = LAYOUT(4, REAL),
    [NVTX_TYPE_RANGE_ID] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_CATEGORY] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_COLOR] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_SCOPE] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_PID32] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_PID64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_TID32] = LAYOUT(4, UNSIGNED),
    [NVTX_TYPE_TID64] = LAYOUT(8, UNSIGNED),
    [NVTX_TYPE_CSTRING] = LAYOUT(1, TEXT),
    [NVTX_TYPE_CSTRING_UTF8] = LAYOUT(1, TEXT),
    [NVTX_TYPE_CSTRING_UTF16] = LAYOUT(2, TEXT),
    [NVTX_TYPE_CSTRING_UTF32] = LAYOUT(4, TEXT),
    [NVTX_TYPE_STRING_HANDLE] = LAYOUT(sizeof(void *), UNSIGNED),
    /* The width of a selector is unspecified: the low half is the same in 4 and 8 bytes. */
    [NVTX_TYPE_SELECTOR] = LAYOUT(4, UNSIGNED),
};

int nvtx_entry_is_indirect(const struct nvtx_entry *entry)
{
    const uint64_t flags =
        NVTX_ENTRY_POINTER | NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE;
    if (entry->flags & flags)
        return 1;
    return entry->type >= NVTX_TYPE_CSTRING && entry->type <= NVTX_TYPE_CSTRING_UTF32 &&
           !(entry->flags & NVTX_ENTRY_ARRAYS) && entry->detail == 0;
}

uint64_t nvtx_entry_offset(const struct nvtx_schema *schema, uint32_t index, uint64_t cursor,
                           uint64_t alignment)
{
    const struct nvtx_entry *entry = &schema->entries[index];
    if (index == 0 || entry->offset || schema->type.type >= NVTX_SCHEMA_UNION)
        return entry->offset;
    if (schema->alignment && alignment > schema->alignment)
        alignment = schema->alignment;
    if (alignment > 1 && cursor < UINT64_MAX - alignment)
        cursor = (cursor + alignment - 1) / alignment * alignment;
    return cursor;
}

/* ---- Layouts of schemas, of bounded depth ---------------------------------------------------- */

struct measure {
    uint32_t steps; /* remaining */
    annot_domain domain;
};

static struct nvtx_layout measure_type(struct measure *measure, uint64_t type, uint32_t level);

static uint64_t elements_of(const struct nvtx_entry *entry, enum nvtx_class class)
{
    uint64_t array = entry->flags & NVTX_ENTRY_ARRAYS;
    if (array == NVTX_ENTRY_ARRAY_FIXED || (!array && class == NVTX_CLASS_TEXT))
        return entry->detail;
    return array ? 0 : 1; /* 0: variable */
}

/* Returns size 0 if it varies. */
static struct nvtx_layout measure_entry(struct measure *measure, const struct nvtx_entry *entry,
                                        uint32_t level)
{
    struct nvtx_layout layout = measure_type(measure, entry->type, level);
    if (nvtx_entry_is_indirect(entry)) {
        layout.size = layout.alignment = NVTX_POINTER_SIZE;
        return layout;
    }
    uint64_t count = elements_of(entry, layout.class);
    if (__builtin_mul_overflow(layout.size, count, &layout.size))
        layout.size = 0;
    return layout;
}

static struct nvtx_layout measure_schema(struct measure *measure, const struct nvtx_schema *schema,
                                         uint32_t level)
{
    struct nvtx_layout whole = {0, 1, NVTX_CLASS_GIVEN, &schema->type};
    uint64_t cursor = 0, end = 0;
    int is_fixed = schema->type.type != NVTX_SCHEMA_DYNAMIC;
    for (uint32_t i = 0; i < schema->type.count; i++) {
        struct nvtx_layout layout = measure_entry(measure, &schema->entries[i], level);
        uint64_t at = nvtx_entry_offset(schema, i, cursor, layout.alignment);
        if (layout.size == 0 || __builtin_add_overflow(at, layout.size, &cursor))
            is_fixed = 0;
        if (cursor > end)
            end = cursor;
        if (layout.alignment > whole.alignment)
            whole.alignment = layout.alignment;
    }
    if (schema->alignment && whole.alignment > schema->alignment)
        whole.alignment = schema->alignment;
    if (is_fixed && end < UINT64_MAX - whole.alignment)
        whole.size = (end + whole.alignment - 1) / whole.alignment * whole.alignment;
    if (schema->size && schema->type.type != NVTX_SCHEMA_DYNAMIC)
        whole.size = schema->size;
    return whole;
}

static struct nvtx_layout measure_type(struct measure *measure, uint64_t type, uint32_t level)
{
    const struct nvtx_layout unknown = {0, 1, NVTX_CLASS_NONE, NULL};
    if (type < NVTX_TYPE_COUNT)
        return layouts[type].class ? layouts[type] : unknown;
    const struct nvtx_type *found = nvtx_registry_find(NVTX_OBJECT_TYPE, measure->domain, type);
    if (!found || level >= NVTX_LEVELS || measure->steps == 0)
        return unknown;
    measure->steps--;
    if (found->type)
        return measure_schema(measure, (const struct nvtx_schema *)found, level + 1);
    uint64_t size = ((const struct nvtx_enum *)found)->size;
    return (struct nvtx_layout){size, size, NVTX_CLASS_GIVEN, found};
}

struct nvtx_layout nvtx_layout_of(annot_domain domain, uint64_t type)
{
    struct measure measure = {64, domain};
    return measure_type(&measure, type, 0);
}
