/* SPDX-License-Identifier: MIT */
/* See inject_emit.h. */
#include "inject_emit.h"

#include "runtime.h"

#include <stddef.h>

struct inject_emit inject_emit = {
    .push_in = annot_emit_push_in,
    .mark_in = annot_emit_mark_in,
    .push_event = annot_emit_push_event,
    .mark_event = annot_emit_mark_event,
    .pop = annot_emit_pop,
};

/* After the constructor that finds the serving copy. */
__attribute__((constructor(102))) static void choose(void)
{
    if (!runtime_other)
        return;
    if (RUNTIME_HAS(push_in))
        inject_emit.push_in = runtime_other->push_in;
    if (RUNTIME_HAS(mark_in))
        inject_emit.mark_in = runtime_other->mark_in;
    inject_emit.push_event = runtime_other->push_event;
    inject_emit.mark_event = runtime_other->mark_event;
    inject_emit.pop = runtime_other->pop;
}
