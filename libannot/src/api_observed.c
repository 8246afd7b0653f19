/* SPDX-License-Identifier: MIT */
/* Domains and categories whose events an observer reports. Their number is that of a string which
 * says who it is; it stands before the one with the name, so whoever finds the name has seen it.
 * And pops for which an observer has nothing open. */
#include "api.h"

#include "proc.h"
#include "process.h"
#include "scratch.h"
#include "strings.h"

#include <annot/observers.h>

static APART uint16_t number_of(char *text, const struct string_key *name, uint32_t who)
{
    struct string_key key;
    const char *end = text + ANNOT_STRING_MAX + 1;
    char *at = text_append_decimal(text, end, who >> 16);
    at = text_append(at, end, "\x1f");
    at = text_append_decimal(at, end, who & 0xffff);
    at = text_append(at, end, name->kind == ANNOT_STRING_DOMAIN ? "\x1f\x1f" : "\x1f");
    text_append(at, end, name->bytes);
    string_key_init(&key, text, ANNOT_STRING_OBSERVED);
    key.parent = name->parent;
    return strings_observe(&key, name);
}

static uint16_t observe(struct string_key *name, uint32_t who)
{
    char *scratch = scratch_take();
    uint16_t number = scratch ? number_of(scratch, name, who) : 0;
    scratch_give(scratch);
    if (number == 0)
        process_leave_name();
    process_tell_numbers();
    return number;
}

annot_domain annot_domain_observed(const char *name, uint16_t observer, uint16_t role)
{
    struct string_key key;
    if (runtime_other && !RUNTIME_HAS(domain_observed))
        return annot_domain_create(name);
    FORWARD_VALUE(domain_observed, 0, name, observer, role);
    string_key_init(&key, name, ANNOT_STRING_DOMAIN);
    return observe(&key, (uint32_t)observer << 16 | role);
}

annot_category annot_category_observed(annot_domain domain, const char *name, uint16_t observer,
                                       uint16_t role)
{
    struct string_key key;
    if (runtime_other && !RUNTIME_HAS(category_observed))
        return annot_category_create(domain, name);
    FORWARD_VALUE(category_observed, 0, domain, name, observer, role);
    string_key_init(&key, name, ANNOT_STRING_CATEGORY);
    key.parent = domain;
    return observe(&key, (uint32_t)observer << 16 | role);
}

void annot_emit_pop_empty(void)
{
    FORWARD(pop_empty);
    struct emission emission = {.kind = EMIT_POP_EMPTY};
    emit_general(&emission);
}

OWN(annot_domain_observed);
OWN(annot_category_observed);
OWN(annot_emit_pop_empty);
