/* SPDX-License-Identifier: MIT */
/* Evaluation of filters: see annot_filter.h. */
#include "annot_filter.h"

#include <string.h>

/* "DOMAIN/CATEGORY" or "DOMAIN", byte by byte, without making a copy. */
struct subject {
    const struct annot_filter_name *name;
    uint32_t length;
};

static char byte_at(const struct subject *subject, uint32_t at)
{
    const struct annot_filter_name *name = subject->name;
    if (at < name->domain_length)
        return name->domain[at];
    if (at == name->domain_length)
        return '/';
    return name->category[at - name->domain_length - 1];
}

/* Returns the offset after the character at `at`, which may have several bytes. */
static uint32_t skip_character(const struct subject *subject, uint32_t at)
{
    at++;
    while (at < subject->length && ((unsigned char)byte_at(subject, at) & 0xc0) == 0x80)
        at++;
    return at;
}

/* Backtracks to the last star only: it can match everything that an earlier one could. */
static int matches(const struct annot_filter_rule *rule, const struct subject *subject)
{
    uint32_t in = 0, at = 0, star = UINT32_MAX, star_at = 0;
    while (at < subject->length) {
        const char *wanted = in < rule->length ? &rule->pattern[in] : NULL;
        if (wanted && *wanted == '*') {
            star = in++;
            star_at = at;
        } else if (wanted && *wanted == '?') {
            in++;
            at = skip_character(subject, at);
        } else if (wanted && *wanted == byte_at(subject, at)) {
            in++;
            at++;
        } else if (star != UINT32_MAX) {
            in = star + 1;
            at = ++star_at;
        } else {
            return 0;
        }
    }
    while (in < rule->length && rule->pattern[in] == '*')
        in++;
    return in == rule->length;
}

int annot_filter_fits(const struct annot_filter_rule *rule, const struct annot_filter_name *name)
{
    struct subject subject = {name, name->domain_length};
    if (name->category && memchr(rule->pattern, '/', rule->length))
        subject.length += 1 + name->category_length;
    return matches(rule, &subject);
}

static int is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n';
}

/* Parses a sign, a pattern, and after a `+` an optional level. */
static int parse(const char *word, uint32_t length, struct annot_filter_rule *ret_rule)
{
    if (length < 2 || (word[0] != '+' && word[0] != '-'))
        return 0;
    *ret_rule = (struct annot_filter_rule){word + 1, length - 1, ANNOT_FILTER_OFF};
    if (word[0] == '-')
        return 1;
    char last = word[length - 1];
    ret_rule->level = ANNOT_LEVELS - 1;
    if (length >= 3 && word[length - 2] == ':' && last >= '0' && last < '0' + ANNOT_LEVELS) {
        ret_rule->level = last - '0';
        ret_rule->length -= 2;
    }
    return ret_rule->length > 0;
}

int annot_filter_next(const char **at, const char *end, struct annot_filter_rule *ret_rule)
{
    const char *word = *at, *behind;
    int found = 0;
    for (; !found && word < end; word = behind) {
        while (word < end && is_separator(*word))
            word++;
        for (behind = word; behind < end && !is_separator(*behind);)
            behind++;
        found = parse(word, (uint32_t)(behind - word), ret_rule);
    }
    *at = word;
    return found;
}

int annot_filter_level(const char *text, uint32_t size, const struct annot_filter_name *name)
{
    const char *at = text, *end = text + size;
    struct annot_filter_rule rule;
    int level = ANNOT_LEVELS - 1;
    for (int first = 1; annot_filter_next(&at, end, &rule); first = 0) {
        if (first && rule.level != ANNOT_FILTER_OFF)
            level = ANNOT_FILTER_OFF;
        if (annot_filter_fits(&rule, name))
            level = rule.level;
    }
    return level;
}

void annot_filter_add(struct annot_filter_masks *masks, uint32_t number, int level)
{
    uint64_t bit = UINT64_C(1) << (number & 63);
    masks->used |= bit;
    for (int i = 0; i <= level && i < ANNOT_LEVELS; i++)
        masks->wanted[i] |= bit;
}

uint64_t annot_filter_mask(const struct annot_filter_masks *masks, int level)
{
    return masks->wanted[level] | ~masks->used;
}
