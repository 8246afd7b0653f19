/* SPDX-License-Identifier: MIT */
/* Clocks of a sequence of a Perfetto trace: some count from the packet before. */
#include "from_perfetto_parts.h"
#include "perfetto_fields.h"

#include <errno.h>

enum { CLOCK_MULTIPLIER = 4, CLOCKS_MAX = 256 };

static struct perfetto_clock_state *find_clock(struct perfetto_sequence *sequence, uint64_t id)
{
    for (size_t i = 0; i < sequence->clocks.count; i++)
        if (sequence->clocks.items[i].id == id)
            return &sequence->clocks.items[i];
    return NULL;
}

struct shown {
    uint64_t id, value, multiplier;
    bool incremental;
};

static struct shown take_shown(struct proto message)
{
    struct shown shown = {.multiplier = 1};
    struct proto_field field;
    while (proto_next(&message, &field)) {
        if (field.number == PX_CLOCK_ID)
            shown.id = field.value;
        else if (field.number == PX_CLOCK_TIMESTAMP)
            shown.value = field.value;
        else if (field.number == PX_CLOCK_IS_INCREMENTAL)
            shown.incremental = field.value != 0;
        else if (field.number == CLOCK_MULTIPLIER && field.value)
            shown.multiplier = field.value;
    }
    return shown;
}

bool perfetto_to_ns(uint64_t value, uint64_t multiplier, int64_t *ret_ns)
{
    uint64_t ns;
    if (__builtin_mul_overflow(value, multiplier, &ns) || ns > (uint64_t)IMPORT_TIME_MAX)
        return false;
    *ret_ns = (int64_t)ns;
    return true;
}

/* Clocks at one instant: each by how far the trace's, which is the first of the format's own, is
 * from it. */
int perfetto_take_clocks(struct perfetto *trace, struct perfetto_sequence *sequence,
                         struct proto message)
{
    struct proto again = message;
    struct proto_field field;
    int64_t trace_ns = 0, own_ns;
    bool known = false;
    while (proto_next(&message, &field)) {
        if (field.number != PX_CLOCK_SNAPSHOT_CLOCKS || !field.is_bytes)
            continue;
        struct shown shown = take_shown(field.bytes);
        if (shown.id < PX_CLOCK_SEQUENCE && !known)
            known = perfetto_to_ns(shown.value, shown.multiplier, &trace_ns);
    }
    while (proto_next(&again, &field)) {
        if (field.number != PX_CLOCK_SNAPSHOT_CLOCKS || !field.is_bytes)
            continue;
        struct shown shown = take_shown(field.bytes);
        struct perfetto_clock_state *clock = find_clock(sequence, shown.id);
        if (shown.id < PX_CLOCK_SEQUENCE ||
            !perfetto_to_ns(shown.value, shown.multiplier, &own_ns) ||
            sequence->clocks.count >= CLOCKS_MAX ||
            (!clock && !perfetto_hold(trace, sizeof(*clock))))
            continue;
        if (!clock && vec_push(&sequence->clocks, (struct perfetto_clock_state){0}) != 0)
            return -ENOMEM;
        if (!clock)
            clock = &sequence->clocks.items[sequence->clocks.count - 1];
        *clock = (struct perfetto_clock_state){.id = shown.id,
                                               .multiplier_ns = shown.multiplier,
                                               .offset_ns = known ? trace_ns - own_ns : 0,
                                               .last_ns = own_ns,
                                               .incremental = shown.incremental};
    }
    return 0;
}

bool perfetto_find_time(struct perfetto_sequence *sequence, uint64_t clock_id, uint64_t value,
                        int64_t *ret_ns)
{
    struct perfetto_clock_state *clock = find_clock(sequence, clock_id);
    if (!perfetto_to_ns(value, clock ? clock->multiplier_ns : 1, ret_ns))
        return false;
    if (!clock)
        return true;
    if (clock->incremental) {
        if (*ret_ns > IMPORT_TIME_MAX - clock->last_ns)
            return false;
        clock->last_ns += *ret_ns;
        *ret_ns = clock->last_ns;
    }
    *ret_ns += clock->offset_ns;
    return true;
}
