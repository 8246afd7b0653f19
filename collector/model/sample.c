/* SPDX-License-Identifier: MIT */
/* What a sample says in numbers, and its parts. Numbers of later versions have a name as well:
 * unknown. Thread-safety: one thread per object. */
#include "sample.h"

#include <errno.h>
#include <stdlib.h>

const char *wait_reason_name(enum wait_reason reason)
{
    static const char *const names[WAIT_REASON_COUNT] = {
        [WAIT_UNKNOWN] = "unknown",     [WAIT_PREEMPTED] = "preempted",
        [WAIT_DISK] = "disk",           [WAIT_PAGE_FAULT] = "page fault",
        [WAIT_PIPE] = "pipe",           [WAIT_SOCKET] = "socket",
        [WAIT_LOCK] = "lock",           [WAIT_GIL] = "the GIL",
        [WAIT_SLEEP] = "sleep",         [WAIT_POLL] = "poll",
        [WAIT_CHILD] = "child process", [WAIT_TERMINAL] = "terminal",
        [WAIT_SIGNAL] = "signal",       [WAIT_OTHER_FILE] = "other file",
    };
    return (unsigned)reason < WAIT_REASON_COUNT ? names[reason] : "unknown";
}

const char *stack_end_name(unsigned end)
{
    static const char *const names[STACK_END_COUNT] = {
        [STACK_NOT_WALKED] = "not walked",
        [STACK_COMPLETE] = "complete",
        [STACK_DEPTH] = "too deep",
        [STACK_NO_MAPPING] = "address in no known mapping",
        [STACK_NO_TABLE] = "no unwind table",
        [STACK_NO_RULE] = "no unwind rule",
        [STACK_FAULT] = "memory not readable",
        [STACK_FRAME_POINTER] = "code without table or frame pointer",
        [STACK_NO_REGISTER] = "a register was lost",
        [STACK_CYCLE] = "stack pointer does not move",
        [STACK_TORN] = "a frame was being made",
        [STACK_NO_THREAD] = "thread unknown to the interpreter",
        [STACK_BAD_FRAME] = "damaged frame",
        [STACK_NO_FILE] = "library not readable",
    };
    return end < STACK_END_COUNT ? names[end] : "unknown";
}

struct off_share sample_off_share(const struct sample_sets *sets, const struct sample *sample)
{
    if (sample->set == SAMPLE_SET_OFF_CPU && sample->value_count == 2) /* as its types say */
        return (struct off_share){.blocked_ns = (uint64_t)sample->values[0],
                                  .runnable_ns = (uint64_t)sample->values[1]};
    if (sample_role(sets, sample) != SAMPLE_ROLE_OFF_CPU)
        return (struct off_share){0};
    return (struct off_share){
        .runnable_ns = (uint64_t)sample_value(sets, sample, VALUE_TYPE_RUNNABLE),
        .blocked_ns = (uint64_t)sample_value(sets, sample, VALUE_TYPE_BLOCKED)};
}

void sample_set_wait(struct sample *sample, int64_t wake_ns, int64_t values[2])
{
    if (sample->end_ns < sample->time_ns)
        sample->end_ns = sample->time_ns;
    int64_t ready_ns = sample->reason == WAIT_PREEMPTED ? sample->time_ns : sample->end_ns;
    if (wake_ns)
        ready_ns = wake_ns;
    if (ready_ns > sample->end_ns)
        ready_ns = sample->end_ns;
    if (ready_ns < sample->time_ns)
        ready_ns = sample->time_ns;
    sample->set = SAMPLE_SET_OFF_CPU;
    values[0] = (int64_t)((uint64_t)ready_ns - (uint64_t)sample->time_ns);
    values[1] = (int64_t)((uint64_t)sample->end_ns - (uint64_t)ready_ns);
    sample->values = values;
    sample->value_count = 2;
}

/* Each part is as long as it is in what is left; they come one behind the other. */
static void cut_parts(struct sample *sample, int64_t from_ns, int64_t to_ns, int64_t *values)
{
    uint64_t at = (uint64_t)sample->time_ns, from = (uint64_t)from_ns, to = (uint64_t)to_ns;
    uint64_t begin = 0, low = from - at, high = to - at; /* since its begin */
    int count = sample->value_count < SAMPLE_VALUES_MAX ? sample->value_count : SAMPLE_VALUES_MAX;
    for (int i = 0; i < count; i++) {
        uint64_t end = begin + (uint64_t)sample->values[i];
        uint64_t first = begin < low ? low : begin, last = end < high ? end : high;
        values[i] = last > first ? (int64_t)(last - first) : 0;
        begin = end;
    }
    sample->values = values;
    sample->value_count = (uint8_t)count;
    sample->time_ns = from_ns;
    sample->end_ns = to_ns;
}

bool sample_cut(const struct sample_sets *sets, struct sample *sample, int64_t from_ns,
                int64_t to_ns, int64_t values[SAMPLE_VALUES_MAX])
{
    unsigned flags = sample_set_get(sets, sample->set)->flags;
    if (flags & SAMPLE_SET_INTERVAL)
        return sample->time_ns >= from_ns && sample_told_ns(sample) <= to_ns;
    if (!(flags & SAMPLE_SET_STRETCH))
        return sample->time_ns >= from_ns && sample->time_ns < to_ns;
    if (sample->end_ns <= from_ns || sample->time_ns >= to_ns)
        return false;
    if (sample->time_ns < from_ns || sample->end_ns > to_ns)
        cut_parts(sample, sample->time_ns < from_ns ? from_ns : sample->time_ns,
                  sample->end_ns > to_ns ? to_ns : sample->end_ns, values);
    return true;
}

/* ---- Values that are kept -------------------------------------------------------------------- */

enum { SLAB_BYTES = 16384 };

union row {
    union row *next; /* of those that are free */
    int64_t value;
};

struct slab {
    struct slab *next;
    union row rows[];
};

/* Of the row in which so many values fit: 0 to 3. */
static unsigned class_of(unsigned count)
{
    return count > 4 ? 3 : count > 2 ? 2 : count > 1;
}

static int add_slab(struct value_pool *pool, unsigned class)
{
    struct slab *slab = malloc(SLAB_BYTES);
    size_t size = (size_t)1 << class, count = (SLAB_BYTES - sizeof(*slab)) / sizeof(union row);
    if (!slab)
        return -ENOMEM;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (size_t at = 0; at + size <= count; at += size) {
        slab->rows[at].next = pool->free[class];
        pool->free[class] = &slab->rows[at];
    }
    return 0;
}

int value_pool_keep(struct value_pool *pool, struct sample *sample)
{
    if (sample->value_count > SAMPLE_VALUES_MAX)
        sample->value_count = SAMPLE_VALUES_MAX;
    unsigned class = class_of(sample->value_count);
    if (sample->value_count == 0)
        return 0;
    if (!pool->free[class] && add_slab(pool, class) != 0)
        return -ENOMEM;
    union row *row = pool->free[class];
    pool->free[class] = row->next;
    for (unsigned i = 0; i < sample->value_count; i++)
        row[i].value = sample->values[i];
    sample->values = &row->value;
    return 0;
}

void value_pool_drop(struct value_pool *pool, const struct sample *sample)
{
    if (sample->value_count == 0)
        return;
    unsigned class = class_of(sample->value_count);
    union row *row = (union row *)(uintptr_t)sample->values;
    row->next = pool->free[class];
    pool->free[class] = row;
}

void value_pool_free(struct value_pool *pool)
{
    for (struct slab *slab = pool->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    *pool = (struct value_pool){0};
}
