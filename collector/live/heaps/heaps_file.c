/* SPDX-License-Identifier: MIT */
/* Implements heaps_file.h. A sample has the change of one thread and stack: what it allocated and
 * freed. Those that free more come a nanosecond before those that allocate more, so that readers
 * who add them up in order of time never see more live bytes than there were. */
#include "heaps_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Above the largest value of a recording. */
#define COUNT_MAX (INT64_C(1) << 50)

/* Bytes that a thread keeps to itself until it adds them to those of the process. */
enum { UNFLUSHED_BYTES = 1 << 16 };

void heaps_file_fini(struct heaps_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    heaps_stacks_fini(&file->stacks);
    vec_free(&file->places);
    vec_free(&file->row_of);
    vec_free(&file->rows);
    map64_free(&file->by_stack);
}

/* ---- Reading --------------------------------------------------------------------------------- */

int heaps_file_read(struct heaps_file *file)
{
    struct annot_heap header;
    if (pread(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) || header.magic == 0)
        return -EAGAIN;
    if (header.magic != ANNOT_HEAP_MAGIC || header.first_place == 0 || header.pid <= 0 ||
        header.created_ns > INT64_MAX)
        return -EBADMSG;
    if (header.place_count > ANNOT_HEAP_PLACES_MAX)
        header.place_count = ANNOT_HEAP_PLACES_MAX;
    if (header.first_place > header.place_count)
        return -EBADMSG;
    file->header = header;
    return 0;
}

/* Places that are not reserved yet read as zeros. */
static int read_places(struct heaps_file *file)
{
    uint32_t count = file->header.place_count - file->header.first_place;
    file->places.count = 0;
    if (vec_reserve(&file->places, count) != 0)
        return -ENOMEM;
    ssize_t got = pread(
        file->fd, file->places.items, count * sizeof(struct annot_heap_place),
        (off_t)(ANNOT_HEAP_PLACES_AT + file->header.first_place * sizeof(struct annot_heap_place)));
    file->places.count = got > 0 ? (size_t)got / sizeof(struct annot_heap_place) : 0;
    return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const struct heaps_sums *find_recorded(const struct heaps_reading *reading, uint64_t key)
{
    const uint64_t *found = map64_find(&reading->recorded->by_stack, key);
    return found ? &reading->recorded->sums.items[*found - 1] : NULL;
}

/* The index of a row, plus 1; -ENOMEM. */
static int64_t need_row(struct heaps_file *file, const struct heaps_reading *reading,
                        const struct heaps_place *place)
{
    uint64_t key = heaps_key(place->thread - 1, place->stack);
    const uint64_t *found = map64_find(&file->by_stack, key);
    if (found)
        return (int64_t)*found;
    struct heaps_row row = {.thread = place->thread - 1, .stack = place->stack};
    const struct heaps_sums *recorded = find_recorded(reading, key);
    if (recorded)
        row.done = *recorded;
    if (vec_push(&file->rows, row) != 0 || map64_put(&file->by_stack, key, file->rows.count) != 0)
        return -ENOMEM;
    return (int64_t)file->rows.count;
}

static int find_rows(struct heaps_file *file, const struct heaps_reading *reading)
{
    while (file->row_of.count < file->places.count)
        if (vec_push(&file->row_of, (uint32_t)0) != 0)
            return -ENOMEM;
    for (size_t i = 0; i < file->places.count; i++) {
        const struct heaps_place *place = &file->stacks.places.items[i];
        if (file->row_of.items[i] || place->thread == 0 || file->places.items[i].allocs == 0)
            continue;
        int64_t row = need_row(file, reading, place);
        if (row < 0)
            return -ENOMEM;
        file->row_of.items[i] = (uint32_t)row;
    }
    return 0;
}

static int64_t bounded(uint64_t count)
{
    return count < (uint64_t)COUNT_MAX ? (int64_t)count : COUNT_MAX;
}

static void add_place(struct heaps_row *row, const struct annot_heap_place *place,
                      const struct annot_heap *header)
{
    struct heaps_sums sums = {bounded(place->alloc_bytes), bounded(place->allocs),
                              bounded(place->free_bytes), bounded(place->frees)};
    bool kept = place->generation == header->generation && !header->is_rising;
    row->now.alloc_bytes += sums.alloc_bytes;
    row->now.allocs += sums.allocs;
    row->now.free_bytes += sums.free_bytes;
    row->now.frees += sums.frees;
    row->peak_bytes += kept ? place->peak_bytes : sums.alloc_bytes - sums.free_bytes;
    row->peak_blocks += kept ? place->peak_blocks : sums.allocs - sums.frees;
}

/* Returns the live bytes of all. */
static int64_t sum_rows(struct heaps_file *file)
{
    int64_t live = 0;
    for (size_t i = 0; i < file->rows.count; i++) {
        struct heaps_row *row = &file->rows.items[i];
        row->now = (struct heaps_sums){0};
        row->peak_bytes = row->peak_blocks = 0;
    }
    for (size_t i = 0; i < file->places.count; i++)
        if (file->row_of.items[i])
            add_place(&file->rows.items[file->row_of.items[i] - 1], &file->places.items[i],
                      &file->header);
    for (size_t i = 0; i < file->rows.count; i++)
        live += file->rows.items[i].now.alloc_bytes - file->rows.items[i].now.free_bytes;
    return live;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The part of the change that led to these live numbers: as few allocations and frees as can be.
 */
static void take_part(struct heaps_row *row, struct heaps_sums *part)
{
    int64_t bytes = row->peak_bytes - (row->done.alloc_bytes - row->done.free_bytes);
    int64_t blocks = row->peak_blocks - (row->done.allocs - row->done.frees);
    *part = (struct heaps_sums){
        bytes > 0 ? least(bytes, row->now.alloc_bytes - row->done.alloc_bytes) : 0,
        blocks > 0 ? least(blocks, row->now.allocs - row->done.allocs) : 0,
        bytes < 0 ? least(-bytes, row->now.free_bytes - row->done.free_bytes) : 0,
        blocks < 0 ? least(-blocks, row->now.frees - row->done.frees) : 0};
}

static void take_rest(struct heaps_row *row, struct heaps_sums *part)
{
    *part = (struct heaps_sums){
        row->now.alloc_bytes - row->done.alloc_bytes, row->now.allocs - row->done.allocs,
        row->now.free_bytes - row->done.free_bytes, row->now.frees - row->done.frees};
}

/* A look at a running program may see a free before the allocation. */
static void bound_part(struct heaps_sums *part)
{
    part->alloc_bytes = part->alloc_bytes > 0 ? part->alloc_bytes : 0;
    part->allocs = part->allocs > 0 ? part->allocs : 0;
    part->free_bytes = part->free_bytes > 0 ? part->free_bytes : 0;
    part->frees = part->frees > 0 ? part->frees : 0;
}

static int add_sample(struct heaps_reading *reading, struct heaps_row *row,
                      const struct heaps_sums *part, int64_t time_ns)
{
    bool frees = part->free_bytes > part->alloc_bytes;
    const struct sample sample = {.thread = row->thread,
                                  .set = reading->set,
                                  .stack = row->stack,
                                  .time_ns = least(reading->begin_ns, time_ns - 1),
                                  .end_ns = frees ? time_ns - 1 : time_ns,
                                  .python_end = STACK_COMPLETE,
                                  .value_count = HEAPS_VALUES};
    row->done.alloc_bytes += part->alloc_bytes;
    row->done.allocs += part->allocs;
    row->done.free_bytes += part->free_bytes;
    row->done.frees += part->frees;
    return vec_push(&reading->samples, sample) != 0 || vec_push(&reading->values, *part) != 0
               ? -ENOMEM
               : 0;
}

static int earlier_first(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Threads that only allocate live as long as their samples. */
static void extend_threads(const struct heaps_reading *reading)
{
    for (size_t i = 0; i < reading->samples.count; i++) {
        const struct sample *sample = &reading->samples.items[i];
        struct trace_thread *entry = trace_thread(reading->options->trace, sample->thread);
        if (entry->last_ns >= sample->end_ns)
            continue;
        entry->last_ns = sample->end_ns;
        entry->revision++;
    }
}

static int send(struct heaps_reading *reading)
{
    if (reading->samples.count == 0)
        return 0;
    for (size_t i = 0; i < reading->samples.count; i++)
        reading->samples.items[i].values = &reading->values.items[i].alloc_bytes;
    qsort(reading->samples.items, reading->samples.count, sizeof(struct sample), earlier_first);
    extend_threads(reading);
    return reading->options->samples(reading->options->context, reading->samples.items,
                                     reading->samples.count);
}

/* One round of samples: until the peak, or, `is_rest`, until now. */
static int record(struct heaps_file *file, struct heaps_reading *reading, int64_t time_ns,
                  bool is_rest)
{
    int error = 0;
    reading->samples.count = reading->values.count = 0;
    reading->begin_ns =
        file->progress.last_ns ? file->progress.last_ns : (int64_t)file->header.created_ns;
    for (size_t i = 0; i < file->rows.count && error == 0; i++) {
        struct heaps_row *row = &file->rows.items[i];
        struct heaps_sums part;
        (is_rest ? take_rest : take_part)(row, &part);
        bound_part(&part);
        if (part.alloc_bytes || part.allocs || part.free_bytes || part.frees)
            error = add_sample(reading, row, &part, time_ns);
    }
    if (error == 0 && reading->samples.count > 0)
        file->progress.last_ns = time_ns;
    return error ? error : send(reading);
}

/* ---- Looks ----------------------------------------------------------------------------------- */

/* True if the places are of one instant, or of one without a peak since then. */
static bool is_consistent(const struct heaps_file *file, const struct annot_heap *before,
                          int64_t live)
{
    const struct annot_heap *after = &file->header;
    int64_t unsure = after->thread_count > 1 ? (int64_t)after->thread_count * UNFLUSHED_BYTES : 0;
    return before->generation == after->generation && before->is_rising == after->is_rising &&
           before->peak == after->peak && live <= after->peak + unsure;
}

/* The program's clock for it may be some milliseconds late. */
static int64_t peak_time(const struct heaps_file *file, int64_t now_ns)
{
    int64_t created_ns = (int64_t)file->header.created_ns;
    int64_t least_ns = file->progress.last_ns > created_ns ? file->progress.last_ns : created_ns;
    int64_t peak_ns = file->header.is_rising || file->header.peak_ns > INT64_MAX
                          ? now_ns - 2
                          : (int64_t)file->header.peak_ns;
    if (peak_ns < least_ns + 2)
        peak_ns = least_ns + 2;
    return least(peak_ns, now_ns - 2);
}

static int enter(struct heaps_file *file, const struct heaps_reading *reading)
{
    if (file->process >= 0)
        return 0;
    file->process = heaps_process(file, reading->options);
    if (file->process < 0)
        return (int)file->process;
    const uint64_t *found = map64_find(&reading->recorded->by_process, (uint64_t)file->process + 1);
    if (found)
        file->progress = reading->recorded->processes.items[*found - 1];
    return 0;
}

int heaps_file_look(struct heaps_file *file, struct heaps_reading *reading, int64_t now_ns,
                    bool is_last)
{
    int error = heaps_file_read(file);
    const struct annot_heap before = file->header;
    if (error == 0)
        error = enter(file, reading);
    if (error == 0)
        error = read_places(file);
    if (error == 0)
        error = heaps_file_read(file);
    if (error == 0)
        error = heaps_stacks_read(file, reading->namer, reading->options);
    if (error == 0)
        error = find_rows(file, reading);
    if (error == 0 && !is_consistent(file, &before, sum_rows(file)) && !is_last)
        return 0;
    if (now_ns < file->progress.last_ns + 4)
        now_ns = file->progress.last_ns + 4;
    if (now_ns < (int64_t)file->header.created_ns + 4)
        now_ns = (int64_t)file->header.created_ns + 4;
    if (error == 0 && file->header.peak > file->progress.peak) {
        file->progress.peak = file->header.peak;
        error = record(file, reading, peak_time(file, now_ns), false);
    }
    return error ? error : record(file, reading, now_ns, true);
}
