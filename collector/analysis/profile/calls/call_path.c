/* SPDX-License-Identifier: MIT */
/* Paths of ranges as text. A file of its own: streams need zlib, which readers of labels do not
 * link. */
#include "call_path.h"

#include "stacks.h"

void call_put_range(const struct trace *trace, uint32_t name, uint32_t scope,
                    struct out_stream *out)
{
    const struct trace_string *text = trace_string(trace, name);
    uint32_t domain = trace_scope_domain(trace, scope);
    if (domain) {
        const struct trace_string *name_of = trace_string(trace, domain);
        out_write(out, name_of->bytes, name_of->length);
        out_write(out, ":", 1);
    }
    if (text->length)
        out_write(out, text->bytes, text->length);
    else
        out_text(out, "(no name)");
}

void call_put_path(const struct trace *trace, uint32_t path, struct out_stream *out)
{
    enum { PATHS_MAX = 1024 };

    uint32_t paths[PATHS_MAX];
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t count = stacks_paths(stacks, path, paths, PATHS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct range_path *range = stacks_get_path(stacks, paths[i]);
        out_text(out, i ? "/" : "");
        call_put_range(trace, range->name, range->scope, out);
    }
}
