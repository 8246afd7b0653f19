/* SPDX-License-Identifier: MIT */
/* What the tracer keeps of code objects.
 *
 * Threads: with the interpreter's lock; where there is none, `guard` is held for the list of all,
 * and who finds that another thread has made the same first takes that. */
#include "tracing_parts.h"

#include <stdlib.h>
#include <string.h>

Py_ssize_t trace_extra = -1;

static struct trace_code all = {.previous = &all, .next = &all};
static bool guard;             /* W: all, atomic; held for some instructions */
static uint32_t watched_count; /* with has_events, or freed since */

/* Of functions whose lines are counted, by name: 1 + number, 0: none yet. Code that is made again
 * and again from the same source has one number. With the guard. */
static uint32_t *numbers, numbers_size, lined_count;
static annot_name other_name; /* of functions for whose names there was no room */

static void take_guard(void)
{
    while (__atomic_exchange_n(&guard, true, __ATOMIC_ACQUIRE)) /* partner: give_guard */
        continue;
}

static void give_guard(void)
{
    __atomic_store_n(&guard, false, __ATOMIC_RELEASE); /* partner: take_guard */
}

/* The code object is freed. */
static void free_code(void *kept)
{
    struct trace_code *code = kept;
    if (code == NULL)
        return;
    take_guard();
    code->previous->next = code->next;
    code->next->previous = code->previous;
    give_guard();
    free(code);
}

void trace_code_forget_verdicts(void)
{
    take_guard();
    for (struct trace_code *code = all.next; code != &all; code = code->next) {
        code->verdict = TRACE_UNKNOWN;
        code->calls = code->pieces = 0;
        code->ticks = 0;
    }
    give_guard();
}

void trace_code_watch(PyCodeObject *code, struct trace_code *kept)
{
    if (kept->has_events)
        return;
    kept->object = code;
    kept->has_events = true;
    __atomic_fetch_add(&watched_count, 1, __ATOMIC_RELAXED);
}

/* Who holds the guard calls nothing that may run Python code. */
static Py_ssize_t take_watched(PyCodeObject **objects, Py_ssize_t limit)
{
    Py_ssize_t count = 0;
    take_guard();
    for (struct trace_code *code = all.next; code != &all && count < limit; code = code->next) {
        if (code->has_events)
            objects[count++] = (PyCodeObject *)Py_NewRef(code->object);
        code->has_events = code->has_lines = false;
    }
    give_guard();
    return count;
}

PyObject *trace_code_unwatch(void)
{
    Py_ssize_t limit = (Py_ssize_t)__atomic_exchange_n(&watched_count, 0, __ATOMIC_RELAXED);
    PyCodeObject **objects = calloc((size_t)limit + 1, sizeof(*objects));
    PyObject *list = objects ? PyList_New(0) : PyErr_NoMemory();
    Py_ssize_t count = objects ? take_watched(objects, limit) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (list != NULL && PyList_Append(list, (PyObject *)objects[i]) < 0)
            Py_CLEAR(list);
        Py_DECREF(objects[i]);
    }
    free(objects);
    return list;
}

struct trace_code *trace_lined(PyCodeObject *code)
{
    struct trace_code *kept = trace_code_of(code);
    return kept != NULL && kept->is_lined ? kept : NULL;
}

/* Whether co_extra is laid out as it was in all releases so far. */
static bool is_known_layout(PyCodeObject *code)
{
    void *found = NULL;
    static char probe;
    if (_PyCode_SetExtra((PyObject *)code, trace_extra, &probe) < 0)
        return false;
    const struct trace_extras *extras = (const struct trace_extras *)code->co_extra;
    bool is_known = extras != NULL && extras->count > trace_extra && extras->count < 256 &&
                    extras->items[trace_extra] == &probe &&
                    _PyCode_GetExtra((PyObject *)code, trace_extra, &found) == 0 && found == &probe;
    return is_known;
}

static void free_probe(void *ignored)
{
    (void)ignored;
}

/* On a code object of its own, with an index of its own: what is stored there is no pointer of
 * ours. */
static int check_layout(void)
{
    PyCodeObject *code = PyCode_NewEmpty("probe", "probe", 1);
    if (code == NULL)
        return -1;
    trace_extra = _PyEval_RequestCodeExtraIndex(free_probe);
    bool is_known = trace_extra >= 0 && is_known_layout(code);
    Py_DECREF(code);
    trace_extra = -1;
    if (is_known)
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_RuntimeError, "this interpreter keeps no data for code objects");
    return -1;
}

int trace_code_setup(void)
{
    if (trace_extra >= 0)
        return 0;
    if (check_layout() < 0)
        return -1;
    other_name = annot_code_name("(other)", "", 0, ANNOT_CODE_PYTHON); /* while there is room */
    trace_extra = _PyEval_RequestCodeExtraIndex(free_code);
    if (trace_extra >= 0)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "others keep data for code objects, no place is left");
    return -1;
}

/* Borrowed from the object; "?" for what is no text. */
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

    take_guard();
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
    give_guard();
    return has_room;
}

/* Once a process: readers cannot know. */
static void tell_others(void)
{
    static bool is_told;
    if (!is_told)
        annot_process_note("calls of Python: there was no room for the names of all functions; "
                           "further ones count as (other), and their lines are not counted");
    is_told = true;
}

/* How long its calls must last to be of interest. */
static uint32_t least_of(const struct trace_code *kept)
{
    uint32_t least_ns = (uint32_t)trace_now.options.least_ns;
    if (trace_now.options.mode != TRACE_EXACT)
        return 0;
    return kept->is_chosen && kept->own_least_ns ? kept->own_least_ns : least_ns;
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
    tell_others();
}

static void judge(PyCodeObject *code, struct trace_code *kept)
{
    const char *file = text_of(code->co_filename), *qualname = qualname_of(code);
    enum trace_verdict verdict = trace_judge(file, qualname, &kept->is_library);
    if (kept->is_chosen && trace_now.options.mode != TRACE_OFF)
        verdict = TRACE_WANTED;
    else if (trace_now.options.is_chosen_only)
        verdict = TRACE_IGNORED;
    kept->is_lined =
        trace_now.options.lines && (kept->wants_lines || trace_judge_lines(file, qualname));
    if (verdict == TRACE_WANTED || kept->is_lined)
        name_code(code, kept);
    if (kept->is_lined && !kept->is_numbered) {
        kept->first_line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
        kept->is_numbered = kept->name != 0 && kept->name != other_name && give_number(kept);
    }
    kept->is_lined = kept->is_lined && kept->is_numbered;
    if (verdict == TRACE_WANTED && (code->co_flags & CO_COROUTINE) &&
        trace_now.options.mode != TRACE_AGGREGATE)
        verdict = TRACE_COROUTINE;
    kept->verdict = (uint8_t)(kept->name == 0 ? TRACE_IGNORED : verdict);
}

static struct trace_code *keep(PyCodeObject *code)
{
    struct trace_code *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return NULL;
    made->is_generator = (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
    take_guard();
    made->next = &all;
    made->previous = all.previous;
    all.previous->next = made;
    all.previous = made;
    give_guard();
    if (_PyCode_SetExtra((PyObject *)code, trace_extra, made) == 0)
        return made;
    PyErr_Clear();
    free_code(made);
    return NULL;
}

__attribute__((noinline, cold)) struct trace_code *trace_code_make(PyCodeObject *code)
{
    PyObject *kind, *value, *traceback;
    void *found = NULL;
    PyErr_Fetch(&kind, &value, &traceback);
    if (_PyCode_GetExtra((PyObject *)code, trace_extra, &found) < 0)
        PyErr_Clear();
    struct trace_code *kept = found ? found : keep(code);
    if (kept != NULL && kept->verdict == TRACE_UNKNOWN)
        judge(code, kept);
    PyErr_Restore(kind, value, traceback);
    return kept;
}

int trace_code_choose_lines(PyCodeObject *code)
{
    struct trace_code *kept = trace_extra >= 0 ? trace_code_make(code) : NULL;
    if (kept == NULL)
        return -1;
    kept->wants_lines = true;
    kept->verdict = TRACE_UNKNOWN;
    return 0;
}

int trace_code_choose(PyCodeObject *code, uint32_t least_ns)
{
    struct trace_code *kept = trace_code_make(code);
    if (kept == NULL)
        return -1;
    kept->is_chosen = true;
    kept->own_least_ns = least_ns;
    judge(code, kept);
    return 0;
}
