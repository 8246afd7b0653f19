/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Where a walk of Python frames stands, and how it reads what it meets.
 *
 * Lies in struct walk, hence in a map. Offsets are foreign numbers: each is cut to the size of what
 * was read. */
#ifndef ANNOT_PYTHON_STATE_BPF_H
#define ANNOT_PYTHON_STATE_BPF_H

#include "emit.bpf.h"
#include "walk.bpf.h"

enum {
    PYTHON_BLOCK = 128,
    PYTHON_THREAD_BYTES = 256, /* of a thread state */
    PYTHON_WORDS_BYTES = 64,   /* of a C frame or a GIL */
    PYTHON_FILE_BYTES = 192,   /* of a file's name, from its length on */
    PYTHON_FRAME_BYTES = 80,   /* of an interpreter frame: up to its locals */
    PYTHON_OBJECT_BYTES = 112, /* of a frame object */
    PYTHON_CODE_BYTES = 96,    /* of a code object, from its first line on */
    PYTHON_TAG_BITS = 3,
    PYTHON_TSTATE_BYTES = 4096, /* nothing else than the thread state lies closer to its begin */
    PYTHON_BASE_BYTES = 65536,  /* nor does the stack */
    PYTHON_BYTECODE_MAX = 1 << 24,
};

struct python_cursor {
    struct python_offsets offsets;
    uint32_t end;               /* enum stack_end */
    uint32_t taken;             /* frames */
    uint32_t calls;             /* calls of the eval function that were left */
    uint32_t own;               /* of a search for a native frame */
    uint32_t several, reserved; /* interpreters, not one */
    uint64_t tstate, interp;
    uint64_t thread_at; /* of the thread state in `thread` */
    uint64_t gil;       /* of the interpreter; 0: none that is known */
    uint64_t frame;     /* the next one */
    uint64_t hash;      /* of the frames that were taken */
    uint64_t image;     /* hash of the process and what it executes */
    uint64_t cframe, cframe_frame, cframe_previous;
    uint64_t found, inner;    /* of a search */
    uint64_t file, file_hash; /* of the frame before */
    uint64_t key_code, key;   /* of the frame before */
    struct piece frames;      /* some of them: the next one, and often its callers */
    uint8_t thread[PYTHON_THREAD_BYTES + 8];
    uint8_t words[PYTHON_WORDS_BYTES + 8];
    uint8_t file_text[PYTHON_FILE_BYTES + 64 + 8];
    uint8_t code[PYTHON_BLOCK + 8]; /* of a code object, from its first line on */
};

_Static_assert(sizeof(struct python_cursor) <= sizeof(((struct walk *)0)->python_state),
               "fits what a walk has for it");

static __always_inline struct python_cursor *python_cursor(struct walk *walk)
{
    return (struct python_cursor *)walk->python_state;
}

/* A field that lies beyond what is read at once, in an interpreter that nobody has seen yet. 0: not
 * readable, or none that this version has. */
static __always_inline uint64_t python_far_field(uint64_t from, uint32_t offset)
{
    uint64_t value = 0;

    if (offset == PYTHON_OFFSET_NONE || read_user(&value, sizeof(value), from + offset))
        return 0;
    return value;
}

/* Of the frame that python_read_frame() took. */
static __always_inline uint64_t python_field(const struct python_cursor *c, uint32_t offset)
{
    uint64_t address = c->frame + offset;

    return piece_has(&c->frames, address, sizeof(uint64_t)) ? piece_word(&c->frames, address)
                                                            : python_far_field(c->frame, offset);
}

static __always_inline uint8_t python_byte(const struct python_cursor *c, uint32_t offset)
{
    return python_field(c, offset);
}

/* Frames objects lie anywhere. From 3.11 on a frame comes right behind the one that called it, but
 * for those of generators. */
static __always_inline int python_read_frame(struct python_cursor *c)
{
    if (c->offsets.layout == PYTHON_LAYOUT_FRAME_OBJECT)
        return piece_read(&c->frames, c->frame, PYTHON_OBJECT_BYTES);
    if (piece_has(&c->frames, c->frame, PYTHON_FRAME_BYTES))
        return 0;
    return piece_read_back(&c->frames, c->frame, PYTHON_FRAME_BYTES);
}

/* Of the thread state. */
static __always_inline int python_read_thread(struct python_cursor *c, uint64_t tstate)
{
    c->thread_at = tstate;
    return read_user(c->thread, PYTHON_THREAD_BYTES, tstate);
}

static __always_inline uint64_t python_thread_field(const struct python_cursor *c, uint32_t offset)
{
    if (offset > PYTHON_THREAD_BYTES - sizeof(uint64_t))
        return python_far_field(c->thread_at, offset);
    return *(const uint64_t *)(c->thread + (offset & (PYTHON_THREAD_BYTES - 1)));
}

/* Of the C frame or the GIL that was read to c->words; `from`: where it lies. */
static __always_inline uint64_t python_word(const struct python_cursor *c, uint64_t from,
                                            uint32_t offset)
{
    if (offset > PYTHON_WORDS_BYTES - sizeof(uint64_t))
        return python_far_field(from, offset);
    return *(const uint64_t *)(c->words + (offset & (PYTHON_WORDS_BYTES - 1)));
}

/* The outermost C frame lies in the thread state itself. */
static __always_inline bool python_is_root(const struct python_cursor *c, uint64_t cframe)
{
    return cframe - c->tstate < PYTHON_TSTATE_BYTES;
}

static __always_inline int python_take_cframe(struct python_cursor *c, uint64_t cframe)
{
    if (read_user(c->words, PYTHON_WORDS_BYTES, cframe))
        return -1;
    c->cframe = cframe;
    c->cframe_frame = python_word(c, cframe, c->offsets.cframe_current);
    c->cframe_previous = python_word(c, cframe, c->offsets.cframe_previous);
    return 0;
}

/* The innermost C frame, which the thread state names. */
static __always_inline int python_take_top(struct python_cursor *c)
{
    uint64_t top = python_thread_field(c, c->offsets.tstate_frame);

    return top ? python_take_cframe(c, top) : -1;
}

#endif
