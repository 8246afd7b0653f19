/* SPDX-License-Identifier: MIT */
/* The executable mappings of a process, sorted; shared by forked processes until one changes it.
 *
 * A list with more than one owner is never changed: mapping_list_put makes a copy first. So
 * whatever holds a reference holds a snapshot. Thread-safety: none. */
#ifndef ANNOT_MAPPING_LIST_H
#define ANNOT_MAPPING_LIST_H

#include <stddef.h>
#include <stdint.h>

struct module;
struct space;

struct mapping {
    uint64_t begin, end;
    uint64_t offset;       /* in the file */
    struct module *module; /* NULL: no file */
};

struct mapping_list {
    unsigned owners;
    size_t count, capacity;
    struct mapping *items;
    uint64_t marked_ns;  /* when its modules were last seen to be needed */
    struct space *space; /* the newest that was made of it, for its users; NULL = none */
};

/* Empty, with one owner. NULL: out of memory. */
struct mapping_list *mapping_list_create(void);
struct mapping_list *mapping_list_ref(struct mapping_list *list);
void mapping_list_unref(struct mapping_list *list); /* accepts NULL */

/* Adds a mapping; what it overlaps is cut or goes. The caller's reference moves to a copy if there
 * are other owners. 0 or -ENOMEM. */
int mapping_list_put(struct mapping_list **list, const struct mapping *mapping);

/* What is mapped there; NULL: nothing. */
const struct mapping *mapping_list_find(const struct mapping_list *list, uint64_t address);

#endif
