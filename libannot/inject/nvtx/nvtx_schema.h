/* SPDX-License-Identifier: MIT */
/* Layouts of payloads as programs register them: copied whole, and checked at each use.
 *
 * A layout may name others that are registered later, or itself: code that follows them counts
 * steps. Objects never change once they are entered. Threads: any. */
#ifndef ANNOT_NVTX_SCHEMA_H
#define ANNOT_NVTX_SCHEMA_H

#include "nvtx_extension.h"

#include <annot/annot.h>

/* Objects that programs register with NVTX's extensions: schemas, enums, scopes, times, counters.
 *
 * Objects lie in static memory of this library and are never freed: 4 MiB and 16,384 of them,
 * lock-free, so that forked children and signal handlers may use them. They are identified by kind,
 * domain and id; ids issued by us or the next tool are found from each domain. Registering an equal
 * object again returns the first. */

enum nvtx_object_kind {
    NVTX_OBJECT_TYPE = 1, /* schemas and enums, which share their ids */
    NVTX_OBJECT_SCOPE = 2,
    NVTX_OBJECT_TIME = 3,
    NVTX_OBJECT_COUNTER = 4,
    NVTX_OBJECT_TIME_OF_SCOPE = 5,
};

/* First member of each. */
struct nvtx_object {
    uint64_t id;
    uint64_t hash;       /* of the registered contents */
    uint8_t kind;        /* enum nvtx_object_kind */
    uint8_t is_reported; /* W: any thread, once: a part of it was not understood */
    annot_domain domain;
    uint32_t number; /* from 1 on */
};

/* Returns zeroed memory; NULL: exhausted. */
void *nvtx_registry_memory(size_t size);

/* Returns a copy of at most 255 bytes; "" for NULL or without memory. */
const char *nvtx_registry_text(const char *text);

/* Prepares a registration from kind, domain and hash in `wanted`. Sets its id: that of the next
 * tool, else the program's, else (0) a new one. Returns 0: the id is not allowed, or has other
 * contents; 1: make and enter the object; 2: it is registered already. */
int nvtx_registry_begin(struct nvtx_object *wanted, uint64_t theirs, uint64_t given);

/* Enters an object, with the head from begin. Returns its id; 0: the table is full, or another one
 * has the id. */
uint64_t nvtx_registry_enter(struct nvtx_object *object);

void *nvtx_registry_find(enum nvtx_object_kind kind, annot_domain domain, uint64_t id);

/* For tests: clears the registry. No other thread may use it. */
void nvtx_registry_clear(void);

/* One step of a hash; begin with 0. */
static inline uint64_t nvtx_hash(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t nvtx_hash_text(uint64_t hash, const char *text);

/* Emit a mark in the program's domain for a part that was not understood; once: per object. */
void nvtx_emit_once(struct nvtx_object *object, const char *name, const char *what);
void nvtx_emit(annot_domain domain, const char *name, const char *what);

enum {
    NVTX_ENTRIES_MAX = 256,
    NVTX_ENUM_VALUES_MAX = 4096,
    NVTX_SLOTS = 8,  /* entries of a schema that supply lengths or selectors */
    NVTX_LEVELS = 8, /* of schemas in schemas */
    NVTX_POINTER_SIZE = 8,
};

/* A schema, or (type 0) an enum. */
struct nvtx_type {
    struct nvtx_object object;
    const char *name;
    uint32_t type;  /* enum nvtx_schema_type */
    uint32_t count; /* entries, or values */
};

/* The class of a type. */
enum nvtx_class {
    NVTX_CLASS_NONE = 0,
    NVTX_CLASS_SIGNED,
    NVTX_CLASS_UNSIGNED,
    NVTX_CLASS_REAL,
    NVTX_CLASS_CHARACTER,
    NVTX_CLASS_TEXT, /* `size`: of one of its units */
    NVTX_CLASS_ADDRESS,
    NVTX_CLASS_BYTE,
    NVTX_CLASS_WIDE,  /* integers of 16 bytes */
    NVTX_CLASS_GIVEN, /* registered: a schema or an enum */
};

struct nvtx_layout {
    uint64_t size; /* 0: unknown, or varies */
    uint64_t alignment;
    enum nvtx_class class;
    const struct nvtx_type *type; /* NVTX_CLASS_GIVEN */
};

struct nvtx_entry {
    uint64_t flags, type, detail, offset;
    struct nvtx_layout plain; /* in a plain schema */
    uint64_t plain_offset;
    const char *name; /* "" = none */
    annot_name key;
    uint8_t keeps; /* 1 + slot that stores its value for others; 0: not stored */
    uint8_t takes; /* 1 + slot with its length or selector */
    uint8_t has_time;
    uint64_t time, scope;
    /* For a counter of a group. */
    uint64_t counter_flags, scale, divisor;
};

struct nvtx_schema {
    struct nvtx_type type;
    uint32_t role;       /* enum nvtx_schema_role */
    uint64_t size;       /* as registered; 0: unspecified */
    uint64_t alignment;  /* maximum; 0: natural */
    uint64_t plain_size; /* not 0: only numbers with names, which end there */
    struct nvtx_entry entries[];
};

struct nvtx_enum_value {
    const char *name;
    uint64_t value;
    uint32_t is_flag;
};

struct nvtx_enum {
    struct nvtx_type type;
    uint32_t size; /* bytes */
    struct nvtx_enum_value values[];
};

/* Register a type. Return the id, or 0 if it is invalid. `theirs`: the next tool's id, or 0. */
uint64_t nvtx_schema_register(annot_domain domain, const struct nvtx_schema_given *given,
                              uint64_t theirs);
uint64_t nvtx_enum_register(annot_domain domain, const struct nvtx_enum_given *given,
                            uint64_t theirs);

/* Returns the semantics of an id in a list, or NULL; lists are bounded. */
const void *nvtx_semantics_of(const struct nvtx_semantics *list, enum nvtx_semantics_id id);

/* Returns the layout of one element. Class 0: not registered. */
struct nvtx_layout nvtx_layout_of(annot_domain domain, uint64_t type);

/* Returns the offset of an entry, if the one before it ended at `cursor`. */
uint64_t nvtx_entry_offset(const struct nvtx_schema *schema, uint32_t index, uint64_t cursor,
                           uint64_t alignment);

/* True if an entry holds an address or offset of its elements. */
int nvtx_entry_is_indirect(const struct nvtx_entry *entry);

#endif
