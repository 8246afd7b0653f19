/* SPDX-License-Identifier: MIT */
/* The rules of a filter: which events a session wants. Programs and collectors share this code, so
 * their decisions agree.
 *
 * A filter is a list of rules, separated by blanks or commas; the last one that fits wins:
 *
 *     +PATTERN[:LEVEL]     wanted, up to LEVEL (0 to 7; without one: all levels)
 *     -PATTERN             not wanted
 *
 * A pattern is text with `*` (any characters) and `?` (one). With a slash it is compared with
 * "DOMAIN/CATEGORY", or "DOMAIN" where an event has no category; without one with DOMAIN alone, so
 * that it fits everything in a domain. The default domain is called "default". Events that fit
 * no rule are unwanted if the first rule is a `+`, else wanted.
 *
 * No function here allocates, locks or makes a system call. Texts are untrusted bytes of a given
 * length; words that are not rules are skipped. Cost: pattern length times name length at most, for
 * each rule. */
#ifndef ANNOT_FILTER_H
#define ANNOT_FILTER_H

#include <annot_wire.h>

#define ANNOT_FILTER_DEFAULT "default" /* the name of domain 0 */

/* Returned by annot_filter_level if no level is wanted. */
#define ANNOT_FILTER_OFF (-1)

struct annot_filter_rule {
    const char *pattern;
    uint32_t length; /* of the pattern, at least 1 */
    int level;       /* the highest level that is wanted, or ANNOT_FILTER_OFF */
};

/* The domain and category of an event; `category` NULL without one. */
struct annot_filter_name {
    const char *domain, *category;
    uint32_t domain_length, category_length;
};

/* Reads the first rule at or after *at, and moves *at past it. Returns 1, or 0 at the end. */
int annot_filter_next(const char **at, const char *end, struct annot_filter_rule *ret_rule);

/* True if a rule fits this name. */
int annot_filter_fits(const struct annot_filter_rule *rule, const struct annot_filter_name *name);

/* Returns the highest wanted level of events of that name, or ANNOT_FILTER_OFF. */
int annot_filter_level(const char *text, uint32_t size, const struct annot_filter_name *name);

/* The masks of annot_control: several numbers may share a bit, which is set if one of them is
 * wanted. Bits without a number are set. Begin with {0}. */
struct annot_filter_masks {
    uint64_t used; /* bits that have a number */
    uint64_t wanted[ANNOT_LEVELS];
};

void annot_filter_add(struct annot_filter_masks *masks, uint32_t number, int level);
uint64_t annot_filter_mask(const struct annot_filter_masks *masks, int level);

#endif
