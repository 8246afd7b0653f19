/* SPDX-License-Identifier: MIT */
/* Finds the interpreter inside a process: detects its module and version, and the addresses and
 * offsets of its parts.
 *
 * Offsets come, in this order, from pyannot's own compile (symbol annot_python_offsets_v1 of its
 * extension module), from _Py_DebugOffsets (3.13 on), or from our table (3.9 - 3.12); else the
 * interpreter is unknown and a reason is given. Foreign bytes: bounded.
 * Thread-safety: any thread. */
#ifndef ANNOT_PYTHON_RUNTIME_H
#define ANNOT_PYTHON_RUNTIME_H

#include "elf_file.h"
#include "python_offsets.h"

/* Reads memory of the process. Bytes read or -errno. */
struct python_memory {
    int64_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
    void *context;
};

/* By process_vm_readv; `pid` must outlive it. */
struct python_memory python_memory_of(const int32_t *pid);

struct python_runtime {
    uint64_t runtime, runtime_end; /* _PyRuntime, in the process */
    uint64_t eval, eval_end;       /* _PyEval_EvalFrameDefault */
    struct python_offsets offsets; /* version 0: unknown interpreter, see reason */
    const char *source;            /* "pyannot", "_Py_DebugOffsets", "table": constant text */
    char reason[160];              /* why its frames cannot be read; "" = readable */
    bool doubtful;                 /* the reason may be a transient state of its memory */
};

/* Facts from the file alone: cheap, once per module. false: no interpreter in it. */
struct python_image {
    uint64_t runtime, runtime_size, eval, eval_size; /* module addresses */
    uint32_t version;                                /* PY_VERSION_HEX >> 16; 0 = unknown */
    uint32_t flags;                                  /* PYTHON_DEBUG_BUILD */
    bool pypy;                                       /* not CPython: the other fields are unset */
};

bool python_image_find(struct elf_file *file, struct python_image *ret_image);

/* pyannot's own offsets, from its extension module's file. false: absent, or not ours. */
bool python_offsets_from_module(struct elf_file *file, struct python_offsets *ret_offsets);

/* 0, or -EAGAIN: the interpreter is not initialised yet, retry. Reads memory only for
 * _Py_DebugOffsets and to check plausibility. `published` NULL = pyannot is not loaded. */
int python_runtime_find(const struct python_image *image, uint64_t bias,
                        const struct python_memory *memory, const struct python_offsets *published,
                        struct python_runtime *ret_runtime);

/* History of results for one process. Zeroed at first. */
struct python_doubt {
    uint32_t waits, wrongs; /* results so far; equal failures in a row */
    uint64_t wrong_since_ns;
};

/* True if a result of python_runtime_find is final, false to retry later.
 *
 * "Not yet" is final after a minute or two. An implausible memory may be a transient state: a file
 * that is mapped in parts, exec, a thread being removed from a list. A process that gets no CPU
 * meanwhile, on a busy machine, shows the same state at each look. So the state must last for a
 * while. */
bool python_answer_stands(struct python_doubt *doubt, int result,
                          const struct python_runtime *runtime, uint64_t now_ns);

/* The interpreter among the mapped files of a process, and the offsets of pyannot, if mapped. */
struct python_location {
    struct python_image image;
    uint64_t bias;
    bool published; /* offsets of pyannot are set */
    struct python_offsets offsets;
};

/* Searches /proc/PID/maps. 0, -ENOENT (no interpreter), -ESRCH, -EPERM (its files or maps can't be
 * opened), -ENOMEM. */
int python_locate(int32_t pid, struct python_location *ret_location);

/* ---- Layouts --------------------------------------------------------------------------------- */

/* From our table, or for 3.13 and later from the interpreter itself: python_runtime_layouts.c. */

/* Of a release build with a GIL. `version`: PY_VERSION_HEX >> 16. NULL: not in the table. */
const struct python_offsets *python_offsets_table(uint32_t version);

enum { PYTHON_DEBUG_OFFSETS_SIZE = 111 * 8 }; /* of the largest known one */

/* From the bytes at _PyRuntime, foreign. 0, -EBADMSG (no such structure, or it is inconsistent),
 * -ENOTSUP (unknown version of the structure, in *ret_version). */
int python_offsets_debug(const uint8_t *bytes, size_t size, struct python_offsets *ret_offsets,
                         uint32_t *ret_version);

/* The fields by which an interpreter is asked to run a file (PEP 768; 3.14 on). */
struct python_debugger {
    uint32_t runtime_interpreters_head;
    uint32_t interp_next, interp_id, interp_main_thread;
    uint32_t interp_enabled; /* int: nonzero if it accepts files */
    uint32_t tstate_breaker; /* a word of bits, PYTHON_PLEASE_STOP among them */
    uint32_t tstate_pending; /* int: 1: a file is pending */
    uint32_t tstate_path, path_size;
};

enum { PYTHON_PLEASE_STOP = 1 << 5 };

/* From the same bytes as python_offsets_debug. 0, -EBADMSG, or -ENOTSUP: not supported. */
int python_offsets_debugger(const uint8_t *bytes, size_t size,
                            struct python_debugger *ret_debugger);

/* Checks that no offset is beyond the largest possible structure. */
int python_offsets_check(const struct python_offsets *offsets);

#endif
