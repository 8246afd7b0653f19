/* SPDX-License-Identifier: MIT */
/* Tables of trace.h. Invariant: string 0 is the empty string. Thread-safety: one owner. */
#include "trace_parts.h"

#include "number.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNKNOWN_NAMES_MAX = 65536, /* foreign ordinals must not fill the memory */
    FACTS_MAX = 1024,
    HOSTS_MAX = 4096,
    ANCHORS_MAX = 1 << 20,
    UNITS_MAX = 65536,
};

struct trace *trace_create(void)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    if (!trace)
        return NULL;
    trace->unknown = calloc(1, sizeof(*trace->unknown));
    trace->session.command_status = -1;
    trace->stacks = stacks_create();
    trace->sets = sample_sets_create();
    if (trace->unknown && trace->stacks && trace->sets && strtab_add(&trace->strings, "", 0) == 0 &&
        vec_push(&trace->scopes, (struct scope){0}) == 0)
        return trace;
    trace_destroy(trace);
    return NULL;
}

void trace_destroy(struct trace *trace)
{
    if (!trace)
        return;
    strtab_free(&trace->strings);
    vec_free(&trace->hosts);
    vec_free(&trace->clocks);
    vec_free(&trace->anchors);
    vec_free(&trace->streams);
    vec_free(&trace->processes);
    vec_free(&trace->threads);
    vec_free(&trace->refusals);
    vec_free(&trace->filters);
    vec_free(&trace->facts);
    vec_free(&trace->captures);
    vec_free(&trace->lanes);
    vec_free(&trace->units);
    vec_free(&trace->devices);
    vec_free(&trace->scopes);
    vec_free(&trace->label_names);
    vec_free(&trace->names_by_label);
    vec_free(&trace->labels_by_name);
    wide_map_free(&trace->scopes_known);
    wide_map_free(&trace->lanes_by_key);
    map64_free(&trace->units_by_counter);
    stacks_destroy(trace->stacks);
    sample_sets_destroy(trace->sets);
    if (trace->unknown)
        strtab_free(trace->unknown);
    free(trace->unknown);
    free(trace);
}

typedef int64_t strtab_put_fn(struct strtab *table, const char *bytes, size_t length);

/* Puts text unchanged, or repaired. */
static int64_t put_text(struct trace *trace, const char *bytes, size_t length, strtab_put_fn *put)
{
    if (utf8_is_text(bytes, length))
        return put(&trace->strings, bytes, length);
    char *repaired = malloc(length * 3);
    if (!repaired)
        return -ENOMEM;
    int64_t ordinal = put(&trace->strings, repaired, utf8_repair(bytes, length, repaired));
    free(repaired);
    return ordinal;
}

int64_t trace_string_add(struct trace *trace, const char *bytes, size_t length)
{
    return length == 0 ? 0 : put_text(trace, bytes, length, strtab_add);
}

int64_t trace_string_append(struct trace *trace, const char *bytes, size_t length)
{
    return put_text(trace, bytes, length, strtab_append);
}

static const struct trace_string *as_string(const struct strtab *table, uint32_t ordinal)
{
    _Static_assert(sizeof(struct trace_string) == sizeof(struct strtab_entry), "one layout");
    return (const struct trace_string *)strtab_get(table, ordinal);
}

static const struct trace_string *unknown_string(struct strtab *unknown, uint32_t ordinal)
{
    static const struct trace_string any = {"<unknown name>", 14};
    char text[32];
    if (unknown->count >= UNKNOWN_NAMES_MAX)
        return &any;
    int length = snprintf(text, sizeof(text), "<unknown name %u>", ordinal);
    int64_t index = strtab_add(unknown, text, (size_t)length);
    return index < 0 ? &any : as_string(unknown, (uint32_t)index);
}

const struct trace_string *trace_string(const struct trace *trace, uint32_t ordinal)
{
    if (ordinal < trace->strings.count)
        return as_string(&trace->strings, ordinal);
    return unknown_string(trace->unknown, ordinal);
}

uint32_t trace_string_count(const struct trace *trace)
{
    return (uint32_t)trace->strings.count;
}

int64_t trace_process_add(struct trace *trace)
{
    struct trace_process process = {.revision = 1, .parent = -1};
    int error = vec_push(&trace->processes, process);
    return error ? error : (int64_t)trace->processes.count - 1;
}

int64_t trace_thread_add(struct trace *trace, uint32_t process)
{
    struct trace_thread thread = {.revision = 1, .process = process};
    int error = vec_push(&trace->threads, thread);
    return error ? error : (int64_t)trace->threads.count - 1;
}

int64_t trace_refusal_add(struct trace *trace, const struct trace_refusal *refusal)
{
    int error = vec_push(&trace->refusals, *refusal);
    return error ? error : (int64_t)trace->refusals.count - 1;
}

struct trace_process *trace_process(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->processes.count ? &trace->processes.items[ordinal] : NULL;
}

struct trace_thread *trace_thread(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->threads.count ? &trace->threads.items[ordinal] : NULL;
}

const struct trace_process *trace_process_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->processes.count ? &trace->processes.items[ordinal] : NULL;
}

bool trace_process_exited(const struct trace_process *process)
{
    return process->end == PROCESS_EXITED || process->end == PROCESS_EXITED_ORDERLY ||
           process->end == PROCESS_EXEC;
}

const struct trace_thread *trace_thread_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->threads.count ? &trace->threads.items[ordinal] : NULL;
}

const struct trace_refusal *trace_refusal_get(const struct trace *trace, uint32_t index)
{
    return index < trace->refusals.count ? &trace->refusals.items[index] : NULL;
}

uint32_t trace_process_count(const struct trace *trace)
{
    return (uint32_t)trace->processes.count;
}

uint32_t trace_thread_count(const struct trace *trace)
{
    return (uint32_t)trace->threads.count;
}

uint32_t trace_refusal_count(const struct trace *trace)
{
    return (uint32_t)trace->refusals.count;
}

int64_t trace_filter_add(struct trace *trace, const struct trace_filter *filter)
{
    int error = vec_push(&trace->filters, *filter);
    return error ? error : (int64_t)trace->filters.count - 1;
}

uint32_t trace_filter_count(const struct trace *trace)
{
    return (uint32_t)trace->filters.count;
}

const struct trace_filter *trace_filter_get(const struct trace *trace, uint32_t index)
{
    return index < trace->filters.count ? &trace->filters.items[index] : NULL;
}

struct trace_session *trace_session(struct trace *trace)
{
    return &trace->session;
}

const struct trace_session *trace_session_get(const struct trace *trace)
{
    return &trace->session;
}

struct trace_sampling *trace_sampling(struct trace *trace)
{
    return &trace->sampling;
}

const char *sampling_rate_text(const struct trace_sampling *sampling,
                               char buffer[SAMPLING_RATE_SIZE])
{
    char first[NUMBER_TEXT_SIZE], steady[NUMBER_TEXT_SIZE];
    number_count(sampling->first_hz, first);
    number_count(sampling->frequency_hz, steady);
    if (sampling->frequency_hz == 0)
        buffer[0] = '\0';
    else if (sampling->mixed)
        snprintf(buffer, SAMPLING_RATE_SIZE, "%s Hz to %s Hz", steady, first);
    else if (sampling->first_hz && sampling->slowed)
        snprintf(buffer, SAMPLING_RATE_SIZE, "%s Hz, then %s Hz", first, steady);
    else
        snprintf(buffer, SAMPLING_RATE_SIZE, "%s Hz", sampling->first_hz ? first : steady);
    return buffer;
}

uint32_t sampling_fastest_hz(const struct trace_sampling *sampling)
{
    return sampling->first_hz > sampling->frequency_hz ? sampling->first_hz
                                                       : sampling->frequency_hz;
}

uint32_t sampling_slowest_hz(const struct trace_sampling *sampling)
{
    bool only_first = sampling->first_hz && !sampling->slowed && !sampling->mixed;
    return only_first ? sampling->first_hz : sampling->frequency_hz;
}

const struct trace_sampling *trace_sampling_get(const struct trace *trace)
{
    return &trace->sampling;
}

struct stacks *trace_stacks(struct trace *trace)
{
    return trace->stacks;
}

const struct stacks *trace_stacks_get(const struct trace *trace)
{
    return trace->stacks;
}

struct sample_sets *trace_sets(struct trace *trace)
{
    return trace->sets;
}

const struct sample_sets *trace_sets_get(const struct trace *trace)
{
    return trace->sets;
}

int64_t trace_fact_add(struct trace *trace)
{
    if (trace->facts.count >= FACTS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->facts, (struct trace_fact){.revision = 1});
    return error ? error : (int64_t)trace->facts.count - 1;
}

struct trace_fact *trace_fact(struct trace *trace, uint32_t index)
{
    return index < trace->facts.count ? &trace->facts.items[index] : NULL;
}

/* The fact of that name, added if new. */
static int64_t find_fact(struct trace *trace, uint32_t name)
{
    for (size_t i = 0; i < trace->facts.count; i++)
        if (trace->facts.items[i].name == name)
            return (int64_t)i;
    int64_t index = trace_fact_add(trace);
    if (index >= 0)
        trace->facts.items[index].name = name;
    return index;
}

int trace_fact_set(struct trace *trace, enum fact_kind kind, const char *name, uint64_t value)
{
    int64_t ordinal = trace_string_add(trace, name, strlen(name));
    int64_t index = ordinal < 0 ? ordinal : find_fact(trace, (uint32_t)ordinal);
    if (index < 0)
        return (int)index;
    struct trace_fact *fact = &trace->facts.items[index];
    if (fact->value != value || fact->kind != kind)
        fact->revision++;
    fact->kind = (uint8_t)kind;
    fact->value = value;
    return 0;
}

uint32_t trace_fact_count(const struct trace *trace)
{
    return (uint32_t)trace->facts.count;
}

const struct trace_fact *trace_fact_get(const struct trace *trace, uint32_t index)
{
    return index < trace->facts.count ? &trace->facts.items[index] : NULL;
}

const char *trace_unwatched(const struct trace *trace)
{
    static const char begin[] = TRACE_FACT_UNWATCHED, before[] = "processes: ";
    for (size_t i = 0; i < trace->facts.count; i++) {
        const struct trace_fact *fact = &trace->facts.items[i];
        const char *name = trace_string(trace, fact->name)->bytes;
        if (fact->kind == FACT_LOSS && fact->value && strncmp(name, begin, sizeof(begin) - 1) == 0)
            return name + sizeof(before) - 1;
    }
    return NULL;
}

uint32_t trace_idle_option_count(const struct trace *trace)
{
    uint32_t count = 0;
    for (size_t i = 0; i < trace->facts.count; i++) {
        const struct trace_fact *fact = &trace->facts.items[i];
        count += fact->kind == FACT_NOTE && fact->value &&
                 strncmp(trace_string(trace, fact->name)->bytes, TRACE_FACT_IDLE_OPTION,
                         sizeof(TRACE_FACT_IDLE_OPTION) - 1) == 0;
    }
    return count;
}

uint64_t trace_fact_value(const struct trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->facts.count; i++)
        if (strcmp(trace_string(trace, trace->facts.items[i].name)->bytes, name) == 0)
            return trace->facts.items[i].value;
    return 0;
}

int trace_block_set(struct trace *trace, int64_t from_ns, int64_t to_ns)
{
    int64_t before_ns = from_ns - trace->session.begin_ns;
    if (before_ns < 0 || to_ns <= from_ns)
        return 0;
    int error = trace_fact_set(trace, FACT_COUNT, TRACE_FACT_BLOCK_BEGIN, (uint64_t)before_ns);
    return error ? error
                 : trace_fact_set(trace, FACT_COUNT, TRACE_FACT_BLOCK_TIME,
                                  (uint64_t)(to_ns - from_ns));
}

void trace_heap_window_set(struct trace *trace, const struct trace_heap_window *window)
{
    trace->heap_window = *window;
}

const struct trace_heap_window *trace_heap_window(const struct trace *trace)
{
    return &trace->heap_window;
}

bool trace_block(const struct trace *trace, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
    uint64_t before_ns = trace_fact_value(trace, TRACE_FACT_BLOCK_BEGIN);
    uint64_t long_ns = trace_fact_value(trace, TRACE_FACT_BLOCK_TIME);
    if (long_ns == 0 || long_ns > INT64_MAX / 4 || before_ns > INT64_MAX / 4 ||
        trace->session.begin_ns > INT64_MAX / 2)
        return false;
    *ret_from_ns = trace->session.begin_ns + (int64_t)before_ns;
    *ret_to_ns = *ret_from_ns + (int64_t)long_ns;
    return true;
}

int64_t trace_begin_ns(const struct trace *trace)
{
    return trace->session.begin_ns;
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

/* Scopes of events: see trace.h. Thread-safety: the trace's owner. */

static const struct scope no_scope;

static const struct wide_key *scope_key(const struct scope *scope, struct wide_key *key)
{
    *key =
        (struct wide_key){.words = {scope->domain, scope->category, scope->observer, scope->role}};
    return key;
}

/* The first of equal scopes is found. */
static int index_all(struct trace *trace)
{
    struct wide_key key;
    for (; trace->scopes_indexed < trace->scopes.count; trace->scopes_indexed++) {
        scope_key(&trace->scopes.items[trace->scopes_indexed], &key);
        if (!wide_map_find(&trace->scopes_known, &key) &&
            wide_map_put(&trace->scopes_known, &key, trace->scopes_indexed) != 0)
            return -ENOMEM;
    }
    return 0;
}

int64_t trace_scope_add(struct trace *trace, const struct scope *scope)
{
    struct wide_key key;
    if (index_all(trace) != 0)
        return -ENOMEM;
    const uint64_t *known = wide_map_find(&trace->scopes_known, scope_key(scope, &key));
    if (known)
        return (int64_t)*known;
    if (trace->scopes.count >= TRACE_SCOPES_MAX)
        return -ENOSPC;
    return vec_push(&trace->scopes, *scope) != 0 ? -ENOMEM : (int64_t)trace->scopes.count - 1;
}

int64_t trace_scope_of_domain(struct trace *trace, uint32_t domain)
{
    return trace_scope_add(trace, &(struct scope){.domain = domain});
}

int trace_scope_set(struct trace *trace, uint32_t ordinal, const struct scope *scope)
{
    if (ordinal >= TRACE_SCOPES_MAX)
        return -ENOSPC;
    while (trace->scopes.count <= ordinal)
        if (vec_push(&trace->scopes, no_scope) != 0)
            return -ENOMEM;
    if (ordinal != 0)
        trace->scopes.items[ordinal] = *scope;
    return 0;
}

const struct scope *trace_scope(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->scopes.count ? &trace->scopes.items[ordinal] : &no_scope;
}

uint32_t trace_scope_domain(const struct trace *trace, uint32_t ordinal)
{
    return trace_scope(trace, ordinal)->domain;
}

uint32_t trace_scope_category(const struct trace *trace, uint32_t ordinal)
{
    return trace_scope(trace, ordinal)->category;
}

bool trace_has_observer(const struct trace *trace, enum observer observer)
{
    for (uint32_t i = 0; i < trace_scope_count(trace); i++)
        if (trace_scope(trace, i)->observer == observer)
            return true;
    return false;
}

uint32_t trace_scope_count(const struct trace *trace)
{
    return (uint32_t)trace->scopes.count;
}

/* ---- Hosts, clocks, streams ------------------------------------------------------------------ */

/* Hosts, clocks and streams: see trace.h. */

int64_t trace_host_add(struct trace *trace)
{
    if (trace->hosts.count >= HOSTS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->hosts, ((struct trace_host){.revision = 1, .rank = -1}));
    return error ? error : (int64_t)trace->hosts.count - 1;
}

const char *trace_boot_id(const struct trace_host *host, char buffer[TRACE_BOOT_ID_SIZE])
{
    static const uint8_t unknown[sizeof(host->boot_id)];
    bool known = memcmp(host->boot_id, unknown, sizeof(unknown)) != 0;
    char *at = buffer, *end = buffer + TRACE_BOOT_ID_SIZE;
    for (unsigned i = 0; i < sizeof(host->boot_id) && known; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(at, (size_t)(end - at), "%s%02x", dash ? "-" : "", host->boot_id[i]);
    }
    if (!known)
        snprintf(buffer, TRACE_BOOT_ID_SIZE, "unknown");
    return buffer;
}

int64_t trace_clock_add(struct trace *trace, uint32_t host, enum clock_kind kind)
{
    struct trace_clock clock = {.revision = 1, .host = host, .kind = (uint8_t)kind};
    if (trace->clocks.count >= HOSTS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->clocks, clock);
    return error ? error : (int64_t)trace->clocks.count - 1;
}

int64_t trace_anchor_add(struct trace *trace, const struct trace_anchor *anchor)
{
    if (trace->anchors.count >= ANCHORS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->anchors, *anchor);
    return error ? error : (int64_t)trace->anchors.count - 1;
}

uint32_t trace_host_count(const struct trace *trace)
{
    return (uint32_t)trace->hosts.count;
}

uint32_t trace_clock_count(const struct trace *trace)
{
    return (uint32_t)trace->clocks.count;
}

uint32_t trace_anchor_count(const struct trace *trace)
{
    return (uint32_t)trace->anchors.count;
}

struct trace_host *trace_host(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->hosts.count ? &trace->hosts.items[ordinal] : NULL;
}

struct trace_clock *trace_clock(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->clocks.count ? &trace->clocks.items[ordinal] : NULL;
}

const struct trace_host *trace_host_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->hosts.count ? &trace->hosts.items[ordinal] : NULL;
}

const struct trace_clock *trace_clock_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->clocks.count ? &trace->clocks.items[ordinal] : NULL;
}

const struct trace_anchor *trace_anchor_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->anchors.count ? &trace->anchors.items[ordinal] : NULL;
}

int64_t trace_stream_add(struct trace *trace, uint32_t name)
{
    if (trace->streams.count >= TRACE_STREAMS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->streams, ((struct trace_stream){.revision = 1, .name = name}));
    return error ? error : (int64_t)trace->streams.count - 1;
}

uint32_t trace_stream_count(const struct trace *trace)
{
    return (uint32_t)trace->streams.count;
}

struct trace_stream *trace_stream(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->streams.count ? &trace->streams.items[ordinal] : NULL;
}

const struct trace_stream *trace_stream_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->streams.count ? &trace->streams.items[ordinal] : NULL;
}

/* ---- Lanes, units of counters ---------------------------------------------------------------- */

int64_t trace_lane_add(struct trace *trace, uint64_t id)
{
    int64_t ordinal = (int64_t)trace->lanes.count;
    if (ordinal >= TRACE_LANES_MAX)
        return -ENOSPC;
    const struct trace_lane lane = {.revision = 1, .levels = 1, .kind = LANE_TRACK};
    int error = vec_push(&trace->lanes, lane);
    if (!error)
        error = trace_lane_set_id(trace, (uint32_t)ordinal, id);
    return error ? error : ordinal;
}

/* Ids of tracks are the same in all processes, ids of other lanes are per process. */
#define LANE_KEY(kind, process, id) WIDE_KEY(kind, (kind) == LANE_TRACK ? 0 : (process), id)

int trace_lane_set_id(struct trace *trace, uint32_t ordinal, uint64_t id)
{
    struct trace_lane *lane = &trace->lanes.items[ordinal];
    const struct wide_key *key = LANE_KEY(lane->kind, lane->process, id);
    lane->id = id;
    if ((lane->kind == LANE_TRACK && id == 0) || wide_map_find(&trace->lanes_by_key, key))
        return 0;
    return wide_map_put(&trace->lanes_by_key, key, ordinal);
}

int64_t trace_lane_find(const struct trace *trace, uint64_t id)
{
    const uint64_t *found =
        id ? wide_map_find(&trace->lanes_by_key, LANE_KEY(LANE_TRACK, 0, id)) : NULL;
    return found ? (int64_t)*found : -ENOENT;
}

int64_t trace_lane_of(struct trace *trace, enum lane_kind kind, uint32_t process, uint64_t id)
{
    const uint64_t *found = wide_map_find(&trace->lanes_by_key, LANE_KEY(kind, process, id));
    int64_t ordinal = found ? (int64_t)*found : trace_lane_add(trace, 0);
    if (found || ordinal < 0)
        return ordinal;
    struct trace_lane *lane = &trace->lanes.items[ordinal];
    lane->kind = (uint8_t)kind;
    lane->process = process;
    int error = trace_lane_set_id(trace, (uint32_t)ordinal, id);
    return error ? error : ordinal;
}

struct trace_lane *trace_lane(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->lanes.count ? &trace->lanes.items[ordinal] : NULL;
}

const struct trace_lane *trace_lane_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->lanes.count ? &trace->lanes.items[ordinal] : NULL;
}

uint32_t trace_lane_count(const struct trace *trace)
{
    return (uint32_t)trace->lanes.count;
}

/* Levels from the top to a track, itself included; 0 if `child` is among them. */
static uint32_t level_of(const struct trace *trace, uint32_t ordinal, uint32_t child)
{
    uint32_t level = 1;
    for (; ordinal != child; level++) {
        uint32_t parent = trace->lanes.items[ordinal].parent;
        if (parent == 0)
            return level;
        ordinal = parent - 1;
    }
    return 0;
}

bool trace_lane_set_parent(struct trace *trace, uint32_t ordinal, uint32_t parent_ordinal)
{
    struct trace_lane *track = trace_lane(trace, ordinal);
    if (!track || track->parent != 0 || parent_ordinal >= trace->lanes.count)
        return false;
    uint32_t level = level_of(trace, parent_ordinal, ordinal);
    if (level == 0 || level + track->levels > TRACE_LANE_LEVELS)
        return false;
    track->parent = parent_ordinal + 1;
    track->revision++;
    for (uint32_t levels = track->levels; track->parent != 0; levels++) {
        track = &trace->lanes.items[track->parent - 1];
        if (track->levels <= levels)
            track->levels = (uint8_t)(levels + 1);
    }
    return true;
}

int trace_lanes_check(struct trace *trace)
{
    size_t count = trace->lanes.count;
    VEC(uint32_t) parents = {0};
    if (count == 0)
        return 0;
    if (vec_reserve(&parents, count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct trace_lane *track = &trace->lanes.items[i];
        parents.items[i] = track->parent;
        track->parent = 0;
        track->levels = 1;
        if (track->process >= trace->processes.count)
            track->process = 0;
    }
    for (size_t i = 0; i < count; i++)
        if (parents.items[i] != 0)
            trace_lane_set_parent(trace, (uint32_t)i, parents.items[i] - 1);
    vec_free(&parents);
    return 0;
}

static uint64_t unit_key(uint32_t domain, uint32_t counter)
{
    return (uint64_t)domain << 32 | counter;
}

static struct trace_unit *find_unit(const struct trace *trace, uint32_t domain, uint32_t counter)
{
    const uint64_t *index =
        counter ? map64_find(&trace->units_by_counter, unit_key(domain, counter)) : NULL;
    return index ? &trace->units.items[*index] : NULL;
}

int trace_unit_set(struct trace *trace, uint32_t domain, uint32_t counter, uint32_t unit)
{
    struct trace_unit *known = find_unit(trace, domain, counter);
    if (known) {
        known->revision += known->unit != unit;
        known->unit = unit;
        return 0;
    }
    if (counter == 0)
        return -EINVAL;
    if (trace->units.count >= UNITS_MAX)
        return -ENOSPC;
    struct trace_unit added = {.revision = 1, .counter = counter, .domain = domain, .unit = unit};
    int error = map64_put(&trace->units_by_counter, unit_key(domain, counter), trace->units.count);
    return error ? error : vec_push(&trace->units, added);
}

uint32_t trace_unit_find(const struct trace *trace, uint32_t domain, uint32_t counter)
{
    const struct trace_unit *unit = find_unit(trace, domain, counter);
    return unit ? unit->unit : 0;
}

uint32_t trace_unit_count(const struct trace *trace)
{
    return (uint32_t)trace->units.count;
}

const struct trace_unit *trace_unit_get(const struct trace *trace, uint32_t index)
{
    return index < trace->units.count ? &trace->units.items[index] : NULL;
}

/* ---- Intervals of capture -------------------------------------------------------------------- */

int trace_capture_add(struct trace *trace, const struct trace_capture *capture)
{
    return vec_push(&trace->captures, *capture);
}

void trace_captures_set(struct trace *trace, enum trace_captures state)
{
    trace->captures_state = state;
}

enum trace_captures trace_captures(const struct trace *trace)
{
    return trace->captures_state;
}

static bool ends_before(const struct trace_capture *capture, uint32_t process, int64_t time_ns)
{
    return capture->process < process || (capture->process == process && capture->to_ns <= time_ns);
}

const struct trace_capture *trace_captures_from(const struct trace *trace, uint32_t process,
                                                int64_t time_ns, size_t *ret_count)
{
    size_t begin = 0, end = trace->captures.count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if (ends_before(&trace->captures.items[middle], process, time_ns))
            begin = middle + 1;
        else
            end = middle;
    }
    *ret_count = trace->captures.count - begin;
    return trace->captures.items + begin;
}

/* ---- References ------------------------------------------------------------------------------ */

/* References between the tables of a foreign trace. Afterwards each leads to an existing entry and
 * parents lead to a root, so users need no check. Strings need no check: trace_string accepts every
 * ordinal. Thread-safety: the trace's owner. */

/* Cycles of parents: removes the link that closes the cycle. `walk[i]` is the number of the walk
 * that visited process i, 0: not visited. */
static int check_parents(struct trace *trace)
{
    size_t count = trace->processes.count;
    uint32_t *walk = calloc(count + 1, sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; walk[at] == 0; at = (uint32_t)trace->processes.items[at].parent) {
            walk[at] = i + 1;
            int32_t parent = trace->processes.items[at].parent;
            if (parent >= 0 && walk[parent] == i + 1)
                trace->processes.items[at].parent = -1;
            if (trace->processes.items[at].parent < 0)
                break;
        }
    }
    free(walk);
    return 0;
}

int trace_check(struct trace *trace)
{
    size_t count = trace->processes.count, thread_count = trace->threads.count;
    for (size_t i = 0; i < count; i++) {
        struct trace_process *process = &trace->processes.items[i];
        if (process->parent < 0 || (size_t)process->parent >= count || (size_t)process->parent == i)
            process->parent = -1;
        if (process->fork_thread > thread_count)
            process->fork_thread = 0;
        if (process->note_thread > thread_count)
            process->note_thread = 0;
    }
    for (size_t i = 0; i < thread_count; i++)
        if (trace->threads.items[i].process >= count)
            trace->threads.items[i].process = 0;
    int error = check_parents(trace);
    return error ? error : trace_lanes_check(trace);
}
