/* SPDX-License-Identifier: MIT */
/* Where this interpreter keeps its stacks: one constant in the extension module, which the
 * collector reads from the file for its sampler. pyannot itself does not use it.
 *
 * Needs CPython's internal headers, which come with every installation that can build extensions,
 * but have no stable layout; so this is a separate file, left out where it does not compile.
 * Thread-safety: constant data. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <stddef.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe_structs.h"
#elif PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#else
#include <frameobject.h>
#endif

#include "python_offsets.h"

#if PY_VERSION_HEX < 0x03090000
#error "not known to keep its stacks as written here"
#endif

#ifdef Py_GIL_DISABLED
#define LAYOUT_FREE_THREADED PYTHON_FREE_THREADED
#else
#define LAYOUT_FREE_THREADED 0
#endif
#ifdef Py_DEBUG
#define LAYOUT_DEBUG PYTHON_DEBUG_BUILD
#else
#define LAYOUT_DEBUG 0
#endif
#if PY_VERSION_HEX >= 0x030e0000
#define LAYOUT_TAGGED PYTHON_TAGGED_CODE
#else
#define LAYOUT_TAGGED 0
#endif

__attribute__((visibility("default"), used)) const struct python_offsets annot_python_offsets_v1 = {
    .version = PY_VERSION_HEX >> 16,
    .flags = LAYOUT_FREE_THREADED | LAYOUT_DEBUG | LAYOUT_TAGGED,
    .runtime_interpreters_head = offsetof(_PyRuntimeState, interpreters.head),
    .interp_next = offsetof(PyInterpreterState, next),
    .interp_gc_collecting = offsetof(PyInterpreterState, gc.collecting),
    .tstate_next = offsetof(PyThreadState, next),
    .tstate_interp = offsetof(PyThreadState, interp),
    .tstate_thread_id = offsetof(PyThreadState, thread_id),
    .code_filename = offsetof(PyCodeObject, co_filename),
    .code_name = offsetof(PyCodeObject, co_name),
    .code_first_line = offsetof(PyCodeObject, co_firstlineno),
    .unicode_length = offsetof(PyASCIIObject, length),
    .unicode_state = offsetof(PyASCIIObject, state),
    .unicode_ascii_data = sizeof(PyASCIIObject),
    .unicode_compact_data = sizeof(PyCompactUnicodeObject),
    .bytes_size = offsetof(PyVarObject, ob_size),
    .bytes_data = offsetof(PyBytesObject, ob_sval),

#if PY_VERSION_HEX >= 0x030b0000
    .interp_threads_head = offsetof(PyInterpreterState, threads.head),
    .tstate_native_thread_id = offsetof(PyThreadState, native_thread_id),
    .frame_previous = offsetof(struct _PyInterpreterFrame, previous),
    .frame_owner = offsetof(struct _PyInterpreterFrame, owner),
    .code_qualname = offsetof(PyCodeObject, co_qualname),
    .code_lines = offsetof(PyCodeObject, co_linetable),
    .code_bytes = offsetof(PyCodeObject, co_code_adaptive),
#else
    .layout = PYTHON_LAYOUT_FRAME_OBJECT,
    .interp_threads_head = offsetof(PyInterpreterState, tstate_head),
    .tstate_native_thread_id = PYTHON_OFFSET_NONE,
    .tstate_frame = offsetof(PyThreadState, frame),
    .frame_code = offsetof(PyFrameObject, f_code),
    .frame_previous = offsetof(PyFrameObject, f_back),
    .frame_instruction = offsetof(PyFrameObject, f_lasti),
    .frame_owner = PYTHON_OFFSET_NONE,
    .code_qualname = PYTHON_OFFSET_NONE,
    .code_bytes = PYTHON_OFFSET_NONE,
#endif

/* Frames, and the C frames that mark calls from C. */
#if PY_VERSION_HEX >= 0x030d0000
    .layout = PYTHON_LAYOUT_CURRENT,
    .tstate_frame = offsetof(PyThreadState, current_frame),
    .cframe_current = PYTHON_OFFSET_NONE,
    .cframe_previous = PYTHON_OFFSET_NONE,
    .frame_code = offsetof(struct _PyInterpreterFrame, f_executable),
    .frame_instruction = offsetof(struct _PyInterpreterFrame, instr_ptr),
#elif PY_VERSION_HEX >= 0x030b0000
    .layout = PYTHON_LAYOUT_CFRAME,
    .tstate_frame = offsetof(PyThreadState, cframe),
    .cframe_current = offsetof(_PyCFrame, current_frame),
    .cframe_previous = offsetof(_PyCFrame, previous),
    .frame_code = offsetof(struct _PyInterpreterFrame, f_code),
    .frame_instruction = offsetof(struct _PyInterpreterFrame, prev_instr),
#elif PY_VERSION_HEX >= 0x030a0000
    .tstate_cframe = offsetof(PyThreadState, cframe),
    .cframe_current = PYTHON_OFFSET_NONE,
    .cframe_previous = offsetof(CFrame, previous),
    .code_lines = offsetof(PyCodeObject, co_linetable),
#else
    .cframe_current = PYTHON_OFFSET_NONE,
    .cframe_previous = PYTHON_OFFSET_NONE,
    .code_lines = offsetof(PyCodeObject, co_lnotab),
#endif
#if PY_VERSION_HEX < 0x030a0000 || PY_VERSION_HEX >= 0x030b0000
    .tstate_cframe = PYTHON_OFFSET_NONE,
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
    .frame_is_entry = offsetof(struct _PyInterpreterFrame, is_entry),
#else
    .frame_is_entry = PYTHON_OFFSET_NONE,
#endif
#if PY_VERSION_HEX >= 0x030e0000
    .shim_owner = FRAME_OWNED_BY_INTERPRETER,
#elif PY_VERSION_HEX >= 0x030c0000
    .shim_owner = FRAME_OWNED_BY_CSTACK,
#else
    .shim_owner = PYTHON_OFFSET_NONE,
#endif

#if PY_VERSION_HEX >= 0x030c0000
    .code_version = offsetof(PyCodeObject, co_version),
#else
    .code_version = PYTHON_OFFSET_NONE,
#endif

/* The holder of the GIL. */
#if PY_VERSION_HEX >= 0x030c0000
    .runtime_gil_holder = PYTHON_OFFSET_NONE,
    .interp_gil = offsetof(PyInterpreterState, ceval.gil),
    .gil_holder = offsetof(struct _gil_runtime_state, last_holder),
    .gil_locked = offsetof(struct _gil_runtime_state, locked),
#else
    .runtime_gil_holder = offsetof(_PyRuntimeState, gilstate.tstate_current),
    .interp_gil = PYTHON_OFFSET_NONE,
    .gil_holder = PYTHON_OFFSET_NONE,
    .gil_locked = PYTHON_OFFSET_NONE,
#endif

/* Each thread has its own copy of the bytecode. */
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
    .frame_tlbc = offsetof(struct _PyInterpreterFrame, tlbc_index),
    .code_tlbc = offsetof(PyCodeObject, co_tlbc),
#else
    .frame_tlbc = PYTHON_OFFSET_NONE,
    .code_tlbc = PYTHON_OFFSET_NONE,
#endif
};
