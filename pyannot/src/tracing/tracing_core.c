/* SPDX-License-Identifier: MIT */
/* What becomes of calls: see tracing.h. */
#include "tracing_parts.h"

struct trace_now trace_now;

/* Whether a call has no range of its own because of where it is. */
static bool is_held(const struct trace_thread *thread, const struct trace_code *code)
{
    uint32_t count = thread->count;
    if (trace_now.options.max_depth != 0 && count >= trace_now.options.max_depth)
        return true;
    if (trace_now.options.library != TRACE_LIBRARY_BOX || count == 0 || !code->is_library)
        return false;
    const struct trace_code *caller = thread->entries[count - 1].code;
    return caller == NULL || caller->is_library;
}

/* NULL: no memory. */
static inline struct trace_entry *push(struct trace_thread *thread, struct trace_code *code,
                                       uint32_t depth)
{
    uint32_t count = thread->count;
    if (RARE(count > 0 && thread->entries[count - 1].depth >= depth)) {
        trace_thread_close(thread, depth);
        count = thread->count;
    }
    if (RARE(count == thread->capacity) && !trace_thread_grow(thread))
        return NULL;
    struct trace_entry *entry = &thread->entries[count];
    entry->code = code;
    entry->depth = depth;
    return entry;
}

/* Lines that are counted have nothing of it as their own time. */
static inline void tell_lines(struct trace_thread *thread, uint32_t depth)
{
    if (RARE(thread->lines != NULL))
        trace_line_calls(thread, depth);
}

static inline uint32_t open_call(struct trace_thread *thread, const struct trace_code *code,
                                 PyCodeObject *python_code, bool continues)
{
    tell_lines(thread, thread->entries[thread->count].depth);
    if (RARE(trace_has_values))
        return trace_values_enter(code, python_code, continues);
    return annot_code_enter(code->name, continues);
}

/* ---- Adaptive -------------------------------------------------------------------------------- */

/* Tells, once, that calls of a function are estimated from here on, and how many were told. */
static void tell_estimated(const struct trace_code *code, uint32_t calls)
{
    const struct annot_event event = {
        .name = code->name,
        .domain =
            annot_domain_observed(TRACE_DOMAIN, ANNOT_OBSERVER_PYTHON_CALLS, ANNOT_CALLS_ESTIMATED),
        .payload_kind = ANNOT_PAYLOAD_UINT64,
        .payload = {.uint64 = calls}};
    annot_emit_mark_event(&event);
}

static void leave_from(const struct trace_thread *thread, uint32_t first)
{
    for (uint32_t i = first; i < thread->count; i++) {
        uint32_t token = thread->entries[i].token;
        if (token == ANNOT_CODE_HELD || token == ANNOT_CODE_LOST)
            continue;
        annot_code_leave(token); /* with what is inside */
        return;
    }
}

/* The function is tiny: its calls end here, what they called goes on. */
static __attribute__((noinline, cold)) void give_up(struct trace_thread *thread,
                                                    struct trace_code *code)
{
    uint32_t first = 0, kept;
    uint32_t calls = __atomic_fetch_or(&code->calls, TRACE_CLOSED, __ATOMIC_RELAXED);
    __atomic_store_n(&code->verdict, TRACE_ESTIMATED, __ATOMIC_RELEASE); /* trace_verdict_of */
    while (first < thread->count && thread->entries[first].code != code)
        first++;
    leave_from(thread, first);
    kept = first;
    for (uint32_t i = first; i < thread->count; i++) {
        struct trace_entry *entry = &thread->entries[i];
        if (entry->code == code)
            continue;
        if (entry->token != ANNOT_CODE_HELD && entry->token != ANNOT_CODE_LOST)
            entry->token = annot_code_enter(entry->code ? entry->code->name : entry->name, 1);
        thread->entries[kept++] = *entry;
    }
    thread->count = kept;
    code->is_open = trace_threads_have(code); /* others */
    if ((calls & TRACE_CLOSED) == 0)          /* else another thread does */
        tell_estimated(code, calls);
}

/* What ends. Of a recursion each call has its own share, else the outermost ones would make a tiny
 * function seem large. */
static void measure(struct trace_thread *thread, uint32_t index)
{
    struct trace_entry *entry = &thread->entries[index];
    struct trace_code *code = entry->code;
    if (entry->start == 0 || code == NULL || !trace_code_is_wanted(code))
        return;
    uint64_t ticks = trace_time() - entry->start;
    trace_count_ticks(&code->ticks, ticks);
    trace_count(&code->pieces, 1);
    if (index > 0 && entry[-1].code == code && entry[-1].start != 0)
        entry[-1].start += ticks;
}

/* A call of a function that is estimated ends. It is told of as long as a thread may be in one that
 * began before that: else that would seem to last until the thread leaves what is around it. Which
 * are, is looked for when one ended, and now and then, as others end unheard. */
static __attribute__((noinline)) bool leave_estimated(struct trace_code *code)
{
    enum { LOOK_CALLS = 256 };
    struct trace_thread *thread = trace_self;
    if (!code->is_open)
        return false;
    bool is_ours = thread != NULL && thread->generation != 0 && thread->count > 0 &&
                   thread->entries[thread->count - 1].code == code &&
                   thread->entries[thread->count - 1].depth == trace_depth();
    if (is_ours)
        trace_thread_close(thread, trace_depth());
    if (is_ours || trace_count(&code->pieces, 1) % LOOK_CALLS == 0)
        code->is_open = trace_threads_have(code);
    return code->is_open;
}

/* Whether the last calls show that the function is tiny. Else the next ones are looked at: a moment
 * without the processor is enough to make one of a thousand large. */
static bool is_tiny(struct trace_code *code)
{
    if (__atomic_load_n(&code->pieces, __ATOMIC_RELAXED) < TRACE_TINY_CALLS)
        return false;
    uint32_t pieces = __atomic_exchange_n(&code->pieces, 0, __ATOMIC_RELAXED);
    uint64_t ticks = __atomic_exchange_n(&code->ticks, 0, __ATOMIC_RELAXED);
    return pieces >= TRACE_TINY_CALLS && ticks < trace_now.tiny_ticks; /* else another thread did */
}

/* ---- Calls of Python ------------------------------------------------------------------------- */

static __attribute__((noinline)) bool enter_counted(struct trace_thread *thread,
                                                    struct trace_code *code, bool continues)
{
    struct trace_entry *entry = push(thread, code, trace_depth());
    if (entry == NULL)
        return true;
    entry->token = ANNOT_CODE_HELD;
    bool held = trace_now.is_special && is_held(thread, code);
    if (!held)
        tell_lines(thread, entry->depth);
    thread->count++;
    if (RARE(trace_now.options.ranges) && !held && !continues) /* what goes on was called before */
        trace_tree_enter_in(thread, entry, code->name, trace_range_now());
    else
        trace_tree_enter(thread, entry, held ? 0 : code->name, continues);
    return true;
}

static __attribute__((noinline)) bool enter_adaptively(struct trace_thread *thread,
                                                       struct trace_code *code,
                                                       PyCodeObject *python_code, bool continues)
{
    if (RARE(is_tiny(code))) {
        give_up(thread, code);
        return false;
    }
    struct trace_entry *entry = push(thread, code, trace_depth());
    if (entry == NULL)
        return true;
    if (RARE(trace_count(&code->calls, !continues) & TRACE_CLOSED))
        return false; /* another thread has given it up by now */
    entry->token = ANNOT_CODE_HELD;
    if (!trace_now.is_special || !is_held(thread, code))
        entry->token = open_call(thread, code, python_code, continues);
    entry->start = trace_time();
    thread->count++;
    return true;
}

static inline bool enter_wanted(struct trace_code *code, PyCodeObject *python_code, bool continues)
{
    struct trace_thread *thread = trace_thread_now(true);
    if (RARE(thread == NULL))
        return true;
    if (trace_now.options.mode == TRACE_ADAPTIVE)
        return enter_adaptively(thread, code, python_code, continues);
    if (trace_now.options.mode == TRACE_AGGREGATE)
        return enter_counted(thread, code, continues);
    struct trace_entry *entry = push(thread, code, trace_depth());
    if (RARE(entry == NULL))
        return true;
    if (RARE(trace_now.is_special) && is_held(thread, code))
        entry->token = ANNOT_CODE_HELD;
    else
        entry->token = open_call(thread, code, python_code, continues);
    thread->count++;
    return true;
}

static bool hear_known(void)
{
    if (trace_self == NULL && !trace_thread_make())
        return true;
    trace_self->known++;
    return true;
}

/* What is not just wanted. */
static __attribute__((noinline)) bool enter_other(struct trace_code *code,
                                                  PyCodeObject *python_code, bool continues)
{
    enum trace_verdict verdict = code ? trace_verdict_of(code) : TRACE_IGNORED;
    if (verdict == TRACE_KNOWN)
        return hear_known();
    if (verdict != TRACE_COROUTINE)
        return false;
    bool goes_on = enter_wanted(code, python_code, continues);
    if (goes_on)
        trace_coroutine(code, continues ? TRACE_RESUMES : TRACE_BEGINS);
    return goes_on;
}

bool trace_enter(PyCodeObject *python_code, bool continues)
{
    struct trace_code *code = trace_code_of(python_code);
    if (RARE(code == NULL) || RARE(trace_verdict_of(code) != TRACE_WANTED))
        return enter_other(code, python_code, continues);
    return enter_wanted(code, python_code, continues);
}

static __attribute__((noinline)) void leave_others(struct trace_thread *thread, uint32_t depth)
{
    if (trace_now.options.mode == TRACE_ADAPTIVE)
        for (uint32_t i = thread->count; i-- > 0 && thread->entries[i].depth >= depth;)
            measure(thread, i);
    trace_thread_close(thread, depth);
}

static inline bool leave_wanted(void)
{
    struct trace_thread *thread = trace_thread_now(false);
    if (RARE(thread == NULL) || RARE(thread->count == 0))
        return true;
    uint32_t depth = trace_depth();
    uint32_t last = thread->count - 1;
    struct trace_entry *entry = &thread->entries[last];
    if (RARE(trace_now.options.mode != TRACE_EXACT) || RARE(entry->depth != depth)) {
        leave_others(thread, depth);
        return true;
    }
    thread->count = last;
    if (RARE(thread->lines != NULL))
        trace_line_called(thread, depth);
    if (RARE(trace_has_values))
        trace_values_leave(thread, entry);
    else
        annot_code_leave(entry->token);
    return true;
}

static __attribute__((noinline)) bool leave_other(struct trace_code *code, enum trace_piece piece)
{
    enum trace_verdict verdict = code ? trace_verdict_of(code) : TRACE_IGNORED;
    if (verdict == TRACE_KNOWN)
        return hear_known();
    if (verdict == TRACE_ESTIMATED)
        return leave_estimated(code);
    if (verdict != TRACE_COROUTINE)
        return false;
    trace_coroutine(code, piece);
    return leave_wanted();
}

bool trace_leave(PyCodeObject *python_code)
{
    struct trace_code *code = trace_code_of(python_code);
    if (RARE(code == NULL) || RARE(trace_verdict_of(code) != TRACE_WANTED))
        return leave_other(code, TRACE_ENDS);
    return leave_wanted();
}

bool trace_suspend(PyCodeObject *python_code)
{
    struct trace_code *code = trace_code_of(python_code);
    if (RARE(code == NULL) || RARE(trace_verdict_of(code) != TRACE_WANTED))
        return leave_other(code, TRACE_SUSPENDS);
    return leave_wanted();
}

/* ---- Calls of what is not written in Python -------------------------------------------------- */

/* Whether the innermost frame is told of, so that what it calls is worth telling. */
static bool is_of_traced(struct trace_thread *thread, uint32_t depth)
{
    if (thread->count > 0 && thread->entries[thread->count - 1].depth > depth)
        trace_thread_close(thread, depth + 1);
    if (thread->count == 0)
        return false;
    const struct trace_entry *caller = &thread->entries[thread->count - 1];
    if (caller->depth != depth || caller->code == NULL)
        return false;
    return trace_now.options.library != TRACE_LIBRARY_BOX || !caller->code->is_library;
}

bool trace_named_enter(struct trace_thread *thread, annot_name name, bool continues, uint32_t depth)
{
    struct trace_entry *entry = push(thread, NULL, depth);
    if (entry == NULL)
        return false;
    entry->token = ANNOT_CODE_HELD;
    entry->name = name;
    entry->start = 0;
    tell_lines(thread, entry->depth);
    thread->count++;
    if (trace_now.options.mode == TRACE_AGGREGATE)
        trace_tree_enter(thread, entry, name, continues);
    else
        entry->token = annot_code_enter(name, continues);
    return true;
}

void trace_c_enter(PyObject *callable)
{
    struct trace_thread *thread = trace_thread_now(false);
    uint32_t depth = trace_depth();
    if (thread == NULL || !is_of_traced(thread, depth))
        return;
    annot_name name = trace_callable_name(callable);
    if (name != 0)
        (void)trace_named_enter(thread, name, false, depth + 1);
}

void trace_c_leave(PyObject *callable)
{
    struct trace_thread *thread = trace_thread_now(false);
    (void)callable;
    if (thread != NULL && thread->count > 0)
        leave_others(thread, trace_depth() + 1);
}
