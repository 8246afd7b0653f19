/* SPDX-License-Identifier: MIT */
/* Another tool that listens to ITT: writes a line for each call to the file in ITT_TOOL_OUT. It has
 * its own domains, names and counters, and reports if it gets others. */
#include "itt_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_MAX = 64 };

static FILE *out;
static struct itt_domain domains[MADE_MAX];
static struct itt_string strings[MADE_MAX];
static struct itt_counter_info counters[MADE_MAX];
static int domain_count, string_count, counter_count;

__attribute__((visibility("default"))) void __itt_api_init(struct itt_global *image, int groups);

static const char *domain_name(const struct itt_domain *domain)
{
    return domain >= domains && domain < domains + domain_count ? domain->name : "FOREIGN";
}

static const char *text_of(const struct itt_string *string)
{
    return string >= strings && string < strings + string_count ? string->text : "FOREIGN";
}

static const char *counter_name(const struct itt_counter_info *counter)
{
    return counter >= counters && counter < counters + counter_count ? counter->name : "FOREIGN";
}

static struct itt_domain *domain_create(const char *name)
{
    for (int i = 0; i < domain_count; i++)
        if (strcmp(domains[i].name, name) == 0)
            return &domains[i];
    domains[domain_count].flags = 1;
    domains[domain_count].name = strdup(name);
    return &domains[domain_count++];
}

static struct itt_string *string_handle_create(const char *text)
{
    for (int i = 0; i < string_count; i++)
        if (strcmp(strings[i].text, text) == 0)
            return &strings[i];
    strings[string_count].text = strdup(text);
    return &strings[string_count++];
}

static struct itt_counter_info *counter_create_typed(const char *name, const char *domain, int type)
{
    (void)domain;
    counters[counter_count].name = strdup(name);
    counters[counter_count].type = type;
    return &counters[counter_count++];
}

static struct itt_counter_info *counter_create(const char *name, const char *domain)
{
    return counter_create_typed(name, domain, ITT_TYPE_U64);
}

#define NAMED(function)                                                                            \
    static void function(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,  \
                         const struct itt_string *name)                                            \
    {                                                                                              \
        fprintf(out, #function " %s %s %d %d\n", domain_name(domain), text_of(name), (int)id.d2,   \
                (int)parent.d2);                                                                   \
    }
NAMED(task_begin)
NAMED(task_begin_overlapped)
NAMED(region_begin)

#define OF_ID(function)                                                                            \
    static void function(const struct itt_domain *domain, struct itt_id id)                        \
    {                                                                                              \
        fprintf(out, #function " %s %d\n", domain_name(domain), (int)id.d2);                       \
    }
OF_ID(task_end_overlapped)
OF_ID(region_end)

static void task_end(const struct itt_domain *domain)
{
    fprintf(out, "task_end %s\n", domain_name(domain));
}

static void task_begin_ex(const struct itt_domain *domain, void *clock, unsigned long long time,
                          struct itt_id id, struct itt_id parent, const struct itt_string *name)
{
    (void)clock;
    fprintf(out, "task_begin_ex %s %s %d %d %d\n", domain_name(domain), text_of(name), (int)time,
            (int)id.d2, (int)parent.d2);
}

static void marker(const struct itt_domain *domain, struct itt_id id, const struct itt_string *name,
                   int scope)
{
    fprintf(out, "marker %s %s %d %d\n", domain_name(domain), text_of(name), (int)id.d2, scope);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id,
                         const struct itt_string *key, int type, size_t count, void *data)
{
    fprintf(out, "metadata_add %s %d %s %d %zu %d\n", domain_name(domain), (int)id.d2, text_of(key),
            type, count, type == ITT_TYPE_S32 ? *(int *)data : 0);
}

static void counter_inc_delta(struct itt_counter_info *counter, unsigned long long delta)
{
    fprintf(out, "counter_inc_delta %s %llu\n", counter_name(counter), delta);
}

static void counter_set_value(struct itt_counter_info *counter, void *value)
{
    fprintf(out, "counter_set_value %s %d\n", counter_name(counter), *(short *)value);
}

static void counter_inc_v3(const struct itt_domain *domain, const struct itt_string *name)
{
    fprintf(out, "counter_inc_v3 %s %s\n", domain_name(domain), text_of(name));
}

static void sync_prepare(void *address)
{
    fprintf(out, "sync_prepare %d\n", address != NULL);
}

static void pause_all(void)
{
    fprintf(out, "pause\n");
}

static int event_create(const char *name, int length)
{
    fprintf(out, "event_create %.*s\n", length, name);
    return 4711;
}

static int event_start(int event)
{
    fprintf(out, "event_start %d\n", event);
    return 0;
}

static const struct {
    const char *name;
    void *function;
} functions[] = {

#define LINE(name)                                                                                 \
    {                                                                                              \
        "__itt_" #name, name                                                                       \
    }
    LINE(domain_create),  LINE(string_handle_create), LINE(counter_create_typed),
    LINE(counter_create), LINE(task_begin),           LINE(task_begin_overlapped),
    LINE(region_begin),   LINE(task_end_overlapped),  LINE(region_end),
    LINE(task_end),       LINE(task_begin_ex),        LINE(marker),
    LINE(metadata_add),   LINE(counter_inc_delta),    LINE(counter_set_value),
    LINE(counter_inc_v3), LINE(sync_prepare),         LINE(event_create),
    LINE(event_start),    {"__itt_pause", pause_all},
};

void __itt_api_init(struct itt_global *image, int groups)
{
    const char *path = getenv("ITT_TOOL_OUT");
    (void)groups;
    if (!out)
        out = path ? fopen(path, "w") : stderr;
    for (const struct itt_api *api = image->apis; api->name; api++) {
        *api->function = api->nothing;
        for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
            if (strcmp(functions[i].name, api->name) == 0)
                *api->function = functions[i].function;
    }
}
