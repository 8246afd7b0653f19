/* SPDX-License-Identifier: MIT */
/* Reports calls by replacing the function that evaluates frames (PEP 523): CPython 3.9 to 3.11,
 * where that costs a third of a profile function.
 *
 * CPython 3.11 runs calls between Python functions without a C frame for each, but not while that
 * function is replaced. So that a deep recursion ends as it would without us, the original is
 * restored for all threads while a thread has little stack left, until the call returns in which
 * this was seen. Counted lines are reported by a trace function, which a thread has only while such
 * a frame is its innermost: all other code runs without one. A trace function of another tool (a
 * debugger) stays, and lines are not counted. Internal headers are needed to see whether a
 * generator resumes. */
#define Py_BUILD_CORE 1
#include "tracing.h"
#include "tracing_code.h"
#include "tracing_lines.h"
#include "tracing_plain.h"
#include "tracing_tasks.h"
#include "tracing_thread.h"
#include "tracing_values.h"

#if PY_VERSION_HEX < 0x030C0000

#include "internal/pycore_interp.h"

#include <annot/observers.h>

#if PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
typedef struct _PyInterpreterFrame frame_type;
#else
#include <frameobject.h>
typedef PyFrameObject frame_type;
#endif

#include <pthread.h>

/* use_tracing of a traced thread; the unit of f_lasti; the line of a frame with a running trace
 * function. */
enum { TRACING_ON = PY_VERSION_HEX >= 0x030B0000 ? 255 : 1 };

enum { LASTI_UNIT = PY_VERSION_HEX >= 0x030A0000 ? (int)sizeof(_Py_CODEUNIT) : 1 };
#if PY_VERSION_HEX >= 0x030A0000
#define LINE_NOW(frame) PyFrame_GetLineNumber(frame)
#else
#define LINE_NOW(frame) ((frame)->f_lineno)
#endif

enum { GENERATORS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR };

enum { STACK_RESERVE = 256 << 10, STACK_ASSUMED = 1 << 20 };

static PyInterpreterState *interpreter; /* the traced one; NULL: tracing is off */
static uint64_t left_out;               /* how often the original was restored */
static bool with_lines;
static bool is_plain;        /* trace_now.is_plain, and interpreter is not NULL */
static bool has_hidden_note; /* a note says that lines were not counted */

static PyObject *eval_traced(PyThreadState *thread, frame_type *frame, int throws);

/* ---- Frames ---------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000

static PyCodeObject *code_of(const frame_type *frame)
{
    return frame->f_code;
}

static int line_of(frame_type *frame)
{
    return PyCode_Addr2Line(frame->f_code,
                            _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));
}

static PyCodeObject *code_of_object(PyFrameObject *frame)
{
    return frame->f_frame->f_code;
}

static PyObject *const *slots_of(const frame_type *frame)
{
    return frame->localsplus;
}

static bool has_begun(const frame_type *frame)
{
    return frame->prev_instr >= _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
}

/* For a generator's or coroutine's frame that was just left. */
static bool is_suspended(frame_type *frame)
{
    return _PyFrame_GetGenerator(frame)->gi_frame_state == FRAME_SUSPENDED;
}

/* A call of a generator's or coroutine's function makes that object, and does not run its code. */
static bool makes_generator(const frame_type *frame)
{
    return frame->owner != FRAME_OWNED_BY_GENERATOR;
}

#else

static PyCodeObject *code_of(const frame_type *frame)
{
    return frame->f_code;
}

static int line_of(frame_type *frame)
{
    return PyCode_Addr2Line(frame->f_code, frame->f_lasti * LASTI_UNIT);
}

static PyCodeObject *code_of_object(PyFrameObject *frame)
{
    return frame->f_code;
}

static PyObject *const *slots_of(const frame_type *frame)
{
    return frame->f_localsplus;
}

static bool has_begun(const frame_type *frame)
{
    return frame->f_lasti >= 0;
}

static bool is_suspended(const frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030A0000
    return frame->f_state == FRAME_SUSPENDED;
#else
    return frame->f_stacktop != NULL;
#endif
}

static bool makes_generator(const frame_type *frame)
{
    (void)frame;
    return false;
}

#endif

/* ---- Stack ----------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000

/* The lowest address to which a traced thread's stack may grow; 0: not known yet. */
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
        stack_floor = (uintptr_t)begin + (size / 4 < STACK_RESERVE ? size / 4 : STACK_RESERVE);
    pthread_attr_destroy(&attributes);
}

/* A thread on another stack than its own counts as one with little stack. */
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
    return false; /* we add only a small frame to each call */
}

#endif

/* ---- Lines ----------------------------------------------------------------------------------- */

static void let_trace(PyThreadState *thread, Py_tracefunc function)
{
    bool is_on = function != NULL || thread->c_profilefunc != NULL;
    thread->c_tracefunc = function;
#if PY_VERSION_HEX >= 0x030A0000
    thread->cframe->use_tracing = is_on ? TRACING_ON : 0;
#else
    thread->use_tracing = is_on;
#endif
}

static int take_line(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)object;
    (void)argument;
    if (what != PyTrace_LINE || interpreter == NULL)
        return 0;
    struct trace_code *lined = trace_lined(code_of_object(frame));
    if (lined != NULL)
        trace_line(lined, (uint32_t)LINE_NOW(frame));
    return 0;
}

static bool is_others(Py_tracefunc function)
{
    return function != NULL && function != take_line;
}

/* Writes a note once a start, as readers cannot see this. */
static __attribute__((noinline, cold)) void emit_hidden(void)
{
    if (!has_hidden_note)
        annot_process_note("lines of Python: another tool set a trace function (sys.settrace); "
                           "lines of functions that began while it was set were not counted");
    has_hidden_note = true;
}

static PyObject *eval_with_lines(PyThreadState *thread, frame_type *frame, int throws)
{
    Py_tracefunc before = thread->c_tracefunc;
    struct trace_code *lined = trace_lined(code_of(frame));
    if (is_others(before) && lined != NULL && thread->tracing == 0)
        emit_hidden();
    if (is_others(before) || (lined == NULL && before == NULL))
        return _PyEval_EvalFrameDefault(thread, frame, throws);
    let_trace(thread, lined ? take_line : NULL);
    if (lined != NULL && (throws || has_begun(frame)))
        trace_line_resumed(lined, (uint32_t)line_of(frame));
    else if (lined != NULL)
        trace_line_begun(lined);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    if (lined != NULL && interpreter != NULL)
        trace_line_left();
    if (!is_others(thread->c_tracefunc))
        let_trace(thread, before);
    return result;
}

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

static void leave(frame_type *frame, PyCodeObject *code, PyObject *result)
{
    if (RARE(trace_has_values))
        result ? trace_see_result(result) : trace_see_error();
    if (interpreter == NULL)
        return;
    if (!(code->co_flags & GENERATORS)) {
        trace_leave(code);
        return;
    }
    trace_see_frame(frame);
    if (result != NULL && is_suspended(frame)) /* the generator keeps the frame */
        trace_suspend(code);
    else
        trace_leave(code);
}

/* Evaluates frames that are not plain. */
static __attribute__((noinline)) PyObject *eval_any(PyThreadState *thread, frame_type *frame,
                                                    int throws)
{
    PyCodeObject *code = code_of(frame);
    bool is_generator = (code->co_flags & GENERATORS) != 0;
    if (interpreter == NULL)
        return _PyEval_EvalFrameDefault(thread, frame, throws);
    if (RARE(trace_has_values))
        trace_see_slots(slots_of(frame));
    if (is_generator)
        trace_see_frame(frame);
    trace_enter(code, is_generator && has_begun(frame)); /* other code does not resume */
    PyObject *result = with_lines ? eval_with_lines(thread, frame, throws)
                                  : _PyEval_EvalFrameDefault(thread, frame, throws);
    leave(frame, code, result);
    return result;
}

static PyObject *eval_traced(PyThreadState *thread, frame_type *frame, int throws)
{
    PyCodeObject *code = code_of(frame);
    bool is_generator = (code->co_flags & GENERATORS) != 0;
    uint32_t depth = trace_depth_of(thread);
    if (RARE(is_stack_short()))
        return eval_left_out(thread, frame, throws);
    if (is_generator && makes_generator(frame))
        return _PyEval_EvalFrameDefault(thread, frame, throws);
    uint32_t count =
        is_plain ? trace_plain_enter_at(code, depth, is_generator && has_begun(frame)) : 0;
    if (count == 0)
        return eval_any(thread, frame, throws);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throws);
    if (RARE(!is_plain) || RARE(!trace_plain_leave_at(count, depth)))
        leave(frame, code, result);
    return result;
}

static const char *eval_refused(const struct trace_options *options)
{
    if (options->c_calls)
        return "PEP 523 does not report calls of C functions";
    if (_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) != _PyEval_EvalFrameDefault)
        return "another tool evaluates the frames of this program (PEP 523)";
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread != NULL && options->lines; thread = PyThreadState_Next(thread))
        if (is_others(thread->c_tracefunc))
            return "another tool has set a trace function (sys.settrace)";
    return NULL;
}

static int eval_start(const struct trace_options *options)
{
    interpreter = PyInterpreterState_Get();
    with_lines = options->lines;
    is_plain = trace_now.is_plain;
    has_hidden_note = false;
#if PY_VERSION_HEX < 0x030A0000
    /* Otherwise threads do not check for a trace function. */
    interpreter->ceval.tracing_possible += with_lines;
#endif
    _PyInterpreterState_SetEvalFrameFunc(interpreter, eval_traced);
    return 0;
}

/* If another tool has replaced or restored the function, calls are missing. */
static void give_place_back(void)
{
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (now == eval_traced)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    else if (now != _PyEval_EvalFrameDefault || left_out == 0)
        annot_process_note("calls of Python: another tool replaced the function that evaluates "
                           "frames (PEP 523); calls since then are missing");
}

static void eval_stop(void)
{
#if PY_VERSION_HEX < 0x030A0000
    if (interpreter != NULL)
        interpreter->ceval.tracing_possible -= with_lines;
#endif
    with_lines = is_plain = false;
    if (interpreter != NULL)
        give_place_back();
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
