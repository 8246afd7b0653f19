/* SPDX-License-Identifier: MIT */
/* Calls and lines that a program has counted: AGGREGATEs become samples of sets that count, with
 * the stack that the record names. Thread-safety: none. */
#include "intake_parts.h"

#include "sample.h"
#include "stacks.h"

#include <errno.h>
#include <string.h>

/* A recording has times to a hundredth of a second between two intervals of a stack; by another
 * clock's anchors they differ by less. */
#define SAME_NS INT64_C(10000000)

/* More than a value of a recording can be. */
#define COUNT_MAX (UINT64_C(1) << 50)

/* By enum annot_rec_aggregate. */
static const struct {
    const char *name;
    uint8_t flags, role;
} kinds[DECODE_COUNTS] = {
    [ANNOT_REC_AGGREGATE_CALLS] = {"calls", SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL,
                                   SAMPLE_ROLE_CALLS},
    [ANNOT_REC_AGGREGATE_LINES] = {"lines",
                                   SAMPLE_SET_EXACT | SAMPLE_SET_INTERVAL | SAMPLE_SET_LINES,
                                   SAMPLE_ROLE_LINES},
};

/* That of another segment, or of what is continued. */
static unsigned find_set(const struct trace *trace, unsigned kind)
{
    const struct sample_sets *sets = trace_sets_get(trace);
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++) {
        const struct sample_set *set = sample_set_get(sets, i);
        if (set->role == kinds[kind].role && set->count == COUNTED_VALUES &&
            set->types[0] == VALUE_TYPE_CALLS && set->types[1] == VALUE_TYPE_WALL)
            return i;
    }
    return 0;
}

/* -ENOMEM; -ENOSPC: there are too many. */
static int64_t need_set(struct decoder *decoder, unsigned kind)
{
    struct trace *trace = decoder->names.trace;
    if (decoder->count_sets[kind] == 0)
        decoder->count_sets[kind] = (uint16_t)find_set(trace, kind);
    if (decoder->count_sets[kind] != 0)
        return decoder->count_sets[kind];
    int64_t name = trace_string_add(trace, kinds[kind].name, strlen(kinds[kind].name));
    if (name < 0)
        return name;
    const struct sample_set set = {.name = (uint32_t)name,
                                   .flags = kinds[kind].flags,
                                   .count = COUNTED_VALUES,
                                   .types = {VALUE_TYPE_CALLS, VALUE_TYPE_WALL}};
    int64_t number = sample_sets_add(trace_sets(trace), &set);
    if (number > 0)
        decoder->count_sets[kind] = (uint16_t)number;
    return number;
}

/* Ticks at the pace of the interval. */
static uint64_t ticks_ns(const struct decoder *decoder, const struct decode_parts *parts,
                         int64_t interval_ns)
{
    uint64_t begin = parts->id.reserved, end = parts->record.time, ticks = parts->id.id;
    if (decoder->monotonic)
        return ticks;
    if (ticks > COUNT_MAX || interval_ns < 0 || end <= begin)
        return end == begin && ticks <= COUNT_MAX
                   ? (uint64_t)((double)ticks * decoder->clock->ns_per_tick)
                   : UINT64_MAX;
    return (uint64_t)((unsigned __int128)ticks * (uint64_t)interval_ns / (end - begin));
}

/* Whether all of it can be believed. */
static bool set_values(struct decode_pass *pass, const struct decode_parts *parts,
                       struct sample *sample, int64_t *values)
{
    struct decoder *decoder = pass->decoder;
    int64_t made_ns = decode_time(decoder, decoder->created_time);
    int64_t begin_ns = decode_time(decoder, parts->id.reserved);
    int64_t end_ns = decode_time(decoder, parts->record.time);
    uint64_t own_ns = ticks_ns(decoder, parts, end_ns - begin_ns);
    if (!decoder->skip.plain)
        end_ns = decode_event_time(decoder, pass->thread, parts->record.time);
    if (parts->id.reserved > parts->record.time || parts->attr.value > COUNT_MAX ||
        own_ns > COUNT_MAX)
        return false;
    begin_ns = begin_ns < made_ns ? made_ns : begin_ns;
    sample->end_ns = end_ns < decoder->now_ns ? end_ns : decoder->now_ns;
    sample->time_ns = begin_ns < sample->end_ns ? begin_ns : sample->end_ns;
    values[0] = (int64_t)parts->attr.value;
    values[1] = (int64_t)own_ns;
    sample->values = values;
    sample->value_count = COUNTED_VALUES;
    return true;
}

uint64_t decode_counted_key(const struct sample *sample, bool lines)
{
    return (uint64_t)(lines + 1) << 62 ^ (uint64_t)sample->thread << 32 ^ sample->stack;
}

/* Whether the recording that is continued has it: of a stack, intervals come in order. */
static bool is_counted(const struct decoder *decoder, const struct sample *sample, bool lines)
{
    const uint64_t *last_ns =
        decoder->counted ? map64_find(decoder->counted, decode_counted_key(sample, lines)) : NULL;
    return last_ns && (int64_t)*last_ns > sample->end_ns - SAME_NS;
}

static int lose(struct decode_pass *pass)
{
    decode_lose(pass, LOSS_CORRUPT, 1);
    return 0;
}

/* Room for all of a block, so that none moves. */
static int reserve(struct decoded *decoded)
{
    size_t samples = DECODE_SAMPLES_MAX - decoded->samples.count;
    if (vec_reserve(&decoded->samples, samples) != 0 ||
        vec_reserve(&decoded->values, samples * COUNTED_VALUES) != 0)
        return -ENOMEM;
    return 0;
}

int decode_aggregate(struct decode_pass *pass, const struct decode_parts *parts)
{
    static const uint8_t needed = ANNOT_FLAG_ATTR | ANNOT_FLAG_ID;
    struct decoded *decoded = pass->decoded;
    unsigned kind = parts->attr.category;
    uint32_t stack;
    pass->owner = OWNER_UNKNOWN;
    if ((parts->record.flags & needed) != needed || parts->name)
        return -EBADMSG;
    if (kind >= DECODE_COUNTS || !kinds[kind].name)
        return 0; /* of a later minor version */
    int error = names_stack(&pass->decoder->names, parts->record.name, &stack);
    if (error != 0 || stack == 0)
        return error != 0 ? error : lose(pass);
    int64_t set = need_set(pass->decoder, kind);
    if (set < 0)
        return set == -ENOSPC ? lose(pass) : (int)set;
    if (reserve(decoded) != 0)
        return -ENOMEM;
    struct sample *sample = &decoded->samples.items[decoded->samples.count];
    *sample = (struct sample){.thread = pass->thread->ordinal,
                              .set = (uint16_t)set,
                              .stack = stack,
                              .python_end = STACK_COMPLETE};
    if (!set_values(pass, parts, sample, decoded->values.items + decoded->values.count))
        return lose(pass);
    if (is_counted(pass->decoder, sample, kind == ANNOT_REC_AGGREGATE_LINES))
        return 0;
    decoded->samples.count++;
    decoded->values.count += COUNTED_VALUES;
    return 0;
}
