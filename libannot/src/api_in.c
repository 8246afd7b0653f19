/* SPDX-License-Identifier: MIT */
/* The functions of observers.h for ranges and marks with a name and a domain. */
#include "api.h"
#include "fast_in.h"
#include "spell.h"

/* What is beyond the first try, or another copy's. A copy that does not know of these knows of
 * events. */
static __attribute__((noinline)) void push_slowly(const struct annot_event *event)
{
    if (runtime_other && RUNTIME_HAS(push_in))
        runtime_other->push_in(event->domain, event->name, event->text);
    else
        annot_emit_push_event(event);
}

static __attribute__((noinline)) void mark_slowly(const struct annot_event *event)
{
    if (runtime_other && RUNTIME_HAS(mark_in))
        runtime_other->mark_in(event->domain, event->name, event->text);
    else
        annot_emit_mark_event(event);
}

/* 0: not known to this thread yet. */
static FAST annot_name known(struct control *control, annot_name name, const char *text)
{
    if (__builtin_expect(name != 0, 1) || !is_ready(control))
        return name;
    return spell_cached(control, text);
}

void annot_emit_push_in(annot_domain domain, annot_name name, const char *text)
{
    annot_name found = known(annot_control, name, text);
    if (__builtin_expect(found && in_push(annot_control, domain, found), 1))
        return;
    const struct annot_event event = {.text = text, .name = name, .domain = domain};
    push_slowly(&event);
}

void annot_emit_mark_in(annot_domain domain, annot_name name, const char *text)
{
    annot_name found = known(annot_control, name, text);
    if (__builtin_expect(found && in_mark(annot_control, domain, found), 1))
        return;
    const struct annot_event event = {.text = text, .name = name, .domain = domain};
    mark_slowly(&event);
}

OWN(annot_emit_push_in);
OWN(annot_emit_mark_in);
