/* SPDX-License-Identifier: MIT */
/* A typed array that grows.
 *
 *     VEC(struct span) spans = {0};
 *     int error = vec_push(&spans, ((struct span){1, 2}));
 *
 * `{0}` is empty. Items move when it grows. Growing doubles, so a push is O(1) over time.
 * Thread-safety: none. */
#ifndef ANNOT_VEC_H
#define ANNOT_VEC_H

#include <stddef.h>

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* Room for `need` items of `item_size` bytes; new ones are not initialised. 0 or -ENOMEM, then
 * unchanged. */
int vec_grow(void **items, size_t *capacity, size_t need, size_t item_size);

/* Room for `extra` more items. 0 or -ENOMEM. */
#define vec_reserve(vec, extra)                                                                    \
    ((vec)->capacity - (vec)->count >= (size_t)(extra)                                             \
         ? 0                                                                                       \
         : vec_grow((void **)&(vec)->items, &(vec)->capacity, (vec)->count + (size_t)(extra),      \
                    sizeof(*(vec)->items)))

/* 0 or -ENOMEM. */
#define vec_push(vec, item)                                                                        \
    (vec_reserve((vec), 1) != 0 ? -12 /* -ENOMEM */                                                \
                                : ((vec)->items[(vec)->count++] = (item), 0))

#define vec_free(vec) vec_release((void **)&(vec)->items, &(vec)->count, &(vec)->capacity)

void vec_release(void **items, size_t *count, size_t *capacity);

#endif
