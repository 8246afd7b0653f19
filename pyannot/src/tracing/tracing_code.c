/* SPDX-License-Identifier: MIT */
/* Data of the tracer for code objects: names, and whether they are wanted.
 *
 * Threads: with the interpreter's lock; without it, one at a time judges code, and `guard` is held
 * for the list of all. */
#include "tracing_code.h"
#include "tracing.h"
#include "tracing_kept.h"
#include "tracing_select.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 100 };

static struct trace_code all = {.previous = &all, .next = &all};
static bool guard;             /* W: all, atomic; held for some instructions */
static uint32_t watched_count; /* with has_events, or freed since */

/* Numbers of functions with counted lines, by name: 1 + number, 0: not numbered yet. Code that is
 * made repeatedly from the same source has one number. With the guard. */
static uint32_t *numbers, numbers_size, lined_count;
static annot_name other_name; /* for functions without room for their names */

void trace_code_lock(void)
{
    for (int i = 0; __atomic_exchange_n(&guard, true, __ATOMIC_ACQUIRE); i++)
        if (i >= SPINS) /* its holder does not run */
            sched_yield();
}

void trace_code_unlock(void)
{
    __atomic_store_n(&guard, false, __ATOMIC_RELEASE); /* partner: trace_code_lock */
}

void trace_code_link(struct trace_code *kept, PyCodeObject *code)
{
    struct trace_code *last = all.previous;
    *kept = (struct trace_code){.previous = last, .next = &all};
    kept->is_generator = (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
    last->next = all.previous = kept;
    __atomic_store_n(&kept->object, code, __ATOMIC_RELEASE); /* partner: trace_kept_find */
}

void trace_code_unlink(struct trace_code *kept)
{
    kept->previous->next = kept->next;
    kept->next->previous = kept->previous;
    free(kept->inherited);
    kept->inherited = NULL;
}

void trace_code_forget_verdicts(void)
{
    trace_code_lock();
    for (struct trace_code *code = all.next; code != &all; code = code->next) {
        code->verdict = TRACE_UNKNOWN;
        code->calls = code->pieces = 0;
        code->ticks = 0;
    }
    trace_code_unlock();
}

/* ---- Code with its own events ---------------------------------------------------------------- */

/* Returns a reference to the object that is safe to take: without the GIL a weak one, as the last
 * strong one may be dropped meanwhile. New reference. */
static PyObject *handle_of(const struct trace_code *kept)
{
    return Py_XNewRef(PYANNOT_FREE_THREADED ? kept->reference : (PyObject *)kept->object);
}

/* Returns the object of its handle. NULL: it was freed. */
static PyObject *object_of(PyObject *handle)
{
#if PYANNOT_FREE_THREADED
    PyObject *object = NULL;
    if (handle != NULL && PyWeakref_GetRef(handle, &object) < 0)
        PyErr_Clear();
    Py_XDECREF(handle);
    return object;
#else
    return handle;
#endif
}

void trace_code_watch(PyCodeObject *code, struct trace_code *kept)
{
    PyObject *reference = PYANNOT_FREE_THREADED ? PyWeakref_NewRef((PyObject *)code, NULL) : NULL;
    trace_code_lock();
    if (!kept->has_events) {
        PyObject *before = kept->reference;
        kept->reference = reference;
        reference = before;
        kept->has_events = true;
        watched_count++;
    }
    trace_code_unlock();
    Py_XDECREF(reference);
    PyErr_Clear();
}

/* Calls no function that may run Python code while it holds the lock. */
static Py_ssize_t take_watched(PyObject **handles, Py_ssize_t limit)
{
    Py_ssize_t count = 0;
    trace_code_lock();
    for (struct trace_code *code = all.next; code != &all && count < limit; code = code->next) {
        if (code->has_events)
            handles[count++] = handle_of(code);
        code->has_events = code->has_lines = false;
    }
    watched_count = 0;
    trace_code_unlock();
    return count;
}

PyObject *trace_code_unwatch(void)
{
    Py_ssize_t limit = (Py_ssize_t)watched_count;
    PyObject **handles = calloc((size_t)limit + 1, sizeof(PyObject *));
    PyObject *list = handles ? PyList_New(0) : PyErr_NoMemory();
    Py_ssize_t count = handles ? take_watched(handles, limit) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = object_of(handles[i]);
        if (list != NULL && object != NULL && PyList_Append(list, object) < 0)
            Py_CLEAR(list);
        Py_XDECREF(object);
    }
    free(handles);
    return list;
}

struct trace_code *trace_lined(PyCodeObject *code)
{
    struct trace_code *kept = trace_code_of(code);
    return kept != NULL && kept->is_lined ? kept : NULL;
}

int trace_code_setup(void)
{
    if (trace_kept_is_set_up())
        return 0;
    other_name = annot_code_name("(other)", "", 0, ANNOT_CODE_PYTHON); /* while there is room */
    return trace_kept_setup();
}

/* Code that the interpreter did not free is its own, and stays. */
void trace_code_forget(void)
{
    all.next = all.previous = &all;
    watched_count = 0;
    trace_kept_forget();
}

/* Borrowed from the object; "?" if it is not text. */
static const char *text_of(PyObject *object)
{
    const char *text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    if (text != NULL)
        return text;
    PyErr_Clear();
    return "?";
}

static const char *qualname_of(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    return text_of(code->co_qualname);
#else
    return text_of(code->co_name);
#endif
}

/* Gives it the number of its name. False: no memory. */
static bool give_number(struct trace_code *kept)
{
    enum { STEP = 4096 };

    trace_code_lock();
    if (kept->name >= numbers_size) {
        uint32_t size = kept->name + STEP;
        uint32_t *larger = realloc(numbers, size * sizeof(*numbers));
        if (larger != NULL) {
            memset(larger + numbers_size, 0, (size - numbers_size) * sizeof(*numbers));
            numbers = larger;
            numbers_size = size;
        }
    }
    bool has_room = kept->name < numbers_size;
    if (has_room && numbers[kept->name] == 0)
        numbers[kept->name] = ++lined_count;
    if (has_room)
        kept->number = numbers[kept->name] - 1;
    trace_code_unlock();
    return has_room;
}

/* Writes a note once a process, as readers cannot see this. */
static void emit_others(void)
{
    static bool is_reported;
    if (trace_first(&is_reported))
        annot_process_note("calls of Python: there was no room for the names of all functions; "
                           "further ones count as (other), and their lines are not counted");
}

/* Minimum duration of its recorded calls. */
static uint32_t least_of(const struct trace_code *kept)
{
    uint32_t least_ns = (uint32_t)trace_now.options.least_ns;
    if (trace_now.options.mode != TRACE_EXACT)
        return 0;
    bool has_own = kept->own_least_ns != 0 || trace_now.options.is_chosen_only;
    return kept->is_chosen && has_own ? kept->own_least_ns : least_ns;
}

static void name_code(const PyCodeObject *code, struct trace_code *kept)
{
    uint32_t least_ns = least_of(kept);
    uint32_t line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
    if (kept->name != 0 && kept->least_ns == least_ns)
        return;
    kept->least_ns = least_ns;
    kept->name = annot_code_name_least(qualname_of(code), text_of(code->co_filename), line,
                                       ANNOT_CODE_PYTHON, least_ns);
    if (kept->name != 0)
        return;
    kept->name = other_name;
    emit_others();
}

static annot_name inherited_name(const PyCodeObject *code)
{
    static const char suffix[] = " (inherited)";
    const char *qualname = qualname_of(code);
    uint32_t line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
    size_t size = strlen(qualname) + sizeof(suffix);
    char *text = malloc(size);
    if (text == NULL)
        return 0;
    (void)snprintf(text, size, "%s%s", qualname, suffix);
    annot_name name = annot_code_name(text, text_of(code->co_filename), line, ANNOT_CODE_PYTHON);
    free(text);
    return name;
}

struct trace_code *trace_code_inherited(struct trace_code *kept)
{
    struct trace_code *made = kept->inherited;
    if (made == NULL)
        made = kept->inherited = calloc(1, sizeof(*made));
    if (made == NULL)
        return kept;
    *made = (struct trace_code){.name = inherited_name(kept->object),
                                .verdict = TRACE_WANTED,
                                .is_library = kept->is_library,
                                .is_generator = kept->is_generator,
                                .of = kept};
    return made->name != 0 ? made : kept;
}

static void number_lines(const PyCodeObject *code, struct trace_code *kept)
{
    if (kept->is_numbered)
        return;
    kept->first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
    kept->is_numbered = kept->name != 0 && kept->name != other_name && give_number(kept);
}

static enum trace_verdict verdict_on(const PyCodeObject *code, struct trace_code *kept)
{
    const char *file = text_of(code->co_filename), *qualname = qualname_of(code);
    enum trace_verdict verdict = trace_judge(file, qualname, &kept->is_library);
    bool is_lined = trace_now.options.lines && !kept->is_known &&
                    (kept->wants_lines || trace_judge_lines(file, qualname));
    if (kept->is_chosen && trace_now.options.mode != TRACE_OFF)
        verdict = TRACE_WANTED;
    else if (trace_now.options.is_chosen_only)
        verdict =
            verdict == TRACE_WANTED && trace_now.options.callees ? TRACE_CALLEE : TRACE_IGNORED;
    if (verdict != TRACE_IGNORED || is_lined)
        name_code(code, kept);
    if (is_lined)
        number_lines(code, kept);
    kept->is_lined = is_lined && kept->is_numbered;
    if (kept->is_known)
        return TRACE_KNOWN;
    if (kept->name == 0)
        return TRACE_IGNORED;
    kept->has_lane = (code->co_flags & CO_COROUTINE) && trace_now.options.mode != TRACE_AGGREGATE;
    return verdict == TRACE_WANTED && kept->has_lane ? TRACE_COROUTINE : verdict;
}

/* Stores the verdict last: a thread that sees it sees the rest. Partner: trace_verdict_of. */
static void judge(PyCodeObject *code, struct trace_code *kept)
{
    /* partner: trace_verdict_of */
    __atomic_store_n(&kept->verdict, (uint8_t)verdict_on(code, kept), __ATOMIC_RELEASE);
}

/* ---- One at a time --------------------------------------------------------------------------- */

#if PYANNOT_FREE_THREADED

static PyMutex finding_out;

static void begin_finding_out(void)
{
    PyMutex_Lock(&finding_out);
}

static void end_finding_out(void)
{
    PyMutex_Unlock(&finding_out);
}

void trace_code_forked(void)
{
    finding_out = (PyMutex){0};
    trace_code_unlock();
}

#else

static void begin_finding_out(void)
{
}

static void end_finding_out(void)
{
}

void trace_code_forked(void)
{
}

#endif

__attribute__((noinline, cold)) struct trace_code *trace_code_make(PyCodeObject *code)
{
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    struct trace_code *kept = trace_kept_add(code);
    begin_finding_out();
    if (kept != NULL && trace_verdict_of(kept) == TRACE_UNKNOWN)
        judge(code, kept);
    end_finding_out();
    PyErr_Restore(kind, value, traceback);
    return kept;
}

int trace_code_choose_lines(PyCodeObject *code)
{
    struct trace_code *kept = trace_kept_is_set_up() ? trace_kept_add(code) : NULL;
    if (kept == NULL)
        return -1;
    begin_finding_out();
    kept->wants_lines = true;
    __atomic_store_n(&kept->verdict, TRACE_UNKNOWN, __ATOMIC_RELEASE); /* trace_verdict_of */
    end_finding_out();
    return 0;
}

int trace_code_choose(PyCodeObject *code, uint32_t least_ns, bool callees)
{
    struct trace_code *kept = trace_kept_add(code);
    if (kept == NULL)
        return -1;
    begin_finding_out();
    kept->is_chosen = true;
    kept->own_least_ns = least_ns;
    kept->has_callees = callees;
    judge(code, kept);
    end_finding_out();
    return 0;
}

int trace_code_know(PyCodeObject *code)
{
    struct trace_code *kept = trace_kept_add(code);
    if (kept == NULL)
        return -1;
    begin_finding_out();
    kept->is_known = true;
    judge(code, kept);
    end_finding_out();
    return 0;
}
