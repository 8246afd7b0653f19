/* SPDX-License-Identifier: MIT */
/* Arguments and results of calls, and the exceptions that left them: see tracing_values.h.
 *
 * Runs no code of the program: values of the interpreter's own types are written out as far as they
 * fit, others as their type. Does not raise, and preserves an exception that is propagating.
 *
 * Threads: each its own. Without the GIL others change lists, dictionaries and exceptions
 * meanwhile: their contents are read through references of our own. */
#include "tracing_values.h"
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_kept.h"
#include "tracing_thread.h"

#include <annot/values.h>
#include <stdio.h>
#include <string.h>

enum {
    VALUES_MAX = 12,
    TEXT_SIZE = 96,   /* of one value */
    TEXTS_SIZE = 512, /* of a call */
    ITEMS_MAX = 5,
    LEVELS_MAX = 2, /* of nested containers */
};

/* Of the event that the hook is about to report. */
static _Thread_local struct {
    PyObject *const *slots;
    PyObject *result, *type, *exception; /* borrowed; type: of an exception that leaves */
} seen;

/* ---- Texts ----------------------------------------------------------------------------------- */

#define CUT "..." /* marks text that was cut */

struct text {
    char *at, *end; /* followed by room for CUT and the NUL */
    bool is_cut;
};

static void put(struct text *text, const char *bytes)
{
    while (*bytes && text->at < text->end && !text->is_cut)
        *text->at++ = *bytes++;
    text->is_cut |= *bytes != 0;
}

static void put_character(struct text *text, Py_UCS4 c)
{
    char bytes[12] = {(char)c};
    if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000)) {
        snprintf(bytes, sizeof(bytes), c < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)c);
    } else if (c >= 0x80) {
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
        bytes[0] = (char)(first[more] | c >> 6 * more);
        for (int i = 1; i <= more; i++)
            bytes[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    }
    if ((size_t)(text->end - text->at) >= strlen(bytes)) /* whole or not at all */
        put(text, bytes);
    else
        text->is_cut = true;
}

static void put_string(struct text *text, PyObject *string, const char *quote)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(string);
    put(text, quote);
    for (Py_ssize_t i = 0; i < length && !text->is_cut; i++)
        put_character(text, PyUnicode_READ_CHAR(string, i));
    put(text, quote);
}

static void put_bytes(struct text *text, PyObject *bytes)
{
    put(text, "b'");
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes) && !text->is_cut; i++) {
        Py_UCS4 c = (uint8_t)PyBytes_AS_STRING(bytes)[i];
        char escaped[8];
        snprintf(escaped, sizeof(escaped), c < 0x20 || c > 0x7e ? "\\x%02x" : "%c", (unsigned)c);
        put(text, escaped);
    }
    put(text, "'");
}

static void put_number(struct text *text, PyObject *number)
{
    char digits[32];
    int overflow = 0;
    if (PyFloat_CheckExact(number)) {
        snprintf(digits, sizeof(digits), "%.12g", PyFloat_AS_DOUBLE(number));
        put(text, digits);
        return;
    }
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    snprintf(digits, sizeof(digits), "%lld", value);
    put(text, overflow ? (overflow < 0 ? "int below -2**63" : "int above 2**63") : digits);
}

static void put_value(struct text *text, PyObject *value, int level);

static void put_type(struct text *text, PyObject *value)
{
    put(text, "<");
    put(text, Py_TYPE(value)->tp_name);
    put(text, ">");
}

static void put_rest(struct text *text, Py_ssize_t count)
{
    char more[40];
    if (count > ITEMS_MAX) {
        snprintf(more, sizeof(more), ", ... %lld more", (long long)(count - ITEMS_MAX));
        put(text, more);
    }
}

/* A list or a tuple. */
static void put_sequence(struct text *text, PyObject *sequence, int level)
{
    bool is_list = PyList_CheckExact(sequence);
    Py_ssize_t count = is_list ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence);
    put(text, is_list ? "[" : "(");
    for (Py_ssize_t i = 0; i < count && i < ITEMS_MAX; i++) {
        PyObject *item = is_list ? pyannot_list_item(sequence, (size_t)i)
                                 : Py_NewRef(PyTuple_GET_ITEM(sequence, i));
        put(text, i ? ", " : "");
        if (item != NULL) /* else it was removed meanwhile */
            put_value(text, item, level + 1);
        Py_XDECREF(item);
    }
    put_rest(text, count);
    put(text, is_list ? "]" : count == 1 ? ",)" : ")");
}

struct pair {
    PyObject *key, *value; /* owned */
};

/* Takes the first pairs. Returns their number; *ret_count is that of all. */
static int take_pairs(PyObject *dictionary, struct pair pairs[ITEMS_MAX], Py_ssize_t *ret_count)
{
    int taken = 0;
    Py_ssize_t place = 0;
    PyObject *key, *value;
    PYANNOT_BEGIN_CRITICAL_SECTION(dictionary);
    while (taken < ITEMS_MAX && PyDict_Next(dictionary, &place, &key, &value))
        pairs[taken++] = (struct pair){Py_NewRef(key), Py_NewRef(value)};
    *ret_count = PyDict_GET_SIZE(dictionary);
    PYANNOT_END_CRITICAL_SECTION();
    return taken;
}

static void put_dictionary(struct text *text, PyObject *dictionary, int level)
{
    struct pair pairs[ITEMS_MAX];
    Py_ssize_t count;
    int taken = take_pairs(dictionary, pairs, &count);
    put(text, "{");
    for (int i = 0; i < taken; i++) {
        put(text, i ? ", " : "");
        put_value(text, pairs[i].key, level + 1);
        put(text, ": ");
        put_value(text, pairs[i].value, level + 1);
        Py_DECREF(pairs[i].key);
        Py_DECREF(pairs[i].value);
    }
    put_rest(text, count);
    put(text, "}");
}

static void put_value(struct text *text, PyObject *value, int level)
{
    if (value == Py_None)
        put(text, "None");
    else if (PyBool_Check(value))
        put(text, value == Py_True ? "True" : "False");
    else if (PyLong_CheckExact(value) || PyFloat_CheckExact(value))
        put_number(text, value);
    else if (PyUnicode_CheckExact(value))
        put_string(text, value, level ? "'" : "");
    else if (PyBytes_CheckExact(value))
        put_bytes(text, value);
    else if (level < LEVELS_MAX && (PyList_CheckExact(value) || PyTuple_CheckExact(value)))
        put_sequence(text, value, level);
    else if (level < LEVELS_MAX && PyDict_CheckExact(value))
        put_dictionary(text, value, level);
    else
        put_type(text, value);
}

/* ---- Values ---------------------------------------------------------------------------------- */

struct values {
    struct annot_value items[VALUES_MAX];
    uint32_t count;
    char *at, *end;
    char texts[TEXTS_SIZE];
};

static void values_init(struct values *values)
{
    values->count = 0;
    values->at = values->texts;
    values->end = values->texts + TEXTS_SIZE;
}

static void add_text(struct values *values, const char *key, PyObject *value)
{
    char *begin = values->at;
    size_t room = (size_t)(values->end - begin);
    if (room < 2 * sizeof(CUT))
        return;
    size_t size = (room < TEXT_SIZE ? room : (size_t)TEXT_SIZE) - sizeof(CUT);
    struct text text = {begin, begin + size, false};
    put_value(&text, value, 0);
    memcpy(text.at, text.is_cut ? CUT : "", text.is_cut ? sizeof(CUT) : 1);
    values->at = text.at + strlen(text.at) + 1;
    values->items[values->count++] = annot_value_string(key, begin);
}

static void add(struct values *values, const char *key, PyObject *value)
{
    int overflow = 0;
    if (key == NULL || value == NULL || values->count == VALUES_MAX)
        return;
    if (PyBool_Check(value)) {
        values->items[values->count++] = annot_value_bool(key, value == Py_True);
    } else if (PyFloat_CheckExact(value)) {
        values->items[values->count++] = annot_value_double(key, PyFloat_AS_DOUBLE(value));
    } else if (PyLong_CheckExact(value)) {
        long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow == 0)
            values->items[values->count++] = annot_value_int64(key, number);
        else
            add_text(values, key, value);
    } else {
        add_text(values, key, value);
    }
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Returns the names of all variables, the arguments first. New reference, or NULL with an
 * exception. */
static PyObject *variable_names(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyCode_GetVarnames(code);
#else
    return Py_NewRef(code->co_varnames);
#endif
}

static int argument_count(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

#if PY_VERSION_HEX < 0x030C0000

/* An argument that an inner function uses may be in a cell already. Borrowed, or NULL. */
static PyObject *in_slot(const PyCodeObject *code, int index)
{
    PyObject *value = seen.slots[index];
#if PY_VERSION_HEX >= 0x030B0000
    bool has_cell = PyBytes_AS_STRING(code->co_localspluskinds)[index] & 0x40; /* CO_FAST_CELL */
    return has_cell && value != NULL && PyCell_Check(value) ? PyCell_GET(value) : value;
#else
    if (value != NULL)
        return value;
    Py_ssize_t count = code->co_cell2arg ? PyTuple_GET_SIZE(code->co_cellvars) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (code->co_cell2arg[i] == index && seen.slots[code->co_nlocals + i] != NULL)
            return PyCell_GET(seen.slots[code->co_nlocals + i]);
    return NULL;
#endif
}

#endif

/* New reference; NULL: it has no value. */
static PyObject *argument(const PyCodeObject *code, PyObject *name, int index)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyFrameObject *frame = PyEval_GetFrame();
    (void)code;
    (void)index;
    return frame ? PyFrame_GetVar(frame, name) : NULL;
#else
    (void)name;
    return Py_XNewRef(seen.slots ? in_slot(code, index) : NULL);
#endif
}

static void add_arguments(struct values *values, PyCodeObject *code)
{
    PyObject *names = variable_names(code);
    int count = names ? argument_count(code) : 0;
    for (int i = 0; i < count && i < PyTuple_GET_SIZE(names) && values->count < VALUES_MAX; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = argument(code, name, i);
        if (value != NULL)
            add(values, PyUnicode_AsUTF8(name), value);
        Py_XDECREF(value);
    }
    Py_XDECREF(names);
}

uint32_t trace_values_enter(const struct trace_code *kept, PyCodeObject *code, bool continues)
{
    struct values values;
    values_init(&values);
    if (trace_now.options.arguments && !continues) {
        PyObject *kind, *error, *traceback;
        PyErr_Fetch(&kind, &error, &traceback);
        add_arguments(&values, code);
        PyErr_Restore(kind, error, traceback);
    }
    seen.slots = NULL;
    return values.count ? annot_code_enter_values(kept->name, values.items, values.count)
                        : annot_code_enter(kept->name, continues);
}

/* ---- Results and exceptions ------------------------------------------------------------------ */

struct leaving {
    PyObject *type, *exception; /* may not be an instance yet, but the value to make one of */
};

static bool steers(const struct leaving *leaving)
{
    return leaving->type == PyExc_StopIteration || leaving->type == PyExc_StopAsyncIteration ||
           leaving->type == PyExc_GeneratorExit;
}

static const char *type_name(const struct leaving *leaving)
{
    const char *name = ((PyTypeObject *)leaving->type)->tp_name, *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Returns the arguments of an exception, or the value to make one of. New reference, or NULL. */
static PyObject *arguments_of(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyExceptionInstance_Check(exception) ? PyException_GetArgs(exception)
                                                : Py_NewRef(exception);
#else
    return Py_XNewRef(PyExceptionInstance_Check(exception)
                          ? ((PyBaseExceptionObject *)exception)->args
                          : exception);
#endif
}

/* New reference, or NULL. */
static PyObject *message_of(PyObject *exception)
{
    PyObject *arguments = exception ? arguments_of(exception) : NULL;
    if (arguments == NULL || (!PyTuple_CheckExact(arguments) && arguments == exception))
        return arguments;
    bool any = PyTuple_CheckExact(arguments) && PyTuple_GET_SIZE(arguments) > 0;
    PyObject *message = any ? Py_NewRef(PyTuple_GET_ITEM(arguments, 0)) : NULL;
    Py_DECREF(arguments);
    return message;
}

/* Returns the traceback of a propagating exception. New reference, or NULL. */
static PyObject *traceback_of(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    return exception ? PyException_GetTraceback(exception) : NULL;
#else
    (void)exception;
    return Py_XNewRef(PyThreadState_Get()->curexc_traceback);
#endif
}

/* True if it has been in frames inside of this one: else another exception had its address. */
static bool is_from_inside(const struct leaving *leaving)
{
    PyObject *traceback = traceback_of(leaving->exception);
    bool is_inside = traceback != NULL && PyTraceBack_Check(traceback) &&
                     ((PyTracebackObject *)traceback)->tb_next != NULL;
    Py_XDECREF(traceback);
    return is_inside;
}

/* All threads store the same. */
static struct annot_event exception_event(void)
{
    static annot_domain domain;
    static annot_category category;
    if (__atomic_load_n(&category, __ATOMIC_ACQUIRE) == 0) {
        annot_domain python = annot_domain_create("python");
        __atomic_store_n(&domain, python, __ATOMIC_RELAXED);
        __atomic_store_n(&category, annot_category_create(python, "exceptions"), __ATOMIC_RELEASE);
    }
    return (struct annot_event){.domain = __atomic_load_n(&domain, __ATOMIC_RELAXED),
                                .category = __atomic_load_n(&category, __ATOMIC_RELAXED)};
}

/* Marks an exception where it was raised, not in each frame that it leaves. */
static void mark(struct trace_thread *thread, const struct trace_entry *entry,
                 const struct leaving *leaving)
{
    const void *raised = leaving->exception ? leaving->exception : leaving->type;
    uint32_t index = (uint32_t)(entry - thread->entries);
    bool is_known =
        thread->raised == raised && index < thread->raised_index && is_from_inside(leaving);
    thread->raised = raised;
    thread->raised_index = index;
    if (is_known)
        return;
    struct values values;
    PyObject *message = message_of(leaving->exception);
    values_init(&values);
    add(&values, "message", message);
    Py_XDECREF(message);
    struct annot_event event = exception_event();
    event.text = type_name(leaving);
    event.values = values.items;
    event.value_count = values.count;
    annot_emit_mark_event(&event);
}

void trace_raised(PyCodeObject *python_code, PyObject *exception)
{
    const struct trace_code *code = trace_code_of(python_code);
    const struct leaving leaving = {(PyObject *)Py_TYPE(exception), exception};
    if (code == NULL || !trace_code_is_wanted(code) || steers(&leaving))
        return;
    struct trace_thread *thread = trace_thread_now(false);
    uint32_t depth = trace_depth();
    uint32_t count = thread ? thread->count : 0;
    while (count > 0 && thread->entries[count - 1].depth > depth)
        count--; /* left, but not closed yet */
    const struct trace_entry *entry = count > 0 ? &thread->entries[count - 1] : NULL;
    if (entry != NULL && entry->depth == depth && trace_entry_is_of(entry, code))
        mark(thread, entry, &leaving);
}

void trace_values_leave(struct trace_thread *thread, const struct trace_entry *entry)
{
    struct values values;
    PyObject *result = seen.result;
    const struct leaving leaving = {seen.type, seen.exception};
    const struct trace_code *code = entry->code;
    seen.result = seen.type = seen.exception = NULL;
    values_init(&values);
    if (leaving.type != NULL && !steers(&leaving)) {
        if (trace_now.options.exceptions && PY_VERSION_HEX < 0x030C0000)
            mark(thread, entry, &leaving);
        values.items[values.count++] = annot_value_string("exception", type_name(&leaving));
    } else if (result != NULL && trace_now.options.results && code != NULL && !code->is_generator) {
        add(&values, "returned", result);
    }
    if (values.count)
        annot_code_leave_values(entry->token, values.items, values.count);
    else
        annot_code_leave(entry->token);
}

/* ---- Values from hooks ----------------------------------------------------------------------- */

void trace_see_slots(PyObject *const *slots)
{
    seen.slots = slots;
}

void trace_see_result(PyObject *result)
{
    seen.result = result;
    seen.type = seen.exception = NULL;
}

void trace_see_exception(PyObject *exception)
{
    seen.result = NULL;
    seen.type = (PyObject *)Py_TYPE(exception);
    seen.exception = exception;
}

#if PY_VERSION_HEX < 0x030C0000

void trace_see_error(void)
{
    const PyThreadState *thread = PyThreadState_Get();
    bool any = thread->curexc_type != NULL && PyType_Check(thread->curexc_type);
    seen.result = NULL;
    seen.type = any ? thread->curexc_type : NULL;
    seen.exception = any ? thread->curexc_value : NULL;
}

#endif
