/* SPDX-License-Identifier: MIT */
/* Values of a sample, its parts, and its set. Numbers of later versions are named "unknown".
 * Thread-safety: one thread per object. */
#include "sample.h"
#include "vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    if (sample->set == SAMPLE_SET_OFF_CPU && sample->value_count == 2) /* fast path */
        return (struct off_share){.blocked_ns = (uint64_t)sample->values[0],
                                  .runnable_ns = (uint64_t)sample->values[1]};
    enum sample_role role = sample_role(sets, sample);
    if (role != SAMPLE_ROLE_OFF_CPU && role != SAMPLE_ROLE_SHORT_WAITS)
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

/* Cuts the parts, which follow each other, to [from_ns, to_ns). */
static void cut_parts(struct sample *sample, int64_t from_ns, int64_t to_ns, int64_t *values)
{
    uint64_t at = (uint64_t)sample->time_ns, from = (uint64_t)from_ns, to = (uint64_t)to_ns;
    uint64_t begin = 0, low = from - at, high = to - at; /* since the sample's start */
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

/* Share of a value that is spread evenly over `whole_ns` in its first `first_ns`. */
static int64_t part_of(int64_t value, int64_t first_ns, int64_t whole_ns)
{
    return (int64_t)((double)value * ((double)first_ns / (double)whole_ns));
}

/* Short waits have no known place in their interval. Cutting at one time gives parts that add
 * up. */
static bool cut_evenly(struct sample *sample, int64_t from_ns, int64_t to_ns, int64_t *values)
{
    int64_t begin_ns = sample->time_ns, whole_ns = sample_order_ns(sample) - begin_ns;
    int count = sample->value_count < SAMPLE_VALUES_MAX ? sample->value_count : SAMPLE_VALUES_MAX;
    from_ns = from_ns > begin_ns ? from_ns : begin_ns;
    to_ns = to_ns < begin_ns + whole_ns ? to_ns : begin_ns + whole_ns;
    if (to_ns <= from_ns)
        return false;
    for (int i = 0; i < count; i++)
        values[i] = part_of(sample->values[i], to_ns - begin_ns, whole_ns) -
                    part_of(sample->values[i], from_ns - begin_ns, whole_ns);
    sample->values = values;
    sample->value_count = (uint8_t)count;
    sample->time_ns = from_ns;
    sample->end_ns = to_ns;
    return true;
}

bool sample_cut(const struct sample_sets *sets, struct sample *sample, int64_t from_ns,
                int64_t to_ns, int64_t values[SAMPLE_VALUES_MAX])
{
    unsigned flags = sample_set_get(sets, sample->set)->flags;
    bool inside = sample->time_ns >= from_ns && sample_order_ns(sample) <= to_ns;
    if (sample_role(sets, sample) == SAMPLE_ROLE_SHORT_WAITS && !inside)
        return cut_evenly(sample, from_ns, to_ns, values);
    if (flags & SAMPLE_SET_INTERVAL)
        return inside;
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
    union row *next; /* in a free row */
    int64_t value;
};

struct slab {
    struct slab *next;
    union row rows[];
};

/* Size class for `count` values: 0 to 3. */
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

/* ---- Sets ----------------------------------------------------------------------------------- */

/* The format's own types and sets, and those of one recording by number. Thread-safety: none. */

struct value_types {
    VEC(struct value_type) items; /* by number */
};

static const struct {
    const char *name, *unit;
} fixed_types[VALUE_TYPE_FIXED] = {
    [VALUE_TYPE_CPU] = {"cpu", "ns"},
    [VALUE_TYPE_RUNNABLE] = {"runnable", "ns"},
    [VALUE_TYPE_BLOCKED] = {"blocked", "ns"},
    [VALUE_TYPE_WALL] = {"wall", "ns"},
    [VALUE_TYPE_GPU] = {"gpu", "ns"},
    [VALUE_TYPE_SAMPLES] = {"samples", ""},
    [VALUE_TYPE_CALLS] = {"calls", ""},
    [VALUE_TYPE_ALLOC_BYTES] = {"alloc-bytes", "bytes"},
    [VALUE_TYPE_ALLOC_OBJECTS] = {"alloc-objects", ""},
    [VALUE_TYPE_FREE_BYTES] = {"free-bytes", "bytes"},
    [VALUE_TYPE_FREE_OBJECTS] = {"free-objects", ""},
    [VALUE_TYPE_CYCLES] = {"cycles", ""},
    [VALUE_TYPE_INSTRUCTIONS] = {"instructions", ""},
    [VALUE_TYPE_CACHE_MISSES] = {"cache-misses", ""},
    [VALUE_TYPE_BRANCH_MISSES] = {"branch-misses", ""},
    [VALUE_TYPE_FLOPS] = {"flops", ""},
    [VALUE_TYPE_DRAM_BYTES] = {"dram-bytes", "bytes"},
    [VALUE_TYPE_ENERGY] = {"energy", "uJ"},
    [VALUE_TYPE_CALLEES] = {"callees", ""},
    [VALUE_TYPE_CALLEE_TIME] = {"callee-time", "ns"},
    [VALUE_TYPE_LIFETIME] = {"lifetime", "ns"},
};

const struct sample_set sample_sets_fixed[SAMPLE_SET_FIXED] = {
    [SAMPLE_SET_CPU] = {.count = 1, .role = SAMPLE_ROLE_CPU, .types = {VALUE_TYPE_CPU}},
    [SAMPLE_SET_OFF_CPU] = {.flags = SAMPLE_SET_STRETCH,
                            .count = 2,
                            .role = SAMPLE_ROLE_OFF_CPU,
                            .types = {VALUE_TYPE_BLOCKED, VALUE_TYPE_RUNNABLE}},
    [SAMPLE_SET_SHORT_WAITS] = {.flags = SAMPLE_SET_INTERVAL,
                                .count = 2,
                                .role = SAMPLE_ROLE_SHORT_WAITS,
                                .types = {VALUE_TYPE_BLOCKED, VALUE_TYPE_RUNNABLE}},
};

static const char *const set_names[SAMPLE_SET_FIXED] = {[SAMPLE_SET_NONE] = "",
                                                        [SAMPLE_SET_CPU] = "cpu",
                                                        [SAMPLE_SET_OFF_CPU] = "off-cpu",
                                                        [SAMPLE_SET_SHORT_WAITS] = "short-waits"};

struct sample_sets *sample_sets_create(void)
{
    struct sample_sets *sets = calloc(1, sizeof(*sets));
    if (sets)
        sets->types = calloc(1, sizeof(*sets->types));
    if (sets && sets->types)
        return sets;
    sample_sets_destroy(sets);
    return NULL;
}

void sample_sets_destroy(struct sample_sets *sets)
{
    if (!sets)
        return;
    if (sets->types)
        vec_free(&sets->types->items);
    free(sets->types);
    free(sets->sets);
    free(sets);
}

const struct value_type *value_type_get(const struct sample_sets *sets, unsigned number)
{
    static const struct value_type undefined, adds = {.sum = VALUE_SUM_ADDS},
                                              level = {.sum = VALUE_SUM_LEVEL};
    if (number == VALUE_TYPE_LIFETIME)
        return &level;
    if (number < VALUE_TYPE_FIXED)
        return number ? &adds : &undefined;
    return sets && number < sets->types->items.count ? &sets->types->items.items[number]
                                                     : &undefined;
}

unsigned sample_sets_count(const struct sample_sets *sets)
{
    return sets->count ? sets->count : SAMPLE_SET_FIXED;
}

unsigned value_types_count(const struct sample_sets *sets)
{
    return sets->types->items.count ? (unsigned)sets->types->items.count : VALUE_TYPE_FIXED;
}

const char *sample_set_fixed_name(unsigned number)
{
    return number < SAMPLE_SET_FIXED ? set_names[number] : NULL;
}

const char *value_type_fixed_name(unsigned number)
{
    return number < VALUE_TYPE_FIXED ? (number ? fixed_types[number].name : "") : NULL;
}

const char *value_type_fixed_unit(unsigned number)
{
    return number < VALUE_TYPE_FIXED ? (number ? fixed_types[number].unit : "") : NULL;
}

/* Calls or lines that were counted, and the time in them. */
static uint8_t counted_role(const struct sample_set *set)
{
    bool exact = set->flags & SAMPLE_SET_EXACT && !(set->flags & SAMPLE_SET_HEAP);
    bool counts =
        sample_set_index(set, VALUE_TYPE_CALLS) >= 0 && sample_set_index(set, VALUE_TYPE_WALL) >= 0;
    bool of_lines = set->flags & SAMPLE_SET_LINES;
    if (of_lines && sample_set_index(set, VALUE_TYPE_CALLEE_TIME) >= 0)
        counts = true;
    if (!exact || !counts)
        return SAMPLE_ROLE_OTHER;
    return of_lines ? SAMPLE_ROLE_LINES : SAMPLE_ROLE_CALLS;
}

/* A set with an unknown flag has no known meaning. */
static uint8_t role_of(const struct sample_set *set)
{
    if (set->flags & ~(unsigned)SAMPLE_SET_FLAGS_KNOWN)
        return SAMPLE_ROLE_OTHER;
    if (set->flags & SAMPLE_SET_LAUNCH)
        return set->flags & (SAMPLE_SET_STRETCH | SAMPLE_SET_INTERVAL) ? SAMPLE_ROLE_OTHER
                                                                       : SAMPLE_ROLE_LAUNCH;
    bool off = sample_set_index(set, VALUE_TYPE_BLOCKED) >= 0 ||
               sample_set_index(set, VALUE_TYPE_RUNNABLE) >= 0;
    if (set->flags & SAMPLE_SET_STRETCH)
        return off ? SAMPLE_ROLE_OFF_CPU : SAMPLE_ROLE_OTHER;
    if (set->flags & SAMPLE_SET_INTERVAL)
        return off ? SAMPLE_ROLE_SHORT_WAITS : counted_role(set);
    return sample_set_index(set, VALUE_TYPE_CPU) >= 0 ? SAMPLE_ROLE_CPU : SAMPLE_ROLE_OTHER;
}

static bool same_set(const struct sample_set *a, const struct sample_set *b)
{
    return a->name == b->name && a->period == b->period && a->flags == b->flags &&
           a->count == b->count && memcmp(a->types, b->types, a->count * sizeof(a->types[0])) == 0;
}

/* True if it has no name, no values and no flags. */
static bool is_empty(const struct sample_set *set)
{
    return set->name == 0 && set->count == 0 && set->flags == 0;
}

int sample_sets_define(struct sample_sets *sets, unsigned number, const struct sample_set *set)
{
    if (number == 0 || number >= SAMPLE_SET_MAX || set->count > SAMPLE_VALUES_MAX)
        return -EBADMSG;
    if (number < SAMPLE_SET_FIXED)
        return 0;
    size_t capacity = sets->capacity;
    if (vec_grow((void **)&sets->sets, &capacity, number + 1u, sizeof(*sets->sets)) != 0)
        return -ENOMEM;
    sets->capacity = (uint32_t)capacity;
    while (sets->count <= number)
        sets->sets[sets->count++] = sample_sets_fixed[0];
    struct sample_set *entry = &sets->sets[number];
    if (!is_empty(entry))
        return same_set(entry, set) ? 0 : -EBADMSG;
    *entry = *set;
    entry->role = role_of(set);
    return 0;
}

int value_types_define(struct sample_sets *sets, unsigned number, const struct value_type *type)
{
    static const struct value_type undefined;
    if (number == 0 || number >= VALUE_TYPE_MAX)
        return -EBADMSG;
    if (number < VALUE_TYPE_FIXED)
        return 0;
    while (sets->types->items.count <= number)
        if (vec_push(&sets->types->items, undefined) != 0)
            return -ENOMEM;
    struct value_type *entry = &sets->types->items.items[number];
    bool known = entry->name != 0 || entry->unit != 0 || entry->sum != 0;
    if (known &&
        (entry->name != type->name || entry->unit != type->unit || entry->sum != type->sum))
        return -EBADMSG;
    *entry = *type;
    return 0;
}

int64_t sample_sets_add(struct sample_sets *sets, const struct sample_set *set)
{
    unsigned number = sample_sets_count(sets);
    if (number < SAMPLE_SET_OWN)
        number = SAMPLE_SET_OWN;
    if (number >= SAMPLE_SET_MAX)
        return -ENOSPC;
    int error = sample_sets_define(sets, number, set);
    return error ? error : (int64_t)number;
}

int64_t value_types_add(struct sample_sets *sets, const struct value_type *type)
{
    unsigned number = value_types_count(sets);
    if (number < VALUE_TYPE_OWN)
        number = VALUE_TYPE_OWN;
    if (number >= VALUE_TYPE_MAX)
        return -ENOSPC;
    int error = value_types_define(sets, number, type);
    return error ? error : (int64_t)number;
}
