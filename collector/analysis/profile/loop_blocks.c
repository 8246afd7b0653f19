/* SPDX-License-Identifier: MIT */
/* Turns and samples are matched when the later of the two arrives: a turn searches the last samples
 * of its thread, a sample the thread's turns. See loop_blocks.h. */
#include "loop_blocks.h"

#include "awaits.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>

/* A task that continues later than this after a turn was not kept waiting by it. */
enum { LOOP_AFTER_NS = 20000000 };

/* Resolution of the clock of turns; much shorter than a turn. */
enum { LOOP_CLOCK_NS = 10000000 };

/* A moment of a thread: it ran at `begin_ns`, or was blocked from then on and runnable after
 * that. */
struct moment {
    int64_t begin_ns;
    uint64_t cpu_ns, blocked_ns, runnable_ns;
    uint32_t stack;
    uint8_t reason; /* enum wait_reason */
};

/* A long turn. A turn of a loop that ran inside of it has its own time. */
struct block {
    int64_t begin_ns, end_ns;
    uint32_t thread, others; /* tasks that continued right after it */
    uint64_t runnable_ns;
    uint64_t inner_ns; /* long turns inside of it */
};

/* The time of a block's thread at one stack. */
struct part {
    uint32_t block, row; /* row: the stack, until all samples are read */
    uint8_t reason;
    uint64_t cpu_ns, blocked_ns;
};

/* A thread and its turns. */
struct loop {
    VEC(uint32_t) blocks; /* in order of their ends; they nest or are apart */
    int64_t longest_ns;
    VEC(struct moment) recent;
    uint32_t recent_next; /* the oldest, if there are LOOP_RECENT */
};

/* A place and its waits. */
struct place {
    struct loop_place place;
    uint64_t waits_ns[WAIT_REASON_COUNT];
    uint32_t row, first; /* first: its index before sorting */
};

struct loop_blocks {
    const struct trace *trace;
    VEC(struct loop) loops; /* by thread */
    VEC(struct block) blocks;
    VEC(struct part) parts;
    VEC(struct place) sums;
    VEC(struct loop_place) places;
    VEC(struct loop_block) results;
    struct loop_totals totals;
};

struct loop_blocks *loop_blocks_create(const struct trace *trace)
{
    struct loop_blocks *blocks = calloc(1, sizeof(*blocks));
    if (blocks)
        blocks->trace = trace;
    return blocks;
}

void loop_blocks_destroy(struct loop_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->loops.count; i++) {
        vec_free(&blocks->loops.items[i].blocks);
        vec_free(&blocks->loops.items[i].recent);
    }
    vec_free(&blocks->loops);
    vec_free(&blocks->blocks);
    vec_free(&blocks->parts);
    vec_free(&blocks->sums);
    vec_free(&blocks->places);
    vec_free(&blocks->results);
    free(blocks);
}

/* NULL: out of memory. */
static struct loop *loop_of(struct loop_blocks *blocks, uint32_t thread)
{
    while (blocks->loops.count <= thread)
        if (vec_push(&blocks->loops, (struct loop){0}) != 0)
            return NULL;
    return &blocks->loops.items[thread];
}

/* ---- Match turns and samples ----------------------------------------------------------------- */

static uint64_t overlap_ns(const struct block *block, int64_t begin_ns, uint64_t length_ns)
{
    int64_t end_ns = begin_ns + (int64_t)length_ns;
    int64_t from_ns = begin_ns > block->begin_ns ? begin_ns : block->begin_ns;
    int64_t to_ns = end_ns < block->end_ns ? end_ns : block->end_ns;
    return to_ns > from_ns ? (uint64_t)(to_ns - from_ns) : 0;
}

static struct block *block_at(const struct loop_blocks *blocks, const struct loop *loop, size_t at)
{
    return &blocks->blocks.items[loop->blocks.items[at]];
}

/* Returns the index (in the loop's blocks) of its first turn that ends at `time_ns` or later. */
static size_t find_block(const struct loop_blocks *blocks, const struct loop *loop, int64_t time_ns)
{
    size_t low = 0, high = loop->blocks.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (block_at(blocks, loop, middle)->end_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The part of the time that is in a turn, but not in turns inside of it. */
static uint64_t own_overlap_ns(const struct loop_blocks *blocks, const struct loop *loop, size_t at,
                               int64_t begin_ns, uint64_t length_ns)
{
    const struct block *block = block_at(blocks, loop, at);
    uint64_t overlap = overlap_ns(block, begin_ns, length_ns);
    int64_t outer_ns = INT64_MAX; /* begin of the last turn directly inside */
    size_t next = overlap ? find_block(blocks, loop, begin_ns + (int64_t)length_ns) + 1 : 0;
    for (size_t i = next < at ? next : overlap ? at : 0; i-- > 0;) {
        const struct block *inner = block_at(blocks, loop, i);
        if (inner->end_ns <= begin_ns || inner->begin_ns < block->begin_ns)
            break;
        if (inner->begin_ns >= outer_ns)
            continue;
        overlap -= overlap_ns(inner, begin_ns, length_ns);
        outer_ns = inner->begin_ns;
    }
    return overlap;
}

/* True if a sample at that time is in the turn, but not in a turn inside of it. */
static bool ran_in(const struct loop_blocks *blocks, const struct loop *loop, size_t at,
                   int64_t time_ns)
{
    const struct block *block = block_at(blocks, loop, at);
    size_t first = find_block(blocks, loop, time_ns);
    bool ran = time_ns > block->begin_ns && time_ns <= block->end_ns;
    for (size_t i = first; i < at && ran; i++)
        ran = block_at(blocks, loop, i)->begin_ns >= time_ns;
    return ran;
}

static int join(struct loop_blocks *blocks, const struct loop *loop, size_t at,
                const struct moment *moment)
{
    uint32_t index = loop->blocks.items[at];
    struct block *block = &blocks->blocks.items[index];
    bool ran = ran_in(blocks, loop, at, moment->begin_ns);
    int64_t ready_from_ns = moment->begin_ns + (int64_t)moment->blocked_ns;
    struct part part = {.block = index,
                        .row = moment->stack,
                        .reason = moment->reason,
                        .cpu_ns = ran ? moment->cpu_ns : 0,
                        .blocked_ns =
                            own_overlap_ns(blocks, loop, at, moment->begin_ns, moment->blocked_ns)};
    block->runnable_ns += own_overlap_ns(blocks, loop, at, ready_from_ns, moment->runnable_ns);
    bool counts = part.cpu_ns + part.blocked_ns > 0 && blocks->parts.count < LOOP_PARTS_MAX;
    return counts ? vec_push(&blocks->parts, part) : 0;
}

static int join_known(struct loop_blocks *blocks, const struct loop *loop,
                      const struct moment *moment)
{
    int64_t end_ns = moment->begin_ns + (int64_t)(moment->blocked_ns + moment->runnable_ns);
    int error = 0;
    for (size_t i = find_block(blocks, loop, moment->begin_ns); i < loop->blocks.count; i++) {
        const struct block *block = block_at(blocks, loop, i);
        if (error || block->end_ns - loop->longest_ns > end_ns)
            break;
        if (block->begin_ns <= end_ns)
            error = join(blocks, loop, i, moment);
    }
    return error;
}

/* Keeps the latest samples; the buffer grows on demand, as most threads have few. */
static int keep(struct loop *loop, const struct moment *moment)
{
    if (loop->recent.count < LOOP_RECENT)
        return vec_push(&loop->recent, *moment);
    loop->recent.items[loop->recent_next] = *moment;
    loop->recent_next = (loop->recent_next + 1) % LOOP_RECENT;
    return 0;
}

static int take_sample(struct loop_blocks *blocks, const struct sample *sample)
{
    const struct sample_sets *sets = trace_sets_get(blocks->trace);
    enum sample_role role = sample_role(sets, sample);
    if (role != SAMPLE_ROLE_CPU && role != SAMPLE_ROLE_OFF_CPU)
        return 0;
    struct loop *loop = loop_of(blocks, sample->thread);
    if (!loop)
        return -ENOMEM;
    struct off_share off =
        role == SAMPLE_ROLE_OFF_CPU ? sample_off_share(sets, sample) : (struct off_share){0};
    const struct moment moment = {.begin_ns = sample->time_ns,
                                  .cpu_ns = sample_cpu_ns(sets, sample),
                                  .blocked_ns = off.blocked_ns,
                                  .runnable_ns = off.runnable_ns,
                                  .stack = sample->stack,
                                  .reason = sample->reason < WAIT_REASON_COUNT ? sample->reason
                                                                               : WAIT_UNKNOWN};
    int error = join_known(blocks, loop, &moment);
    return error ? error : keep(loop, &moment);
}

/* ---- Marks ------------------------------------------------------------------------- */

/* Makes the turn nest with the turns before it, which the coarse clock may have overlapped. */
static void nest(const struct loop_blocks *blocks, const struct loop *loop, struct block *block)
{
    int64_t outer_ns = INT64_MAX;
    for (size_t i = loop->blocks.count; i-- > 0;) {
        const struct block *before = block_at(blocks, loop, i);
        if (before->begin_ns >= outer_ns)
            continue;
        if (before->begin_ns < block->begin_ns - LOOP_CLOCK_NS) {
            block->begin_ns = block->begin_ns > before->end_ns ? block->begin_ns : before->end_ns;
            return;
        }
        outer_ns = before->begin_ns;
        block->begin_ns = block->begin_ns < outer_ns ? block->begin_ns : outer_ns;
        block->inner_ns += (uint64_t)(before->end_ns - before->begin_ns);
    }
}

static int take_mark(struct loop_blocks *blocks, const struct event *mark,
                     const struct args *values)
{
    uint64_t ns = awaits_duration_ns(blocks->trace, values);
    struct loop *loop = loop_of(blocks, mark->thread);
    if (!loop)
        return -ENOMEM;
    struct block block = {
        .begin_ns = mark->time_ns, .end_ns = mark->time_ns, .thread = mark->thread};
    if (ns < LOOP_BLOCK_NS || blocks->blocks.count >= LOOP_BLOCKS_MAX)
        return 0;
    block.begin_ns -= (int64_t)ns;
    nest(blocks, loop, &block);
    if (block.end_ns - block.begin_ns > loop->longest_ns)
        loop->longest_ns = block.end_ns - block.begin_ns;
    uint32_t index = (uint32_t)blocks->blocks.count;
    if (vec_push(&blocks->blocks, block) != 0 || vec_push(&loop->blocks, index) != 0)
        return -ENOMEM;
    int error = 0;
    for (uint32_t i = 0; i < loop->recent.count && !error; i++)
        error = join(blocks, loop, loop->blocks.count - 1, &loop->recent.items[i]);
    return error;
}

/* A task continues after it awaited something outside of the program: a turn that ended just before
 * kept it waiting. */
static void take_awaited(struct loop_blocks *blocks, const struct event *mark,
                         const struct args *values)
{
    int64_t begin_ns = mark->time_ns - (int64_t)awaits_duration_ns(blocks->trace, values);
    const struct loop *loop =
        mark->thread < blocks->loops.count ? &blocks->loops.items[mark->thread] : NULL;
    size_t next = loop ? find_block(blocks, loop, mark->time_ns) : 0;
    if (next == 0 || awaits_is_inside(blocks->trace, values))
        return;
    struct block *block = &blocks->blocks.items[loop->blocks.items[next - 1]];
    bool before = begin_ns < block->end_ns - (block->end_ns - block->begin_ns) / 2;
    block->others += before && mark->time_ns - block->end_ns < LOOP_AFTER_NS;
}

static int take(void *context, const struct item *item)
{
    struct loop_blocks *blocks = context;
    if (item->kind == ITEM_SAMPLE)
        return take_sample(blocks, item->sample);
    if (item->kind != ITEM_INSTANT)
        return 0;
    const struct scope *scope = trace_scope(blocks->trace, item->event->scope);
    if (scope->observer != OBSERVER_ASYNCIO)
        return 0;
    if (scope->role == ASYNCIO_ROLE_AWAITED)
        take_awaited(blocks, item->event, &item->args);
    return scope->role == ASYNCIO_ROLE_BLOCKED ? take_mark(blocks, item->event, &item->args) : 0;
}

struct sink loop_blocks_sink(struct loop_blocks *blocks, bool with_samples)
{
    bool any = trace_has_observer(blocks->trace, OBSERVER_ASYNCIO);
    return (struct sink){take, blocks, any ? WANT_EVENTS | (with_samples ? WANT_SAMPLES : 0) : 0};
}

/* ---- Results --------------------------------------------------------------------------------- */

static uint64_t time_of(const struct block *block)
{
    uint64_t length_ns = (uint64_t)(block->end_ns - block->begin_ns);
    uint64_t other_ns = block->runnable_ns + block->inner_ns;
    return length_ns > other_ns ? length_ns - other_ns : 0;
}

static bool counts(const struct block *block)
{
    return block->others > 0 && time_of(block) >= LOOP_BLOCK_NS;
}

static void count_loop(struct loop_blocks *blocks, const struct loop *loop)
{
    struct loop_totals *totals = &blocks->totals;
    uint64_t time_ns = 0;
    for (size_t i = 0; i < loop->blocks.count; i++) {
        const struct block *block = &blocks->blocks.items[loop->blocks.items[i]];
        if (!counts(block))
            continue;
        time_ns += time_of(block);
        totals->count++;
        totals->waiting = block->others > totals->waiting ? block->others : totals->waiting;
    }
    totals->loops += time_ns > 0;
    totals->time_ns = time_ns > totals->time_ns ? time_ns : totals->time_ns;
}

static int by_block(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static struct place *place_of(struct loop_blocks *blocks, const struct own_time *own, uint32_t row)
{
    for (size_t i = 0; i < blocks->sums.count; i++)
        if (blocks->sums.items[i].row == row)
            return &blocks->sums.items[i];
    struct place fresh = {.row = row};
    if (row != UINT32_MAX) {
        const struct own_row *known = own_time_row(own, row);
        fresh.place.label = known->label;
        fresh.place.purpose = known->purpose;
        fresh.place.line = known->line;
    }
    if (vec_push(&blocks->sums, fresh) != 0)
        return NULL;
    return &blocks->sums.items[blocks->sums.count - 1];
}

/* Finds the row with most time among a block's parts, which start at `first`; returns the end of
 * these parts. */
static size_t find_row(const struct loop_blocks *blocks, uint32_t block, size_t first,
                       uint32_t *ret_row)
{
    const struct part *parts = blocks->parts.items;
    uint64_t most_ns = 0, time_ns = 0;
    *ret_row = UINT32_MAX;
    for (; first < blocks->parts.count && parts[first].block == block; first++) {
        bool same = time_ns > 0 && parts[first - 1].row == parts[first].row;
        time_ns = (same ? time_ns : 0) + parts[first].cpu_ns + parts[first].blocked_ns;
        if (time_ns > most_ns) {
            most_ns = time_ns;
            *ret_row = parts[first].row;
        }
    }
    return first;
}

static int add_block(struct loop_blocks *blocks, const struct own_time *own, uint32_t index,
                     size_t *first)
{
    const struct block *block = &blocks->blocks.items[index];
    uint32_t row;
    size_t begin = *first;
    *first = find_row(blocks, index, begin, &row);
    if (!counts(block))
        return 0;
    struct place *place = place_of(blocks, own, row);
    if (!place)
        return -ENOMEM;
    uint64_t time_ns = time_of(block);
    const struct loop_block result = {.begin_ns = block->begin_ns,
                                      .end_ns = block->end_ns,
                                      .time_ns = time_of(block),
                                      .thread = block->thread,
                                      .others = block->others,
                                      .place = (uint32_t)(place - blocks->sums.items)};
    if (vec_push(&blocks->results, result) != 0)
        return -ENOMEM;
    place->place.count++;
    place->place.time_ns += time_ns;
    place->place.max_ns = time_ns > place->place.max_ns ? time_ns : place->place.max_ns;
    for (size_t i = begin; i < *first; i++) {
        const struct part *part = &blocks->parts.items[i];
        place->place.blocked_ns += part->blocked_ns;
        place->waits_ns[part->reason] += part->blocked_ns;
    }
    return 0;
}

static uint8_t main_reason(const struct place *place)
{
    unsigned most = WAIT_UNKNOWN;
    for (unsigned i = 0; i < WAIT_REASON_COUNT; i++)
        if (place->waits_ns[i] > place->waits_ns[most])
            most = i;
    return (uint8_t)most;
}

static int longest_first(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->place.time_ns != b->place.time_ns)
        return a->place.time_ns < b->place.time_ns ? 1 : -1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int by_time(const void *left, const void *right)
{
    const struct loop_block *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Sorts the places and replaces the place indices of blocks by ranks. */
static int rank_places(struct loop_blocks *blocks, uint32_t *ranks)
{
    for (size_t i = 0; i < blocks->sums.count; i++)
        blocks->sums.items[i].first = (uint32_t)i;
    qsort(blocks->sums.items, blocks->sums.count, sizeof(*blocks->sums.items), longest_first);
    for (size_t i = 0; i < blocks->sums.count; i++) {
        struct place *place = &blocks->sums.items[i];
        place->place.reason = main_reason(place);
        ranks[place->first] = (uint32_t)i;
        if (vec_push(&blocks->places, place->place) != 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < blocks->results.count; i++)
        blocks->results.items[i].place = ranks[blocks->results.items[i].place];
    qsort(blocks->results.items, blocks->results.count, sizeof(*blocks->results.items), by_time);
    return 0;
}

static int make_places(struct loop_blocks *blocks)
{
    if (blocks->sums.count == 0)
        return 0;
    uint32_t *ranks = calloc(blocks->sums.count, sizeof(*ranks));
    int error = ranks ? rank_places(blocks, ranks) : -ENOMEM;
    free(ranks);
    return error;
}

int loop_blocks_finish(struct loop_blocks *blocks, const struct own_time *own)
{
    size_t first = 0;
    int32_t line;
    int error = 0;
    for (size_t i = 0; i < blocks->loops.count; i++)
        count_loop(blocks, &blocks->loops.items[i]);
    for (size_t i = 0; i < blocks->parts.count; i++) {
        struct part *part = &blocks->parts.items[i];
        part->row = own ? own_time_row_of(own, part->row, &line) : UINT32_MAX;
    }
    if (blocks->parts.count > 0)
        qsort(blocks->parts.items, blocks->parts.count, sizeof(*blocks->parts.items), by_block);
    for (uint32_t i = 0; i < blocks->blocks.count && !error; i++)
        error = add_block(blocks, own, i, &first);
    return error ? error : make_places(blocks);
}

const struct loop_totals *loop_blocks_totals(const struct loop_blocks *blocks)
{
    return &blocks->totals;
}

uint32_t loop_blocks_places(const struct loop_blocks *blocks, const struct loop_place **ret_places)
{
    *ret_places = blocks->places.items;
    return (uint32_t)blocks->places.count;
}

uint32_t loop_blocks_each(const struct loop_blocks *blocks, const struct loop_block **ret_blocks)
{
    *ret_blocks = blocks->results.items;
    return (uint32_t)blocks->results.count;
}
