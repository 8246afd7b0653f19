/* SPDX-License-Identifier: MIT */
/* An external merge sort: see sorter.h.
 *
 * Records are collected until the memory is full, put in order and written as a run, compressed. In
 * the end all runs are merged; too many of them are made one before. Files have no name, so nothing
 * is left of them, whatever happens. */
#include "sorter.h"

#include "file_io.h"
#include "vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum { RUNS_MAX = 64, RUN_BLOCK = 256 << 10, RUN_LEVEL = -5 };

struct head {
    struct sorter_key key;
    uint64_t number; /* of its coming */
    uint32_t size, unused;
};

struct entry {
    struct sorter_key key;
    uint64_t number;
    size_t offset; /* of its head */
};

/* A run that is read: of a file, block by block. */
struct run {
    int fd;
    uint64_t offset;
    uint8_t *packed;
    uint8_t *bytes;
    size_t at, end, capacity;
    struct head head; /* of the next record, which begins at `at` */
};

struct sorter {
    char *folder; /* NULL: where temporary files lie */
    size_t memory_bytes;
    uint8_t *records;
    size_t used, capacity;
    VEC(struct entry) entries;
    size_t next; /* of the entries, when they are handed out */
    struct run runs[RUNS_MAX];
    unsigned run_count, joined;          /* joined: the first ones, which were several */
    unsigned heap[RUNS_MAX], heap_count; /* of runs, the one with the first record first */
    bool merging, told;                  /* the first run of the heap was handed out */
    uint64_t count;
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
};

struct sorter *sorter_create(const char *folder, size_t memory_bytes)
{
    struct sorter *sorter = calloc(1, sizeof(*sorter));
    if (!sorter)
        return NULL;
    for (unsigned i = 0; i < RUNS_MAX; i++)
        sorter->runs[i].fd = -1;
    sorter->memory_bytes = memory_bytes;
    sorter->folder = folder ? strdup(folder) : NULL;
    if (sorter->folder || !folder)
        return sorter;
    sorter_destroy(sorter);
    return NULL;
}

static void close_run(struct run *run)
{
    if (run->fd >= 0)
        close(run->fd);
    free(run->packed);
    free(run->bytes);
    *run = (struct run){.fd = -1};
}

void sorter_destroy(struct sorter *sorter)
{
    if (!sorter)
        return;
    for (unsigned i = 0; i < RUNS_MAX; i++)
        close_run(&sorter->runs[i]);
    ZSTD_freeCCtx(sorter->packer);
    ZSTD_freeDCtx(sorter->unpacker);
    vec_free(&sorter->entries);
    free(sorter->records);
    free(sorter->folder);
    free(sorter);
}

uint64_t sorter_count(const struct sorter *sorter)
{
    return sorter->count;
}

static inline int compare(const struct sorter_key *a, uint64_t a_number, const struct sorter_key *b,
                          uint64_t b_number)
{
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->third != b->third)
        return a->third < b->third ? -1 : 1;
    return a_number < b_number ? -1 : a_number > b_number;
}

static inline bool entry_is_before(const struct entry *a, const struct entry *b)
{
    return compare(&a->key, a->number, &b->key, b->number) < 0;
}

/* Where the run that begins at `at` ends: files are in order for the most part. */
static size_t end_of_run(const struct entry *items, size_t at, size_t count)
{
    for (at++; at < count && entry_is_before(&items[at - 1], &items[at]); at++)
        ;
    return at;
}

enum { SORT_BLOCK = 64 };

/* Blocks of them: most of what is out of order is so by a few places. */
static void sort_blocks(struct entry *items, size_t count)
{
    for (size_t begin = 0; begin < count; begin += SORT_BLOCK) {
        size_t end = begin + SORT_BLOCK < count ? begin + SORT_BLOCK : count;
        for (size_t i = begin + 1; i < end; i++) {
            const struct entry entry = items[i];
            size_t at = i;
            for (; at > begin && entry_is_before(&entry, &items[at - 1]); at--)
                items[at] = items[at - 1];
            items[at] = entry;
        }
    }
}

/* Two runs, one behind the other, as one in `out`. */
static void merge_entries(const struct entry *items, size_t middle, size_t end, struct entry *out)
{
    size_t left = 0, right = middle;
    while (left < middle && right < end)
        *out++ = entry_is_before(&items[right], &items[left]) ? items[right++] : items[left++];
    memcpy(out, items + left, (middle - left) * sizeof(*items));
    memcpy(out + (middle - left), items + right, (end - right) * sizeof(*items));
}

/* Pairs of runs become one, from `items` to `out`. Returns how many there are then. */
static size_t merge_runs(const struct entry *items, size_t count, struct entry *out)
{
    size_t runs = 0;
    for (size_t at = 0; at < count; runs++) {
        size_t middle = end_of_run(items, at, count);
        size_t end = middle < count ? end_of_run(items, middle, count) : count;
        merge_entries(items + at, middle - at, end - at, out + at);
        at = end;
    }
    return runs;
}

static int sort_entries(struct sorter *sorter)
{
    size_t count = sorter->entries.count;
    if (count == 0 || end_of_run(sorter->entries.items, 0, count) == count)
        return 0;
    struct entry *from = sorter->entries.items,
                 *to = malloc(sorter->entries.capacity * sizeof(*to));
    if (!to)
        return -ENOMEM;
    size_t runs;
    sort_blocks(from, count);
    do {
        runs = merge_runs(from, count, to);
        struct entry *other = from;
        from = to;
        to = other;
    } while (runs > 1);
    sorter->entries.items = from;
    free(to);
    return 0;
}

/* ---- Writing runs ---------------------------------------------------------------------------- */

/* A run as it is written. */
struct run_file {
    int fd;
    ZSTD_CCtx *packer;
    uint8_t *block, *packed;
    size_t used, capacity;
};

/* -errno. */
static int open_unnamed(const char *folder)
{
    char path[PATH_MAX];
    if (!folder)
        return file_open_temporary();
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (snprintf(path, sizeof(path), "%s/.annot-sorter-XXXXXX", folder) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

static int begin_file(struct sorter *sorter, struct run_file *file)
{
    *file = (struct run_file){.fd = -1, .capacity = RUN_BLOCK};
    if (!sorter->packer)
        sorter->packer = ZSTD_createCCtx();
    file->packer = sorter->packer;
    file->block = malloc(file->capacity);
    file->packed = malloc(ZSTD_compressBound(file->capacity));
    if (!file->packer || !file->block || !file->packed)
        return -ENOMEM;
    file->fd = open_unnamed(sorter->folder);
    return file->fd < 0 ? file->fd : 0;
}

/* Sizes, and the block. 0 or -errno. */
static int flush_block(struct run_file *file)
{
    if (!file->used)
        return 0;
    size_t size = ZSTD_compressCCtx(file->packer, file->packed, ZSTD_compressBound(file->capacity),
                                    file->block, file->used, RUN_LEVEL);
    uint64_t sizes[2] = {size, file->used};
    if (ZSTD_isError(size))
        return -ENOMEM;
    file->used = 0;
    int error = file_write_all(file->fd, sizes, sizeof(sizes));
    return error ? error : file_write_all(file->fd, file->packed, size);
}

static int put_record(struct run_file *file, const struct head *head, const void *bytes)
{
    size_t need = sizeof(*head) + head->size;
    int error = file->used && file->used + need > RUN_BLOCK ? flush_block(file) : 0;
    if (error)
        return error;
    if (need > file->capacity) {
        free(file->block);
        free(file->packed);
        file->block = malloc(need);
        file->packed = malloc(ZSTD_compressBound(need));
        file->capacity = need;
        if (!file->block || !file->packed)
            return -ENOMEM;
    }
    memcpy(file->block + file->used, head, sizeof(*head));
    memcpy(file->block + file->used + sizeof(*head), bytes, head->size);
    file->used += need;
    return 0;
}

/* The file is a run of the sorter, or closed. */
static int end_file(struct sorter *sorter, struct run_file *file, int error)
{
    if (!error)
        error = flush_block(file);
    free(file->block);
    free(file->packed);
    if (error && file->fd >= 0)
        close(file->fd);
    if (!error)
        sorter->runs[sorter->run_count++] = (struct run){.fd = file->fd};
    return error;
}

static int spill(struct sorter *sorter)
{
    struct run_file file;
    int error = begin_file(sorter, &file);
    if (!error)
        error = sort_entries(sorter);
    for (size_t i = 0; !error && i < sorter->entries.count; i++) {
        const uint8_t *record = sorter->records + sorter->entries.items[i].offset;
        struct head head;
        memcpy(&head, record, sizeof(head));
        error = put_record(&file, &head, record + sizeof(head));
    }
    sorter->entries.count = sorter->used = 0;
    return end_file(sorter, &file, error);
}

/* ---- Reading runs ---------------------------------------------------------------------------- */

static int read_exactly(struct run *run, void *bytes, size_t size)
{
    ssize_t got = file_read_at(run->fd, bytes, size, run->offset);
    if (got < 0)
        return (int)got;
    run->offset += (uint64_t)got;
    return got == 0 ? 0 : (size_t)got == size ? 1 : -EIO;
}

/* The next block: 1; 0 at the end; -errno. */
static int read_block(struct sorter *sorter, struct run *run)
{
    uint64_t sizes[2];
    int more = read_exactly(run, sizes, sizeof(sizes));
    if (more <= 0)
        return more;
    if (!run->bytes || sizes[1] > run->capacity) {
        free(run->bytes);
        free(run->packed);
        run->capacity = sizes[1] > RUN_BLOCK ? sizes[1] : RUN_BLOCK;
        run->bytes = malloc(run->capacity);
        run->packed = malloc(ZSTD_compressBound(run->capacity));
        if (!run->bytes || !run->packed)
            return -ENOMEM;
    }
    more = read_exactly(run, run->packed, sizes[0]);
    if (more <= 0)
        return more < 0 ? more : -EIO;
    size_t size =
        ZSTD_decompressDCtx(sorter->unpacker, run->bytes, run->capacity, run->packed, sizes[0]);
    if (ZSTD_isError(size) || size != sizes[1])
        return -EIO;
    run->at = 0;
    run->end = size;
    return 1;
}

/* Whether there is one. */
static int look_at_next(struct sorter *sorter, struct run *run)
{
    int more = run->at < run->end ? 1 : read_block(sorter, run);
    if (more == 1)
        memcpy(&run->head, run->bytes + run->at, sizeof(run->head));
    return more;
}

static bool is_before(const struct sorter *sorter, unsigned a, unsigned b)
{
    const struct head *x = &sorter->runs[a].head, *y = &sorter->runs[b].head;
    return compare(&x->key, x->number, &y->key, y->number) < 0;
}

/* The first of the heap to where it belongs. */
static void sink_first(struct sorter *sorter)
{
    unsigned run = sorter->heap[0], at = 0, child;
    while ((child = 2 * at + 1) < sorter->heap_count) {
        if (child + 1 < sorter->heap_count &&
            is_before(sorter, sorter->heap[child + 1], sorter->heap[child]))
            child++;
        if (!is_before(sorter, sorter->heap[child], run))
            break;
        sorter->heap[at] = sorter->heap[child];
        at = child;
    }
    sorter->heap[at] = run;
}

/* Of the runs from that one on. */
static int begin_merge(struct sorter *sorter, unsigned first)
{
    sorter->heap_count = 0;
    sorter->told = false;
    sorter->merging = true;
    if (!sorter->unpacker)
        sorter->unpacker = ZSTD_createDCtx();
    if (!sorter->unpacker)
        return -ENOMEM;
    for (unsigned i = first; i < sorter->run_count; i++) {
        int more = look_at_next(sorter, &sorter->runs[i]);
        if (more < 0)
            return more;
        unsigned at = sorter->heap_count;
        if (more == 0)
            continue;
        sorter->heap[sorter->heap_count++] = i;
        for (; at && is_before(sorter, i, sorter->heap[(at - 1) / 2]); at = (at - 1) / 2)
            sorter->heap[at] = sorter->heap[(at - 1) / 2];
        sorter->heap[at] = i;
    }
    return 0;
}

/* The run with the next record, in *ret_run: 1, 0, -errno. What was handed out before is over. */
static int merge_next(struct sorter *sorter, struct run **ret_run)
{
    if (sorter->told) {
        struct run *run = &sorter->runs[sorter->heap[0]];
        run->at += sizeof(run->head) + run->head.size;
        int more = look_at_next(sorter, run);
        if (more < 0)
            return more;
        if (more == 0)
            sorter->heap[0] = sorter->heap[--sorter->heap_count];
        if (sorter->heap_count)
            sink_first(sorter);
    }
    sorter->told = sorter->heap_count > 0;
    if (sorter->told)
        *ret_run = &sorter->runs[sorter->heap[0]];
    return sorter->told;
}

/* Those that were not joined so far as one: each is read again once, as long as there are few of
 * joined ones. */
static int join_runs(struct sorter *sorter)
{
    struct run_file file;
    struct run *run;
    unsigned first = sorter->joined < RUNS_MAX / 2 ? sorter->joined : 0;
    int more, error = begin_file(sorter, &file);
    if (!error)
        error = begin_merge(sorter, first);
    while (!error && (more = merge_next(sorter, &run)) != 0)
        error = more < 0 ? more
                         : put_record(&file, &run->head, run->bytes + run->at + sizeof(run->head));
    for (unsigned i = first; i < sorter->run_count; i++)
        close_run(&sorter->runs[i]);
    sorter->run_count = first;
    sorter->joined = first + 1;
    sorter->merging = false;
    return end_file(sorter, &file, error);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Room for so many bytes more, which the memory has. */
static int grow(struct sorter *sorter, size_t need)
{
    size_t capacity = sorter->capacity ? sorter->capacity : RUN_BLOCK;
    if (sorter->used + need <= sorter->capacity)
        return 0;
    while (capacity < sorter->used + need)
        capacity *= 2;
    capacity = capacity < sorter->memory_bytes ? capacity : sorter->memory_bytes;
    uint8_t *grown = realloc(sorter->records, capacity);
    if (!grown)
        return -ENOMEM;
    sorter->records = grown;
    sorter->capacity = capacity;
    return 0;
}

int sorter_add(struct sorter *sorter, struct sorter_key key, const void *bytes, uint32_t size)
{
    const struct head head = {key, sorter->count, size, 0};
    size_t need = sizeof(head) + size;
    int error = 0;
    if (need > sorter->memory_bytes)
        return -EMSGSIZE;
    if (sorter->used + need > sorter->memory_bytes) {
        error = spill(sorter);
        if (!error && sorter->run_count == RUNS_MAX)
            error = join_runs(sorter);
    }
    const struct entry entry = {key, sorter->count, sorter->used};
    if (!error)
        error = grow(sorter, need);
    if (!error)
        error = vec_push(&sorter->entries, entry);
    if (error)
        return error;
    memcpy(sorter->records + sorter->used, &head, sizeof(head));
    memcpy(sorter->records + sorter->used + sizeof(head), bytes, size);
    sorter->used += need;
    sorter->count++;
    return 0;
}

int sorter_finish(struct sorter *sorter)
{
    if (!sorter->run_count)
        return sort_entries(sorter);
    int error = sorter->entries.count ? spill(sorter) : 0;
    vec_free(&sorter->entries);
    free(sorter->records);
    sorter->records = NULL;
    return error ? error : begin_merge(sorter, 0);
}

int sorter_next(struct sorter *sorter, struct sorter_key *ret_key, const void **ret_bytes,
                uint32_t *ret_size)
{
    struct head head;
    const uint8_t *record;
    struct run *run;
    if (sorter->merging) {
        int more = merge_next(sorter, &run);
        if (more <= 0)
            return more;
        record = run->bytes + run->at;
        head = run->head;
    } else {
        if (sorter->next == sorter->entries.count)
            return 0;
        record = sorter->records + sorter->entries.items[sorter->next++].offset;
        memcpy(&head, record, sizeof(head));
    }
    *ret_key = head.key;
    *ret_bytes = record + sizeof(head);
    *ret_size = head.size;
    return 1;
}
