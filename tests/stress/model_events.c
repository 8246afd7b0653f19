/* SPDX-License-Identifier: MIT */
/* Emits every kind of event with random contents, and logs how the recording should show each. */
#include "model_actor.h"

#include "event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct place {
    const char *domain, *category;
    annot_domain domain_number;
    annot_category category_number;
};

static char names[MODEL_NAMES][1100];
static annot_name interned[MODEL_NAMES];
static struct place places[2 * MODEL_DOMAINS];
static struct annot_track tracks[MODEL_TRACKS];
static uint64_t slots[MODEL_SLOTS]; /* open ranges that any thread may end; atomic */

static int is_all_logged; /* the filter changes during the run: wanted events are unknown here */

static const char *const keys[] = {"size", "customer.name", "größe", "k"};

void model_events_setup(void)
{
    static const char *const domains[MODEL_DOMAINS] = {"io", "noise", "größe"};
    is_all_logged = getenv("MODEL_LOG_ALL") != NULL;
    for (int i = 0; i < MODEL_NAMES; i++) {
        snprintf(names[i], sizeof(names[i]), "name %d%s", i, i % 7 == 3 ? " ä€😀" : "");
        if (i % 13 == 5)
            for (size_t at = strlen(names[i]); at < 900; at++)
                names[i][at] = (char)('a' + at % 26);
        interned[i] = annot_name_intern(names[i]);
    }
    for (int i = 0; i < MODEL_DOMAINS; i++) {
        annot_domain domain = annot_domain_create(domains[i]);
        annot_category category = annot_category_create(domain, "reads");
        places[2 * i] = (struct place){domains[i], NULL, domain, 0};
        places[2 * i + 1] = (struct place){domains[i], "reads", domain, category};
    }
    for (int i = 0; i < MODEL_TRACKS; i++)
        tracks[i] = annot_track_create(names[i], i ? &tracks[(i - 1) / 2] : NULL);
}

uint32_t model_random(struct model_actor *actor, uint32_t limit)
{
    actor->random ^= actor->random << 13;
    actor->random ^= actor->random >> 7;
    actor->random ^= actor->random << 17;
    return (uint32_t)((actor->random >> 32) % limit);
}

void model_actor_begin(struct model_actor *actor, struct model_log *log, uint64_t seed)
{
    char name[16];
    *actor = (struct model_actor){.writer = model_writer_begin(log), .random = seed | 1};
    snprintf(name, sizeof(name), "t%u", actor->writer.thread);
    annot_name_thread(name);
}

void model_actor_forked(struct model_actor *actor, uint64_t seed)
{
    struct model_actor parent = *actor;
    for (int i = 0; i < MODEL_SLOTS; i++) {
        if (slots[i] != 0) {
            annot_end(slots[i]);
            __atomic_add_fetch(&actor->writer.log->foreign_ends, 1, __ATOMIC_RELAXED);
        }
        slots[i] = 0;
    }
    model_actor_begin(actor, parent.writer.log, seed);
    actor->depth = parent.depth;
    for (uint32_t i = 0; i < parent.depth; i++)
        actor->levels[i] = parent.levels[i] == MODEL_MASKED ? MODEL_MASKED : MODEL_INHERITED;
}

static void log_digest(struct model_actor *actor, uint8_t kind, uint64_t digest)
{
    model_write(&actor->writer, &(struct model_entry){.digest = digest,
                                                      .before = actor->before,
                                                      .kind = kind,
                                                      .weight = 1,
                                                      .place = actor->place,
                                                      .level = actor->level});
}

static void log_event(struct model_actor *actor, const struct model_event *event)
{
    log_digest(actor, event->kind, model_digest(MODEL_DIGEST, event));
}

static const char *pick(struct model_actor *actor, annot_name *ret_name)
{
    uint32_t index = model_random(actor, MODEL_NAMES);
    *ret_name = interned[index];
    return names[index];
}

/* ---- Events with all optional parts ---------------------------------------------------------- */

struct made {
    struct annot_event raw;
    struct annot_value values[3];
    struct model_event event, pairs[3]; /* the recorded form */
    int is_wanted;
};

static struct model_event make_value(struct model_actor *actor, struct annot_value *value)
{
    const char *key = keys[model_random(actor, sizeof(keys) / sizeof(keys[0]))];
    struct model_event event = {.name = key};
    uint64_t number = (uint64_t)model_random(actor, UINT32_MAX) * model_random(actor, UINT32_MAX);
    double real = (double)number / 3;
    event.value_kind = (uint8_t)(VALUE_INT64 + model_random(actor, 5));
    event.value = number;
    if (event.value_kind == VALUE_INT64) {
        *value = annot_value_int64(key, (int64_t)number);
    } else if (event.value_kind == VALUE_UINT64) {
        *value = annot_value_uint64(key, number);
    } else if (event.value_kind == VALUE_DOUBLE) {
        *value = annot_value_double(key, real);
        memcpy(&event.value, &real, sizeof(real));
    } else if (event.value_kind == VALUE_BOOL) {
        *value = annot_value_bool(key, number % 2 == 0);
        event.value = number % 2 == 0;
    } else {
        annot_name ignored;
        event.string = pick(actor, &ignored);
        event.value = 0;
        *value = annot_value_string(key, event.string);
    }
    return event;
}

/* The kind and the id are filled in later. */
static void make_event(struct model_actor *actor, struct made *made)
{
    uint32_t index = model_random(actor, 2 * MODEL_DOMAINS);
    const struct place *place = &places[index];
    *made = (struct made){.is_wanted = 1};
    made->event.name = made->raw.text = pick(actor, &made->raw.name);
    if (model_random(actor, 2))
        made->raw.name = 0;
    made->raw.level = made->event.level = (uint8_t)model_random(actor, 8);
    if (model_random(actor, 2)) {
        made->raw.domain = place->domain_number;
        made->raw.category = place->category_number;
        made->event.domain = place->domain;
        made->event.category = place->category;
        actor->place = (uint8_t)(index + 1);
        made->is_wanted = strcmp(place->domain, "noise") != 0;
    }
    if (model_random(actor, 3) == 0) {
        made->raw.color = made->event.color = 0xff000000u | model_random(actor, 1u << 24);
        made->event.has_color = 1;
    }
    actor->level = made->raw.level;
    made->is_wanted = is_all_logged || (made->is_wanted && made->raw.level <= MODEL_FILTER_LEVEL);
}

static void add_values(struct model_actor *actor, struct made *made)
{
    made->raw.values = made->values;
    made->raw.value_count = model_random(actor, 4);
    for (uint64_t i = 0; i < made->raw.value_count; i++)
        made->pairs[i] = make_value(actor, &made->values[i]);
}

static void log_made(struct model_actor *actor, const struct made *made)
{
    uint64_t digest = model_digest(MODEL_DIGEST, &made->event);
    for (uint64_t i = 0; i < made->raw.value_count; i++)
        digest = model_digest(digest, &made->pairs[i]);
    log_digest(actor, made->event.kind, digest);
}

/* ---- Ranges of the thread -------------------------------------------------------------------- */

static void opened(struct model_actor *actor, enum model_level level)
{
    actor->levels[actor->depth++] = (uint8_t)level;
    actor->recorded += level == MODEL_RECORDED;
}

static void emit_push(struct model_actor *actor)
{
    struct made made;
    annot_name name;
    if (actor->depth == MODEL_DEPTH)
        return;
    if (model_random(actor, 2)) {
        const char *text = pick(actor, &name);
        if (model_random(actor, 2))
            annot_push(text);
        else
            annot_push_name(name);
        log_event(actor, &(struct model_event){.kind = EVENT_PUSH, .name = text});
        opened(actor, MODEL_RECORDED);
        return;
    }
    make_event(actor, &made);
    made.event.kind = EVENT_PUSH;
    add_values(actor, &made);
    annot_push_event(&made.raw);
    if (made.is_wanted)
        log_made(actor, &made);
    opened(actor, made.is_wanted ? MODEL_RECORDED : MODEL_MASKED);
}

static void emit_pop(struct model_actor *actor)
{
    annot_pop();
    if (actor->depth == 0) {
        __atomic_add_fetch(&actor->writer.log->empty_pops, 1, __ATOMIC_RELAXED);
        return;
    }
    if (actor->levels[--actor->depth] != MODEL_RECORDED)
        return;
    actor->recorded--;
    const struct model_event event = {.kind = EVENT_POP};
    model_write(&actor->writer, &(struct model_entry){.digest = model_digest(MODEL_DIGEST, &event),
                                                      .before = actor->before,
                                                      .depth = actor->recorded,
                                                      .kind = EVENT_POP,
                                                      .weight = 1});
}

/* ---- Ranges of the process ------------------------------------------------------------------- */

static void emit_end(struct model_actor *actor, annot_range range)
{
    if (range == 0)
        return;
    annot_end(range);
    log_event(actor, &(struct model_event){.kind = EVENT_END, .id = range});
}

static void emit_start(struct model_actor *actor)
{
    uint64_t *slot = &slots[model_random(actor, MODEL_SLOTS)], none = 0;
    struct made made;
    emit_end(actor, __atomic_exchange_n(slot, 0, __ATOMIC_ACQ_REL));
    make_event(actor, &made);
    add_values(actor, &made);
    made.event.kind = EVENT_START;
    made.event.id = annot_start_event(&made.raw);
    if (!made.is_wanted)
        return;
    log_made(actor, &made);
    if (!__atomic_compare_exchange_n(slot, &none, made.event.id, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        emit_end(actor, made.event.id);
}

/* ---- Other events ---------------------------------------------------------------------------- */

static void emit_mark(struct model_actor *actor)
{
    struct made made;
    annot_name name;
    if (model_random(actor, 2)) {
        const char *text = pick(actor, &name);
        annot_mark(text);
        log_event(actor, &(struct model_event){.kind = EVENT_MARK, .name = text});
        return;
    }
    make_event(actor, &made);
    made.event.kind = EVENT_MARK;
    made.raw.payload_kind = ANNOT_PAYLOAD_INT64;
    made.event.value_kind = VALUE_INT64;
    made.event.value = made.raw.payload.uint64 = model_random(actor, 1000);
    add_values(actor, &made);
    annot_mark_event(&made.raw);
    if (made.is_wanted)
        log_made(actor, &made);
}

static void emit_log(struct model_actor *actor)
{
    annot_name name;
    const char *text = pick(actor, &name);
    const struct model_event mark = {.kind = EVENT_MARK, .name = text};
    const struct model_event severity = {
        .name = "severity", .value_kind = VALUE_STRING, .string = "warning"};
    annot_log(ANNOT_SEVERITY_WARNING, text);
    log_digest(actor, EVENT_MARK, model_digest(model_digest(MODEL_DIGEST, &mark), &severity));
}

static void emit_counter(struct model_actor *actor)
{
    annot_name name;
    const char *text = pick(actor, &name);
    double value = model_random(actor, 1u << 30) / 7.0;
    struct model_event event = {.kind = EVENT_COUNTER, .name = text, .value_kind = VALUE_DOUBLE};
    memcpy(&event.value, &value, sizeof(value));
    annot_counter(text, value);
    log_event(actor, &event);
}

static void emit_group(struct model_actor *actor)
{
    uint32_t base = model_random(actor, 1000);
    const struct annot_value values[] = {annot_value_int64("done", base),
                                         annot_value_uint64("left", base + 1)};
    annot_counters("group", values, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct model_event event = {.kind = EVENT_COUNTER,
                                          .name = i ? "group/left" : "group/done",
                                          .value_kind = i ? VALUE_UINT64 : VALUE_INT64,
                                          .value = base + i};
        model_write(&actor->writer,
                    &(struct model_entry){.digest = model_digest(MODEL_DIGEST, &event),
                                          .before = actor->before,
                                          .kind = EVENT_COUNTER,
                                          .weight = i == 0});
    }
}

static void emit_flow(struct model_actor *actor)
{
    annot_flow flow = model_random(actor, 2) ? annot_flow_new()
                                             : annot_flow_id("order", model_random(actor, 100));
    annot_name name;
    const char *text = pick(actor, &name);
    annot_flow_begin(flow, text);
    annot_flow_step(flow);
    annot_flow_end(flow);
    log_event(actor, &(struct model_event){.kind = EVENT_FLOW_BEGIN, .name = text, .id = flow});
    log_event(actor, &(struct model_event){.kind = EVENT_FLOW_STEP, .id = flow});
    log_event(actor, &(struct model_event){.kind = EVENT_FLOW_END, .id = flow});
}

static void emit_track(struct model_actor *actor)
{
    const struct annot_track *track = &tracks[model_random(actor, MODEL_TRACKS)];
    struct made made;
    make_event(actor, &made);
    made.event.kind = EVENT_TRACK_BEGIN;
    made.event.id = track->id;
    add_values(actor, &made);
    annot_track_begin_event(track, &made.raw);
    if (made.is_wanted)
        log_made(actor, &made);
    if (is_all_logged || !made.is_wanted)
        log_event(actor, &(struct model_event){.kind = EVENT_TRACK_HIDDEN, .id = track->id});
    annot_track_end(track);
    log_event(actor, &(struct model_event){.kind = EVENT_TRACK_END, .id = track->id});
}

void model_emit(struct model_actor *actor)
{
    static void (*const others[])(struct model_actor *) = {emit_start,   emit_mark,  emit_log,
                                                           emit_counter, emit_group, emit_flow,
                                                           emit_track,   emit_mark};
    uint32_t choice = model_random(actor, 100);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    actor->before = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    actor->place = actor->level = 0;
    if (choice < 40)
        emit_push(actor);
    else if (choice < 80)
        emit_pop(actor);
    else
        others[choice % 8](actor);
}
