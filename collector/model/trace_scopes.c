/* SPDX-License-Identifier: MIT */
/* Scopes of events: see trace.h. Thread-safety: the trace's owner. */
#include "trace_private.h"

#include <errno.h>

static const struct scope no_scope;

static const struct wide_key *key_of(const struct scope *scope, struct wide_key *key)
{
    *key =
        (struct wide_key){.words = {scope->domain, scope->category, scope->observer, scope->role}};
    return key;
}

/* The first of equal ones is found. */
static int index_all(struct trace *trace)
{
    struct wide_key key;
    for (; trace->scopes_indexed < trace->scopes.count; trace->scopes_indexed++) {
        key_of(&trace->scopes.items[trace->scopes_indexed], &key);
        if (!wide_map_find(&trace->scopes_known, &key) &&
            wide_map_put(&trace->scopes_known, &key, trace->scopes_indexed) != 0)
            return -ENOMEM;
    }
    return 0;
}

int64_t trace_scope_add(struct trace *trace, const struct scope *scope)
{
    struct wide_key key;
    if (index_all(trace) != 0)
        return -ENOMEM;
    const uint64_t *known = wide_map_find(&trace->scopes_known, key_of(scope, &key));
    if (known)
        return (int64_t)*known;
    if (trace->scopes.count >= TRACE_SCOPES_MAX)
        return -ENOSPC;
    return vec_push(&trace->scopes, *scope) != 0 ? -ENOMEM : (int64_t)trace->scopes.count - 1;
}

int64_t trace_scope_of_domain(struct trace *trace, uint32_t domain)
{
    return trace_scope_add(trace, &(struct scope){.domain = domain});
}

int trace_scope_set(struct trace *trace, uint32_t ordinal, const struct scope *scope)
{
    if (ordinal >= TRACE_SCOPES_MAX)
        return -ENOSPC;
    while (trace->scopes.count <= ordinal)
        if (vec_push(&trace->scopes, no_scope) != 0)
            return -ENOMEM;
    if (ordinal != 0)
        trace->scopes.items[ordinal] = *scope;
    return 0;
}

const struct scope *trace_scope(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->scopes.count ? &trace->scopes.items[ordinal] : &no_scope;
}

uint32_t trace_scope_domain(const struct trace *trace, uint32_t ordinal)
{
    return trace_scope(trace, ordinal)->domain;
}

uint32_t trace_scope_category(const struct trace *trace, uint32_t ordinal)
{
    return trace_scope(trace, ordinal)->category;
}

uint32_t trace_scope_count(const struct trace *trace)
{
    return (uint32_t)trace->scopes.count;
}
