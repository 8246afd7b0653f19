/* SPDX-License-Identifier: MIT */
/* The rules of a filter: which events a session wants. Programs and collectors evaluate them by
 * this code alone, so they agree.
 *
 * A filter is a list of rules, apart by blanks or commas; the last one that fits wins:
 *
 *     +PATTERN[:LEVEL]   wanted, up to LEVEL (0 to 7; without one: all levels)
 *     -PATTERN           not wanted
 *
 * A pattern is text with `*` (any characters) and `?` (one). With a slash it is compared with
 * "DOMAIN/CATEGORY", or "DOMAIN" where an event has no category; without one with DOMAIN alone, so
 * that it fits all that is in a domain. The default domain is called "default". If the first rule
 * is a `+`, nothing else is wanted; else, and without rules, everything.
 *
 * Nothing here allocates, locks or calls the system. Texts are foreign bytes of a given length;
 * what is no rule is skipped. Cost: pattern length times name length at most, for each rule. */
#ifndef ANNOT_FILTER_H
#define ANNOT_FILTER_H

#include <annot_wire.h>

#define ANNOT_FILTER_DEFAULT "default" /* what the domain 0 is called */

/* Of annot_filter_level: no level of it is wanted. */
#define ANNOT_FILTER_OFF (-1)

struct annot_filter_rule {
    const char *pattern;
    uint32_t length; /* of the pattern, at least 1 */
    int level;       /* the highest that is wanted, or ANNOT_FILTER_OFF */
};

/* Who asks: `category` NULL for what has none. */
struct annot_filter_name {
    const char *domain, *category;
    uint32_t domain_length, category_length;
};

/* The first rule at or behind *at, which is moved behind it. 0: there is none. */
int annot_filter_next(const char **at, const char *end, struct annot_filter_rule *ret_rule);

/* Whether a rule is about this name. */
int annot_filter_fits(const struct annot_filter_rule *rule, const struct annot_filter_name *name);

/* The highest level of events of that name that is wanted, or ANNOT_FILTER_OFF. */
int annot_filter_level(const char *text, uint32_t size, const struct annot_filter_name *name);

/* The masks of annot_control: several numbers may share a bit, which is set if one of them is
 * wanted. Bits that no number has are set. Begin with {0}. */
struct annot_filter_masks {
    uint64_t used; /* bits that some number has */
    uint64_t wanted[ANNOT_LEVELS];
};

void annot_filter_add(struct annot_filter_masks *masks, uint32_t number, int level);
uint64_t annot_filter_mask(const struct annot_filter_masks *masks, int level);

#endif
