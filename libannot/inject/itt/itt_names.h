/* SPDX-License-Identifier: MIT */
/* Domains and names of ITT as libannot's numbers, and events of them. Threads: any. */
#ifndef ANNOT_ITT_NAMES_H
#define ANNOT_ITT_NAMES_H

#include "itt.h"
#include "itt_wire.h"

#include <annot/annot.h>
#include <annot_barrier.h>

/* Set in extra1 of a domain together with its number, as 0 is a valid number. */
enum { ITT_KNOWN = 1 << 16 };

/* NULL is the default domain. */
annot_domain itt_domain_find(struct itt_domain *domain);
annot_domain itt_domain_of(const char *name);
annot_name itt_name_find(struct itt_string *string);

static inline annot_domain itt_domain_number(const struct itt_domain *domain)
{
    int known = domain ? annot_load_relaxed(&domain->extra1) : 0;
    return known ? (annot_domain)known : itt_domain_find((struct itt_domain *)domain);
}

static inline annot_name itt_name(const struct itt_string *string)
{
    annot_name name = string ? (annot_name)annot_load_relaxed(&string->extra1) : 0;
    return name ? name : itt_name_find((struct itt_string *)string);
}

/* Registers the domains and names that an image created before it was initialised. */
void itt_names_adopt(struct itt_global *image);

/* Makes an event of a domain. A name beyond the table is passed as a text. */
static inline struct annot_event itt_event(const struct itt_domain *domain,
                                           const struct itt_string *name)
{
    struct annot_event event = {.name = itt_name(name), .domain = itt_domain_number(domain)};
    if (ITT_RARELY(event.name == 0))
        event.text = name ? name->text : "(null)";
    return event;
}

#endif
