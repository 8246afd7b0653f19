/* SPDX-License-Identifier: MIT */
/* Finds the interpreter inside a process: is this module one, which, and where is what in it.
 *
 * Offsets come, in this order, from pyannot's own compile (symbol annot_python_offsets_v1 of its
 * extension module), from _Py_DebugOffsets (3.13 on), or from a table of ours (3.9 - 3.12); else
 * the interpreter is unknown and a reason is given. Foreign bytes: bounded.
 * Thread-safety: none needed. */
#ifndef ANNOT_PYTHON_RUNTIME_H
#define ANNOT_PYTHON_RUNTIME_H

#include "elf_file.h"
#include "python_offsets.h"

/* Reads memory of the process. Bytes read or -errno. */
struct python_memory {
    int64_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
    void *context;
};

/* By process_vm_readv; `pid` must stay. */
struct python_memory python_memory_of(const int32_t *pid);

struct python_runtime {
    uint64_t runtime, runtime_end; /* _PyRuntime, in the process */
    uint64_t eval, eval_end;       /* _PyEval_EvalFrameDefault */
    struct python_offsets offsets; /* version 0: unknown interpreter, see reason */
    const char *source;            /* "pyannot", "_Py_DebugOffsets", "table": constant text */
    char reason[160];              /* why its frames cannot be read; "" = they can */
    bool doubtful;                 /* that is what its memory looked like at this moment */
};

/* What the file alone says: cheap, once per module. false: no interpreter in it. */
struct python_image {
    uint64_t runtime, runtime_size, eval, eval_size; /* the module's own addresses */
    uint32_t version;                                /* PY_VERSION_HEX >> 16; 0 = not told */
    uint32_t flags;                                  /* PYTHON_DEBUG_BUILD */
    bool pypy;                                       /* no CPython: nothing else is set */
};

bool python_image_find(struct elf_file *file, struct python_image *ret_image);

/* pyannot's own offsets, from its extension module's file. false: none, or not ours. */
bool python_offsets_from_module(struct elf_file *file, struct python_offsets *ret_offsets);

/* 0, or -EAGAIN: the interpreter is not initialised yet, ask again. Reads memory only for
 * _Py_DebugOffsets and to check plausibility. `published` NULL = pyannot is not there. */
int python_runtime_find(const struct python_image *image, uint64_t bias,
                        const struct python_memory *memory, const struct python_offsets *published,
                        struct python_runtime *ret_runtime);

/* What one answer after the other says of a process. Zeroed at first. */
struct python_doubt {
    uint32_t waits, wrongs; /* answers so far; of the same kind in a row */
    uint64_t wrong_since_ns;
};

/* Does an answer of python_runtime_find stand, or is the process to be asked again?
 *
 * "Not yet" is believed after a minute or two. What looks wrong may be a state between two others:
 * a file that is mapped in parts, exec, a thread that is being taken out of a list. A process that
 * does not run meanwhile, on a busy machine, shows that as often as it is looked at. So it has to
 * look so for a while. */
bool python_answer_stands(struct python_doubt *doubt, int result,
                          const struct python_runtime *runtime, uint64_t now_ns);

/* Which of a process's mapped files is its interpreter, and whether pyannot is among them. */
struct python_location {
    struct python_image image;
    uint64_t bias;
    bool published; /* offsets of pyannot are there */
    struct python_offsets offsets;
};

/* Looks through /proc/PID/maps. 0, -ENOENT (no interpreter), -ESRCH, -EPERM (its files or maps
 * can't be opened), -ENOMEM. */
int python_locate(int32_t pid, struct python_location *ret_location);

/* ---- Layouts --------------------------------------------------------------------------------- */

/* Those written down here, and those that 3.13 and later tell of themselves:
 * python_runtime_layouts.c. */

/* Of a release build with a GIL. `version`: PY_VERSION_HEX >> 16. NULL: not in the table. */
const struct python_offsets *python_offsets_table(uint32_t version);

enum { PYTHON_DEBUG_OFFSETS_SIZE = 111 * 8 }; /* of the largest that is known */

/* From the bytes at _PyRuntime, foreign. 0, -EBADMSG (no such structure, or it contradicts itself),
 * -ENOTSUP (of a version whose structure is not known; then *ret_version tells which). */
int python_offsets_debug(const uint8_t *bytes, size_t size, struct python_offsets *ret_offsets,
                         uint32_t *ret_version);

/* Where an interpreter wants to be told of a file that it is to run (PEP 768; 3.14 on). */
struct python_debugger {
    uint32_t runtime_interpreters_head;
    uint32_t interp_next, interp_id, interp_main_thread;
    uint32_t interp_enabled; /* int: whether it heeds it */
    uint32_t tstate_breaker; /* a word of bits, PYTHON_PLEASE_STOP among them */
    uint32_t tstate_pending; /* int: 1: it is to be run */
    uint32_t tstate_path, path_size;
};

enum { PYTHON_PLEASE_STOP = 1 << 5 };

/* From the same bytes as python_offsets_debug. 0, -EBADMSG, or -ENOTSUP: there is nothing of it. */
int python_offsets_debugger(const uint8_t *bytes, size_t size,
                            struct python_debugger *ret_debugger);

/* Whether no offset is beyond what such structures can have. */
int python_offsets_check(const struct python_offsets *offsets);

#endif
