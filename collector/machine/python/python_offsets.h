/* SPDX-License-Identifier: MIT */
/* Offsets of an interpreter's fields that a stack walk needs. Shared by the BPF program, the remote
 * reader and pyannot (which fills one by offsetof against the running interpreter's own headers),
 * so fixed-width integers only. Offsets are bytes; UINT16_MAX = the field does not exist.
 * Thread-safety: plain data. */
#ifndef ANNOT_PYTHON_OFFSETS_H
#define ANNOT_PYTHON_OFFSETS_H

#ifdef __bpf__
#include "unwind_rule.h" /* the integer types */
#else
#include <stdint.h>
#endif

enum { PYTHON_OFFSET_NONE = 0xffff };

enum python_layout {
    PYTHON_LAYOUT_FRAME_OBJECT = 1, /* 3.9, 3.10: tstate->frame is a PyFrameObject */
    PYTHON_LAYOUT_CFRAME = 2,       /* 3.11, 3.12: tstate->cframe->current_frame */
    PYTHON_LAYOUT_CURRENT = 3,      /* 3.13 on: tstate->current_frame */
};

enum python_flags {
    PYTHON_FREE_THREADED = 1u << 0,
    PYTHON_DEBUG_BUILD = 1u << 1,
    PYTHON_TAGGED_CODE = 1u << 2, /* 3.14 on: the low bits of f_executable are a tag */
};

struct python_offsets {
    uint32_t version; /* PY_VERSION_HEX >> 16: 0x030c */
    uint32_t layout;  /* enum python_layout */
    uint32_t flags;   /* enum python_flags */
    /* _PyRuntimeState */
    uint32_t runtime_interpreters_head;
    uint32_t runtime_gil_holder; /* 3.9 - 3.11: the thread state that holds the GIL; or NONE */
    /* PyInterpreterState */
    uint32_t interp_next, interp_threads_head;
    uint32_t interp_gc_collecting;
    uint32_t interp_gil; /* 3.12 on: pointer to its GIL; or NONE */
    uint16_t gil_holder; /* in the GIL's struct */
    /* PyThreadState */
    uint16_t tstate_next, tstate_interp, tstate_thread_id, tstate_native_thread_id, tstate_frame;
    /* CFrame */
    uint16_t cframe_current, cframe_previous;
    /* PyFrameObject or _PyInterpreterFrame */
    uint16_t frame_code, frame_previous, frame_instruction, frame_owner, frame_is_entry;
    uint16_t frame_tlbc; /* free-threaded: index of the thread's copy of the bytecode */
    /* PyCodeObject */
    uint16_t code_filename, code_name, code_qualname, code_first_line, code_lines;
    uint16_t code_bytes; /* the first instruction (3.11 on) */
    uint16_t code_tlbc;  /* free-threaded: array of copies of the bytecode */
    /* PyUnicodeObject, PyBytesObject */
    uint16_t unicode_length, unicode_state, unicode_ascii_data, unicode_compact_data;
    uint16_t bytes_size, bytes_data;
    uint16_t shim_owner;    /* the value of owner that marks a C call; 3.12 on */
    uint16_t gil_locked;    /* in the GIL's struct: int, 0 = not held */
    uint16_t tstate_cframe; /* 3.10: in addition to tstate_frame, for the anchors */
    uint16_t code_version;  /* 3.12 on: a number unique to each code object; 0 = NONE */
    uint16_t reserved[3];
};

#endif
