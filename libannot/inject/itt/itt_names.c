/* SPDX-License-Identifier: MIT */
/* See itt_names.h. Objects that an image made before it was initialised belong to it and keep their
 * address; later ones are ours, one for all images of the process. */
#include "itt_names.h"

#include "itt.h"

#include <annot/observers.h>
#include <annot_barrier.h>
#include <string.h>

enum { NAME_MAX = 4096, BUCKETS = 256 };

/* Our objects, under itt_lock. */
static struct itt_domain *domains[BUCKETS];
static struct itt_string *strings[BUCKETS];

static uint32_t bucket_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; text[i] && i < NAME_MAX; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash % BUCKETS;
}

/* ---- Domains --------------------------------------------------------------------------------- */

annot_domain itt_domain_of(const char *name)
{
    return annot_domain_observed(name ? name : "", ANNOT_OBSERVER_ITT, 0);
}

annot_domain itt_domain_find(struct itt_domain *domain)
{
    static struct itt_domain unnamed;
    domain = domain ? domain : &unnamed;
    int known = annot_load_relaxed(&domain->extra1);
    if (known)
        return (annot_domain)known;
    annot_domain number = itt_domain_of(domain->name);
    annot_store_relaxed(&domain->extra1, (int)(ITT_KNOWN | number)); /* all store the same */
    return number;
}

static struct itt_domain *make_domain(const char *name)
{
    struct itt_domain *domain = itt_memory_take(sizeof(*domain));
    char *copy = itt_memory_copy(name, NAME_MAX);
    if (!domain || !copy)
        return NULL;
    domain->name = copy;
    domain->flags = 1;
    itt_domain_find(domain);
    return domain;
}

static struct itt_domain *domain_create(const char *name)
{
    struct itt_domain **at, *domain = NULL;
    if (!name || !itt_lock())
        return NULL;
    for (at = &domains[bucket_of(name)]; *at; at = &(*at)->next)
        if (strncmp((*at)->name, name, NAME_MAX) == 0)
            break;
    domain = *at ? *at : make_domain(name);
    *at = domain;
    itt_unlock();
    return domain;
}

/* ---- Names ----------------------------------------------------------------------------------- */

annot_name itt_name_find(struct itt_string *string)
{
    annot_name name = annot_name_intern(string ? string->text : NULL);
    if (string)
        annot_store_relaxed(&string->extra1, (int)name); /* all store the same */
    return name;
}

static struct itt_string *make_string(const char *text)
{
    struct itt_string *string = itt_memory_take(sizeof(*string));
    char *copy = itt_memory_copy(text, NAME_MAX);
    if (!string || !copy)
        return NULL;
    string->text = copy;
    itt_name_find(string);
    return string;
}

static struct itt_string *string_handle_create(const char *text)
{
    struct itt_string **at, *string = NULL;
    if (!text || !itt_lock())
        return NULL;
    for (at = &strings[bucket_of(text)]; *at; at = &(*at)->next)
        if (strncmp((*at)->text, text, NAME_MAX) == 0)
            break;
    string = *at ? *at : make_string(text);
    *at = string;
    itt_unlock();
    return string;
}

/* ---- Images ---------------------------------------------------------------------------------- */

void itt_names_adopt(struct itt_global *image)
{
    for (struct itt_domain *domain = image->domains; domain; domain = domain->next)
        itt_domain_find(domain);
    for (struct itt_string *string = image->strings; string; string = string->next)
        itt_name_find(string);
}

const struct itt_entry itt_entries_names[] = {
    {"domain_create", domain_create},
    {"string_handle_create", string_handle_create},
    {NULL, NULL},
};
