/* SPDX-License-Identifier: MIT */
/* Sorts records of any size by three keys; records with equal keys keep the order of their adding.
 * In memory as far as there is room, else in unnamed files. Thread-safety: one thread per
 * object. */
#ifndef ANNOT_SORTER_H
#define ANNOT_SORTER_H

#include <stddef.h>
#include <stdint.h>

struct sorter;

struct sorter_key {
    int64_t first, second, third;
};

/* `folder`: for the files; NULL: the folder of temporary files. Returns NULL: out of memory.
 * destroy accepts NULL. */
struct sorter *sorter_create(const char *folder, size_t memory_bytes);
void sorter_destroy(struct sorter *sorter);
/* 0, -ENOMEM, -errno of a write; -EMSGSIZE: larger than all the memory. */
int sorter_add(struct sorter *sorter, struct sorter_key key, const void *bytes, uint32_t size);
/* Ends the adding. 0 or -errno. */
int sorter_finish(struct sorter *sorter);
/* The next record, valid until the next call: 1; 0 at the end; -errno. Its bytes are unaligned:
 * copy structs out of them. */
int sorter_next(struct sorter *sorter, struct sorter_key *ret_key, const void **ret_bytes,
                uint32_t *ret_size);
uint64_t sorter_count(const struct sorter *sorter);

#endif
