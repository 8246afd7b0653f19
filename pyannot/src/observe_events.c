/* SPDX-License-Identifier: MIT */
/* Collections of garbage and imports, as ranges of the thread that they happen on: nothing of them
 * can be suspended, so also inside of a task they belong to the thread. */
#include "exception.h"
#include "functions_observe.h"
#include "observed.h"
#include "str_text.h"

#include <stdbool.h>

#include <annot/annot.h>

static struct annot_event event_of(const char *category_name, annot_category *cached)
{
    annot_domain domain = annot_domain_create("python");
    annot_category category = __atomic_load_n(cached, __ATOMIC_RELAXED);
    if (category == 0) { /* the same whoever stores it */
        category = annot_category_create(domain, category_name);
        __atomic_store_n(cached, category, __ATOMIC_RELAXED);
    }
    return (struct annot_event){.domain = domain, .category = category};
}

/* ---- Garbage --------------------------------------------------------------------------------- */

static annot_category gc_category;

static long number_in(PyObject *info, const char *key)
{
    PyObject *value = PyDict_Check(info) ? PyDict_GetItemString(info, key) : NULL;
    long number = value ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return number;
}

/* Of each generation a name of its own: they cost very different times. */
static void collection_begin(PyObject *info)
{
    static annot_name names[4];
    static const char *const texts[] = {"gc generation 0", "gc generation 1", "gc generation 2",
                                        "gc"};
    long generation = number_in(info, "generation");
    long index = generation >= 0 && generation < 3 ? generation : 3;
    struct annot_event event = event_of("gc", &gc_category);
    event.name = annot_site_name(&names[index], texts[index]);
    event.text = texts[index];
    annot_push_event(&event);
}

static void collection_end(PyObject *info)
{
    const struct annot_value values[] = {
        annot_value_int64("collected", number_in(info, "collected")),
        annot_value_int64("uncollectable", number_in(info, "uncollectable")),
    };
    annot_pop_values(values, sizeof(values) / sizeof(values[0]));
}

PyObject *observe_collected(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    /* The thread's, because a collection runs from its begin to its end on one. */
    static _Thread_local bool begun __attribute__((tls_model("initial-exec")));
    (void)module;
    if (count != 2 || !PyUnicode_Check(args[0]))
        Py_RETURN_NONE;
    bool on = annot_enabled();
    if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        begun = on;
        if (on)
            collection_begin(args[1]);
    } else if (begun) {
        begun = false;
        if (on)
            collection_end(args[1]);
    }
    Py_RETURN_NONE;
}

/* ---- Imports --------------------------------------------------------------------------------- */

/* importlib._bootstrap._find_and_load(name, import_), which the interpreter calls for each module
 * that it has not. */
PyObject *observed_import(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
    static annot_category category;
    struct observed *observed = (struct observed *)self;
    char name[512];
    bool on = annot_enabled() && PyVectorcall_NARGS(flags) > 0 && PyUnicode_Check(args[0]);
    if (on) {
        PyObject *owner = NULL;
        const char *text = text_of(args[0], &owner);
        struct annot_event event = event_of("import", &category);
        snprintf(name, sizeof(name), "import %s", text ? text : "?");
        PyErr_Clear();
        Py_XDECREF(owner);
        event.text = name;
        annot_push_event(&event);
    }
    PyObject *result = PyObject_Vectorcall(observed->wrapped, args, flags, names);
    if (on)
        exception_pop(result ? NULL : PyErr_Occurred());
    return result;
}
