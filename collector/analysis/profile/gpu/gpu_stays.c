/* SPDX-License-Identifier: MIT */
/* When ranges were open, kept until the queues have reported their work, which is late.
 *
 * The entries of one row and process are a string of numbers: the start of a range relative to the
 * previous start, and its length, about six bytes together. See gpu_stats.h. */
#include "gpu_stays.h"

#include "gpu_stats.h"
#include "varint.h"

#include <errno.h>
#include <string.h>

enum { LEAST_FIRST_NS = 1024 };

void gpu_stays_fini(struct gpu_stays *stays)
{
    for (size_t i = 0; i < stays->lists.count; i++)
        vec_free(&stays->lists.items[i].bytes);
    vec_free(&stays->lists);
    vec_free(&stays->recent);
    map64_free(&stays->index);
    *stays = (struct gpu_stays){0};
}

/* ---- Reading and writing --------------------------------------------------------------------- */

struct gpu_stay_reader gpu_stays_read(const struct gpu_stay_list *list)
{
    return (struct gpu_stay_reader){list->bytes.items, list->bytes.items + list->bytes.count, 0};
}

bool gpu_stays_next(struct gpu_stay_reader *reader, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    struct varint_reader bytes = {reader->at, reader->end};
    if (reader->at == reader->end)
        return false;
    uint64_t begin_ns = (uint64_t)reader->last_ns + (uint64_t)varint_get_signed(&bytes);
    *ret_begin_ns = reader->last_ns = (int64_t)begin_ns;
    *ret_end_ns = (int64_t)(begin_ns + varint_get(&bytes));
    reader->at = bytes.at;
    return true;
}

/* Returns the end. */
static uint8_t *put(uint8_t *at, int64_t last_ns, int64_t begin_ns, int64_t end_ns)
{
    at = varint_put(at, zigzag((int64_t)((uint64_t)begin_ns - (uint64_t)last_ns)));
    return varint_put(at, (uint64_t)end_ns - (uint64_t)begin_ns);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static void leave_out(struct gpu_stays *stays, uint64_t length_ns)
{
    stays->short_count++;
    stays->short_ns += length_ns;
}

/* Rewrites in place: one step over a dropped entry is no longer than the two steps it replaces. */
static void drop_short_of(struct gpu_stays *stays, struct gpu_stay_list *list)
{
    struct gpu_stay_reader reader = gpu_stays_read(list);
    uint8_t *at = list->bytes.items;
    int64_t begin_ns, end_ns;
    list->last_ns = 0;
    while (gpu_stays_next(&reader, &begin_ns, &end_ns)) {
        uint64_t length_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
        if (length_ns < stays->least_ns) {
            leave_out(stays, length_ns);
            continue;
        }
        at = put(at, list->last_ns, begin_ns, end_ns);
        list->last_ns = begin_ns;
    }
    list->bytes.count = at ? (size_t)(at - list->bytes.items) : 0;
}

/* Drops at least half of the bytes, the shortest entries first. */
static void drop_short(struct gpu_stays *stays)
{
    while (stays->size > GPU_STAYS_MAX_BYTES / 2) {
        stays->least_ns = stays->least_ns ? 2 * stays->least_ns : LEAST_FIRST_NS;
        stays->size = 0;
        for (size_t i = 0; i < stays->lists.count; i++) {
            drop_short_of(stays, &stays->lists.items[i]);
            stays->size += stays->lists.items[i].bytes.count;
        }
    }
}

/* NULL: out of memory. Valid until the next call. */
static struct gpu_stay_list *list_of(struct gpu_stays *stays, uint32_t row, uint32_t process)
{
    while (stays->recent.count <= row)
        if (vec_push(&stays->recent, 0u) != 0)
            return NULL;
    uint32_t *recent = &stays->recent.items[row];
    if (*recent != 0 && stays->lists.items[*recent - 1].process == process)
        return &stays->lists.items[*recent - 1];
    uint64_t key = ((uint64_t)row << 32 | process) + 1;
    const uint64_t *found = map64_find(&stays->index, key);
    if (found) {
        *recent = (uint32_t)*found;
    } else {
        struct gpu_stay_list fresh = {.row = row, .process = process};
        if (vec_push(&stays->lists, fresh) != 0 ||
            map64_put(&stays->index, key, stays->lists.count) != 0)
            return NULL;
        *recent = (uint32_t)stays->lists.count;
    }
    return &stays->lists.items[*recent - 1];
}

int gpu_stays_add(struct gpu_stays *stays, uint32_t row, uint32_t process, int64_t begin_ns,
                  int64_t end_ns)
{
    uint64_t length_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
    if (stays->size >= GPU_STAYS_MAX_BYTES)
        drop_short(stays);
    if (length_ns < stays->least_ns) {
        leave_out(stays, length_ns);
        return 0;
    }
    struct gpu_stay_list *list = list_of(stays, row, process);
    if (!list || vec_reserve(&list->bytes, 2 * VARINT_MAX) != 0 || !list->bytes.items)
        return -ENOMEM;
    uint8_t *begin = list->bytes.items + list->bytes.count;
    size_t size = (size_t)(put(begin, list->last_ns, begin_ns, end_ns) - begin);
    list->bytes.count += size;
    list->last_ns = begin_ns;
    stays->size += size;
    return 0;
}
