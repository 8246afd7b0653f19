/* SPDX-License-Identifier: MIT */
/* Counters. Their values are updated outside of recordings too, so that later recordings have the
 * right ones. Each is an object of the process, identified by name, domain and type. */

#include "itt.h"
#include "itt_names.h"

#include <annot_barrier.h>
#include <string.h>

enum { BUCKETS = 128, TEXT_MAX = 4096 };

struct itt_counter {
    struct itt_counter *next;
    struct itt_counter_info info; /* target of our handles */
    annot_name name;
    annot_domain domain;
    int type;
    uint64_t count; /* W: any thread, atomic; base of increments and decrements */
};

static struct itt_counter *counters[BUCKETS]; /* under itt_lock */

static struct itt_counter *make(annot_name name, const char *text, annot_domain domain, int type)
{
    struct itt_counter *counter = itt_memory_take(sizeof(*counter));
    char *copy = itt_memory_copy(text, TEXT_MAX);
    if (!counter || !copy)
        return NULL;
    counter->name = name;
    counter->info.name = copy;
    counter->domain = domain;
    counter->type = type;
    counter->info.type = type;
    counter->info.extra2 = counter;
    return counter;
}

static struct itt_counter *find(annot_name name, const char *text, annot_domain domain, int type)
{
    struct itt_counter **bucket = &counters[(name * 31u + domain) % BUCKETS], *counter;
    if (!itt_lock())
        return NULL;
    for (counter = *bucket; counter; counter = counter->next)
        if (counter->name == name && counter->domain == domain && counter->type == type)
            break;
    if (!counter && (counter = make(name, text, domain, type))) {
        counter->next = *bucket;
        *bucket = counter;
    }
    itt_unlock();
    return counter;
}

void itt_counters_adopt(struct itt_counter_info *list)
{
    for (struct itt_counter_info *info = list; info; info = info->next) {
        annot_name name = annot_name_intern(info->name);
        info->extra2 = find(name, info->name, itt_domain_of(info->domain), info->type);
    }
}

static struct itt_counter_info *create(const char *name, annot_domain domain, int type)
{
    struct itt_counter *counter = find(annot_name_intern(name), name, domain, type);
    return counter ? &counter->info : NULL;
}

static struct itt_counter_info *counter_create_typed(const char *name, const char *domain, int type)
{
    return name ? create(name, itt_domain_of(domain), type) : NULL;
}

static struct itt_counter_info *counter_create(const char *name, const char *domain)
{
    return counter_create_typed(name, domain, ITT_TYPE_U64);
}

static struct itt_counter_info *counter_create_v3(const struct itt_domain *domain, const char *name,
                                                  int type)
{
    return name && domain ? create(name, itt_domain_number(domain), type) : NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Reads a number of ITT as a payload. Returns 0 for an unknown type or NULL. */
int itt_number(int type, const void *at, struct annot_value *ret_value)
{
    union {
        uint64_t u64;
        int64_t s64;
        uint32_t u32;
        int32_t s32;
        uint16_t u16;
        int16_t s16;
        float single;
        double real;
    } raw;

    static const uint8_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
    if (!at || type < ITT_TYPE_U64 || type > ITT_TYPE_DOUBLE)
        return 0;
    memcpy(&raw, at, sizes[type]);
    switch (type) {
    case ITT_TYPE_U64:
        *ret_value = annot_value_uint64(NULL, raw.u64);
        break;
    case ITT_TYPE_U32:
        *ret_value = annot_value_int64(NULL, raw.u32);
        break;
    case ITT_TYPE_U16:
        *ret_value = annot_value_int64(NULL, raw.u16);
        break;
    case ITT_TYPE_S64:
        *ret_value = annot_value_int64(NULL, raw.s64);
        break;
    case ITT_TYPE_S32:
        *ret_value = annot_value_int64(NULL, raw.s32);
        break;
    case ITT_TYPE_S16:
        *ret_value = annot_value_int64(NULL, raw.s16);
        break;
    case ITT_TYPE_FLOAT:
        *ret_value = annot_value_double(NULL, (double)raw.single);
        break;
    default:
        *ret_value = annot_value_double(NULL, raw.real);
    }
    return 1;
}

static void emit_counter(const struct itt_counter *counter, const struct annot_value *value)
{
    struct annot_event event = {.name = counter->name,
                                .text = counter->info.name, /* used if the name has no id */
                                .domain = counter->domain,
                                .payload_kind = value->kind};
    event.payload.uint64 = value->value.uint64; /* the same bits, for any kind */
    if (itt_is_wanted())
        annot_emit_counter_event(&event);
}

static void add(const struct itt_counter_info *info, uint64_t delta)
{
    struct itt_counter *counter = info ? info->extra2 : NULL;
    if (!counter)
        return;
    uint64_t count = annot_fetch_add_relaxed(&counter->count, delta) + delta;
    /* May be below 0 if increments were missed. */
    const struct annot_value value = annot_value_int64(NULL, (int64_t)count);
    emit_counter(counter, &value);
}

static void counter_inc(struct itt_counter_info *info)
{
    add(info, 1);
}

static void counter_inc_delta(struct itt_counter_info *info, unsigned long long delta)
{
    add(info, delta);
}

static void counter_dec(struct itt_counter_info *info)
{
    add(info, ~UINT64_C(0));
}

static void counter_dec_delta(struct itt_counter_info *info, unsigned long long delta)
{
    add(info, 0 - delta);
}

static void counter_set_value(struct itt_counter_info *info, void *at)
{
    struct itt_counter *counter = info ? info->extra2 : NULL;
    struct annot_value value;
    if (!counter || !itt_number(counter->type, at, &value))
        return;
    if (value.kind != ANNOT_PAYLOAD_DOUBLE)
        annot_store_relaxed(&counter->count, value.value.uint64); /* any order will do */
    emit_counter(counter, &value);
}

/* At the time of the call, as all of annot's counters: `time` is ignored. */
static void counter_set_value_ex(struct itt_counter_info *info, struct itt_clock *clock,
                                 unsigned long long time, void *at)
{
    (void)clock;
    (void)time;
    counter_set_value(info, at);
}

static void counter_destroy(struct itt_counter_info *info)
{
    (void)info; /* other users may have the same */
}

/* ---- By a domain and the handle of a name ---------------------------------------------------- */

static void add_by_name(const struct itt_domain *domain, struct itt_string *name, uint64_t delta)
{
    annot_domain number = itt_domain_number(domain);
    struct itt_counter *counter =
        name ? find(itt_name(name), name->text, number, ITT_TYPE_U64) : NULL;
    if (counter)
        add(&counter->info, delta);
}

static void counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
    add_by_name(domain, name, 1);
}

static void counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                                 unsigned long long delta)
{
    add_by_name(domain, name, delta);
}

static void counter_dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
    add_by_name(domain, name, ~UINT64_C(0));
}

static void counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string *name,
                                 unsigned long long delta)
{
    add_by_name(domain, name, 0 - delta);
}

/* ---- Metadata of a counter ------------------------------------------------------------------- */

static void bind_context(struct itt_counter_info *info, size_t count, struct itt_context *contexts)
{
    const struct itt_counter *counter = info ? info->extra2 : NULL;
    for (size_t i = 0; counter && contexts && i < count; i++)
        if (contexts[i].type == ITT_CONTEXT_UNITS && contexts[i].value)
            annot_counter_unit(counter->domain, counter->info.name, contexts[i].value);
}

const struct itt_entry itt_entries_counters[] = {
    {"bind_context_metadata_to_counter", bind_context},
    {"counter_create", counter_create},
    {"counter_create_typed", counter_create_typed},
    {"counter_create_v3", counter_create_v3},
    {"counter_dec", counter_dec},
    {"counter_dec_delta", counter_dec_delta},
    {"counter_dec_delta_v3", counter_dec_delta_v3},
    {"counter_dec_v3", counter_dec_v3},
    {"counter_destroy", counter_destroy},
    {"counter_inc", counter_inc},
    {"counter_inc_delta", counter_inc_delta},
    {"counter_inc_delta_v3", counter_inc_delta_v3},
    {"counter_inc_v3", counter_inc_v3},
    {"counter_set_value", counter_set_value},
    {"counter_set_value_ex", counter_set_value_ex},
    {"counter_set_value_v3", counter_set_value},
    {NULL, NULL},
};
