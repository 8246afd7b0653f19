/* SPDX-License-Identifier: MIT */
/* The yardsticks of bench_hook.py: functions in the place of the one that evaluates frames (PEP
 * 523, CPython 3.9 to 3.11), each with one more step than the previous. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include "internal/pycore_interp.h"

#include <annot/tracer.h>
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

#if PY_VERSION_HEX >= 0x030B0000
typedef struct _PyInterpreterFrame frame_type;
#else
#include <frameobject.h>
typedef PyFrameObject frame_type;
#endif

static _Alignas(64) uint64_t ring[4096];
static uint32_t ring_at;
static volatile uint64_t touched;

/* The functions of the recording copy of libannot: pyannot's. */
static struct {
    __typeof__(annot_code_enter) *enter;
    __typeof__(annot_code_leave) *leave;
    annot_name name;
} calls;

static inline void store(uint64_t head)
{
    uint64_t *at = &ring[ring_at];
#if defined(__x86_64__)
    at[0] = __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    at[0] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
    at[1] = head;
    ring_at = (ring_at + 2) & 4095;
}

static PyObject *pass_on(PyThreadState *thread, frame_type *frame, int throws)
{
    return _PyEval_EvalFrameDefault(thread, frame, throws);
}

static PyObject *stand_around(PyThreadState *thread, frame_type *frame, int throws)
{
    touched = 1;
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    touched = 2;
    return result;
}

static PyObject *stamp(PyThreadState *thread, frame_type *frame, int throws)
{
    store(1);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    store(2);
    return result;
}

static PyObject *record(PyThreadState *thread, frame_type *frame, int throws)
{
    uint32_t token = calls.enter(calls.name, 0);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    calls.leave(token);
    return result;
}

static const _PyFrameEvalFunction steps[] = {
    _PyEval_EvalFrameDefault, pass_on, stand_around, stamp, record,
};

/* set(step): from 0, off, to 4. */
static PyObject *set(PyObject *module, PyObject *step)
{
    size_t index = PyLong_AsSize_t(step);
    (void)module;
    if (PyErr_Occurred() || index >= sizeof(steps) / sizeof(steps[0]))
        return PyErr_Format(PyExc_ValueError, "set() takes a number below 5");
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), steps[index]);
    Py_RETURN_NONE;
}

/* use(path): of pyannot._native, before set(4). */
static PyObject *use(PyObject *module, PyObject *path)
{
    const char *text = PyUnicode_AsUTF8(path);
    void *native = text ? dlopen(text, RTLD_NOW | RTLD_NOLOAD) : NULL;
    (void)module;
    if (native == NULL)
        return PyErr_Format(PyExc_ImportError, "not loaded: %R", path);
    __typeof__(annot_code_name) *name_of =
        (__typeof__(annot_code_name) *)dlsym(native, "annot_code_name");
    calls.enter = (__typeof__(annot_code_enter) *)dlsym(native, "annot_code_enter");
    calls.leave = (__typeof__(annot_code_leave) *)dlsym(native, "annot_code_leave");
    if (name_of == NULL || calls.enter == NULL || calls.leave == NULL)
        return PyErr_Format(PyExc_ImportError, "no functions of annot in %R", path);
    calls.name = name_of("function", "bench_hook.py", 1, ANNOT_CODE_PYTHON);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"set", set, METH_O, NULL},
    {"use", use, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "empty_hook", .m_size = -1,
                                        .m_methods = functions};

PyMODINIT_FUNC PyInit_empty_hook(void);

PyMODINIT_FUNC PyInit_empty_hook(void)
{
    return PyModule_Create(&definition);
}
