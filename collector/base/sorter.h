/* SPDX-License-Identifier: MIT */
/* Records of any size by three keys, and what has the same by the order of their coming: in memory
 * as far as there is room, else in files that have no name. Thread-safety: none. */
#ifndef ANNOT_SORTER_H
#define ANNOT_SORTER_H

#include <stddef.h>
#include <stdint.h>

struct sorter;

struct sorter_key {
    int64_t first, second, third;
};

/* `folder`: where the files lie; NULL: where temporary files do. NULL: out of memory. destroy
 * accepts NULL. */
struct sorter *sorter_create(const char *folder, size_t memory_bytes);
void sorter_destroy(struct sorter *sorter);
/* 0, -ENOMEM, -errno of a write; -EMSGSIZE: it is larger than all the memory. */
int sorter_add(struct sorter *sorter, struct sorter_key key, const void *bytes, uint32_t size);
/* From now on nothing is added. 0 or -errno. */
int sorter_finish(struct sorter *sorter);
/* The next one, until the next call: 1; 0 at the end; -errno. Its bytes may lie at any address, so
 * that a struct is to be copied out of them. */
int sorter_next(struct sorter *sorter, struct sorter_key *ret_key, const void **ret_bytes,
                uint32_t *ret_size);
uint64_t sorter_count(const struct sorter *sorter);

#endif
