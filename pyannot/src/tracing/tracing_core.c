/* SPDX-License-Identifier: MIT */
/* Handles call events: see tracing.h. */
#include "tracing.h"
#include "tracing_callees.h"
#include "tracing_code.h"
#include "tracing_frames.h"
#include "tracing_kept.h"
#include "tracing_lines.h"
#include "tracing_tasks.h"
#include "tracing_thread.h"
#include "tracing_tree.h"
#include "tracing_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct trace_now trace_now;
bool trace_has_values;

/* Excludes the call from the own time of counted lines. */
static inline void emit_lines(struct trace_thread *thread, uint32_t depth)
{
    if (RARE(thread->lines != NULL))
        trace_line_calls(thread, depth);
}

static inline uint32_t open_call(struct trace_thread *thread, const struct trace_code *code,
                                 PyCodeObject *python_code, bool continues)
{
    emit_lines(thread, thread->entries[thread->count].depth);
    if (RARE(trace_has_values))
        return trace_values_enter(code, python_code, continues);
    return annot_code_enter(code->name, continues);
}

/* ---- Adaptive -------------------------------------------------------------------------------- */

/* Records, once, that calls of a function are estimated from now on, and how many were recorded. */
static void emit_estimated(const struct trace_code *code, uint32_t calls)
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
        annot_code_leave(token); /* with the calls inside */
        return;
    }
}

/* The function is tiny: closes its calls; their callees continue. */
static __attribute__((noinline, cold)) void give_up(struct trace_thread *thread,
                                                    struct trace_code *code)
{
    uint32_t first = 0, kept;
    uint32_t calls = __atomic_fetch_or(&code->calls, TRACE_CLOSED, __ATOMIC_RELAXED);
    __atomic_store_n(&code->verdict, TRACE_ESTIMATED, __ATOMIC_RELEASE); /* trace_verdict_of */
    while (first < thread->count && !trace_entry_is_of(&thread->entries[first], code))
        first++;
    leave_from(thread, first);
    kept = first;
    for (uint32_t i = first; i < thread->count; i++) {
        struct trace_entry *entry = &thread->entries[i];
        if (trace_entry_is_of(entry, code))
            continue;
        if (entry->token != ANNOT_CODE_HELD && entry->token != ANNOT_CODE_LOST)
            entry->token = annot_code_enter(entry->code ? entry->code->name : entry->name, 1);
        thread->entries[kept++] = *entry;
    }
    thread->count = kept;
    code->is_open = trace_threads_have(code); /* in other threads */
    if ((calls & TRACE_CLOSED) == 0)          /* else another thread reports it */
        emit_estimated(code, calls);
}

/* A call of an estimated function ends. Returns true while a thread may be in a call that began
 * before the estimate, as that would otherwise seem to last until the thread leaves its caller.
 * Checks this when such a call ended, and now and then, as others end unreported. */
static __attribute__((noinline)) bool leave_estimated(struct trace_code *code)
{
    enum { CHECK_CALLS = 256 };
    struct trace_thread *thread = trace_self;
    if (!code->is_open)
        return false;
    bool is_ours = thread != NULL && thread->generation != 0 && thread->count > 0 &&
                   trace_entry_is_of(&thread->entries[thread->count - 1], code) &&
                   thread->entries[thread->count - 1].depth >= trace_depth();
    if (is_ours)
        trace_thread_close(thread, trace_depth());
    if (is_ours || trace_count(&code->pieces, 1) % CHECK_CALLS == 0)
        code->is_open = trace_threads_have(code);
    return code->is_open;
}

/* True if the last calls show that the function is tiny. Else measures the next ones: one
 * preemption is enough to make one of a thousand large. */
static bool is_tiny(struct trace_code *code)
{
    uint32_t enough = __atomic_load_n(&trace_now.tiny_calls, __ATOMIC_RELAXED);
    if (__atomic_load_n(&code->pieces, __ATOMIC_RELAXED) < enough)
        return false;
    uint32_t pieces = __atomic_exchange_n(&code->pieces, 0, __ATOMIC_RELAXED);
    uint64_t ticks = __atomic_exchange_n(&code->ticks, 0, __ATOMIC_RELAXED);
    return pieces >= enough && ticks < trace_now.tiny_ticks; /* else another thread has reset it */
}

/* An enter and an exit cost some 0.15 us: CHECK_CALLS of them take 7.5 ms, which should be at most
 * 1.5 % of the thread's CPU time. */
enum { CHECK_CALLS = 50000, CHECK_LEAST_NS = 500000000 };

/* If too few functions count as tiny, halves the number of calls that decide, so that each may take
 * twice as long; doubles it again where calls are rare. */
static __attribute__((noinline, cold)) void check_cost(struct trace_thread *thread)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    uint64_t used = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    uint64_t passed = used - thread->checked_ns;
    uint32_t calls = __atomic_load_n(&trace_now.tiny_calls, __ATOMIC_RELAXED);
    if (passed < CHECK_LEAST_NS && calls > TRACE_TINY_CALLS_LEAST)
        calls /= 2;
    else if (passed / 2 > CHECK_LEAST_NS && calls < TRACE_TINY_CALLS)
        calls *= 2;
    __atomic_store_n(&trace_now.tiny_calls, calls, __ATOMIC_RELAXED);
    thread->checked_ns = used;
    thread->unchecked = 0;
}

/* ---- Calls of Python ------------------------------------------------------------------------- */

static __attribute__((noinline)) bool enter_counted(struct trace_thread *thread,
                                                    struct trace_code *code, bool continues)
{
    struct trace_entry *entry = trace_thread_push(thread, code, trace_depth());
    if (entry == NULL)
        return true;
    entry->token = ANNOT_CODE_HELD;
    bool held = trace_now.is_special && trace_is_held(thread, code);
    if (!held)
        emit_lines(thread, entry->depth);
    thread->count++;
    if (RARE(trace_now.options.ranges) && !held && !continues) /* a resumed one was called before */
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
    if (RARE(++thread->unchecked == CHECK_CALLS))
        check_cost(thread);
    struct trace_entry *entry = trace_thread_push(thread, code, trace_depth());
    if (entry == NULL)
        return true;
    if (RARE(trace_count(&code->calls, !continues) & TRACE_CLOSED))
        return false; /* another thread has closed it meanwhile */
    entry->token = ANNOT_CODE_HELD;
    if (!trace_now.is_special || !trace_is_held(thread, code))
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
    struct trace_entry *entry = trace_thread_push(thread, code, trace_depth());
    if (RARE(entry == NULL))
        return true;
    if (RARE(trace_now.is_special) && trace_is_held(thread, code))
        entry->token = ANNOT_CODE_HELD;
    else
        entry->token = open_call(thread, code, python_code, continues);
    thread->count++;
    return true;
}

static bool count_known(void)
{
    if (trace_self == NULL && !trace_thread_make())
        return true;
    trace_self->known++;
    return true;
}

/* Handles code that is wanted only inside calls with callees. */
static __attribute__((noinline)) bool enter_callee(struct trace_code *code,
                                                   PyCodeObject *python_code, bool continues)
{
    struct trace_thread *thread = trace_thread_now(true);
    if (thread != NULL && thread->count > 0) {
        uint32_t depth = trace_depth();
        if (RARE(thread->entries[thread->count - 1].depth >= depth))
            trace_thread_close(thread, depth);
    }
    if (thread == NULL || !trace_is_inside(thread)) {
        trace_callees_missed(code);
        return true;
    }
    (void)enter_wanted(code, python_code, continues);
    if (code->has_lane)
        trace_coroutine(code, continues ? TRACE_RESUMES : TRACE_BEGINS);
    return true;
}

/* Handles code that is not just wanted. */
static __attribute__((noinline)) bool enter_other(struct trace_code *code,
                                                  PyCodeObject *python_code, bool continues)
{
    enum trace_verdict verdict = code ? trace_verdict_of(code) : TRACE_IGNORED;
    if (verdict == TRACE_KNOWN)
        return count_known();
    if (verdict == TRACE_CALLEE)
        return enter_callee(code, python_code, continues);
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

static inline bool leave_wanted(void)
{
    struct trace_thread *thread = trace_thread_now(false);
    if (RARE(thread == NULL) || RARE(thread->count == 0))
        return true;
    uint32_t depth = trace_depth();
    uint32_t last = thread->count - 1;
    struct trace_entry *entry = &thread->entries[last];
    if (RARE(trace_now.options.mode != TRACE_EXACT) || RARE(entry->depth != depth)) {
        trace_thread_leave(thread, depth);
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

static bool leave_callee(const struct trace_code *code, enum trace_piece piece)
{
    const struct trace_thread *thread = trace_self;
    if (thread == NULL || thread->count == 0)
        return true;
    if (code->has_lane && trace_is_inside(thread))
        trace_coroutine(code, piece);
    return leave_wanted();
}

static __attribute__((noinline)) bool leave_other(struct trace_code *code, enum trace_piece piece)
{
    enum trace_verdict verdict = code ? trace_verdict_of(code) : TRACE_IGNORED;
    if (verdict == TRACE_KNOWN)
        return count_known();
    if (verdict == TRACE_ESTIMATED)
        return leave_estimated(code);
    if (verdict == TRACE_CALLEE)
        return leave_callee(code, piece);
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

/* ---- Names of functions that are not written in Python --------------------------------------- */

/* They are read from the interpreter's own types, which runs no code. Names of permanent callables
 * are cached by address. Threads: with the interpreter's lock; without one each has its own
 * cache. */

enum { KEPT_MAX = 1024, TEXT_MAX = 512 };

struct trace_callable {
    const void *method, *owner;
    uint64_t least_ns;
    annot_name name;
};

/* Returns the cache of KEPT_MAX names. NULL: no memory. */
static struct trace_callable *kept_names(void)
{
#if PYANNOT_FREE_THREADED
    if (trace_self->callables == NULL)
        trace_self->callables = calloc(KEPT_MAX, sizeof(*trace_self->callables));
    return trace_self->callables;
#else
    static struct trace_callable kept[KEPT_MAX];
    return kept;
#endif
}

/* Returns the type that has the method; NULL for functions of modules. */
static PyTypeObject *owner_of(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_common.d_type;
    if (PyCFunction_Check(callable)) {
        PyObject *self = PyCFunction_GET_SELF(callable);
        if (self == NULL || PyModule_Check(self))
            return NULL;
        return PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
    }
    return PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
}

static const PyMethodDef *method_of(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_method;
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml : NULL;
}

/* Returns the module of a function; "" for builtins, or if it is unknown. */
static const char *module_of(PyObject *callable)
{
    PyObject *module = ((PyCFunctionObject *)callable)->m_module;
    const char *text = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : "";
    if (text == NULL)
        PyErr_Clear();
    return text != NULL && strcmp(text, "builtins") != 0 ? text : "";
}

/* Minimum duration of recorded calls. */
static uint64_t least_ns(void)
{
    return trace_now.options.mode == TRACE_EXACT ? trace_now.options.least_ns : 0;
}

static annot_name find_name(PyObject *callable, const PyMethodDef *method,
                            const PyTypeObject *owner)
{
    char text[TEXT_MAX];
    const char *first = owner ? owner->tp_name : module_of(callable);
    const char *last = method ? method->ml_name : PyType_Check(callable) ? "" : "__call__";
    (void)snprintf(text, sizeof(text), "%s%s%s", first, *first && *last ? "." : "", last);
    return annot_code_name_least(text, "", 0, ANNOT_CODE_C, least_ns());
}

/* Returns the name of a callable that is not written in Python; 0 on failure. */
static annot_name callable_name(PyObject *callable)
{
    PyTypeObject *owner = owner_of(callable);
    const PyMethodDef *method = method_of(callable);
    bool stays = !(owner && owner->tp_flags & Py_TPFLAGS_HEAPTYPE) && (owner || method);
    uintptr_t mixed = ((uintptr_t)method ^ (uintptr_t)owner << 1) * UINT64_C(0x9e3779b97f4a7c15);
    struct trace_callable *names = stays ? kept_names() : NULL;
    struct trace_callable *kept = names ? &names[(mixed >> 48) % KEPT_MAX] : NULL;
    if (kept != NULL && kept->method == method && kept->owner == owner &&
        kept->least_ns == least_ns())
        return kept->name;
    annot_name name = find_name(callable, method, owner);
    if (kept != NULL)
        *kept = (struct trace_callable){method, owner, least_ns(), name};
    return name;
}

/* ---- Calls of functions that are not written in Python --------------------------------------- */

/* True if the innermost frame is recorded, so that its callees are recorded too. */
static bool is_of_traced(struct trace_thread *thread, uint32_t depth)
{
    if (thread->count > 0 && thread->entries[thread->count - 1].depth > depth)
        trace_thread_close(thread, depth + 1);
    if (thread->count == 0)
        return false;
    struct trace_entry *caller = &thread->entries[thread->count - 1];
    if (caller->depth == TRACE_DEPTH_UNKNOWN && trace_entry_is_innermost(caller))
        caller->depth = depth;
    if (caller->depth != depth || caller->code == NULL)
        return false;
    return trace_now.options.library != TRACE_LIBRARY_BOX || !caller->code->is_library;
}

void trace_c_enter(PyObject *callable)
{
    struct trace_thread *thread = trace_thread_now(false);
    uint32_t depth = trace_depth();
    if (thread == NULL || !is_of_traced(thread, depth))
        return;
    annot_name name = callable_name(callable);
    if (name != 0)
        (void)trace_named_enter(thread, name, false, depth + 1);
}

void trace_c_leave(PyObject *callable)
{
    struct trace_thread *thread = trace_thread_now(false);
    (void)callable;
    if (thread != NULL && thread->count > 0)
        trace_thread_leave(thread, trace_depth() + 1);
}
