/* SPDX-License-Identifier: MIT */
/* Key-values of events, structs as payloads, counters of several series. Part of annot.h, which
 * states the rules common to all of annot. */
#ifndef ANNOT_VALUES_H
#define ANNOT_VALUES_H

#include <annot/annot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One key-value of an event; make it with the annot_value_ functions. Copied with the event. */
struct annot_value {
    const char *key;
    annot_name key_name; /* wins over `key` if not 0 */
    uint8_t kind;        /* enum annot_payload_kind */
    uint8_t reserved;
    annot_schema schema; /* ANNOT_PAYLOAD_STRUCT */
    uint32_t size;       /* ANNOT_PAYLOAD_STRUCT: bytes */
    uint32_t reserved1;

    union {
        int64_t int64;
        uint64_t uint64;
        double float64;
        int boolean;
        const char *string;
        const void *bytes;
    } value;
};

/* Initialised field by field, which a compiler turns into stores at the place of use. */
ANNOT_UNTRACED static inline struct annot_value annot_value_make(const char *key, uint8_t kind)
{
    struct annot_value value = {key, 0, kind, 0, 0, 0, 0, {0}};
    return value;
}

ANNOT_UNTRACED static inline struct annot_value annot_value_int64(const char *key, int64_t number)
{
    struct annot_value value = {key, 0, ANNOT_PAYLOAD_INT64, 0, 0, 0, 0, {number}};
    return value;
}

ANNOT_UNTRACED static inline struct annot_value annot_value_uint64(const char *key, uint64_t number)
{
    struct annot_value value = {key, 0, ANNOT_PAYLOAD_UINT64, 0, 0, 0, 0, {(int64_t)number}};
    return value;
}

ANNOT_UNTRACED static inline struct annot_value annot_value_double(const char *key, double number)
{
    struct annot_value value = annot_value_make(key, ANNOT_PAYLOAD_DOUBLE);
    value.value.float64 = number;
    return value;
}

ANNOT_UNTRACED static inline struct annot_value annot_value_bool(const char *key, int truth)
{
    struct annot_value value = annot_value_make(key, ANNOT_PAYLOAD_BOOL);
    value.value.boolean = truth != 0;
    return value;
}

ANNOT_UNTRACED static inline struct annot_value annot_value_string(const char *key,
                                                                   const char *text)
{
    struct annot_value value = annot_value_make(key, ANNOT_PAYLOAD_STRING);
    value.value.string = text;
    return value;
}

/* Makes a value from a struct and the schema that describes its fields. At most 3,072 bytes. */
ANNOT_UNTRACED static inline struct annot_value annot_value_struct(annot_schema schema,
                                                                   const void *bytes, uint32_t size)
{
    struct annot_value value = annot_value_make((const char *)0, ANNOT_PAYLOAD_STRUCT);
    value.schema = schema;
    value.size = size;
    value.value.bytes = bytes;
    return value;
}

enum annot_field_kind {
    ANNOT_FIELD_INT8 = 1,
    ANNOT_FIELD_INT16 = 2,
    ANNOT_FIELD_INT32 = 3,
    ANNOT_FIELD_INT64 = 4,
    ANNOT_FIELD_UINT8 = 5,
    ANNOT_FIELD_UINT16 = 6,
    ANNOT_FIELD_UINT32 = 7,
    ANNOT_FIELD_UINT64 = 8,
    ANNOT_FIELD_FLOAT = 9,
    ANNOT_FIELD_DOUBLE = 10,
    ANNOT_FIELD_BOOL = 11,   /* one byte */
    ANNOT_FIELD_CHARS = 12,  /* char[count]: text, ended by NUL if shorter */
    ANNOT_FIELD_POINTER = 13 /* shown in hexadecimal, never followed */
};

struct annot_field {
    const char *name;
    const char *unit; /* "bytes", "ms", ...; NULL = none */
    uint16_t offset;  /* offsetof() */
    uint16_t count;   /* elements of an array; 0 or 1: one */
    uint8_t kind;     /* enum annot_field_kind */
    uint8_t reserved[3];
};

/* Describes a struct, once; the same description gives the same schema. Returns 0 if a field lies
 * outside of `size` bytes, or the description is longer than 1,000 characters (about 40 fields). */
ANNOT_API annot_schema annot_schema_create(const char *name, uint32_t size,
                                           const struct annot_field *fields, size_t count);

/* Sets the unit of a counter: "bytes", "requests", ... Stored until a recording begins. */
ANNOT_API void annot_counter_unit(annot_domain domain, const char *counter, const char *unit);

/* ---- The end of a range -------------------------------------------------------------------------
 */

ANNOT_EMIT void annot_emit_pop_values(const struct annot_value *values, size_t count);
ANNOT_EMIT void annot_emit_end_values(annot_range range, const struct annot_value *values,
                                      size_t count);

/* annot_pop and annot_end with key-values that are only known at the end: a status, an exception, a
 * count. Shown together with those given at the start. Cost: 1 P, and 0.5 P for each. */
ANNOT_UNTRACED static inline void annot_pop_values(const struct annot_value *values, size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_pop_values(values, count);
}

ANNOT_UNTRACED static inline void annot_end_values(annot_range range,
                                                   const struct annot_value *values, size_t count)
{
    if (ANNOT_UNLIKELY(range != 0 && annot_enabled()))
        annot_emit_end_values(range, values, count);
}

/* ---- Counters ----------------------------------------------------------------------------------
 */

ANNOT_EMIT void annot_emit_counters(const char *text, const struct annot_value *values,
                                    size_t count);

/* Several series of one counter at one instant: each value's key is the name of its series (int64,
 * uint64 or double; other kinds count as 0). Cost: 0.7 P, and 0.25 P for each series. */
ANNOT_UNTRACED static inline void annot_counters(const char *text, const struct annot_value *values,
                                                 size_t count)
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        annot_emit_counters(text, values, count);
}

#ifdef __cplusplus
}
#endif

#endif
