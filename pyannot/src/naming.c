/* SPDX-License-Identifier: MIT */
/* Names of the process and of threads. What the program itself says stays; what pyannot.observe
 * offers is taken where nothing was said. */
#include "naming.h"

#include "annotation.h"
#include "entered.h"

#include <limits.h>

/* entered_forks + 1 in the process that named itself: what a parent has said is no name of its
 * forked children. 0: nobody has. */
static uint32_t process_said;
static _Thread_local bool thread_said __attribute__((tls_model("initial-exec")));

static PyObject *name_with(PyObject *module, PyObject *name, void (*give)(const char *text))
{
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), name);
    if (annotation == NULL)
        return NULL;
    give(annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}

PyObject *naming_set_process(PyObject *module, PyObject *name)
{
    PyObject *result = name_with(module, name, annot_name_process);
    if (result != NULL)
        __atomic_store_n(&process_said, entered_forks + 1, __ATOMIC_RELAXED);
    return result;
}

PyObject *naming_set_thread(PyObject *module, PyObject *name)
{
    PyObject *result = name_with(module, name, annot_name_thread);
    if (result != NULL)
        thread_said = true;
    return result;
}

PyObject *naming_offer_process(PyObject *module, PyObject *name)
{
    if (__atomic_load_n(&process_said, __ATOMIC_RELAXED) == entered_forks + 1)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_process);
}

PyObject *naming_offer_thread(PyObject *module, PyObject *name)
{
    if (thread_said)
        Py_RETURN_NONE;
    return name_with(module, name, annot_name_thread);
}

PyObject *naming_tell_thread(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "tell_thread_name() takes 2 arguments");
        return NULL;
    }
    long tid = PyLong_AsLong(args[0]);
    if (tid == -1 && PyErr_Occurred())
        return NULL;
    struct annotation *annotation = annotation_of_name(PyModule_GetState(module), args[1]);
    if (annotation == NULL)
        return NULL;
    annot_name_thread_of(tid > 0 && tid <= INT_MAX ? (int)tid : 0, annotation->event.text);
    Py_DECREF(annotation);
    Py_RETURN_NONE;
}
