/* SPDX-License-Identifier: MIT */
/* Objects that programs register with NVTX's extensions: schemas, enums, scopes, times, counters.
 *
 * Objects lie in static memory of this library and are never freed: 4 MiB and 16,384 of them,
 * lock-free, so that forked children and signal handlers may use them. They are identified by kind,
 * domain and id; ids issued by us or the next tool are found from each domain. Registering an equal
 * object again returns the first. Threads: any. */
#ifndef ANNOT_NVTX_REGISTRY_H
#define ANNOT_NVTX_REGISTRY_H

#include <annot/annot.h>

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

#endif
