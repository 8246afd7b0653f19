/* SPDX-License-Identifier: MIT */
/* See query_sort.h. */
#include "query_sort.h"

#include "file_io.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10 };

/* Sorted rows in the file. */
struct run {
    uint64_t offset, end;
    uint8_t *rows; /* owned: the rows at `offset`; NULL: not read yet */
    size_t at, count;
};

struct query_sort {
    struct query_sort_options options;
    size_t slot_size, capacity; /* a slot: the group's number and the row */
    uint8_t *slots, *sorted;    /* owned; in order of arrival, and sorted */
    size_t count, at;           /* number of slots; index of the next one to return */
    struct wide_map numbers;    /* of groups */
    VEC(struct wide_key) groups;
    VEC(uint32_t) order, ranks; /* sorted groups; rank by group */
    VEC(size_t) places;         /* by rank */
    VEC(struct run) runs;
    size_t run_at; /* index of the run, while one rank is returned */
    uint32_t rank; /* the rank being returned */
    uint64_t file_size;
    int fd; /* -1: not open */
    bool file_failed;
};

struct query_sort *query_sort_create(const struct query_sort_options *options)
{
    struct query_sort *sort = calloc(1, sizeof(*sort));
    if (!sort)
        return NULL;
    sort->options = *options;
    sort->fd = -1;
    sort->slot_size = sizeof(uint32_t) + options->row_size;
    sort->capacity = options->room_size / sort->slot_size;
    sort->slots = malloc(sort->capacity * sort->slot_size);
    sort->sorted = malloc(sort->capacity * sort->slot_size);
    if (sort->slots && sort->sorted && sort->capacity)
        return sort;
    query_sort_destroy(sort);
    return NULL;
}

void query_sort_destroy(struct query_sort *sort)
{
    if (!sort)
        return;
    for (size_t i = 0; i < sort->runs.count; i++)
        free(sort->runs.items[i].rows);
    if (sort->fd >= 0)
        close(sort->fd);
    vec_free(&sort->runs);
    vec_free(&sort->groups);
    vec_free(&sort->order);
    vec_free(&sort->ranks);
    vec_free(&sort->places);
    wide_map_free(&sort->numbers);
    free(sort->slots);
    free(sort->sorted);
    free(sort);
}

bool query_sort_file_failed(const struct query_sort *sort)
{
    return sort->file_failed;
}

static uint32_t group_of(const uint8_t *slot)
{
    uint32_t group;
    memcpy(&group, slot, sizeof(group));
    return group;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b, void *context)
{
    const struct query_sort *sort = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = sort->options.compare(sort->options.context, &sort->groups.items[x],
                                      &sort->groups.items[y]);
    return order ? order : x < y ? -1 : x > y;
}

/* Merges the first `old` entries of `order` with the others; both parts are sorted. */
static int merge_orders(struct query_sort *sort, size_t old)
{
    uint32_t *order = sort->order.items;
    size_t count = sort->order.count, at = 0, first = 0, second = old;
    uint32_t *merged = old ? malloc(count * sizeof(*merged)) : NULL;
    if (old == 0)
        return 0;
    if (!merged)
        return -ENOMEM;
    while (first < old || second < count) {
        bool take = second == count ||
                    (first < old && compare_groups(&order[first], &order[second], sort) < 0);
        merged[at++] = order[take ? first++ : second++];
    }
    memcpy(order, merged, count * sizeof(*merged));
    free(merged);
    return 0;
}

/* Ranks all groups so far. Later groups are inserted between these, so earlier runs remain
 * sorted. */
static int rank_groups(struct query_sort *sort)
{
    size_t count = sort->groups.count, old = sort->order.count;
    if (old == count)
        return 0;
    if (vec_reserve(&sort->order, count - sort->order.count) != 0 ||
        vec_reserve(&sort->ranks, count - sort->ranks.count) != 0)
        return -ENOMEM;
    for (size_t i = old; i < count; i++)
        sort->order.items[i] = (uint32_t)i;
    sort->order.count = sort->ranks.count = count;
    qsort_r(sort->order.items + old, count - old, sizeof(uint32_t), compare_groups, sort);
    if (merge_orders(sort, old) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        sort->ranks.items[sort->order.items[i]] = (uint32_t)i;
    return 0;
}

/* Sorts `slots` into `sorted`. */
static int put_in_order(struct query_sort *sort)
{
    int error = rank_groups(sort);
    size_t groups = sort->groups.count, sum = 0;
    sort->places.count = 0;
    if (error || vec_reserve(&sort->places, groups + 1) != 0)
        return -ENOMEM;
    memset(sort->places.items, 0, (groups + 1) * sizeof(size_t));
    size_t *places = sort->places.items;
    for (size_t i = 0; i < sort->count; i++)
        places[sort->ranks.items[group_of(sort->slots + i * sort->slot_size)]]++;
    for (size_t i = 0; i < groups; i++) {
        size_t own = places[i];
        places[i] = sum;
        sum += own;
    }
    for (size_t i = 0; i < sort->count; i++) {
        const uint8_t *slot = sort->slots + i * sort->slot_size;
        size_t place = places[sort->ranks.items[group_of(slot)]]++;
        memcpy(sort->sorted + place * sort->slot_size, slot, sort->slot_size);
    }
    return 0;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static int write_run(struct query_sort *sort)
{
    size_t size = sort->count * sort->slot_size;
    struct run run = {.offset = sort->file_size, .end = sort->file_size + size};
    int error = put_in_order(sort);
    if (error || vec_reserve(&sort->runs, 1) != 0)
        return -ENOMEM;
    if (sort->fd < 0)
        sort->fd = file_open_temporary();
    error = sort->fd < 0 ? sort->fd : file_write_all(sort->fd, sort->sorted, size);
    sort->file_failed = error != 0;
    if (error)
        return error;
    sort->runs.items[sort->runs.count++] = run;
    sort->file_size = run.end;
    sort->count = 0;
    return 0;
}

/* 1: `run` has a row; 0: end; -errno. */
static int look_at_run(struct query_sort *sort, struct run *run)
{
    size_t many = READ_SIZE / sort->slot_size + 1, size = many * sort->slot_size;
    if (run->at < run->count)
        return 1;
    if (run->offset == run->end) {
        free(run->rows);
        run->rows = NULL;
        return 0;
    }
    if (!run->rows)
        run->rows = malloc(size);
    if (!run->rows)
        return -ENOMEM;
    size = run->end - run->offset < size ? (size_t)(run->end - run->offset) : size;
    ssize_t got = file_read_at(sort->fd, run->rows, size, run->offset);
    if (got != (ssize_t)size) {
        sort->file_failed = true;
        return got < 0 ? (int)got : -EIO;
    }
    run->offset += size;
    run->at = 0;
    run->count = size / sort->slot_size;
    return 1;
}

static uint32_t rank_at(const struct query_sort *sort, const struct run *run)
{
    return sort->ranks.items[group_of(run->rows + run->at * sort->slot_size)];
}

/* Finds the least rank at the head of a run: 1; 0: all runs ended; -errno. */
static int next_rank(struct query_sort *sort)
{
    int found = 0;
    for (size_t i = 0; i < sort->runs.count; i++) {
        struct run *run = &sort->runs.items[i];
        int has = look_at_run(sort, run);
        if (has < 0)
            return has;
        if (has && (!found || rank_at(sort, run) < sort->rank)) {
            sort->rank = rank_at(sort, run);
            found = 1;
        }
    }
    sort->run_at = 0;
    return found;
}

/* Returns the next slot of the file: 1, 0, -errno. */
static int next_of_runs(struct query_sort *sort, const uint8_t **ret_slot)
{
    for (;;) {
        for (; sort->run_at < sort->runs.count; sort->run_at++) {
            struct run *run = &sort->runs.items[sort->run_at];
            int has = look_at_run(sort, run);
            if (has < 0)
                return has;
            if (has && rank_at(sort, run) == sort->rank) {
                *ret_slot = run->rows + run->at++ * sort->slot_size;
                return 1;
            }
        }
        int status = next_rank(sort);
        if (status <= 0)
            return status;
    }
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int number_of(struct query_sort *sort, const struct wide_key *group, uint32_t *ret_number)
{
    const uint64_t *known = wide_map_find(&sort->numbers, group);
    if (known) {
        *ret_number = (uint32_t)*known;
        return 0;
    }
    if (sort->groups.count >= UINT32_MAX || vec_reserve(&sort->groups, 1) != 0 ||
        wide_map_put(&sort->numbers, group, sort->groups.count) != 0)
        return -ENOMEM;
    *ret_number = (uint32_t)sort->groups.count;
    sort->groups.items[sort->groups.count++] = *group;
    return 0;
}

int query_sort_add(struct query_sort *sort, const struct wide_key *group, const void *row)
{
    uint32_t number = 0;
    int error = sort->count == sort->capacity ? write_run(sort) : 0;
    if (!error)
        error = number_of(sort, group, &number);
    if (error)
        return error;
    uint8_t *slot = sort->slots + sort->count++ * sort->slot_size;
    memcpy(slot, &number, sizeof(number));
    memcpy(slot + sizeof(number), row, sort->options.row_size);
    return 0;
}

int query_sort_finish(struct query_sort *sort)
{
    if (!sort->runs.count)
        return put_in_order(sort);
    int error = sort->count ? write_run(sort) : 0;
    if (!error)
        error = rank_groups(sort);
    free(sort->slots);
    free(sort->sorted);
    sort->slots = sort->sorted = NULL;
    sort->run_at = sort->runs.count;
    return error;
}

int query_sort_next(struct query_sort *sort, const struct wide_key **ret_group,
                    const void **ret_row)
{
    const uint8_t *slot = NULL;
    int status = 0;
    if (sort->runs.count) {
        status = next_of_runs(sort, &slot);
    } else if (sort->at < sort->count) {
        slot = sort->sorted + sort->at++ * sort->slot_size;
        status = 1;
    }
    if (status == 1) {
        *ret_group = &sort->groups.items[group_of(slot)];
        *ret_row = slot + sizeof(uint32_t);
    }
    return status;
}
