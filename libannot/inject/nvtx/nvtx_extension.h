/* SPDX-License-Identifier: MIT */
/* NVTX's extensions PAYLOAD, COUNTERS and MEM: layouts and numbers, as far as annot reads them.
 *
 * Redeclared because older headers lack them. Programs pass these structs, so members have the
 * offsets that NVTX uses since 3.1; nvtx_extension_check.c compares. Each image of a program offers
 * each extension that it uses, as slots for functions; an empty slot is 0. */
#ifndef ANNOT_NVTX_EXTENSION_H
#define ANNOT_NVTX_EXTENSION_H

#include "nvtx.h"

#include <stddef.h>
#include <stdint.h>

/* ---- Extensions ------------------------------------------------------------------------------ */

struct nvtx_segment {
    size_t id, slot_count;
    intptr_t *slots;
};

struct nvtx_extension {
    uint16_t version, size;
    uint16_t module; /* enum nvtx_extension_module */
    uint16_t compatible;
    size_t segment_count;
    struct nvtx_segment *segments;
    intptr_t (*get_function)(uint32_t id);
    const void *info;
};

enum nvtx_extension_module {
    NVTX_EXTENSION_MEM = 1,
    NVTX_EXTENSION_PAYLOAD = 2,
    NVTX_EXTENSION_COUNTERS = 4,
};

/* annot's functions of an extension, by slot of its first segment; 0: empty. Each is listed in the
 * table of nvtx_load.c. */
struct nvtx_extension_calls {
    uint16_t module;
    uint16_t count;
    const intptr_t *calls;
};

/* ---- Payloads -------------------------------------------------------------------------------- */

/* The payload of attributes is an array of blobs, `reserved0` of them. */
#define NVTX_PAYLOAD_IS_BLOBS ((int32_t)0xdfbd0009)

enum nvtx_entry_flag {
    NVTX_ENTRY_POINTER = 1 << 1,
    NVTX_ENTRY_OFFSET_FROM_BASE = 1 << 2,
    NVTX_ENTRY_OFFSET_FROM_HERE = 1 << 3,
    NVTX_ENTRY_ARRAYS = 7 << 4,
    NVTX_ENTRY_ARRAY_FIXED = 1 << 4,
    NVTX_ENTRY_ARRAY_ZERO = 2 << 4,
    NVTX_ENTRY_ARRAY_LENGTH_ENTRY = 3 << 4,
    NVTX_ENTRY_ARRAY_LENGTH_BLOB = 4 << 4,
    NVTX_ENTRY_HIDE = 1 << 9,
    NVTX_ENTRY_MESSAGE = 1 << 10,
    NVTX_ENTRY_TIMESTAMP = 2 << 10,
    NVTX_ENTRY_ROLES = 7 << 12,
    NVTX_ENTRY_RANGE_BEGIN = 1 << 12,
    NVTX_ENTRY_RANGE_END = 2 << 12,
    NVTX_ENTRY_MARK = 3 << 12,
};

enum nvtx_entry_type {
    NVTX_TYPE_CHAR = 1,
    NVTX_TYPE_UCHAR = 2,
    NVTX_TYPE_INT64 = 17,
    NVTX_TYPE_UINT64 = 18,
    NVTX_TYPE_FLOAT = 19,
    NVTX_TYPE_DOUBLE = 20,
    NVTX_TYPE_LONG_DOUBLE = 21,
    NVTX_TYPE_SIZE = 22,
    NVTX_TYPE_ADDRESS = 23,
    NVTX_TYPE_WCHAR = 24,
    NVTX_TYPE_CHAR8 = 25,
    NVTX_TYPE_CHAR16 = 26,
    NVTX_TYPE_CHAR32 = 27,
    NVTX_TYPE_BYTE = 32,
    NVTX_TYPE_INT128 = 33,
    NVTX_TYPE_UINT128 = 34,
    NVTX_TYPE_FLOAT16 = 42,
    NVTX_TYPE_FLOAT32 = 43,
    NVTX_TYPE_FLOAT64 = 44,
    NVTX_TYPE_FLOAT128 = 45,
    NVTX_TYPE_BF16 = 50,
    NVTX_TYPE_TF32 = 52,
    NVTX_TYPE_RANGE_ID = 67,
    NVTX_TYPE_CATEGORY = 68,
    NVTX_TYPE_COLOR = 69,
    NVTX_TYPE_SCOPE = 70,
    NVTX_TYPE_PID32 = 71,
    NVTX_TYPE_PID64 = 72,
    NVTX_TYPE_TID32 = 73,
    NVTX_TYPE_TID64 = 74,
    NVTX_TYPE_CSTRING = 75,
    NVTX_TYPE_CSTRING_UTF8 = 76,
    NVTX_TYPE_CSTRING_UTF16 = 77,
    NVTX_TYPE_CSTRING_UTF32 = 78,
    NVTX_TYPE_STRING_HANDLE = 80,
    NVTX_TYPE_SELECTOR = 100,
    NVTX_TYPE_COUNT = 101,
    NVTX_BLOB_REFERENCED = 1022, /* of blobs only: others point into it */
    NVTX_BLOB_RAW = 1023,
};

/* Ids chosen by a program, and above them ids issued by tools. */
#define NVTX_ID_STATIC  (UINT64_C(1) << 24)
#define NVTX_ID_DYNAMIC (UINT64_C(1) << 32)

enum nvtx_schema_type {
    NVTX_SCHEMA_STATIC = 1,
    NVTX_SCHEMA_DYNAMIC = 2,
    NVTX_SCHEMA_UNION = 3,
    NVTX_SCHEMA_UNION_INTERNAL = 4, /* one of its entries selects */
};

/* The role of a schema's events, in its flags. */
enum nvtx_schema_role {
    NVTX_SCHEMA_ROLES = 15 << 3,
    NVTX_SCHEMA_COUNTERS = 1 << 3,
    NVTX_SCHEMA_PUSHPOP = 2 << 3,
    NVTX_SCHEMA_STARTEND = 3 << 3,
    NVTX_SCHEMA_MARK = 4 << 3,
    NVTX_SCHEMA_PUSH = 5 << 3,
    NVTX_SCHEMA_POP = 6 << 3,
    NVTX_SCHEMA_START = 7 << 3,
    NVTX_SCHEMA_END = 8 << 3,
};

/* Members that are set; others are not read. */
enum nvtx_schema_field {
    NVTX_SCHEMA_HAS_NAME = 1 << 1,
    NVTX_SCHEMA_HAS_TYPE = 1 << 2,
    NVTX_SCHEMA_HAS_FLAGS = 1 << 3,
    NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
    NVTX_SCHEMA_HAS_COUNT = 1 << 5,
    NVTX_SCHEMA_HAS_SIZE = 1 << 6,
    NVTX_SCHEMA_HAS_ALIGNMENT = 1 << 7,
    NVTX_SCHEMA_HAS_ID = 1 << 8,
    NVTX_ENUM_HAS_NAME = 1 << 1,
    NVTX_ENUM_HAS_ENTRIES = 1 << 2,
    NVTX_ENUM_HAS_COUNT = 1 << 3,
    NVTX_ENUM_HAS_SIZE = 1 << 4,
    NVTX_ENUM_HAS_ID = 1 << 5,
};

struct nvtx_blob_given {
    uint64_t schema;
    size_t size; /* SIZE_MAX: of a text, up to its NUL */
    const void *bytes;
};

struct nvtx_semantics {
    uint32_t size;
    uint16_t id, version;
    const struct nvtx_semantics *next;
};

enum nvtx_semantics_id {
    NVTX_SEMANTICS_SCOPE = 1,
    NVTX_SEMANTICS_TIME = 2,
    NVTX_SEMANTICS_COUNTER = 5,
};

/* Scope and time have one number after the header. */
struct nvtx_semantics_number {
    struct nvtx_semantics header;
    uint64_t number;
};

enum nvtx_counter_flag {
    NVTX_COUNTER_NORMALIZED = 1 << 1,
    NVTX_COUNTER_VALUE_TYPES = 3 << 4,
    NVTX_COUNTER_DELTA = 2 << 4,
};

struct nvtx_semantics_counter {
    struct nvtx_semantics header;
    uint64_t flags;
    const char *unit;
    uint64_t scale, divisor;
};

struct nvtx_entry_given {
    uint64_t flags, type;
    const char *name, *description;
    uint64_t detail; /* length, or index of the entry with the length or the selector */
    uint64_t offset; /* 0: after the previous entry */
    const struct nvtx_semantics *semantics;
    const void *reserved;
};

struct nvtx_schema_given {
    uint64_t fields;
    const char *name;
    uint64_t type, flags;
    const struct nvtx_entry_given *entries;
    size_t count, size, alignment;
    uint64_t id;
    void *extension;
};

struct nvtx_enum_value_given {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};

struct nvtx_enum_given {
    uint64_t fields;
    const char *name;
    const struct nvtx_enum_value_given *values;
    size_t count, size;
    uint64_t id;
    void *extension;
};

/* ---- Scopes, times, deferred events ---------------------------------------------------------- */

enum nvtx_scope_id {
    NVTX_SCOPE_OF_NOTHING = 0,
    NVTX_SCOPE_OF_ALL = 1,
    NVTX_SCOPE_OF_PROCESS = 21,
    NVTX_SCOPE_OF_THREAD = 22,
    NVTX_SCOPE_OF_CALLER = 31,
};

struct nvtx_scope_given {
    size_t size;
    const char *path;
    uint64_t parent, id;
};

enum nvtx_time_type {
    NVTX_TIME_UNKNOWN = 0,
    NVTX_TIME_OURS = 1,
    NVTX_TIME_TSC = 10,
    NVTX_TIME_REALTIME = 12,
    NVTX_TIME_REALTIME_COARSE = 13,
    NVTX_TIME_MONOTONIC = 14,
    NVTX_TIME_MONOTONIC_RAW = 15,
    NVTX_TIME_MONOTONIC_COARSE = 16,
    NVTX_TIME_BOOTTIME = 17,
    NVTX_TIME_TIMESPEC = 42,
    NVTX_TIME_STEADY = 50,
    NVTX_TIME_HIGH_RESOLUTION = 51,
    NVTX_TIME_SYSTEM = 52,
};

struct nvtx_time_given {
    uint64_t scope, type, id, flags;
    int64_t resolution; /* ticks per second; 0: unknown */
    uint64_t start;
};

struct nvtx_sync_given {
    int64_t from, to;
};

struct nvtx_batch_given {
    uint64_t schema;
    size_t size;
    const void *events;
    uint64_t scope, flags;
    const void *flexible;
    size_t flexible_size, flexible_offset;
};

/* ---- Counters -------------------------------------------------------------------------------- */

enum nvtx_no_value {
    NVTX_VALUE_IS_ZERO = 0,
    NVTX_VALUE_IS_UNCHANGED = 1,
};

/* Of a batch's flags: the times are a first one and a distance. */
#define NVTX_BATCH_INTERVALS (UINT64_C(3) << 32)

struct nvtx_counter_given {
    size_t size;
    uint64_t schema;
    const char *name, *description;
    uint64_t scope;
    const struct nvtx_semantics *semantics;
    uint64_t id;
};

struct nvtx_samples_given {
    uint64_t counter;
    const void *samples;
    size_t size;
    uint64_t flags;
    const int64_t *times;
    size_t times_size;
};

/* ---- Memory ---------------------------------------------------------------------------------- */

enum nvtx_memory_type { NVTX_MEMORY_VIRTUAL = 1, NVTX_MEMORY_CUDA_ARRAY = 0x11 };

enum nvtx_region_reference { NVTX_REGION_POINTER = 1, NVTX_REGION_HANDLE = 2 };

struct nvtx_memory_given {
    size_t size;
    const void *address;
};

struct nvtx_heap_given {
    uint16_t compatible, size;
    uint32_t reserved;
    uint32_t usage, type;
    size_t range_size;
    const void *range;
    uint32_t category, message_type;
    nvtxMessageValue_t message;
};

/* Head of all batches: type of the elements; count and size of one follow. */
struct nvtx_regions_given {
    uint16_t compatible, size;
    uint32_t type; /* of memory; of references in batches of those */
};

struct nvtx_register_given {
    struct nvtx_regions_given head;
    uintptr_t heap;
    size_t count, element_size;
    const void *elements;
    uintptr_t *handles; /* out; may be NULL */
};

struct nvtx_resize_given {
    struct nvtx_regions_given head;
    size_t count, element_size;
    const void *elements;
};

struct nvtx_name_given {
    uint32_t reference_type, message_type;
    uintptr_t region;
    nvtxMessageValue_t message;
    uint32_t category, reserved;
};

struct nvtx_names_given {
    struct nvtx_regions_given head;
    size_t count, element_size;
    const void *elements;
    size_t reserved;
};

struct nvtx_assign_given {
    uint32_t flags, reference_type;
    uintptr_t region;
};

struct nvtx_permissions_given {
    struct nvtx_regions_given head;
    uintptr_t permissions;
    size_t count, element_size;
    const void *elements;
    size_t reserved;
};

#endif
