/* SPDX-License-Identifier: MIT */
/* What programs register with NVTX's extensions: schemas, enums, scopes, times, counters, heaps.
 *
 * Objects lie in memory of this library and stay for good: 4 MiB and 16,384 of them, lock-free, so
 * that forked children and signal handlers may go on. They are told by kind, domain and id; those
 * with an id that we or the next tool gave are found from each domain. Who registers the same once
 * more gets the first. Threads: any. */
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

/* Stands first in each. */
struct nvtx_object {
    uint64_t id;
    uint64_t hash;   /* of what was registered */
    uint8_t kind;    /* enum nvtx_object_kind */
    uint8_t is_told; /* W: anybody, once: something of it was not understood */
    annot_domain domain;
    uint32_t number; /* from 1 on */
};

/* Zeros; NULL: there are no more. */
void *nvtx_registry_memory(size_t size);

/* A copy, at most 255 bytes of it; "" for NULL or without memory. */
const char *nvtx_registry_text(const char *text);

/* What is to be registered: its kind, domain and hash, and its id: that of the next tool, else the
 * program's own, else (0) one of ours. Returns 0: no program may have such an id; 1: it is to be
 * made and entered; 2: it is there already. */
int nvtx_registry_begin(struct nvtx_object *wanted, uint64_t theirs, uint64_t said);

/* Enters an object, whose head is what begin was given. Returns its id; 0: there is no place, or
 * another one has the id. */
uint64_t nvtx_registry_enter(struct nvtx_object *object);

void *nvtx_registry_find(enum nvtx_object_kind kind, annot_domain domain, uint64_t id);

/* For tests: as if nothing had been registered. Nobody else may be here. */
void nvtx_registry_clear(void);

/* For hashes: begin with 0. */
static inline uint64_t nvtx_hash(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t nvtx_hash_text(uint64_t hash, const char *text);

/* A mark in the program's domain, once for each object, with what was not understood of it. */
void nvtx_tell_once(struct nvtx_object *object, const char *name, const char *what);
void nvtx_tell(annot_domain domain, const char *name, const char *what);

#endif
