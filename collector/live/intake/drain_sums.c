/* SPDX-License-Identifier: MIT */
/* Calls and lines that a program counts: its threads keep sums in separate blocks and update them
 * in place. About once a second, and at the end, the increase of a sum since the last look becomes
 * a sample of a set that counts, with the stack of its callers.
 *
 * Updates made during a look are read at the next one; after the program's death the sums are
 * complete. All of it is foreign: an invalid sum is lost, and no number decreases. Thread-safety:
 * none. */
#include "drain_sums.h"

#include "clock_map.h"
#include "drain.h"

#include "annot_barrier.h"
#include "clock_now.h"
#include "intake_admit.h"
#include "sample.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS INT64_C(1000000000)

/* Above the largest value of a recording. */
#define COUNT_MAX (UINT64_C(1) << 50)

/* By enum annot_wire_sum_kind. */
static const struct {
    const char *name;
    uint8_t flags, role;
    uint16_t types[COUNTED_VALUES];
} kinds[DRAIN_SUM_KINDS] = {
    [ANNOT_WIRE_SUM_CALLS] = {"calls",
                              SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                              SAMPLE_ROLE_CALLS,
                              {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}},
    [ANNOT_WIRE_SUM_LINES] = {"lines",
                              SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
                              SAMPLE_ROLE_LINES,
                              {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}},
    [ANNOT_WIRE_SUM_CALLEES] = {"lines: callees",
                                SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
                                SAMPLE_ROLE_LINES,
                                {VALUE_TYPE_CALLEES, VALUE_TYPE_CALLEE_TIME}},
};

/* ---- Sets ------------------------------------------------------------------------------------ */

unsigned counted_kind(const struct sample_set *set)
{
    for (unsigned kind = 1; kind < DRAIN_SUM_KINDS; kind++)
        if (set->role == kinds[kind].role && set->count == COUNTED_VALUES &&
            set->types[0] == kinds[kind].types[0] && set->types[1] == kinds[kind].types[1])
            return kind;
    return 0;
}

/* The set of another segment, or of a continued recording. */
static unsigned find_set(const struct trace *trace, unsigned kind)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++)
        if (counted_kind(sample_set_get(sets, i)) == kind)
            return i;
    return 0;
}

/* The set's index; -ENOMEM; -ENOSPC: too many sets. */
static int64_t need_set(struct drain *drain, unsigned kind)
{
    struct trace *trace = drain->trace;
    uint16_t *known = &drain->sum_sets[kind];
    if (*known == 0)
        *known = (uint16_t)find_set(trace, kind);
    if (*known != 0)
        return *known;
    int64_t name = trace_string_add(trace, kinds[kind].name, strlen(kinds[kind].name));
    if (name < 0)
        return name;
    const struct sample_set set = {.name = (uint32_t)name,
                                   .flags = kinds[kind].flags,
                                   .count = COUNTED_VALUES,
                                   .types = {kinds[kind].types[0], kinds[kind].types[1]}};
    int64_t number = sample_sets_add(trace_sets(trace), &set);
    if (number > 0)
        *known = (uint16_t)number;
    return number;
}

/* ---- What a recording has already ------------------------------------------------------------ */

static uint64_t key_of(uint32_t thread, uint32_t stack, unsigned kind)
{
    return (uint64_t)kind << 62 ^ (uint64_t)thread << 32 ^ stack;
}

int counted_note(struct counted_sums *sums, const struct sample *sample, unsigned kind)
{
    uint64_t key = key_of(sample->thread, sample->stack, kind);
    const uint64_t *found = map64_find(&sums->by_key, key);
    size_t at = found ? *found : sums->items.count;
    if (!found && (vec_push(&sums->items, (struct counted){0}) != 0 ||
                   map64_put(&sums->by_key, key, at) != 0))
        return -ENOMEM;
    struct counted *counted = &sums->items.items[at];
    counted->count += (uint64_t)sample->values[0];
    counted->own_ns += (uint64_t)sample->values[1];
    if (sample->end_ns > counted->end_ns)
        counted->end_ns = sample->end_ns;
    return 0;
}

void counted_fini(struct counted_sums *sums)
{
    map64_free(&sums->by_key);
    vec_free(&sums->items);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

static unsigned kind_of(const struct annot_wire_sum *sum)
{
    return sum->what >> ANNOT_SUM_KIND_SHIFT;
}

static bool is_of_line(const struct annot_wire_sum *sum)
{
    return kind_of(sum) == ANNOT_WIRE_SUM_LINES || kind_of(sum) == ANNOT_WIRE_SUM_CALLEES;
}

/* The sum of a caller, of the same thread and added before; NULL if absent. */
static const struct drain_sum *find_caller(const struct drain *drain,
                                           const struct drain_sums *block, uint32_t reference)
{
    const uint64_t *found =
        map64_find(&drain->sums_by_block, 1 + (uint64_t)(reference - 1) / ANNOT_SUMS_OF_BLOCK);
    const struct drain_sums *other = found ? &drain->sums.items[*found] : NULL;
    uint32_t index = (reference - 1) % ANNOT_SUMS_OF_BLOCK;
    return other && other->is_met && other->serial == block->serial && index < other->items.count
               ? &other->items.items[index]
               : NULL;
}

/* The label of a CODE, or for calls that of a range's name; 0: neither. -ENOMEM, -EFAULT. */
static int64_t find_label(struct drain *drain, const struct annot_wire_sum *sum)
{
    uint32_t id = sum->what & ANNOT_SUM_CODE_MASK;
    struct names *names = &drain->decoder.names;
    int64_t name = names_by_id(names, id);
    if (name <= 0)
        return name;
    uint32_t label = trace_name_label(drain->trace, (uint32_t)name);
    if (label || is_of_line(sum) || names_entry(names, id) >> NAMES_KIND_SHIFT != NAMES_TEXT)
        return label;
    const struct trace_string *text = trace_string(drain->trace, (uint32_t)name);
    return trace_context_label(drain->trace, LABEL_RANGE, text->bytes, text->length);
}

/* Finds the stack of a sum; 0: invalid. -ENOMEM, -EFAULT. */
static int find_stack(struct drain *drain, const struct drain_sums *block,
                      const struct annot_wire_sum *sum, struct drain_sum *known)
{
    static const struct drain_sum no_caller = {0};
    struct stacks *stacks = trace_stacks(drain->trace);
    uint32_t line = is_of_line(sum) ? sum->where : 0;
    const struct drain_sum *caller =
        sum->where && !is_of_line(sum) ? find_caller(drain, block, sum->where) : &no_caller;
    if (!caller && drain->decoder.overwrites)
        caller = &no_caller; /* it was overwritten */
    int64_t label = find_label(drain, sum);
    if (label < 0)
        return (int)label;
    if (label == 0 || !caller || (caller != &no_caller && caller->stack == 0) ||
        caller->depth >= ANNOT_SUM_DEPTH_MAX || line > INT32_MAX)
        return 0;
    const struct frame frame = {.kind = stacks_get_label(stacks, (uint32_t)label)->kind,
                                .label = (uint32_t)label,
                                .line = (int32_t)line};
    int64_t place = stacks_frame(stacks, &frame);
    int64_t stack = place > 0 ? stacks_push(stacks, caller->stack, (uint32_t)place) : place;
    if (stack < 0)
        return -ENOMEM;
    known->stack = (uint32_t)stack;
    known->depth = (uint16_t)(caller->depth + 1);
    return 0;
}

/* Resolves a sum at the first look. 0 or -errno; an invalid stack stays 0. */
static int meet_sum(struct drain *drain, struct drain_sums *block, const struct annot_wire_sum *sum,
                    struct drain_sum *known)
{
    *known = (struct drain_sum){.begin_ns = block->begin_ns};
    uint32_t kind = kind_of(sum);
    if (kind >= DRAIN_SUM_KINDS || !kinds[kind].name)
        return 0; /* of a later minor version */
    int error = find_stack(drain, block, sum, known);
    if (error != 0)
        return error;
    int64_t set = known->stack ? need_set(drain, kind) : -ENOSPC;
    drain->corrupt += set == -ENOSPC;
    if (set == -ENOMEM)
        return -ENOMEM;
    known->set = set > 0 ? (uint16_t)set : 0;
    const uint64_t *found = drain->counted ? map64_find(&drain->counted->by_key,
                                                        key_of(block->thread, known->stack, kind))
                                           : NULL;
    if (found) {
        const struct counted *counted = &drain->counted->items.items[*found];
        known->count = counted->count;
        known->own_ns = counted->own_ns;
        known->begin_ns = counted->end_ns;
    }
    return 0;
}

static uint64_t own_ns(struct drain *drain, const struct annot_wire_sum *sum, int64_t now_ns)
{
    int64_t since_ns = sum->since ? decode_time(&drain->decoder, sum->since) : now_ns;
    uint64_t open_ns = since_ns < now_ns ? (uint64_t)(now_ns - since_ns) : 0;
    double pace = drain->decoder.monotonic ? 1 : drain->decoder.clock->ns_per_tick;
    return sum->ticks > COUNT_MAX ? UINT64_MAX : (uint64_t)((double)sum->ticks * pace) + open_ns;
}

/* Adds the increase of a sum to the samples. */
static void take_sum(struct drain *drain, const struct drain_sums *block,
                     const struct annot_wire_sum *sum, struct drain_sum *known)
{
    int64_t now_ns = drain->decoder.now_ns;
    uint64_t own = own_ns(drain, sum, now_ns);
    if (known->set == 0)
        return;
    if (sum->count > COUNT_MAX || own > COUNT_MAX) {
        drain->corrupt++;
        known->set = 0;
        return;
    }
    uint64_t count = sum->count > known->count ? sum->count - known->count : 0;
    own = own > known->own_ns ? own - known->own_ns : 0;
    if (count == 0 && own == 0)
        return;
    int64_t *values = drain->sum_values.items + drain->sum_values.count;
    values[0] = (int64_t)count;
    values[1] = (int64_t)own;
    drain->sum_values.count += COUNTED_VALUES;
    drain->sum_samples.items[drain->sum_samples.count++] =
        (struct sample){.thread = block->thread,
                        .set = known->set,
                        .stack = known->stack,
                        .python_end = STACK_COMPLETE,
                        .time_ns = known->begin_ns < now_ns ? known->begin_ns : now_ns,
                        .end_ns = now_ns,
                        .values = values,
                        .value_count = COUNTED_VALUES};
    known->count += count;
    known->own_ns += own;
    known->begin_ns = now_ns;
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* Finds the thread of a block, by its serial or from the block's header. 0 or -errno. */
static int find_thread(struct drain *drain, struct drain_sums *block,
                       const struct annot_block *header)
{
    struct drain_thread *thread;
    int found = drain_find_thread(drain, block->serial, block->begin_ns, &block->thread);
    if (found != 0)
        return found < 0 ? found : 0;
    int error = drain_thread(drain, block->serial, &thread);
    if (error == 0 && !thread->entered)
        error = drain_enter_thread(drain, thread,
                                   &(struct drain_who){header->tid, block->begin_ns, header->comm});
    block->thread = thread->decode.ordinal;
    return error;
}

/* The state of a block; the block may have another owner now. NULL: out of memory. */
static struct drain_sums *known_block(struct drain *drain, uint32_t index)
{
    const uint64_t *found = map64_find(&drain->sums_by_block, index + 1);
    if (found)
        return &drain->sums.items[*found];
    if (vec_push(&drain->sums, (struct drain_sums){.index = index}) != 0)
        return NULL;
    if (map64_put(&drain->sums_by_block, index + 1, drain->sums.count - 1) != 0) {
        drain->sums.count--;
        return NULL;
    }
    return &drain->sums.items[drain->sums.count - 1];
}

static int begin_block(struct drain *drain, struct drain_sums *block,
                       const struct annot_block *header)
{
    if (block->is_met && block->serial == header->thread_serial &&
        block->claim_time == header->claim_time)
        return 0;
    block->items.count = 0;
    block->is_met = true;
    block->is_done = false;
    block->serial = header->thread_serial;
    block->claim_time = header->claim_time;
    block->begin_ns = decode_time(&drain->decoder, header->claim_time);
    if (block->begin_ns > drain->decoder.now_ns)
        block->begin_ns = drain->decoder.now_ns;
    return find_thread(drain, block, header);
}

static int take_sums(struct drain *drain, struct drain_sums *block, uint32_t count)
{
    struct annot_wire_sum sum;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(&sum, drain->copy.records + i * sizeof(sum), sizeof(sum));
        if (i >= block->items.count) {
            struct drain_sum fresh;
            int error = meet_sum(drain, block, &sum, &fresh);
            if (error != 0 || vec_push(&block->items, fresh) != 0)
                return error != 0 ? error : -ENOMEM;
        }
        take_sum(drain, block, &sum, &block->items.items[i]);
    }
    return 0;
}

/* Extends the life of a thread that only counts to the last look. */
static void emit_thread(struct drain *drain, const struct drain_sums *block)
{
    struct trace_thread *entry = trace_thread(drain->trace, block->thread);
    if (entry->last_ns >= drain->decoder.now_ns)
        return;
    entry->last_ns = drain->decoder.now_ns;
    entry->revision++;
}

static int read_block(struct drain *drain, const struct segment_block *at, struct drain_sums *block)
{
    bool is_done = at->state == ANNOT_BLOCK_SUMS_DONE && !drain->decoder.overwrites;
    int end = segment_copy_block(drain->segment, block->index, 0, &drain->copy);
    if (drain->decoder.overwrites) {
        int is_same = end == -EFAULT ? end : segment_block_is_same(drain->segment, at);
        if (is_same <= 0)
            return is_same; /* overwritten meanwhile */
    }
    int error = end < 0 ? end : begin_block(drain, block, &drain->copy.header);
    if (error != 0 || block->is_done)
        return error;
    drain->sum_samples.count = drain->sum_values.count = 0;
    error = take_sums(drain, block, (uint32_t)end / (uint32_t)sizeof(struct annot_wire_sum));
    if (error == 0 && drain->sum_samples.count > 0) {
        emit_thread(drain, block);
        if (drain->samples)
            error = drain->samples(drain->samples_context, drain->sum_samples.items,
                                   drain->sum_samples.count);
    }
    block->begin_ns = drain->decoder.now_ns; /* of sums added later */
    if (error != 0 || !is_done)
        return error;
    block->is_done = true;
    return vec_push(&drain->done, block->index);
}

/* Sorts callers before callees. */
static int compare_blocks(const void *left, const void *right)
{
    const struct segment_block *a = left, *b = right;
    if (a->serial != b->serial)
        return a->serial < b->serial ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int read_blocks(struct drain *drain)
{
    drain->blocks.count = 0;
    int error = vec_reserve(&drain->sum_samples, ANNOT_SUMS_OF_BLOCK);
    if (error == 0)
        error = vec_reserve(&drain->sum_values, ANNOT_SUMS_OF_BLOCK * COUNTED_VALUES);
    if (error == 0)
        error = segment_scan(drain->segment, SEGMENT_SUMS, &drain->blocks);
    if (error == 0 && drain->blocks.count > 1)
        qsort(drain->blocks.items, drain->blocks.count, sizeof(*drain->blocks.items),
              compare_blocks);
    for (size_t i = 0; i < drain->blocks.count && error == 0; i++) {
        const struct segment_block *at = &drain->blocks.items[i];
        struct drain_sums *block = known_block(drain, at->index);
        error = block ? read_block(drain, at, block) : -ENOMEM;
    }
    return error;
}

int drain_sums(struct drain *drain, bool is_last)
{
    int64_t now_ns = clock_now_ns();
    if (drain->broken || (!is_last && now_ns - drain->summed_ns < LOOK_NS))
        return 0;
    if (!is_last && drain->room && !drain->room(drain->sink_context))
        return 0;
    drain->summed_ns = now_ns;
    clock_map_advance(drain->decoder.clock);
    drain->decoder.now_ns = now_ns;
    int error = read_blocks(drain);
    if (error != -EFAULT && error != -EBADMSG)
        return error;
    drain->broken = true;
    drain->corrupt++;
    return 0;
}

void drain_forget_sums(struct drain *drain)
{
    for (size_t i = 0; i < drain->sums.count; i++)
        vec_free(&drain->sums.items[i].items);
    vec_free(&drain->sums);
    map64_free(&drain->sums_by_block);
    vec_free(&drain->sum_samples);
    vec_free(&drain->sum_values);
}
