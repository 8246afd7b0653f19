/* SPDX-License-Identifier: MIT */
/* See export_values.h. A table by string holds which event had a key last, so that an event of
 * thousands of key-values costs no more than as many of one. */
#include "export_values.h"

#include "export_ids.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const own_names[] = {
    "payload",   "domain",  "level", "color", "category",   "track",    "track_id",  "parent_track",
    "start_tid", "end_tid", "tid",   "flow",  "unfinished", "end_lost", "last_word",
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
    return 1;
}

/* The trace has more strings by now. */
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

enum export_severity export_severity(const struct trace *trace, const struct args *values)
{
    static const char *const names[] = {"debug", "info", "warning", "error", "fatal"};
    for (uint32_t i = 0; i < values->count; i++) {
        const struct arg *value = &values->items[i];
        if (value->kind != VALUE_STRING ||
            strcmp(trace_string(trace, value->key)->bytes, "severity") != 0)
            continue;
        const char *text = trace_string(trace, value->value.string)->bytes;
        for (unsigned severity = 0; severity < EXPORT_SEVERITY_NONE; severity++) {
            if (strcmp(text, names[severity]) == 0)
                return (enum export_severity)severity;
        }
    }
    return EXPORT_SEVERITY_NONE;
}
