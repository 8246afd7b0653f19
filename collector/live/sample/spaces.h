/* SPDX-License-Identifier: MIT */
/* The executable mappings of a process, and snapshots of them that the BPF program walks by.
 * Thread-safety: one thread per object. */
#ifndef ANNOT_SPACES_H
#define ANNOT_SPACES_H

#include "hash_map.h"
#include "modules.h"
#include "row_memory.h"
#include "sampler_abi.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct module;
struct space;

/* ---- Lists of mappings ---- */

/* Sorted; shared by forked processes until one changes it. A list with more than one owner is never
 * changed: mapping_list_put makes a copy first. So each reference is a snapshot. */

struct mapping {
    uint64_t begin, end;
    uint64_t offset;       /* in the file */
    struct module *module; /* NULL: without a file */
};

struct mapping_list {
    unsigned owners;
    size_t count, capacity;
    struct mapping *items;
    uint64_t marked_ns;  /* last time its modules were marked as needed */
    struct space *space; /* the newest made of it, for its users; NULL = none */
};

/* Empty, with one owner. NULL: out of memory. */
struct mapping_list *mapping_list_create(void);
struct mapping_list *mapping_list_ref(struct mapping_list *list);
void mapping_list_unref(struct mapping_list *list); /* accepts NULL */

/* Adds a mapping; truncates or removes overlapping ones. The caller's reference moves to a copy if
 * there are other owners. 0 or -ENOMEM. */
int mapping_list_put(struct mapping_list **list, const struct mapping *mapping);

/* The mapping at an address; NULL: unmapped. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t address);

/* ---- Spaces: each a number and a slice of map `mappings` ----
 *
 * A space never changes: a process with changed mappings gets another one. Forked processes share
 * theirs. An unused space stays for two steps and a second: the program may be walking by it, and
 * records under way refer to it. */

struct space {
    uint32_t number;       /* never 0, never reused */
    uint32_t first, count; /* its slice */
    unsigned users;        /* processes */
    bool lazy;             /* has mappings with unloaded rows */
    uint32_t missing;      /* number of mappings with unavailable files or rows */
    uint64_t idle_since_ns, idle_step;
    struct mapping_list *list;
};

struct spaces {
    struct sampler_mapping *memory; /* SAMPLER_MAPPINGS_MAX of them */
    struct extents extents;
    uint32_t last_number;
    struct map64 by_number; /* -> struct space * */
    VEC(struct space *) all;
    uint64_t refused; /* no room for a slice */
};

int spaces_init(struct spaces *spaces, struct sampler_mapping *memory);
void spaces_fini(struct spaces *spaces);

/* Makes a new space of a list, with one user. 0, -ENOSPC, -ENOMEM. */
int spaces_add(struct spaces *spaces, struct mapping_list *list, struct space **ret_space);
struct space *spaces_find(const struct spaces *spaces, uint32_t number); /* NULL: unknown */

/* True if unavailable files of it are available by now: its list needs a new one. */
bool space_is_outdated(const struct space *space);

/* Add and remove a user; both accept NULL. */
struct space *space_use(struct space *space);
void space_leave(struct space *space, uint64_t now_ns, uint64_t step);

/* Frees spaces without users for long enough. */
void spaces_sweep(struct spaces *spaces, uint64_t now_ns, uint64_t step);

/* Loads the rows of lazy mappings that the program has met. 1 = some were loaded, 0, or -ENOMEM. */
int space_load_wanted(struct spaces *spaces, const struct space *space, struct modules *modules);

#endif
