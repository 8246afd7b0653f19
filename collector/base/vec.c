/* SPDX-License-Identifier: MIT */
/* Growth of vec.h. Thread-safety: none. */
#include "vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

int vec_grow(void **items, size_t *capacity, size_t need, size_t item_size)
{
    if (need <= *capacity)
        return 0;
    size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity * 2;
    if (wanted < need)
        wanted = need;
    if (wanted > SIZE_MAX / 2 / item_size)
        return -ENOMEM;
    void *grown = realloc(*items, wanted * item_size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *capacity = wanted;
    return 0;
}

void vec_release(void **items, size_t *count, size_t *capacity)
{
    free(*items);
    *items = NULL;
    *count = *capacity = 0;
}
