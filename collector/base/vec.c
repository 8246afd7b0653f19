/* SPDX-License-Identifier: MIT */
/* Growth of vec.h. Thread-safety: none. */
#include "vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Many arrays never hold more than a few items. */
enum { FIRST_CAPACITY = 16, FIRST_BYTES = 256, FIRST_LEAST = 2 };

static size_t first_capacity(size_t item_size)
{
    size_t fits = FIRST_BYTES / item_size;
    return fits > FIRST_CAPACITY ? FIRST_CAPACITY : fits < FIRST_LEAST ? FIRST_LEAST : fits;
}

int vec_grow(void **items, size_t *capacity, size_t need, size_t item_size)
{
    if (need <= *capacity)
        return 0;
    size_t wanted = *capacity ? *capacity * 2 : first_capacity(item_size);
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
