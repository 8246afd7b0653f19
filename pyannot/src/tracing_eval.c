/* SPDX-License-Identifier: MIT */
/* Hears of calls by taking the place of the function that evaluates frames (PEP 523): CPython 3.9
 * to 3.11, where that costs a third of what a profile function does.
 *
 * CPython 3.11 runs Python's own calls without a C frame for each, but not while somebody has that
 * place. So that a deep recursion ends as it would, the place is given back while a thread has
 * little stack left, to all threads, until the call returns in which that was seen.
 * Internal headers are needed to see whether a generator goes on. */
#define Py_BUILD_CORE 1
#include "tracing.h"

#if PY_VERSION_HEX < 0x030C0000

#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
typedef struct _PyInterpreterFrame frame_type;
#else
#include <frameobject.h>
typedef PyFrameObject frame_type;
#endif

#include <pthread.h>

enum { STACK_RESERVE = 256 << 10, STACK_ASSUMED = 1 << 20 };

static PyInterpreterState *interpreter; /* that is traced; NULL: none */
static uint64_t left_out;               /* how often the place was given back */

static PyObject *eval_traced(PyThreadState *thread, frame_type *frame, int throws);

/* ---- What frames say ------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000

static PyCodeObject *code_of(const frame_type *frame)
{
    return frame->f_code;
}

static bool has_begun(const frame_type *frame)
{
    return frame->prev_instr >= _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
}

/* A call of a generator's or coroutine's function makes that, and runs none of it. */
static bool makes_generator(const frame_type *frame)
{
    const int makers = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    return (frame->f_code->co_flags & makers) != 0 && frame->owner != FRAME_OWNED_BY_GENERATOR;
}

#else

static PyCodeObject *code_of(const frame_type *frame)
{
    return frame->f_code;
}

static bool has_begun(const frame_type *frame)
{
    return frame->f_lasti >= 0;
}

static bool makes_generator(const frame_type *frame)
{
    (void)frame;
    return false;
}

#endif

/* ---- Stack ----------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000

/* The lowest address to which a traced thread's stack may grow; 0: not looked for yet. */
static _Thread_local uintptr_t stack_floor __attribute__((tls_model("initial-exec")));

static __attribute__((noinline, cold)) void find_floor(uintptr_t now)
{
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    stack_floor = now > STACK_ASSUMED ? now - STACK_ASSUMED : 1;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &begin, &size) == 0)
        stack_floor = (uintptr_t)begin + STACK_RESERVE;
    pthread_attr_destroy(&attributes);
}

/* Who runs on another stack than the thread's own is taken for one with little. */
static bool is_stack_short(void)
{
    uintptr_t now = (uintptr_t)__builtin_frame_address(0);
    if (__builtin_expect(stack_floor == 0, 0))
        find_floor(now);
    return now < stack_floor;
}

#else

static bool is_stack_short(void)
{
    return false; /* nothing is deeper for us, but for a small frame a call */
}

#endif

/* ---- The hook -------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) PyObject *eval_left_out(PyThreadState *thread,
                                                               frame_type *frame, int throws)
{
    PyInterpreterState *state = interpreter;
    left_out++;
    _PyInterpreterState_SetEvalFrameFunc(state, _PyEval_EvalFrameDefault);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    if (interpreter != NULL &&
        _PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, eval_traced);
    return result;
}

static PyObject *eval_traced(PyThreadState *thread, frame_type *frame, int throws)
{
    PyCodeObject *code = code_of(frame);
    if (__builtin_expect(is_stack_short(), 0))
        return eval_left_out(thread, frame, throws);
    if (makes_generator(frame) || interpreter == NULL)
        return _PyEval_EvalFrameDefault(thread, frame, throws);
    trace_enter(code, has_begun(frame));
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    if (__builtin_expect(interpreter != NULL, 1))
        trace_leave(code);
    return result;
}

static const char *eval_refused(const struct trace_options *options)
{
    if (options->c_calls)
        return "calls of C functions are not told this way";
    if (_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) != _PyEval_EvalFrameDefault)
        return "another tool evaluates the frames of this program (PEP 523)";
    return NULL;
}

static int eval_start(const struct trace_options *options)
{
    (void)options;
    interpreter = PyInterpreterState_Get();
    _PyInterpreterState_SetEvalFrameFunc(interpreter, eval_traced);
    return 0;
}

static void eval_stop(void)
{
    if (interpreter != NULL && _PyInterpreterState_GetEvalFrameFunc(interpreter) == eval_traced)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    interpreter = NULL;
}

uint64_t trace_left_out(void)
{
    return left_out;
}

const struct trace_hook trace_eval = {.name = "PEP 523",
                                      .is_outside = true,
                                      .refused = eval_refused,
                                      .start = eval_start,
                                      .stop = eval_stop};

#endif
