/* SPDX-License-Identifier: MIT */
/* The public functions of function_calls.h. */
#include "api.h"
#include "calls.h"
#include "fast.h"
#include "proc.h"
#include "scratch.h"
#include "strings.h"

#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------- */

/* Appends a separator and a number; printf is not for signal handlers. */
static uint32_t put_number(char *text, uint32_t length, uint64_t number, uint32_t base)
{
    char digits[20];
    uint32_t count = 0;
    text[length++] = '\x1f';
    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number);
    while (count)
        text[length++] = digits[--count];
    return length;
}

/* The end of a path that is too long: where it begins is less telling. */
static const char *shortened(const char *file, uint32_t room)
{
    size_t length = strlen(file);
    return length <= room ? file : file + (length - room);
}

static APART annot_name intern_function(char *text, const char *file, uint64_t offset,
                                        uint64_t inode)
{
    enum { NUMBERS = 2 * 21 };

    struct string_key key;
    file = shortened(file, ANNOT_STRING_MAX - NUMBERS);
    uint32_t length = (uint32_t)strlen(file);
    memcpy(text, file, length);
    length = put_number(text, length, offset, 16);
    length = put_number(text, length, inode, 10);
    text[length] = 0;
    string_key_init(&key, text, ANNOT_STRING_FUNCTION);
    return intern_or_tell(&key);
}

annot_name annot_function_name(const char *file, uint64_t offset, uint64_t inode)
{
    FORWARD_VALUE(function_name, 0, file, offset, inode);
    if (!file)
        return annot_name_intern(file);
    if (calls_domain == 0) /* partner: the loads when a call is told; it comes out the same twice */
        annot_store_relaxed(&calls_domain, annot_domain_create(ANNOT_FUNCTIONS_DOMAIN));
    char *scratch = scratch_take();
    annot_name name = scratch ? intern_function(scratch, file, offset, inode) : 0;
    scratch_give(scratch);
    return name;
}

/* ---- Calls and returns ------------------------------------------------------------------------
 */

static FAST void record_call(struct control *control, annot_name name, uint32_t at)
{
    uint64_t time = clock_now();
    record_base(record_at(control->block, at), time,
                record_head(ANNOT_REC_PUSH, 1, 0, ANNOT_CALL_LEVEL), name);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    if (__builtin_expect(control->depth >= ANNOT_LIVE_DEPTH, 0)) {
        levels_push(control, LEVEL_RECORDED, name, time, 1);
        return;
    }
    live_put(control, name, control->instance, time);
    control->depth++;
    control->recorded++;
    control->instance = instance_after(control->instance);
}

/* Whether the call can be told here, after all that came before it. */
static FAST int is_plain_call(const struct control *control, annot_name name,
                              const struct annot_call *made)
{
    const struct calls *calls = control->calls;
    if (!calls || name == 0 || name >= control->name_limit || calls->count >= CALLS_KEPT ||
        !levels_can_record(control))
        return 0;
    return calls->count == 0 || calls_is_open(&calls->at[calls->count - 1], made);
}

static FAST int fast_call(struct control *control, annot_name name, const struct annot_call *made)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    if (__builtin_expect(!is_plain_call(control, name, made), 0)) {
        control->generation = generation;
        return 0;
    }
    struct calls *calls = control->calls;
    struct call *call = &calls->at[calls->count];
    call->function = (uintptr_t)made->function;
    call->site = (uintptr_t)made->site;
    call->stack = (uintptr_t)made->stack;
    call->depth = control_own(control);
    call->is_shown = (uint32_t)calls_are_wanted(control, name);
    annot_signal_fence();
    calls->count++;
    if (call->is_shown)
        record_call(control, name, at);
    fast_leave(control, generation);
    return 1;
}

static FAST void record_return(struct control *control, uint32_t at)
{
    uint32_t recorded = control->recorded - 1, level = control->depth - 1;
    int counted;
    record_base(record_at(control->block, at), clock_now(),
                record_head(ANNOT_REC_POP, 1, 0, ANNOT_CALL_LEVEL), recorded + control->code_count);
    record_commit_to(control, control->block, at + (uint32_t)sizeof(struct annot_record));
    if (__builtin_expect(level >= ANNOT_LIVE_DEPTH, 0)) {
        levels_pop(control, &counted);
        return;
    }
    uint32_t depth = control->live_depth - 1;
    control->depth = level;
    control->live_depth = depth;
    control->recorded = recorded;
    /* Partner: the sampler, which reads depth first. */
    annot_store_release(&control->thread->depth, depth);
}

/* Whether the innermost call is the one that returns, with nothing but its own range to close. */
static FAST int is_plain_return(const struct control *control, const struct annot_call *made,
                                int is_down)
{
    const struct calls *calls = control->calls;
    if (!calls || calls->count == 0 || calls->beyond)
        return 0;
    const struct call *call = &calls->at[calls->count - 1];
    uintptr_t stack = (uintptr_t)made->stack;
    int is_own = is_down ? call->stack < stack && (calls->count == 1 || call[-1].stack >= stack)
                         : call->stack >= stack;
    if (!is_own || call->function != (uintptr_t)made->function ||
        call->site != (uintptr_t)made->site)
        return 0;
    uint32_t level = control->depth - 1;
    return !call->is_shown ||
           (control_own(control) - 1 == call->depth && level < LEVELS_KEPT &&
            levels_can_record(control) && control->levels[level] == LEVEL_RECORDED);
}

static FAST int fast_return(struct control *control, const struct annot_call *made, int is_down)
{
    uint64_t generation = control->generation;
    uint32_t at;
    if (!fast_enter(control, generation, sizeof(struct annot_record), &at))
        return 0;
    if (__builtin_expect(!is_plain_return(control, made, is_down), 0)) {
        control->generation = generation;
        return 0;
    }
    struct calls *calls = control->calls;
    if (calls->at[calls->count - 1].is_shown)
        record_return(control, at);
    annot_signal_fence();
    calls->count--;
    fast_leave(control, generation);
    return 1;
}

static APART void general_call(annot_name name, const struct annot_call *call)
{
    struct emission emission = {.kind = ANNOT_REC_PUSH,
                                .level = ANNOT_CALL_LEVEL,
                                .domain = annot_load_relaxed(&calls_domain),
                                .name = name,
                                .is_call = 1,
                                .call = call};
    emit_general(&emission);
}

void annot_emit_call(annot_name name, const struct annot_call *call)
{
    if (__builtin_expect(fast_call(annot_control, name, call), 1))
        return;
    FORWARD(call, name, call);
    general_call(name, call);
}

static APART void general_return(const struct annot_call *call, int is_down)
{
    struct emission emission = {.kind = ANNOT_REC_POP,
                                .level = ANNOT_CALL_LEVEL,
                                .is_down = is_down != 0,
                                .is_call = 1,
                                .call = call};
    emit_general(&emission);
}

void annot_emit_return(const struct annot_call *call, int is_down)
{
    if (__builtin_expect(fast_return(annot_control, call, is_down), 1))
        return;
    FORWARD(return_, call, is_down);
    general_return(call, is_down);
}

OWN(annot_function_name);
OWN(annot_emit_call);
OWN(annot_emit_return);
