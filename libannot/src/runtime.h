/* SPDX-License-Identifier: MIT */
/* One runtime per process: which copy of libannot serves.
 *
 * A program, a plugin and an injection library may each bring a copy, of other versions. All look
 * at one anchor, a symbol that the dynamic linker makes unique even across RTLD_LOCAL: the first
 * copy leaves its table there and serves, later ones forward. Where the anchor is not shared
 * (dlmopen), a copy serves itself and makes a segment of its own.
 *
 * Threads: set in the constructor, constant afterwards. The table is append-only: a slot beyond
 * `size` or empty is an operation that the serving copy does not know: it does nothing. */
#ifndef ANNOT_RUNTIME_H
#define ANNOT_RUNTIME_H

#include <annot/annot.h>

struct runtime_table {
    uint32_t size;    /* bytes of this struct that the serving copy knows */
    uint32_t version; /* major << 16 | minor << 8 | patch */
    const char *(*status)(void);
    annot_name (*name_intern)(const char *text);
    annot_domain (*domain_create)(const char *name);
    annot_category (*category_create)(annot_domain domain, const char *name);
    void (*name_process)(const char *name);
    void (*name_thread)(const char *name);
    void (*push)(const char *text);
    void (*push_name)(annot_name name);
    void (*push_event)(const struct annot_event *event);
    void (*pop)(void);
    annot_range (*start)(const char *text);
    annot_range (*start_event)(const struct annot_event *event);
    void (*end)(annot_range range);
    void (*mark)(const char *text);
    void (*mark_name)(annot_name name);
    void (*mark_event)(const struct annot_event *event);
    void (*counter)(const char *text, double value);
    void (*counter_name)(annot_name name, double value);
    void (*counter_int)(annot_name name, int64_t value);
    void (*counter_event)(const struct annot_event *event);
#ifdef ANNOT_TEST_OTHER_VERSION /* a copy from the future, with one function more */
    void (*future)(void);
#endif
};

/* The copy that serves, or NULL: this one does. */
extern const struct runtime_table *runtime_other;
/* This copy's table; in api.c. */
extern const struct runtime_table runtime_own;

#define RUNTIME_HAS(slot)                                                                          \
    (offsetof(struct runtime_table, slot) + sizeof(runtime_other->slot) <= runtime_other->size &&  \
     runtime_other->slot)

#endif
