/* SPDX-License-Identifier: MIT */
/* Entry point of ITT's static part, called once in each image of a process at its first use there:
 * it fills the image's table of pointers. Pointers of functions that annot does not record become
 * NULL, which callers test for, or the image's own default.
 *
 * Threads: the image's lock is held, so its lists do not change. The image is not accessed
 * afterwards: it may be unloaded. */
#include "itt.h"
#include "itt_names.h"
#include "itt_next.h"

#include <string.h>

#define PREFIX "__itt_"

__attribute__((visibility("default"))) void __itt_api_init(struct itt_global *image, int groups);

static const struct itt_entry *const tables[] = {
    itt_entries_names,    itt_entries_tasks, itt_entries_spans,   itt_entries_counters,
    itt_entries_metadata, itt_entries_sync,  itt_entries_control,
};

static void *find_function(const char *name)
{
    if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        for (const struct itt_entry *entry = tables[i]; entry->name; entry++)
            if (strcmp(entry->name, name + sizeof(PREFIX) - 1) == 0)
                return entry->function;
    return NULL;
}

/* Functions for lock checkers share names with others, and are not waits. */
static int is_for_checkers(int groups)
{
    return (groups & ITT_GROUP_FSYNC) && !(groups & ITT_GROUP_SYNC);
}

static void fill(const struct itt_api *api, int groups)
{
    int is_wanted = (api->groups & groups) != 0 && !is_for_checkers(api->groups);
    void *function = is_wanted ? find_function(api->name) : NULL;
    void *both = function ? itt_next_function(api->name) : NULL;
    if (!api->function)
        return;
    *api->function = both ? both : function ? function : api->nothing;
}

static void fill_all(const struct itt_global *image, int groups)
{
    if (image->version_build > ITT_API_OLD) {
        for (const struct itt_api *api = image->apis; api->name; api++)
            fill(api, groups);
        return;
    }
    for (const struct itt_api_old *old = image->apis; old->name; old++) {
        const struct itt_api api = {old->name, old->function, old->first, NULL, old->groups};
        fill(&api, groups);
    }
}

/* True if counters may have been made before: the image then has a default function for that. */
static int has_counters(const struct itt_global *image)
{
    const struct itt_api *api = image->apis;
    while (image->version_build > ITT_API_OLD && api->name) {
        if (strcmp(api->name, PREFIX "counter_create") == 0)
            return api->nothing != NULL;
        api++;
    }
    return 0;
}

static int is_known(const struct itt_global *image)
{
    static const unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
    return image && memcmp(image->magic, magic, sizeof(magic)) == 0 && image->version_major == 3 &&
           image->apis;
}

void __itt_api_init(struct itt_global *image, int groups)
{
    if (!is_known(image))
        return;
    itt_next_load(image, find_function);
    itt_names_adopt(image);
    if (has_counters(image))
        itt_counters_adopt(image->counters);
    fill_all(image, groups);
}
