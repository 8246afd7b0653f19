/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) The state of a walk of Python frames, its reads, and its start: the thread state
 * of the current task. */
#ifndef ANNOT_PYTHON_STATE_BPF_H
#define ANNOT_PYTHON_STATE_BPF_H

#include "emit.bpf.h"
#include "walk.bpf.h"

/* ---- State of a walk ------------------------------------------------------------------------- */

/* Part of struct walk, hence in a map. Offsets are foreign numbers: each is masked to the size of
 * the bytes read. */

enum {
    PYTHON_BLOCK = 128,
    PYTHON_THREAD_BYTES = 256, /* of a thread state */
    PYTHON_WORDS_BYTES = 64,   /* of a C frame or a GIL */
    PYTHON_FILE_BYTES = 192,   /* of a file's name, from its length field on */
    PYTHON_FRAME_BYTES = 80,   /* of an interpreter frame: up to its locals */
    PYTHON_OBJECT_BYTES = 112, /* of a frame object */
    PYTHON_CODE_BYTES = 96,    /* of a code object, from its first-line field on */
    PYTHON_TAG_BITS = 3,
    PYTHON_TSTATE_BYTES = 4096, /* only the thread state lies this close to its start */
    PYTHON_BASE_BYTES = 65536,  /* no frame of the stack lies this close to it */
    PYTHON_BYTECODE_MAX = 1 << 24,
};

struct python_cursor {
    struct python_offsets offsets;
    uint32_t end;               /* enum stack_end */
    uint32_t taken;             /* number of frames */
    uint32_t calls;             /* number of calls of the eval function left */
    uint32_t own;               /* of a search for a native frame */
    uint32_t several, reserved; /* several: more than one interpreter */
    uint64_t tstate, interp;
    uint64_t thread_at; /* address of the thread state in `thread` */
    uint64_t gil;       /* of the interpreter; 0: unknown */
    uint64_t frame;     /* the next one */
    uint64_t hash;      /* of the frames taken */
    uint64_t image;     /* hash of the process and its program */
    uint64_t cframe, cframe_frame, cframe_previous;
    uint64_t found, inner;    /* of a search */
    uint64_t file, file_hash; /* of the frame before */
    uint64_t key_code, key;   /* of the frame before */
    struct piece frames;      /* the next frame, and often its callers */
    uint8_t thread[PYTHON_THREAD_BYTES + 8];
    uint8_t words[PYTHON_WORDS_BYTES + 8];
    uint8_t file_text[PYTHON_FILE_BYTES + 64 + 8];
    uint8_t code[PYTHON_BLOCK + 8]; /* of a code object, from its first-line field on */
};

_Static_assert(sizeof(struct python_cursor) <= sizeof(((struct walk *)0)->python_state),
               "fits what a walk has for it");

static __always_inline struct python_cursor *python_cursor(struct walk *walk)
{
    return (struct python_cursor *)walk->python_state;
}

/* Reads a field beyond the block read at once, in an unknown interpreter. 0: unreadable, or missing
 * in this version. */
static __always_inline uint64_t python_far_field(uint64_t from, uint32_t offset)
{
    uint64_t value = 0;

    if (offset == PYTHON_OFFSET_NONE || read_user(&value, sizeof(value), from + offset))
        return 0;
    return value;
}

/* A field of the frame read by python_read_frame(). */
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

/* Frame objects lie anywhere. From 3.11 on a frame directly follows its caller's, except for
 * generators. */
static __always_inline int python_read_frame(struct python_cursor *c)
{
    if (c->offsets.layout == PYTHON_LAYOUT_FRAME_OBJECT)
        return piece_read(&c->frames, c->frame, PYTHON_OBJECT_BYTES);
    if (piece_has(&c->frames, c->frame, PYTHON_FRAME_BYTES))
        return 0;
    return piece_read_back(&c->frames, c->frame, PYTHON_FRAME_BYTES);
}

/* Reads the thread state. */
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

/* A field of the C frame or the GIL in c->words; `from`: its address. */
static __always_inline uint64_t python_word(const struct python_cursor *c, uint64_t from,
                                            uint32_t offset)
{
    if (offset > PYTHON_WORDS_BYTES - sizeof(uint64_t))
        return python_far_field(from, offset);
    return *(const uint64_t *)(c->words + (offset & (PYTHON_WORDS_BYTES - 1)));
}

/* True for the outermost C frame, which lies in the thread state itself. */
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

/* Takes the innermost C frame, to which the thread state points. */
static __always_inline int python_take_top(struct python_cursor *c)
{
    uint64_t top = python_thread_field(c, c->offsets.tstate_frame);

    return top ? python_take_cframe(c, top) : -1;
}

/* ---- The thread state ------------------------------------------------------------------------ */

/* Finds the thread state of the current task, through the lists of the interpreter.
 *
 * Not through the thread-local word of newer versions: that is empty while the GIL is released. The
 * result is cached per task and checked each time, unless
 * there are several interpreters: then any of them may have the thread now. */

/* A missing thread is searched for again after a while; at once while it is young, as it may be a
 * Python thread that is just starting. */
#define PYTHON_AGAIN_NS 5000000ull
#define PYTHON_YOUNG_NS 50000000ull

enum { PYTHON_THREADS_LOOKED_AT = 8192 };

struct python_task {
    int32_t pid, tid;
};

struct python_known {
    uint64_t tstate, interp; /* 0: not found */
    uint64_t gil;            /* of that interpreter, during its life */
    uint64_t alone;          /* the only interpreter; 0: there were several */
    uint64_t runtime;        /* of its image */
    uint64_t until_ns;       /* if not found: time of the next search */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, struct python_task);
    __type(value, struct python_known);
} python_threads SEC(".maps");

/* Reads the cached thread state, and checks it. */
static __always_inline bool python_thread_is(const struct walk *walk, struct python_cursor *c,
                                             const struct python_known *known)
{
    return python_read_thread(c, known->tstate) == 0 &&
           python_thread_field(c, c->offsets.tstate_thread_id) == walk->fsbase &&
           python_thread_field(c, c->offsets.tstate_interp) == known->interp;
}

/* True if the thread state read has frames: a thread has a state in each interpreter that it ever
 * ran. From 3.15 on the outermost frame of all does not count: it has no previous frame. */
static __always_inline bool python_has_frames(const struct python_cursor *c, uint64_t tstate)
{
    uint64_t top = python_thread_field(c, c->offsets.tstate_frame), previous = 0;

    if (!top)
        return false;
    if (c->offsets.layout == PYTHON_LAYOUT_CURRENT)
        return !read_user(&previous, sizeof(previous), top + c->offsets.frame_previous) && previous;
    return c->offsets.layout != PYTHON_LAYOUT_CFRAME || top - tstate >= PYTHON_TSTATE_BYTES;
}

/* Checks one thread state, or moves to the next interpreter. c->found, in c->inner: the best so
 * far. */
static long python_thread_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct python_cursor *c = python_cursor(walk);

    if (!c->frame) {
        if (index && read_user(&c->interp, sizeof(c->interp), c->interp + c->offsets.interp_next))
            return 1;
        if (!c->interp ||
            read_user(&c->frame, sizeof(c->frame), c->interp + c->offsets.interp_threads_head))
            return 1;
        return 0;
    }
    if (python_read_thread(c, c->frame))
        return 1;
    if (python_thread_field(c, c->offsets.tstate_thread_id) == walk->fsbase) {
        if (python_has_frames(c, c->frame)) {
            c->found = c->frame;
            c->inner = c->interp;
            return 1;
        }
        if (!c->found) {
            c->found = c->frame;
            c->inner = c->interp;
        }
    }
    c->frame = python_thread_field(c, c->offsets.tstate_next);
    return 0;
}

/* Searches from the interpreter `first` on. */
static __always_inline void python_search(struct walk *walk, struct python_cursor *c,
                                          uint64_t first)
{
    c->found = c->inner = c->frame = 0;
    c->interp = first;
    if (first)
        bpf_loop(PYTHON_THREADS_LOOKED_AT, python_thread_step, &walk, 0);
    c->tstate = c->found;
    c->interp = c->inner;
}

static __always_inline uint64_t python_next_interpreter(const struct python_cursor *c,
                                                        uint64_t interp)
{
    uint64_t next = 0;

    return interp && !read_user(&next, sizeof(next), interp + c->offsets.interp_next) ? next : 0;
}

/* The newest interpreter. c->several: there are others. New ones are first in the list, so a single
 * one is still alone while it is the first. */
static __always_inline uint64_t python_first_interpreter(const struct walk *walk,
                                                         struct python_cursor *c,
                                                         const struct python_known *known)
{
    uint64_t first = 0;

    if (read_user(&first, sizeof(first),
                  walk->process.runtime + c->offsets.runtime_interpreters_head))
        first = 0;
    c->several = !(known && first && known->alone == first) && python_next_interpreter(c, first);
    return first;
}

/* Sets c->tstate and c->interp. Not 0: the interpreter has no state for this thread. */
static __always_inline int python_find_thread(struct walk *walk, struct python_cursor *c)
{
    struct python_task task = {walk->head.pid, walk->head.tid};
    struct python_known *known = bpf_map_lookup_elem(&python_threads, &task);
    struct python_known fresh = {};
    uint64_t first;

    if (known && known->runtime != walk->process.runtime)
        known = 0;
    first = python_first_interpreter(walk, c, known);
    if (known) {
        if (!known->tstate && walk->now < known->until_ns)
            return -1;
        if (known->tstate && !c->several && python_thread_is(walk, c, known)) {
            c->tstate = known->tstate;
            c->interp = known->interp;
            c->gil = known->gil;
            return 0;
        }
    }
    python_search(walk, c, first);
    c->gil = 0;
    if (c->offsets.interp_gil != PYTHON_OFFSET_NONE &&
        read_user(&c->gil, sizeof(c->gil), c->interp + c->offsets.interp_gil))
        c->gil = 0;
    fresh.tstate = c->tstate;
    fresh.interp = c->interp;
    fresh.gil = c->gil;
    fresh.alone = c->several ? 0 : first;
    fresh.runtime = walk->process.runtime;
    if (bpf_ktime_get_boot_ns() - walk->head.thread_start_ns > PYTHON_YOUNG_NS)
        fresh.until_ns = walk->now + PYTHON_AGAIN_NS;
    bpf_map_update_elem(&python_threads, &task, &fresh, BPF_ANY);
    return c->tstate && python_read_thread(c, c->tstate) == 0 ? 0 : -1;
}

static __always_inline bool python_holds_gil(const struct walk *walk, struct python_cursor *c)
{
    uint64_t holder = 0;

    if (c->offsets.runtime_gil_holder != PYTHON_OFFSET_NONE)
        return !read_user(&holder, sizeof(holder),
                          walk->process.runtime + c->offsets.runtime_gil_holder) &&
               holder == c->tstate;
    return c->gil && !read_user(c->words, PYTHON_WORDS_BYTES, c->gil) &&
           python_word(c, c->gil, c->offsets.gil_holder) == c->tstate &&
           (int32_t)python_word(c, c->gil, c->offsets.gil_locked) == 1;
}

static __always_inline void python_look_around(struct walk *walk, struct python_cursor *c)
{
    int32_t collecting = 0;

    if (!python_holds_gil(walk, c))
        return;
    walk->flags |= SAMPLER_HOLDS_GIL;
    if (c->offsets.interp_gc_collecting != PYTHON_OFFSET_NONE &&
        !read_user(&collecting, sizeof(collecting), c->interp + c->offsets.interp_gc_collecting) &&
        collecting == 1)
        walk->flags |= SAMPLER_GC;
}

#endif
