/* SPDX-License-Identifier: MIT */
/* See from_perfetto_interned.h. */
#include "from_perfetto_interned.h"

#include "from_perfetto.h"
#include "perfetto_fields.h"
#include "proto_reader.h"
#include "sink.h"
#include "stacks.h"
#include "text.h"

#include <errno.h>
#include <string.h>

static int add_number(struct perfetto *trace, struct perfetto_numbers *numbers, uint64_t value)
{
    if (numbers->count < PERFETTO_NUMBERS_MAX)
        return vec_push(numbers, value);
    trace->sink->left[LEFT_VALUES]++;
    return 0;
}

int perfetto_numbers(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field)
{
    struct proto packed = field->bytes;
    uint64_t value;
    int error = field->is_bytes ? 0 : add_number(trace, numbers, field->value);
    while (field->is_bytes && !error && proto_varint(&packed, &value))
        error = add_number(trace, numbers, value);
    return error;
}

int perfetto_doubles(struct perfetto *trace, struct perfetto_numbers *numbers,
                     const struct proto_field *field)
{
    struct proto packed = field->bytes;
    uint64_t bits;
    int error = field->is_bytes ? 0 : add_number(trace, numbers, field->value);
    while (field->is_bytes && !error && proto_fixed(&packed, sizeof(bits), &bits))
        error = add_number(trace, numbers, bits);
    return error;
}

uint32_t perfetto_text(struct perfetto *trace, const struct proto *bytes)
{
    return import_string(trace->sink, (const char *)bytes->at, (size_t)(bytes->end - bytes->at));
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Maps are half empty on average. */
enum { ENTRY_BYTES = 2 * sizeof(struct wide_entry) };

bool perfetto_hold(struct perfetto *trace, size_t bytes)
{
    bool fits = bytes <= PERFETTO_HELD_MAX - trace->held_bytes;
    trace->held_bytes += fits ? bytes : 0;
    trace->unheld += !fits;
    return fits;
}

uint64_t perfetto_find(const struct perfetto_sequence *sequence, enum perfetto_table table,
                       uint64_t iid)
{
    const uint64_t *found = wide_map_find(&sequence->interned, WIDE_KEY(1 + (uint64_t)table, iid));
    return found ? *found : 0;
}

/* Sets an entry; a new one needs room. */
static int keep(struct perfetto *trace, struct perfetto_sequence *sequence,
                enum perfetto_table table, const uint64_t entry[2])
{
    const struct wide_key *key = WIDE_KEY(1 + (uint64_t)table, entry[0]);
    uint64_t *known = wide_map_find(&sequence->interned, key);
    if (known)
        *known = entry[1];
    else if (perfetto_hold(trace, ENTRY_BYTES))
        return wide_map_put(&sequence->interned, key, entry[1]);
    return 0;
}

void perfetto_forget(struct perfetto *trace, struct perfetto_sequence *sequence)
{
    trace->held_bytes -=
        sequence->interned.count * ENTRY_BYTES + sequence->frame_lists.count * sizeof(uint64_t);
    wide_map_free(&sequence->interned);
    vec_free(&sequence->frame_lists);
    sequence->state++;
}

/* {iid, name}. */
static int intern_text(struct perfetto *trace, struct perfetto_sequence *sequence,
                       enum perfetto_table table, struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0;
    uint32_t text = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_INTERNED_NAME && field.is_bytes)
            text = perfetto_text(trace, &field.bytes);
    }
    return keep(trace, sequence, table, (uint64_t[]){iid, text});
}

static int intern_frame(struct perfetto *trace, struct perfetto_sequence *sequence,
                        struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0, function = 0, mapping = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_FRAME_FUNCTION_NAME)
            function = field.value & UINT32_MAX;
        else if (field.number == PX_FRAME_MAPPING)
            mapping = field.value & UINT32_MAX;
    }
    return keep(trace, sequence, PERFETTO_FRAMES, (uint64_t[]){iid, function << 32 | mapping});
}

/* Its path has several parts; the last one suffices. */
static int intern_mapping(struct perfetto *trace, struct perfetto_sequence *sequence,
                          struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0, path = 0;
    while (proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        else if (field.number == PX_MAPPING_PATHS && !field.is_bytes)
            path = field.value;
    }
    return keep(trace, sequence, PERFETTO_MAPPINGS, (uint64_t[]){iid, path});
}

/* A callstack that does not fit stays unknown. */
static int intern_callstack(struct perfetto *trace, struct perfetto_sequence *sequence,
                            struct proto message)
{
    struct proto_field field;
    uint64_t iid = 0;
    size_t place = sequence->frame_lists.count;
    bool fits = perfetto_hold(trace, sizeof(uint64_t));
    if (fits && vec_push(&sequence->frame_lists, 0) != 0)
        return -ENOMEM;
    while (fits && proto_next(&message, &field)) {
        if (field.number == PX_INTERNED_IID)
            iid = field.value;
        if (field.number != PX_CALLSTACK_FRAMES || field.is_bytes)
            continue;
        fits = perfetto_hold(trace, sizeof(uint64_t));
        if (fits && vec_push(&sequence->frame_lists, field.value) != 0)
            return -ENOMEM;
        sequence->frame_lists.items[place] += fits;
    }
    return fits ? keep(trace, sequence, PERFETTO_CALLSTACKS, (uint64_t[]){iid, 1 + place}) : 0;
}

int perfetto_intern(struct perfetto *trace, struct perfetto_sequence *sequence,
                    struct proto message)
{
    static const struct {
        uint32_t field;
        enum perfetto_table table;
    } texts[] = {{PX_INTERNED_CATEGORIES, PERFETTO_CATEGORIES},
                 {PX_INTERNED_EVENT_NAMES, PERFETTO_NAMES},
                 {PX_INTERNED_ANNOTATION_NAMES, PERFETTO_KEYS},
                 {PX_INTERNED_FUNCTION_NAMES, PERFETTO_FUNCTIONS},
                 {PX_INTERNED_MAPPING_PATHS, PERFETTO_PATHS},
                 {PX_INTERNED_ANNOTATION_STRINGS, PERFETTO_STRINGS}};
    struct proto_field field;
    int error = 0;
    while (!error && proto_next(&message, &field)) {
        if (!field.is_bytes)
            continue;
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !error; i++)
            if (texts[i].field == field.number)
                error = intern_text(trace, sequence, texts[i].table, field.bytes);
        if (!error && field.number == PX_INTERNED_FRAMES)
            error = intern_frame(trace, sequence, field.bytes);
        else if (!error && field.number == PX_INTERNED_MAPPINGS)
            error = intern_mapping(trace, sequence, field.bytes);
        else if (!error && field.number == PX_INTERNED_CALLSTACKS)
            error = intern_callstack(trace, sequence, field.bytes);
    }
    return error;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static uint32_t make_frame(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid)
{
    uint64_t raw = perfetto_find(sequence, PERFETTO_FRAMES, iid);
    uint64_t mapping = perfetto_find(sequence, PERFETTO_MAPPINGS, raw & UINT32_MAX);
    struct import_frame frame = {
        .kind = FRAME_NATIVE,
        .function = (uint32_t)perfetto_find(sequence, PERFETTO_FUNCTIONS, raw >> 32),
        .module = (uint32_t)perfetto_find(sequence, PERFETTO_PATHS, mapping),
    };
    const char *path = trace_string(trace->sink->trace, frame.module)->bytes;
    if (path[0] == '[' || strstr(path, "kernel"))
        frame.kind = FRAME_KERNEL, frame.module = 0;
    else if (text_ends_with(path, ".py"))
        frame.kind = FRAME_PYTHON, frame.file = frame.module, frame.module = 0;
    if (!frame.function)
        frame.function = import_text(trace->sink, "[unknown]");
    return import_frame(trace->sink, &frame);
}

/* Frames from the outermost on. */
uint32_t perfetto_stack(struct perfetto *trace, struct perfetto_sequence *sequence, uint64_t iid)
{
    uint64_t known = perfetto_find(sequence, PERFETTO_STACKS, iid);
    uint64_t place = perfetto_find(sequence, PERFETTO_CALLSTACKS, iid);
    uint32_t stack = 0;
    if (known || !place)
        return (uint32_t)known;
    uint64_t count = sequence->frame_lists.items[place - 1];
    for (uint64_t i = 0; i < count; i++)
        stack = import_stack(trace->sink, stack,
                             make_frame(trace, sequence, sequence->frame_lists.items[place + i]));
    if (keep(trace, sequence, PERFETTO_STACKS, (uint64_t[]){iid, stack}) != 0)
        trace->sink->error = -ENOMEM;
    return stack;
}
