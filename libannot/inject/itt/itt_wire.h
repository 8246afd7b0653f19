/* SPDX-License-Identifier: MIT */
/* Structs that programs annotated for ITT (Intel's Instrumentation and Tracing Technology) share
 * with the library that they load: our own description of a public layout, that of x86-64 Linux.
 *
 * Source: github.com/intel/ittapi, include/ittnotify.h and src/ittnotify/ittnotify_config.h,
 * versions 3.18 to 3.26. A program has one struct itt_global in each image that was linked with the
 * static part of ITT. It keeps growing at its end: later fields exist if the image has the
 * functions that need them. */
#ifndef ANNOT_ITT_WIRE_H
#define ANNOT_ITT_WIRE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* `flags`: callers skip the call while it is 0. The program may set it, too. */
struct itt_domain {
    volatile int flags;
    const char *name;
    void *name_wide;
    int extra1; /* ours: ITT_KNOWN and the number of the domain, or 0 */
    void *extra2;
    struct itt_domain *next;
};

struct itt_string {
    const char *text;
    void *text_wide;
    int extra1; /* ours: the name's id, or 0 */
    void *extra2;
    struct itt_string *next;
};

/* Target of a counter's handle. Images leave the extra fields as malloc returned them. */
struct itt_counter_info {
    const char *name;
    void *name_wide;
    const char *domain;
    void *domain_wide;
    int type; /* enum itt_type */
    long index;
    int extra1;
    void *extra2; /* ours: struct itt_counter */
    struct itt_counter_info *next;
};

struct itt_id {
    unsigned long long d1, d2, d3;
};

struct itt_api {
    const char *name; /* NULL: the end */
    void **function;
    void *first;   /* initial target, until the image is initialised */
    void *nothing; /* target if no tool listens */
    int groups;
};

/* The same for images that are older than ITT_API_OLD. */
struct itt_api_old {
    const char *name;
    void **function;
    void *first;
    int groups;
};

enum {
    ITT_API_OLD = 20101001, /* the last version_build with struct itt_api_old */
    ITT_API_BUILD = 20250807,
    ITT_INITIALIZED = 4, /* a state */
};

struct itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long is_initialized, is_mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **path;
    void *apis; /* struct itt_api, or itt_api_old */
    struct itt_global *next;
    void *threads;
    struct itt_domain *domains;
    struct itt_string *strings;
    int state;
    /* Present with counter_create, histogram_create, and bind_context_metadata_to_counter. */
    struct itt_counter_info *counters;
    unsigned int processor_trace;
    void *histograms, *counter_metadata;
};

struct itt_clock {
    unsigned long long frequency, base;
    void (*read)(struct itt_clock *clock, void *data);
    void *data;
    int extra1;
    void *extra2;
    struct itt_clock *next;
};

struct itt_context {
    int type; /* enum itt_context_type */
    void *value;
};

enum itt_context_type { ITT_CONTEXT_UNITS = 5 };

enum itt_group { ITT_GROUP_SYNC = 1 << 4, ITT_GROUP_FSYNC = 1 << 5 };

enum itt_type {
    ITT_TYPE_U64 = 1,
    ITT_TYPE_S64 = 2,
    ITT_TYPE_U32 = 3,
    ITT_TYPE_S32 = 4,
    ITT_TYPE_U16 = 5,
    ITT_TYPE_S16 = 6,
    ITT_TYPE_FLOAT = 7,
    ITT_TYPE_DOUBLE = 8
};

enum itt_scope {
    ITT_SCOPE_GLOBAL = 1,
    ITT_SCOPE_PROCESS = 2,
    ITT_SCOPE_THREAD = 3,
    ITT_SCOPE_TASK = 4,
    ITT_SCOPE_MARKER = 5
};

enum { ITT_COLLECTION_HOST = 1 }; /* a bit of the paused parts; another one is for coprocessors */

#define ITT_TIMESTAMP_NONE (~0ull)

_Static_assert(sizeof(struct itt_domain) == 48 && offsetof(struct itt_domain, extra1) == 24, "");
_Static_assert(sizeof(struct itt_string) == 40 && offsetof(struct itt_string, extra1) == 16, "");
_Static_assert(sizeof(struct itt_counter_info) == 72, "");
_Static_assert(offsetof(struct itt_counter_info, extra2) == 56, "");
_Static_assert(sizeof(struct itt_id) == 24, "");
_Static_assert(sizeof(struct itt_api) == 40 && sizeof(struct itt_api_old) == 32, "");
_Static_assert(offsetof(struct itt_global, mutex) == 56, "");
_Static_assert(offsetof(struct itt_global, apis) == 120, "with a pthread_mutex_t of 40 bytes");
_Static_assert(offsetof(struct itt_global, domains) == 144, "");
_Static_assert(offsetof(struct itt_global, counters) == 168, "");
_Static_assert(offsetof(struct itt_global, counter_metadata) == 192, "");
_Static_assert(sizeof(struct itt_clock) == 56 && sizeof(struct itt_context) == 16, "");

#endif
