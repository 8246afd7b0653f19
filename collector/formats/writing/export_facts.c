/* SPDX-License-Identifier: MIT */
/* See export_facts.h. Thread-safety: reads the trace only. */
#include "export_facts.h"

#include "export.h"
#include "export_ids.h"
#include "missing.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILTERS_SHOWN = 100, COMM_SHOWN = 48 /* 15 bytes, each replaced by U+FFFD */ };

struct visit {
    const struct trace *trace;
    fact_visitor *function;
    void *context;
};

static void emit_text(const struct visit *visit, const char *name, const char *text)
{
    if (text[0])
        visit->function(visit->context,
                        &(struct fact){.name = name, .kind = VALUE_STRING, .text = text});
}

static void emit_string(const struct visit *visit, const char *name, uint32_t string)
{
    emit_text(visit, name, trace_string(visit->trace, string)->bytes);
}

static void emit_count(const struct visit *visit, const char *name, uint64_t count)
{
    if (count)
        visit->function(
            visit->context,
            &(struct fact){.name = name, .kind = VALUE_UINT64, .value = {.uint64 = count}});
}

/* Facts of the sampling and refusals have separate visits, with more than a number. */
static void emit_missing(void *context, const struct missing *missing)
{
    char label[MISSING_LABEL_SIZE];
    missing_label(missing, label);
    if (missing->kind == MISSING_RECORDS || missing->kind == MISSING_CALLS ||
        missing->kind == MISSING_QUEUED)
        emit_count(context, label, missing->count);
}

static void emit_refusals(const struct visit *visit)
{
    for (uint32_t i = 0; i < trace_refusal_count(visit->trace); i++) {
        const struct trace_refusal *refusal = trace_refusal_get(visit->trace, i);
        const struct trace_string *comm = trace_string(visit->trace, refusal->comm);
        char name[COMM_SHOWN + 40];
        struct text text = text_init(name, sizeof(name));
        text_format(&text, "not recorded: ");
        text_add(&text, comm->bytes, utf8_cut(comm->bytes, comm->length, COMM_SHOWN));
        text_format(&text, " %" PRId32, refusal->pid);
        emit_string(visit, name, refusal->reason);
    }
}

/* Each change of the filter; the first from the start. */
static void emit_filters(const struct visit *visit)
{
    for (uint32_t i = 0; i < trace_filter_count(visit->trace) && i < FILTERS_SHOWN; i++) {
        const struct trace_filter *filter = trace_filter_get(visit->trace, i);
        int64_t after_ns = filter->time_ns - trace_begin_ns(visit->trace);
        char name[64] = "filter";
        if (after_ns > 0)
            snprintf(name, sizeof(name), "filter from %.3f s", (double)after_ns / 1e9);
        const char *rules = trace_string(visit->trace, filter->rules)->bytes;
        emit_text(visit, name, rules[0] ? rules : "none");
    }
}

static const char *rung_name(unsigned rung)
{
    switch ((enum sampling_rung)rung) {
    case SAMPLING_OFF:
        return "";
    case SAMPLING_NONE:
        return "not possible";
    case SAMPLING_REMOTE:
        return "reads of memory";
    case SAMPLING_BPF:
        return "BPF";
    }
    return "unknown";
}

/* The sampling method, and the recording's own facts with numbers. */
static void emit_sampling(const struct visit *visit)
{
    const struct trace_sampling *sampling = trace_sampling_get(visit->trace);
    emit_text(visit, "sampling", rung_name(sampling->rung));
    emit_count(visit, "frequency_hz", sampling->frequency_hz);
    emit_count(visit, sampling->mixed ? "highest_frequency_hz" : "first_frequency_hz",
               sampling->first_hz);
    emit_count(visit, "off_cpu_threshold_ns", (uint64_t)sampling->off_cpu_threshold_ns);
    emit_string(visit, "sampling_reason", sampling->reason);
    for (uint32_t i = 0; i < trace_fact_count(visit->trace); i++) {
        const struct trace_fact *fact = trace_fact_get(visit->trace, i);
        emit_count(visit, trace_string(visit->trace, fact->name)->bytes, fact->value);
    }
}

static void emit_state(struct visit *visit, const struct trace_session *session)
{
    if (session->end_ns == 0)
        emit_text(visit, "state", "the recording was not ended in order");
    else if (session->recovered)
        emit_text(visit, "state", "recovered after the collector had died");
    emit_string(visit, "nested_recordings", session->nested);
}

void session_brief(const struct trace *trace, fact_visitor *function, void *context)
{
    struct visit visit = {trace, function, context};
    const struct trace_session *session = trace_session_get(trace);
    emit_string(&visit, "command", session->command);
    emit_string(&visit, "host", session->hostname);
    emit_string(&visit, "annot", session->annot_version);
    emit_state(&visit, session);
    emit_filters(&visit);
    missing_each(trace, NULL, emit_missing, &visit);
    emit_refusals(&visit);
}

void session_facts(const struct trace *trace, fact_visitor *function, void *context)
{
    struct visit visit = {trace, function, context};
    const struct trace_session *session = trace_session_get(trace);
    emit_string(&visit, "command", session->command);
    emit_string(&visit, "host", session->hostname);
    emit_string(&visit, "kernel", session->kernel);
    emit_string(&visit, "annot", session->annot_version);
    emit_string(&visit, "clock", session->clock);
    emit_count(&visit, "begin_realtime_ns", (uint64_t)session->begin_realtime_ns);
    emit_count(&visit, "shared_memory_peak_bytes", session->peak_bytes);
    emit_state(&visit, session);
    emit_filters(&visit);
    emit_sampling(&visit);
    missing_each(trace, NULL, emit_missing, &visit);
    emit_refusals(&visit);
}

const char *session_title(const struct trace *trace)
{
    const struct trace_session *session = trace_session_get(trace);
    if (session->command)
        return trace_string(trace, session->command)->bytes;
    if (session->hostname)
        return trace_string(trace, session->hostname)->bytes;
    return "recording";
}

int64_t session_end_ns(const struct trace *trace)
{
    int64_t end_ns = trace_session_get(trace)->end_ns;
    if (end_ns > 0)
        return end_ns;
    end_ns = trace_begin_ns(trace);
    for (uint32_t i = 0; i < trace_thread_count(trace); i++) {
        int64_t last_ns = trace_thread_get(trace, i)->last_ns;
        end_ns = last_ns > end_ns ? last_ns : end_ns;
    }
    return end_ns;
}

/* ---- Of one item ----------------------------------------------------------------------------- */

struct fact tid_fact(const struct export_ids *ids, const char *name, uint32_t thread)
{
    union value tid = {.uint64 = thread < ids->thread_count ? ids->tids[thread] : 0};
    return (struct fact){.name = name, .kind = VALUE_UINT64, .value = tid};
}

void end_facts_init(struct end_facts *facts, const struct export_ids *ids, const struct item *item)
{
    struct fact *at = facts->items;
    const union value yes = {.uint64 = 1};
    if (item->flags & ITEM_UNFINISHED)
        *at++ = (struct fact){.name = "unfinished", .kind = VALUE_BOOL, .value = yes};
    if (item->flags & ITEM_END_LOST)
        *at++ = (struct fact){.name = "end_lost", .kind = VALUE_BOOL, .value = yes};
    if (!(item->flags & ITEM_LACKS_END) && item->end_thread != item->event->thread)
        *at++ = tid_fact(ids, "end_tid", item->end_thread);
    at->name = NULL;
}

static bool is_shared(const struct track_groups *groups, uint64_t track)
{
    return groups->groups.items[track_groups_find(groups, track)].track_count > 1;
}

static struct fact id_fact(const char *name, uint64_t id, char text[24])
{
    snprintf(text, 24, "0x%" PRIx64, id);
    return (struct fact){.name = name, .kind = VALUE_STRING, .text = text};
}

void track_facts_init(struct track_facts *facts, const struct track_groups *groups,
                      const struct export_ids *ids, const struct event *event, uint32_t depth)
{
    const struct trace_lane *track =
        event->lane < groups->track_count ? trace_lane_get(groups->trace, event->lane) : NULL;
    const struct trace_lane *parent =
        track && track->parent ? trace_lane_get(groups->trace, track->parent - 1) : NULL;
    struct fact *at = facts->items;
    if (track && depth == 0 && is_shared(groups, event->lane)) {
        uint32_t group_name = groups->groups.items[track_groups_find(groups, event->lane)].name;
        if (track->name && track->name != group_name)
            *at++ = (struct fact){
                .name = "track", .kind = VALUE_STRING, .value = {.string = track->name}};
        *at++ = id_fact("track_id", track->id, facts->id);
    }
    if (parent && depth == 0 && is_shared(groups, track->parent - 1))
        *at++ = id_fact("parent_track", parent->id, facts->parent_id);
    *at++ = tid_fact(ids, event->kind == EVENT_TRACK_MARK ? "tid" : "start_tid", event->thread);
    if (event->kind == EVENT_SPAN && event->origin_ns != EVENT_NO_ORIGIN)
        *at++ = (struct fact){.name = "delay_ns",
                              .kind = VALUE_INT64,
                              .value = {.int64 = event->time_ns - event->origin_ns}};
    at->name = NULL;
}

/* ---- Key-values ----------------------------------------------------------------------------- */

/* A table by string holds the last event with each key, so that an event of thousands of key-values
 * costs no more than as many events with one. */

static const char *const own_names[] = {
    "payload",    "domain",       "level",     "color",       "category",    "track",
    "track_id",   "parent_track", "start_tid", "end_tid",     "tid",         "flow",
    "unfinished", "end_lost",     "last_word", "launched in", "launched at",
};

int export_keys_init(struct export_keys *keys, const struct trace *trace)
{
    *keys = (struct export_keys){.trace = trace, .count = trace_string_count(trace)};
    keys->uses = calloc(keys->count + 1u, sizeof(*keys->uses));
    return keys->uses ? 0 : -ENOMEM;
}

void export_keys_fini(struct export_keys *keys)
{
    free(keys->uses);
    *keys = (struct export_keys){0};
}

void export_keys_restart(struct export_keys *keys)
{
    keys->event++;
}

static uint8_t look_at(const struct export_keys *keys, const char *text)
{
    if (keys->plain)
        return 1;
    for (size_t i = 0; i < sizeof(own_names) / sizeof(*own_names); i++) {
        if (strcmp(text, own_names[i]) == 0)
            return 2;
    }
    for (const char *const *other = keys->others; other && *other; other++) {
        if (strcmp(text, *other) == 0)
            return 2;
    }
    return 1;
}

/* The trace has gained strings. */
static void grow(struct export_keys *keys)
{
    uint32_t count = trace_string_count(keys->trace);
    struct export_key_use *uses =
        count > keys->count ? realloc(keys->uses, (count + 1u) * sizeof(*uses)) : NULL;
    if (!uses)
        return;
    memset(uses + keys->count, 0, (count + 1u - keys->count) * sizeof(*uses));
    keys->uses = uses;
    keys->count = count;
}

struct export_key export_keys_next(struct export_keys *keys, uint32_t key)
{
    const struct trace_string *string = trace_string(keys->trace, key);
    struct export_key named = {.text = string->bytes, .length = string->length};
    if (named.length == 0) {
        named.text = EXPORT_UNNAMED;
        named.length = strlen(EXPORT_UNNAMED);
    }
    if (key >= keys->count)
        grow(keys);
    if (key >= keys->count)
        return named;
    struct export_key_use *use = &keys->uses[key];
    if (use->state == 0)
        use->state = look_at(keys, named.text);
    if (use->event != keys->event) {
        use->event = keys->event;
        use->number = use->state == 2;
    }
    use->number += use->number < UINT16_MAX;
    named.number = use->number > 1 ? use->number : 0;
    return named;
}

size_t export_key_number(const struct export_key *key, char *buffer)
{
    if (!key->number)
        return 0;
    return (size_t)snprintf(buffer, EXPORT_KEY_NUMBER_SIZE, " (%u)", key->number);
}

enum export_severity export_severity(const struct trace *trace, uint32_t scope)
{
    const struct scope *of = trace_scope(trace, scope);
    bool known = of->observer == OBSERVER_LOG && of->role > 0 && of->role <= EXPORT_SEVERITY_NONE;
    return known ? (enum export_severity)(of->role - 1) : EXPORT_SEVERITY_NONE;
}

char *export_service(const struct export_job *job)
{
    const struct trace *trace = job->source->trace;
    char label[EXPORT_LABEL_SIZE];
    if (job->options->service)
        return strdup(job->options->service);
    uint32_t count = trace_process_count(trace);
    if (count == 0)
        return strdup(session_title(trace));
    uint32_t *order = calloc(count, sizeof(*order));
    bool known = order && trace_process_order(trace, order) == 0;
    if (known)
        trace_process_label(trace, order[0], label, sizeof(label));
    free(order);
    return known ? strdup(label) : NULL;
}
