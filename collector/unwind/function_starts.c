/* SPDX-License-Identifier: MIT */
/* Descriptions in the order of their code; where two overlap, the later one counts from its begin
 * on, as in the rows. */
#include "function_starts.h"
#include "unwind_parts.h"

#include <errno.h>
#include <stdlib.h>

struct extent {
    uint32_t begin, size; /* of base */
};

struct function_starts {
    uint64_t base;
    size_t count;
    struct extent extents[];
};

static int from_index(const struct cfi_index *index, struct function_starts **ret_starts)
{
    size_t count = index->functions.count;
    if (count == 0)
        return -ENODATA;
    struct function_starts *starts = malloc(sizeof(*starts) + count * sizeof(starts->extents[0]));
    if (!starts)
        return -ENOMEM;
    starts->base = index->functions.items[0].begin;
    starts->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct cfi_function *function = &index->functions.items[i];
        if (function->end - starts->base > UINT32_MAX) {
            free(starts);
            return -EFBIG;
        }
        starts->extents[i] = (struct extent){(uint32_t)(function->begin - starts->base),
                                             (uint32_t)(function->end - function->begin)};
    }
    *ret_starts = starts;
    return 0;
}

int function_starts_build(struct elf_file *file, struct function_starts **ret_starts)
{
    struct cfi_section section;
    struct cfi_index index;
    int error = cfi_section_open(file, &section);
    if (error)
        return error;
    error = cfi_index_build(&section, file, &index);
    if (!error) {
        error = from_index(&index, ret_starts);
        cfi_index_fini(&index);
    }
    cfi_section_close(&section);
    elf_file_trim(file);
    return error;
}

void function_starts_destroy(struct function_starts *starts)
{
    free(starts);
}

bool function_starts_find(const struct function_starts *starts, uint64_t address,
                          uint64_t *ret_begin)
{
    size_t low = 0, high = starts->count;
    if (address < starts->base)
        return false;
    uint64_t place = address - starts->base;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts->extents[middle].begin <= place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || place - starts->extents[low - 1].begin >= starts->extents[low - 1].size)
        return false;
    *ret_begin = starts->base + starts->extents[low - 1].begin;
    return true;
}
