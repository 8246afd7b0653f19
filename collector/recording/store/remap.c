/* SPDX-License-Identifier: MIT */
/* See remap.h. Entries with places (threads, ...) are appended first, so that their new ordinals
 * are known before any is copied, as they refer to each other. The others are interned after all
 * entries that they refer to. Thread-safety: none. */
#include "remap.h"

#include "fields.h"
#include "volumes.h"

#include "sample.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Times ----------------------------------------------------------------------------------- */

int64_t remap_time(const struct remap *remap, int64_t time_ns)
{
    const struct store_time_map *map = &remap->time;
    if (time_ns == INT64_MIN || time_ns == INT64_MAX)
        return time_ns;
    double behind = (double)time_ns - (double)map->since_ns;
    int64_t moved = store_time(time_ns) + store_time(map->offset_ns);
    return store_time(moved + (int64_t)(behind * map->drift));
}

int64_t remap_time_back(const struct remap *remap, int64_t time_ns)
{
    const struct store_time_map *map = &remap->time;
    if (time_ns == INT64_MIN || time_ns == INT64_MAX)
        return time_ns;
    int64_t moved = store_time(store_time(time_ns) - store_time(map->offset_ns));
    double behind = ((double)moved - (double)map->since_ns) / (1 + map->drift);
    return store_time(moved - (int64_t)(behind * map->drift));
}

/* ---- Interned entries ------------------------------------------------------------------------ */

static int64_t add_string(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct trace_string *string = entry;
    (void)ordinal;
    return trace_string_add(to, string->bytes, string->length);
}

static int64_t add_scope(struct trace *to, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return trace_scope_add(to, entry);
}

/* True if `text` is one of those joined in `list`. */
static bool is_among(const char *list, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = list; (at = strstr(at, text)); at++) {
        bool begins = at == list || (at - list >= 2 && strncmp(at - 2, "; ", 2) == 0);
        if (begins && (at[length] == 0 || strncmp(at + length, "; ", 2) == 0))
            return true;
    }
    return false;
}

/* "a; b", unless b is in a already. */
static uint32_t join_texts(struct trace *trace, uint32_t left, uint32_t right)
{
    const struct trace_string *a = trace_string(trace, left), *b = trace_string(trace, right);
    char *text = NULL;
    if (left == 0 || right == 0 || is_among(a->bytes, b->bytes) || a->length > 4096)
        return left ? left : right;
    int length = asprintf(&text, "%s; %s", a->bytes, b->bytes);
    int64_t joined = length < 0 ? -ENOMEM : trace_string_add(trace, text, (size_t)length);
    if (length >= 0)
        free(text);
    return joined < 0 ? left : (uint32_t)joined;
}

static int64_t add_session(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct trace_session *other = entry;
    struct trace_session *session = trace_session(to);
    (void)ordinal;
    if (session->id == 0 && session->begin_ns == 0 && session->command == 0) {
        uint32_t revision = session->revision + 1;
        memcpy(session, other, sizeof(*session));
        session->revision = revision;
        return 0;
    }
    session->hostname = join_texts(to, session->hostname, other->hostname);
    session->command = join_texts(to, session->command, other->command);
    session->kernel = join_texts(to, session->kernel, other->kernel);
    bool whole = session->end_ns && other->end_ns;
    session->end_ns = !whole                            ? 0
                      : other->end_ns > session->end_ns ? other->end_ns
                                                        : session->end_ns;
    if (other->begin_ns && other->begin_ns < session->begin_ns) {
        session->begin_realtime_ns -= session->begin_ns - other->begin_ns;
        session->begin_ns = other->begin_ns;
    }
    if (other->command_status != session->command_status)
        session->command_status = -1;
    session->recovered |= other->recovered;
    if (other->directory != session->directory)
        session->directory = 0;
    if (other->peak_bytes > session->peak_bytes)
        session->peak_bytes = other->peak_bytes;
    session->revision++;
    return 0;
}

static bool has_rate(const struct trace_sampling *sampling)
{
    return sampling->rung > SAMPLING_NONE && sampling->frequency_hz > 0;
}

/* Of two recordings with samples: the lowest rate of all, and the highest one. */
static void join_rates(struct trace_sampling *joined, const struct trace_sampling *a,
                       const struct trace_sampling *b)
{
    uint32_t a_hz = sampling_fastest_hz(a), b_hz = sampling_fastest_hz(b);
    uint32_t most_hz = a_hz > b_hz ? a_hz : b_hz;
    bool same = a->frequency_hz == b->frequency_hz && a_hz == b_hz;
    joined->mixed = a->mixed || b->mixed || !same;
    joined->slowed = a->slowed || b->slowed;
    joined->frequency_hz = a->frequency_hz < b->frequency_hz ? a->frequency_hz : b->frequency_hz;
    joined->first_hz = most_hz > joined->frequency_hz ? most_hz : 0;
}

/* The better rung of both, and the rates and waits of both. */
static int64_t add_sampling(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct trace_sampling *other = entry;
    struct trace_sampling *sampling = trace_sampling(to);
    const struct trace_sampling old = *sampling;
    (void)ordinal;
    if (other->rung > old.rung)
        *sampling = *other;
    if (has_rate(&old) && has_rate(other))
        join_rates(sampling, &old, other);
    sampling->off_cpu = old.off_cpu || other->off_cpu;
    sampling->off_cpu_threshold_ns = old.off_cpu_threshold_ns > other->off_cpu_threshold_ns
                                         ? old.off_cpu_threshold_ns
                                         : other->off_cpu_threshold_ns;
    sampling->revision = old.revision + 1;
    return 0;
}

/* True for facts of one recording only: several may overlap in time, or have a gap between them. */
static bool is_of_one(const struct trace *trace, uint32_t name)
{
    const char *text = trace_string(trace, name)->bytes;
    return strcmp(text, TRACE_FACT_BLOCK_TIME) == 0 || strcmp(text, TRACE_FACT_USED_MS) == 0 ||
           strcmp(text, TRACE_FACT_STOLEN_MS) == 0;
}

static int64_t add_fact(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct trace_fact *other = entry;
    (void)ordinal;
    for (uint32_t i = 0; i < trace_fact_count(to); i++) {
        struct trace_fact *fact = trace_fact(to, i);
        if (fact->name != other->name || fact->kind != other->kind)
            continue;
        if (fact->value > 0 || !is_of_one(to, fact->name))
            fact->value += other->value;
        fact->revision++;
        return i;
    }
    int64_t added = trace_fact_add(to);
    if (added < 0)
        return added;
    struct trace_fact *fact = trace_fact(to, (uint32_t)added);
    memcpy(fact, other, sizeof(*other));
    if (is_of_one(to, fact->name))
        fact->value = 0;
    return added;
}

static int64_t add_host(struct trace *to, uint32_t ordinal, const void *entry)
{
    static const uint8_t unknown[16];
    const struct trace_host *other = entry;
    bool known = memcmp(other->boot_id, unknown, sizeof(unknown)) != 0;
    (void)ordinal;
    for (uint32_t i = 0; known && i < trace_host_count(to); i++)
        if (memcmp(trace_host_get(to, i)->boot_id, other->boot_id, sizeof(unknown)) == 0)
            return i;
    int64_t added = trace_host_add(to);
    if (added >= 0)
        memcpy(trace_host(to, (uint32_t)added), other, sizeof(*other));
    return added;
}

/* By its place alone: the same function, named in any of the recordings. */
static int64_t add_frame_of_build(struct stacks *stacks, const struct frame *frame)
{
    const struct frame place = {
        .kind = frame->kind, .module = frame->module, .address = frame->address};
    int64_t ordinal = stacks_frame(stacks, &place);
    uint32_t known = ordinal < 0 ? 0 : stacks_get_frame(stacks, (uint32_t)ordinal)->label;
    const struct label *label = stacks_get_label(stacks, known);
    if (ordinal < 0 || frame->label == 0 || (known != 0 && !(label->flags & LABEL_PLACE)))
        return ordinal;
    const struct frame_name name = {.frame = (uint32_t)ordinal,
                                    .label = frame->label,
                                    .line = frame->line,
                                    .column = frame->column,
                                    .end_column = frame->end_column};
    return stacks_name_frame(stacks, &name) != 0 ? -ENOMEM : ordinal;
}

/* Another kernel, process or build has other code at the same address. */
static int64_t add_frame(struct trace *to, uint32_t ordinal, const void *entry)
{
    struct frame frame = *(const struct frame *)entry;
    struct stacks *stacks = trace_stacks(to);
    (void)ordinal;
    if (!frame_is_named_late(&frame))
        return stacks_frame(stacks, &frame);
    frame.caller = 0; /* it is set later, with the name */
    if (stacks_get_module(stacks, frame.module)->build_id_size > 0)
        return add_frame_of_build(stacks, &frame);
    return frame.label ? stacks_frame(stacks, &frame) : stacks_append_frame(stacks, &frame);
}

/* Frames were added with their names, except the frames that they are inlined into. */
static int64_t add_name(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct frame_name *name = entry;
    (void)ordinal;
    return name->caller && stacks_name_frame(trace_stacks(to), name) == -ENOMEM ? -ENOMEM : 0;
}

static int64_t add_stack(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct stack *stack = entry;
    (void)ordinal;
    return stacks_push(trace_stacks(to), stack->parent, stack->frame);
}

static int64_t add_path(struct trace *to, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return stacks_path_add(trace_stacks(to), entry);
}

static int64_t add_source(struct trace *to, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return stacks_source(trace_stacks(to), entry);
}

static int64_t add_label(struct trace *to, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return stacks_label(trace_stacks(to), entry);
}

static int64_t add_module(struct trace *to, uint32_t ordinal, const void *entry)
{
    (void)ordinal;
    return stacks_module(trace_stacks(to), entry);
}

static int64_t add_value_type(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct value_type *other = entry;
    struct sample_sets *sets = trace_sets(to);
    if (ordinal < VALUE_TYPE_OWN)
        return value_types_define(sets, ordinal, other) == -ENOMEM ? -ENOMEM : (int64_t)ordinal;
    for (unsigned i = VALUE_TYPE_OWN; i < value_types_count(sets); i++) {
        const struct value_type *type = value_type_get(sets, i);
        if (type->name == other->name && type->unit == other->unit && type->sum == other->sum)
            return i;
    }
    return value_types_add(sets, other);
}

static int64_t add_sample_set(struct trace *to, uint32_t ordinal, const void *entry)
{
    const struct sample_set *other = entry;
    struct sample_sets *sets = trace_sets(to);
    if (ordinal < SAMPLE_SET_OWN)
        return sample_sets_define(sets, ordinal, other) == -ENOMEM ? -ENOMEM : (int64_t)ordinal;
    for (unsigned i = SAMPLE_SET_OWN; i < sample_sets_count(sets); i++) {
        const struct sample_set *set = sample_set_get(sets, i);
        if (set->name == other->name && set->period == other->period &&
            set->flags == other->flags && set->count == other->count &&
            memcmp(set->types, other->types, sizeof(set->types)) == 0)
            return i;
    }
    return sample_sets_add(sets, other);
}

/* The ordinal of an entry with mapped references; NULL: it gets a new one. */
static int64_t (*const add_once[STORE_DEFINE_COUNT])(struct trace *, uint32_t, const void *) = {
    [STORE_DEFINE_STRING] = add_string,
    [STORE_DEFINE_SCOPE] = add_scope,
    [STORE_DEFINE_SESSION] = add_session,
    [STORE_DEFINE_SAMPLING] = add_sampling,
    [STORE_DEFINE_FACT] = add_fact,
    [STORE_DEFINE_HOST] = add_host,
    [STORE_DEFINE_FRAME] = add_frame,
    [STORE_DEFINE_NAME] = add_name,
    [STORE_DEFINE_STACK] = add_stack,
    [STORE_DEFINE_PATH] = add_path,
    [STORE_DEFINE_MODULE] = add_module,
    [STORE_DEFINE_SOURCE] = add_source,
    [STORE_DEFINE_LABEL] = add_label,
    [STORE_DEFINE_VALUE_TYPE] = add_value_type,
    [STORE_DEFINE_SAMPLE_SET] = add_sample_set,
};

/* ---- Definitions ----------------------------------------------------------------------------- */

uint32_t remap_ordinal(const struct remap *remap, unsigned number, uint32_t ordinal)
{
    return ordinal < remap->counts[number] ? remap->maps[number][ordinal] : 0;
}

static uint64_t map_reference(const struct remap *remap, const struct field *field, uint64_t value)
{
    uint32_t count = remap->counts[field->refers];
    const uint32_t *map = remap->maps[field->refers];
    switch (field->reference) {
    case REFERENCE_NEXT:
        return value && value <= count ? map[value - 1] + UINT64_C(1) : 0;
    case REFERENCE_SIGNED:
        return value < count ? map[value] : UINT64_MAX;
    case REFERENCE_NUMBER:
        return value < count ? map[value] : value;
    default:
        return value < count ? map[value] : 0;
    }
}

static void map_entry(const struct remap *remap, const struct table *table, void *entry)
{
    for (unsigned i = 0; i < table->field_count; i++) {
        const struct field *field = &table->fields[i];
        bool time = field->kind == FIELD_TIME;
        for (unsigned element = 0; (time || field->refers) && element < field_elements(field);
             element++) {
            uint64_t value = field_load(entry, field, element);
            if (field->refers)
                value = map_reference(remap, field, value);
            else if (value != 0)
                value = (uint64_t)remap_time(remap, (int64_t)value);
            field_save(entry, field, element, value);
        }
    }
}

/* Allocates the map; ordinals of appended entries are assigned at once. */
static int begin_map(struct remap *remap, unsigned number, const struct trace *to,
                     const struct trace *from)
{
    const struct table *table = &definition_tables[number];
    uint32_t count = table->count(from), base = table->count(to);
    uint32_t *map = remap->maps[number] = calloc(count + 1u, sizeof(*map));
    if (!map)
        return -ENOMEM;
    remap->counts[number] = count;
    for (uint32_t i = 0; i < count; i++)
        map[i] = i < table->first ? i : base + i;
    return 0;
}

static int copy_entry(struct remap *remap, unsigned number, struct trace *to, uint32_t ordinal,
                      void *entry)
{
    const struct table *table = &definition_tables[number];
    map_entry(remap, table, entry);
    if (!add_once[number])
        return table->put(to, remap->maps[number][ordinal], entry);
    int64_t added = add_once[number](to, ordinal, entry);
    remap->maps[number][ordinal] = added < 0 ? 0 : (uint32_t)added;
    return added < 0 ? (int)added : 0;
}

/* A frame with its latest name. */
static const void *entry_of(unsigned number, const struct trace *from, uint32_t ordinal)
{
    if (number == STORE_DEFINE_FRAME)
        return stacks_get_frame(trace_stacks_get(from), ordinal);
    return definition_tables[number].get(from, ordinal);
}

static int copy_table(struct remap *remap, unsigned number, struct trace *to,
                      const struct trace *from)
{
    const struct table *table = &definition_tables[number];
    void *entry = malloc(table->size);
    int error = entry ? 0 : -ENOMEM;
    for (uint32_t i = table->first; i < remap->counts[number] && !error; i++) {
        memcpy(entry, entry_of(number, from, i), table->size);
        error = copy_entry(remap, number, to, i, entry);
    }
    free(entry);
    return error;
}

/* The name of a label is unique, whatever its text. Entries that refer to such names are mapped
 * later. */
static int map_label_names(struct remap *remap, struct trace *to, const struct trace *from)
{
    for (uint32_t i = 0; i < trace_label_name_count(from); i++) {
        const struct trace_label_name *name = trace_label_name_get(from, i);
        uint32_t label = remap_ordinal(remap, STORE_DEFINE_LABEL, name->label);
        if (label == 0 || name->string >= remap->counts[STORE_DEFINE_STRING])
            continue;
        int64_t string = trace_label_name(to, label);
        if (string < 0)
            return (int)string;
        remap->maps[STORE_DEFINE_STRING][name->string] = (uint32_t)string;
    }
    return 0;
}

/* Generated recordings have no host. */
static int know_host(struct trace *from)
{
    if (trace_host_count(from) > 0)
        return 0;
    int64_t added = trace_host_add(from);
    if (added < 0)
        return (int)added;
    trace_host(from, 0)->name = trace_session_get(from)->hostname;
    return 0;
}

/* Hosts add up their processors; recordings of one host share them. The sum is known only if all
 * are. */
static void add_processors(const struct remap *remap, struct trace *to, const struct trace *from)
{
    struct trace_host *host = trace_host(to, remap_ordinal(remap, STORE_DEFINE_HOST, 0));
    uint32_t processors = trace_session_get(from)->processors, all = 0;
    if (host && processors > host->processors)
        host->processors = processors;
    bool known = true;
    for (uint32_t i = 0; i < trace_host_count(to); i++) {
        known &= trace_host_get(to, i)->processors > 0;
        all += trace_host_get(to, i)->processors;
    }
    trace_session(to)->processors = known ? all : 0;
}

int remap_trace(struct remap *remap, struct trace *to, struct trace *from)
{
    int error = know_host(from);
    for (unsigned i = 1; i < STORE_DEFINE_COUNT && !error; i++)
        error = begin_map(remap, i, to, from);
    for (unsigned i = 0; i < sizeof(definition_order) && !error; i++)
        error = definition_order[i] == STORE_DEFINE_LABEL_NAME
                    ? map_label_names(remap, to, from)
                    : copy_table(remap, definition_order[i], to, from);
    if (!error)
        add_processors(remap, to, from);
    return error;
}

void remap_free(struct remap *remap)
{
    for (unsigned i = 0; i < STORE_DEFINE_COUNT; i++)
        free(remap->maps[i]);
    memset(remap->maps, 0, sizeof(remap->maps));
}

/* ---- Events and samples ---------------------------------------------------------------------- */

void remap_arg(const struct remap *remap, struct arg *arg)
{
    arg->key = remap_ordinal(remap, STORE_DEFINE_STRING, arg->key);
    if (arg->kind == VALUE_STRING)
        arg->value.string = remap_ordinal(remap, STORE_DEFINE_STRING, arg->value.string);
}

void remap_event(const struct remap *remap, struct event *event)
{
    event->thread = remap_ordinal(remap, STORE_DEFINE_THREAD, event->thread);
    event->name = remap_ordinal(remap, STORE_DEFINE_STRING, event->name);
    event->scope = remap_ordinal(remap, STORE_DEFINE_SCOPE, event->scope);
    event->time_ns = remap_time(remap, event->time_ns);
    if (event_has_lane(event->kind) && event->lane < remap->counts[STORE_DEFINE_LANE])
        event->lane = remap->maps[STORE_DEFINE_LANE][event->lane];
    if (event->value_kind == VALUE_STRING)
        event->value.string = remap_ordinal(remap, STORE_DEFINE_STRING, event->value.string);
    if (event_traits[event->kind] & EVENT_HAS_END)
        event->end_ns = remap_time(remap, event->end_ns);
    if (event->kind == EVENT_SPAN)
        event->origin_ns = remap_time(remap, event->origin_ns);
}

void remap_sample(const struct remap *remap, struct sample *sample)
{
    sample->thread = remap_ordinal(remap, STORE_DEFINE_THREAD, sample->thread);
    sample->stack = remap_ordinal(remap, STORE_DEFINE_STACK, sample->stack);
    sample->path = remap_ordinal(remap, STORE_DEFINE_PATH, sample->path);
    if (sample->set < remap->counts[STORE_DEFINE_SAMPLE_SET])
        sample->set = (uint16_t)remap->maps[STORE_DEFINE_SAMPLE_SET][sample->set];
    int64_t length_ns = sample->end_ns ? sample->end_ns - sample->time_ns : 0; /* sum of values */
    sample->time_ns = remap_time(remap, sample->time_ns);
    sample->end_ns = length_ns ? sample->time_ns + length_ns : 0;
}
