/* SPDX-License-Identifier: MIT */
/* Layouts of payloads as programs register them: copied whole, and checked at each use.
 *
 * A layout may name others that are registered later, or itself: code that follows them counts
 * steps. Objects never change once they are entered. Threads: any. */
#ifndef ANNOT_NVTX_SCHEMA_H
#define ANNOT_NVTX_SCHEMA_H

#include "nvtx_extension.h"
#include "nvtx_registry.h"

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
