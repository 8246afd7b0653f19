/* SPDX-License-Identifier: MIT */
/* The public functions of logs.h that tie a recording to logs and other services. */
#include "api.h"
#include "mix.h"
#include "proc.h"
#include "trace_context.h"

#include <annot_barrier.h>

/* The innermost recorded range; 0: none. In a signal handler, what the interrupted event has done
 * so far: an entry of the live stack is whole before the depth counts it. */
static uint32_t innermost(const struct annot_thread *thread)
{
    uint32_t depth = annot_load_relaxed(&thread->depth);
    for (uint32_t level = depth; level > 0 && depth - level < ANNOT_LIVE_DEPTH; level--) {
        uint32_t instance = thread->live[(level - 1) % ANNOT_LIVE_DEPTH].instance;
        if (instance)
            return instance;
    }
    return 0;
}

static uint64_t current(const struct control *control)
{
    uint32_t instance = control->thread && !control->shadow ? innermost(control->thread) : 0;
    if (instance == 0)
        return 0;
    uint64_t number = mix(control->current ^ instance * MIX_INSTANCE);
    return number ? number : 1;
}

static APART void general(uint8_t kind, uint64_t id)
{
    struct emission emission = {.kind = kind, .id = id};
    emit_general(&emission);
}

struct control *api_recording(void)
{
    struct control *control = annot_control;
    if (!is_ready(control)) { /* it may have to follow to another session first */
        general(ANNOT_REC_NONE, 0);
        control = annot_control;
    }
    return annot_enabled() && control->segment && !control->shadow ? control : NULL;
}

uint64_t annot_current(void)
{
    struct control *control = annot_control;
    if (__builtin_expect(is_ready(control), 1))
        return current(control);
    FORWARD_VALUE(current, 0);
    control = annot_enabled() ? api_recording() : NULL;
    return control ? current(control) : 0;
}

/* A copy that does not know of this has nothing better than the gate, which others change too. */
uint64_t annot_recording(void)
{
    FORWARD_VALUE(recording, annot_gate_v1.generation);
    const struct control *control = annot_enabled() ? api_recording() : NULL;
    return control ? control->segment->session_id : 0;
}

/* ---- W3C trace context ----------------------------------------------------------------------- */

/* Returns the span: the innermost range, or a number of its own. */
static APART uint64_t write_context(struct control *control, char *text)
{
    struct trace_context context = {{control->keep->trace[0], control->keep->trace[1]},
                                    current(control)};
    if ((context.trace[0] | context.trace[1]) == 0) {
        context.trace[0] = control->segment->session_id;
        context.trace[1] = control->segment->header->info.identity;
    }
    if (context.span == 0)
        context.span = emit_take_id();
    trace_context_write(&context, text);
    return context.span;
}

int annot_trace_context(char text[ANNOT_TRACE_CONTEXT_SIZE])
{
    FORWARD_VALUE(trace_context, 0, text);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control)
        return 0;
    general(ANNOT_REC_FLOW_BEGIN, write_context(control, text));
    return 1;
}

/* Returns whether the text is one, or none is given; ret_span gets the sender's, or 0. */
static APART int read_context(struct control *control, const char *traceparent, uint64_t *ret_span)
{
    struct trace_context context = {0};
    if (traceparent && !trace_context_read(traceparent, &context))
        return 0;
    control->keep->trace[0] = context.trace[0];
    control->keep->trace[1] = context.trace[1];
    *ret_span = context.span;
    return 1;
}

int annot_trace_context_adopt(const char *traceparent)
{
    uint64_t span;
    FORWARD_VALUE(trace_context_adopt, 0, traceparent);
    struct control *control = annot_enabled() ? api_recording() : NULL;
    if (!control || !read_context(control, traceparent, &span))
        return 0;
    if (span)
        general(ANNOT_REC_FLOW_END, span);
    return 1;
}

OWN(annot_current);
OWN(annot_recording);
OWN(annot_trace_context);
OWN(annot_trace_context_adopt);
