/* SPDX-License-Identifier: MIT */
/* An external merge sort: see sorter.h.
 *
 * Records are collected until the memory is full, sorted and written as a compressed run. At the
 * end all runs are merged; if there are too many, some are joined earlier. Files are unnamed, so
 * they vanish with the process. */
#include "sorter.h"

#include "file_io.h"
#include "varint.h"
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

enum {
    RUNS_MAX = 128,
    RUN_BLOCK = 128 << 10,
    RUN_LEVEL = -20,
    HEAD_MAX = 4 * VARINT_MAX, /* of a record in a run */
    SHORT_RUN = 32,            /* entries; shorter stretches are extended before they are merged */
};

struct entry {
    struct sorter_key key;
    size_t offset; /* of its size, a uint32_t, and its bytes */
};

/* Per record, besides its bytes: the second entry is for the sort. */
enum { RECORD_COST = 2 * sizeof(struct entry) + sizeof(uint32_t) };

/* A run while it is read: from a file, block by block. */
struct run {
    int fd;
    uint64_t offset;
    uint8_t *packed;
    uint8_t *bytes;
    size_t at, end, capacity; /* at: start of the next record's bytes */
    uint32_t size;            /* size of these */
};

/* Runs are in order of adding, so of equal keys the one of the lower number is first. */
struct waiting_run {
    struct sorter_key key; /* of its next record */
    unsigned run;
};

struct sorter {
    char *folder; /* NULL: the folder of temporary files */
    size_t memory_bytes;
    uint8_t *records;
    size_t used, capacity;
    VEC(struct entry) entries;
    VEC(struct entry) spare; /* for their sort */
    size_t next;             /* index of the next entry to return */
    struct run runs[RUNS_MAX];
    unsigned run_count, joined;        /* joined: number of joined runs, which are at the front */
    struct waiting_run heap[RUNS_MAX]; /* a heap: the run with the first record is at 0 */
    unsigned heap_count;
    bool merging;
    bool returned; /* sorter_next() returned the record of heap[0] */
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
    vec_free(&sorter->spare);
    free(sorter->records);
    free(sorter->folder);
    free(sorter);
}

uint64_t sorter_count(const struct sorter *sorter)
{
    return sorter->count;
}

static inline bool is_before(const struct sorter_key *a, const struct sorter_key *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    return a->second != b->second ? a->second < b->second : a->third < b->third;
}

/* ---- In memory ------------------------------------------------------------------------------- */

/* Input from files and threads is mostly in order: the sort merges rising stretches, and of each
 * two moves only the overlap. */

/* End of the rising stretch at `at`. A short one is extended by insertion. */
static size_t end_of_stretch(struct entry *items, size_t at, size_t count)
{
    size_t end = at + 1;
    while (end < count && !is_before(&items[end].key, &items[end - 1].key))
        end++;
    for (; end < count && end < at + SHORT_RUN; end++) {
        const struct entry entry = items[end];
        size_t to = end;
        for (; to > at && is_before(&entry.key, &items[to - 1].key); to--)
            items[to] = items[to - 1];
        items[to] = entry;
    }
    return end;
}

/* The first in [at, end) with a larger key; with `equal`: with the same or a larger one. */
static size_t bound_of(const struct entry *items, size_t at, size_t end,
                       const struct sorter_key *key, bool equal)
{
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (equal ? is_before(&items[middle].key, key) : !is_before(key, &items[middle].key))
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Merges two adjacent stretches. `spare` has room for the first. */
static void merge_stretches(struct entry *items, size_t middle, size_t end, struct entry *spare)
{
    if (!is_before(&items[middle].key, &items[middle - 1].key))
        return;
    size_t begin = bound_of(items, 0, middle, &items[middle].key, false);
    end = bound_of(items, middle, end, &items[middle - 1].key, true);
    memcpy(spare, items + begin, (middle - begin) * sizeof(*items));
    struct entry *out = items + begin;
    const struct entry *left = spare, *left_end = spare + (middle - begin), *right = items + middle,
                       *right_end = items + end;
    while (left < left_end && right < right_end) {
        bool takes_right = is_before(&right->key, &left->key);
        *out++ = takes_right ? *right : *left; /* branchless: the order is unpredictable */
        right += takes_right;
        left += !takes_right;
    }
    memcpy(out, left, (size_t)(left_end - left) * sizeof(*left));
}

/* `ends`: of all stretches. Merges neighbours until one is left. */
static void merge_all(struct entry *items, size_t *ends, size_t count, struct entry *spare)
{
    while (count > 1) {
        size_t begin = 0, merged = 0;
        for (size_t i = 0; i + 1 < count; i += 2) {
            merge_stretches(items + begin, ends[i] - begin, ends[i + 1] - begin, spare);
            begin = ends[merged++] = ends[i + 1];
        }
        if (count % 2)
            ends[merged++] = ends[count - 1];
        count = merged;
    }
}

static int sort_entries(struct sorter *sorter)
{
    struct entry *items = sorter->entries.items;
    size_t count = sorter->entries.count;
    VEC(size_t) ends = {0};
    int error = 0;
    for (size_t at = 0; at < count && !error;) {
        at = end_of_stretch(items, at, count);
        error = vec_push(&ends, at);
    }
    if (!error && ends.count > 1) {
        error = vec_reserve(&sorter->spare, count);
        if (!error)
            merge_all(items, ends.items, ends.count, sorter->spare.items);
    }
    vec_free(&ends);
    return error;
}

/* ---- Writing runs ---------------------------------------------------------------------------- */

/* A run while it is written. A record is the difference of its first key to the one before, the
 * other keys and its size, then its bytes. */
struct run_file {
    int fd;
    ZSTD_CCtx *packer;
    uint8_t *block, *packed;
    size_t used, capacity;
    int64_t first; /* key of the last record */
};

/* -errno on failure. */
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

/* Writes the sizes and the block. 0 or -errno. */
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

static int put_record(struct run_file *file, const struct sorter_key *key, const void *bytes,
                      uint32_t size)
{
    size_t need = HEAD_MAX + (size_t)size;
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
    uint8_t *at = file->block + file->used;
    at = varint_put(at, (uint64_t)key->first - (uint64_t)file->first);
    at = varint_put(at, zigzag(key->second));
    at = varint_put(at, zigzag(key->third));
    at = mempcpy(varint_put(at, size), bytes, size);
    file->used = (size_t)(at - file->block);
    file->first = key->first;
    return 0;
}

/* Adds the file to the runs of the sorter, or closes it. */
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
        const struct entry *entry = &sorter->entries.items[i];
        const uint8_t *record = sorter->records + entry->offset;
        uint32_t size;
        memcpy(&size, record, sizeof(size));
        error = put_record(&file, &entry->key, record + sizeof(size), size);
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

/* Reads the head of the next record into `key`, which holds the key before. 1; 0 at the end;
 * -errno. */
static int look_at_next(struct sorter *sorter, struct run *run, struct sorter_key *key)
{
    int more = run->at < run->end ? 1 : read_block(sorter, run);
    if (more != 1)
        return more;
    struct varint_reader reader = {run->bytes + run->at, run->bytes + run->end};
    key->first = (int64_t)((uint64_t)key->first + varint_get(&reader));
    key->second = varint_get_signed(&reader);
    key->third = varint_get_signed(&reader);
    uint64_t size = varint_get(&reader);
    if (!reader.at || size > (uint64_t)(reader.end - reader.at))
        return -EIO;
    run->size = (uint32_t)size;
    run->at = (size_t)(reader.at - run->bytes);
    return 1;
}

static inline bool run_is_before(const struct waiting_run *a, const struct waiting_run *b)
{
    if (is_before(&a->key, &b->key))
        return true;
    return a->run < b->run && !is_before(&b->key, &a->key);
}

/* The child of `at` that sorts first; 0 if it has no child. */
static unsigned first_below(const struct sorter *sorter, unsigned at)
{
    unsigned child = 2 * at + 1;
    if (child >= sorter->heap_count)
        return 0;
    bool second = child + 1 < sorter->heap_count &&
                  run_is_before(&sorter->heap[child + 1], &sorter->heap[child]);
    return child + second;
}

/* Moves the changed first run of the heap to its place, which is mostly the same. */
static void sink_first(struct sorter *sorter)
{
    struct waiting_run *heap = sorter->heap;
    unsigned at = 0, child = first_below(sorter, at);
    if (!child || !run_is_before(&heap[child], &heap[at]))
        return;
    const struct waiting_run run = heap[0];
    for (; child && run_is_before(&heap[child], &run); child = first_below(sorter, at)) {
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = run;
}

static void add_waiting(struct sorter *sorter, struct waiting_run run)
{
    struct waiting_run *heap = sorter->heap;
    unsigned at = sorter->heap_count++;
    for (; at && run_is_before(&run, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = run;
}

/* Begins to merge the runs from `first` on. */
static int begin_merge(struct sorter *sorter, unsigned first)
{
    sorter->heap_count = 0;
    sorter->returned = false;
    sorter->merging = true;
    if (!sorter->unpacker)
        sorter->unpacker = ZSTD_createDCtx();
    if (!sorter->unpacker)
        return -ENOMEM;
    for (unsigned i = first; i < sorter->run_count; i++) {
        struct waiting_run waiting = {.run = i};
        int more = look_at_next(sorter, &sorter->runs[i], &waiting.key);
        if (more < 0)
            return more;
        if (more)
            add_waiting(sorter, waiting);
    }
    return 0;
}

/* Advances to the next record, that of the heap's first run. 1; 0 at the end; -errno. Invalidates
 * the previous record. */
static int merge_next(struct sorter *sorter)
{
    struct waiting_run *first = &sorter->heap[0];
    if (sorter->returned) {
        struct run *run = &sorter->runs[first->run];
        run->at += run->size;
        int more = look_at_next(sorter, run, &first->key);
        if (more < 0)
            return more;
        if (more == 0)
            *first = sorter->heap[--sorter->heap_count];
        sink_first(sorter);
    }
    sorter->returned = sorter->heap_count > 0;
    return sorter->returned;
}

/* Joins the runs not joined yet into one: each record is read again once, while joined runs are
 * few. */
static int join_runs(struct sorter *sorter)
{
    struct run_file file;
    unsigned first = sorter->joined < RUNS_MAX / 2 ? sorter->joined : 0;
    int more, error = begin_file(sorter, &file);
    if (!error)
        error = begin_merge(sorter, first);
    while (!error && (more = merge_next(sorter)) != 0) {
        const struct run *run = &sorter->runs[sorter->heap[0].run];
        error = more < 0 ? more
                         : put_record(&file, &sorter->heap[0].key, run->bytes + run->at, run->size);
    }
    for (unsigned i = first; i < sorter->run_count; i++)
        close_run(&sorter->runs[i]);
    sorter->run_count = first;
    sorter->joined = first + 1;
    sorter->merging = false;
    return end_file(sorter, &file, error);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Makes room for `need` bytes more, within the memory limit. */
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

/* Writes a run when the memory is full. */
static int make_room(struct sorter *sorter)
{
    int error = spill(sorter);
    return !error && sorter->run_count == RUNS_MAX ? join_runs(sorter) : error;
}

int sorter_add(struct sorter *sorter, struct sorter_key key, const void *bytes, uint32_t size)
{
    size_t need = sizeof(size) + size;
    size_t held = sorter->used + sorter->entries.count * RECORD_COST;
    int error = 0;
    if (need > sorter->memory_bytes)
        return -EMSGSIZE;
    if (sorter->entries.count && held + need + RECORD_COST > sorter->memory_bytes)
        error = make_room(sorter);
    const struct entry entry = {key, sorter->used};
    if (!error)
        error = grow(sorter, need);
    if (!error)
        error = vec_push(&sorter->entries, entry);
    if (error)
        return error;
    memcpy(mempcpy(sorter->records + sorter->used, &size, sizeof(size)), bytes, size);
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
    vec_free(&sorter->spare);
    free(sorter->records);
    sorter->records = NULL;
    return error ? error : begin_merge(sorter, 0);
}

int sorter_next(struct sorter *sorter, struct sorter_key *ret_key, const void **ret_bytes,
                uint32_t *ret_size)
{
    if (sorter->merging) {
        int more = merge_next(sorter);
        if (more <= 0)
            return more;
        const struct run *run = &sorter->runs[sorter->heap[0].run];
        *ret_key = sorter->heap[0].key;
        *ret_bytes = run->bytes + run->at;
        *ret_size = run->size;
        return 1;
    }
    if (sorter->next == sorter->entries.count)
        return 0;
    const struct entry *entry = &sorter->entries.items[sorter->next++];
    const uint8_t *record = sorter->records + entry->offset;
    memcpy(ret_size, record, sizeof(*ret_size));
    *ret_key = entry->key;
    *ret_bytes = record + sizeof(*ret_size);
    return 1;
}
