/* SPDX-License-Identifier: MIT */
/* Classifies each label once, as that reads the path of its source. */
#include "chosen_frames.h"

#include "call_label.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum label_class { LABEL_UNKNOWN = 0, LABEL_PLAIN, LABEL_IMPORTS, LABEL_BOOTSTRAP, LABEL_ANNOT };

/* A cached byte: the class in the low bits, the colour above. */
enum { CLASS_BITS = 3, CLASS_MASK = (1 << CLASS_BITS) - 1 };

/* Native functions that only forward a call; the next frame is shown instead. web/stacks.js has the
 * same list. */
static const char *const glue[] = {
    "_PyObject_Vectorcall",
    "_PyObject_Call",
    "_PyObject_FastCall",
    "_PyObject_MakeTpCall",
    "PyObject_Vectorcall",
    "PyObject_Call",
    "PyObject_FastCall",
    "PyObject_MakeTpCall",
    "_PyEval_",
    "PyEval_",
    "_PyFunction_",
    "cfunction_",
    "method_vectorcall",
    "vectorcall_",
    "slot_tp_",
    "type_call",
    "object_vacall",
    "call_recorded",
    "observed_call",
    "_PyVectorcall_",
    "PyVectorcall_",
    "_PyCFunction_",
    "PyCFunction_",
    "wrap_",
    "clone",
    "start_thread",
    "Py_RunMain",
    "Py_BytesMain",
    "_PyRun_",
    "run_mod",
    "_start",
    "__libc_start",
    "entry_SYSCALL_",
    "do_syscall_64",
    "x64_sys_call",
    "__x64_sys_",
    "el0t_",
    "el0_",
    "invoke_syscall",
    "__arm64_sys_",
    "asm_exc_",
    "asm_sysvec_",
};

int chosen_frames_init(struct chosen_frames *chosen, const struct trace *trace,
                       enum frame_choice choice)
{
    uint32_t count = stacks_label_count(trace_stacks_get(trace));
    *chosen = (struct chosen_frames){.trace = trace, .choice = choice, .label_count = count};
    chosen->labels = calloc(count + 1u, sizeof(*chosen->labels));
    return chosen->labels ? 0 : -ENOMEM;
}

void chosen_frames_fini(struct chosen_frames *chosen)
{
    free(chosen->labels);
    *chosen = (struct chosen_frames){0};
}

static enum label_class look_at(const struct trace *trace, uint32_t ordinal)
{
    static const char imports[] = "<frozen importlib";
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    uint32_t path = stacks_get_source(stacks, label->source)->path;
    if (path && strncmp(trace_string(trace, path)->bytes, imports, sizeof(imports) - 1) == 0)
        return LABEL_IMPORTS;
    if (code_owner_of(trace, ordinal) == CODE_ANNOT)
        return LABEL_ANNOT;
    return code_is_bootstrap(trace, ordinal) ? LABEL_BOOTSTRAP : LABEL_PLAIN;
}

static unsigned known_of(struct chosen_frames *chosen, uint32_t frame)
{
    uint32_t label = stacks_get_frame(trace_stacks_get(chosen->trace), frame)->label;
    unsigned known = label < chosen->label_count ? chosen->labels[label] : 0;
    if (known == 0)
        known = (unsigned)look_at(chosen->trace, label) |
                (unsigned)code_colour_of(chosen->trace, label) << CLASS_BITS;
    if (label < chosen->label_count)
        chosen->labels[label] = (uint8_t)known;
    return known;
}

static enum label_class class_of(struct chosen_frames *chosen, uint32_t frame)
{
    return (enum label_class)(known_of(chosen, frame) & CLASS_MASK);
}

enum code_colour chosen_frames_colour(struct chosen_frames *chosen, uint32_t frame)
{
    return (enum code_colour)(known_of(chosen, frame) >> CLASS_BITS);
}

static bool is_native(const struct chosen_frames *chosen, uint32_t frame)
{
    unsigned kind = stacks_get_frame(trace_stacks_get(chosen->trace), frame)->kind;
    return kind == FRAME_NATIVE || kind == FRAME_JIT || kind == FRAME_KERNEL;
}

/* Returns the innermost native frame outside of the kernel, if only native frames are above it. */
static uint32_t find_leaf(const struct chosen_frames *chosen, const uint32_t *frames,
                          uint32_t count)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    for (uint32_t i = count; i-- > 0 && is_native(chosen, frames[i]);)
        if (stacks_get_frame(stacks, frames[i])->kind != FRAME_KERNEL)
            return frames[i];
    return UINT32_MAX;
}

/* Stack with Python functions. Skips annot's frames that call other code; a stack that ends in
 * annot keeps them. */
static uint32_t make_brief(struct chosen_frames *chosen, uint32_t *frames, uint32_t count)
{
    uint32_t leaf = find_leaf(chosen, frames, count), kept = 0, inner = count;
    while (inner > 0 && is_native(chosen, frames[inner - 1]))
        inner--;
    for (uint32_t i = 0; i < count; i++) {
        enum label_class class = class_of(chosen, frames[i]);
        bool hidden = class == LABEL_IMPORTS || (class == LABEL_ANNOT && i + 1 < inner);
        if (class == LABEL_BOOTSTRAP)
            kept = 0;
        if (!hidden && !is_native(chosen, frames[i]))
            frames[kept++] = frames[i];
    }
    if (leaf != UINT32_MAX)
        frames[kept++] = leaf;
    return kept;
}

/* ---- By owner -------------------------------------------------------------------------------- */

static bool is_others_native(struct chosen_frames *chosen, uint32_t frame)
{
    return is_native(chosen, frame) && chosen_frames_colour(chosen, frame) != COLOUR_OWN;
}

static bool is_glue(const struct chosen_frames *chosen, uint32_t frame)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    uint32_t text = stacks_label_of(stacks, frame)->text;
    const char *name = trace_string(chosen->trace, text)->bytes;
    for (size_t i = 0; i < sizeof(glue) / sizeof(*glue); i++)
        if (strncmp(name, glue[i], strlen(glue[i])) == 0)
            return true;
    return false;
}

/* Returns the outermost of the topmost library-native frames that has the colour of the leaf. */
static uint32_t find_called(struct chosen_frames *chosen, const uint32_t *frames, uint32_t count)
{
    uint32_t called = UINT32_MAX, any = UINT32_MAX;
    if (count == 0 || !is_others_native(chosen, frames[count - 1]))
        return UINT32_MAX;
    enum code_colour colour = chosen_frames_colour(chosen, frames[count - 1]);
    for (uint32_t i = count; i-- > 0 && is_others_native(chosen, frames[i]);) {
        if (chosen_frames_colour(chosen, frames[i]) != colour)
            continue;
        any = frames[i];
        if (!is_glue(chosen, frames[i]))
            called = frames[i];
    }
    return called == UINT32_MAX ? any : called;
}

static bool is_same_function(const struct chosen_frames *chosen, uint32_t frame, uint32_t other)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    return stacks_get_frame(stacks, frame)->label == stacks_get_frame(stacks, other)->label;
}

static uint32_t source_of(const struct chosen_frames *chosen, uint32_t frame)
{
    return stacks_label_of(trace_stacks_get(chosen->trace), frame)->source;
}

/* Returns the first frame to show of a stack with Python functions: the one after a bootstrap and
 * the functions of its module, which run their target. */
static uint32_t begin_of(struct chosen_frames *chosen, const uint32_t *frames, uint32_t count)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < count; i++)
        if (class_of(chosen, frames[i]) == LABEL_BOOTSTRAP)
            begin = i + 1;
    if (begin == 0)
        return 0;
    uint32_t source = source_of(chosen, frames[begin - 1]);
    for (uint32_t i = begin; i < count; i++) {
        if (is_native(chosen, frames[i]))
            continue;
        if (source_of(chosen, frames[i]) != source)
            break;
        begin = i + 1;
    }
    return begin;
}

/* True for annot's own Python frames that call observed code. */
static bool is_observer(struct chosen_frames *chosen, const uint32_t *frames, uint32_t count,
                        uint32_t at)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    return at + 1 < count && stacks_get_frame(stacks, frames[at])->kind == FRAME_PYTHON &&
           chosen_frames_colour(chosen, frames[at]) == COLOUR_INTERPRETER;
}

/* Stack with Python functions. */
static uint32_t make_owners(struct chosen_frames *chosen, uint32_t *frames, uint32_t count)
{
    uint32_t leaf = find_called(chosen, frames, count), kept = 0;
    for (uint32_t i = begin_of(chosen, frames, count); i < count; i++) {
        enum label_class class = class_of(chosen, frames[i]);
        if (class == LABEL_IMPORTS || is_others_native(chosen, frames[i]) ||
            is_observer(chosen, frames, count, i))
            continue;
        if (kept == 0 || !is_same_function(chosen, frames[kept - 1], frames[i]))
            kept++;
        frames[kept - 1] = frames[i]; /* recursion keeps the innermost line */
    }
    if (leaf != UINT32_MAX && chosen->choice == FRAMES_OWNERS)
        frames[kept++] = leaf;
    return kept;
}

/* Stack without Python functions: drops the frames before the program's own code. */
static uint32_t without_start_up(const struct chosen_frames *chosen, uint32_t *frames,
                                 uint32_t count)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    uint32_t begin = 0;
    while (begin + 1 < count &&
           code_is_start_up(chosen->trace, stacks_get_frame(stacks, frames[begin])->label))
        begin++;
    memmove(frames, frames + begin, (count - begin) * sizeof(*frames));
    return count - begin;
}

/* ---- A stack --------------------------------------------------------------------------------- */

uint32_t chosen_frames_get(struct chosen_frames *chosen, uint32_t stack, uint32_t *frames,
                           uint32_t size)
{
    const struct stacks *stacks = trace_stacks_get(chosen->trace);
    uint32_t count = stacks_frames(stacks, stack, frames, size);
    if (chosen->choice == FRAMES_ALL)
        return count;
    if (chosen->choice == FRAMES_PYTHON)
        return call_python_frames(stacks, frames, count);
    bool python = false;
    for (uint32_t i = 0; i < count && !python; i++)
        python = stacks_get_frame(stacks, frames[i])->kind == FRAME_PYTHON;
    if (chosen->choice == FRAMES_BRIEF)
        return python ? make_brief(chosen, frames, count) : count;
    return python ? make_owners(chosen, frames, count) : without_start_up(chosen, frames, count);
}
