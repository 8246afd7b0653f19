/* SPDX-License-Identifier: MIT */
/* Walks the Python frames of a thread of another process, which runs on meanwhile: the rules of the
 * BPF walker, and a second look at the end: the top and every frame must still be what they were.
 * Foreign bytes: bounded. Thread-safety: one thread per object. */
#include "python_remote_private.h"

#include "python_stack.h"

#include <string.h>
#include <sys/uio.h>

enum {
    SECOND_LOOK_BATCH = 32,
    FRAME_BYTES = 80,
    OBJECT_BYTES = 112,
    CFRAME_BYTES = 24,
    TSTATE_BYTES = 4096,
    BYTECODE_MAX = 1 << 24,
    TAG_BITS = 3,
};

struct cursor {
    struct python_remote *remote;
    const struct python_offsets *o;
    uint64_t tstate, frame;
    uint64_t cframe, cframe_frame, cframe_previous;
    uint8_t bytes[128 + 8];
};

static uint64_t field(const struct cursor *c, uint16_t offset)
{
    uint64_t value = 0;
    if (offset <= sizeof(c->bytes) - sizeof(value))
        memcpy(&value, c->bytes + offset, sizeof(value));
    return value;
}

static bool read_pointer(const struct cursor *c, uint64_t address, uint64_t *ret)
{
    return remote_read(c->remote, address, ret, sizeof(*ret));
}

static bool is_root(const struct cursor *c, uint64_t cframe)
{
    return cframe - c->tstate < TSTATE_BYTES;
}

static bool take_cframe(struct cursor *c, uint64_t cframe)
{
    if (!cframe || !remote_read(c->remote, cframe, c->bytes, CFRAME_BYTES))
        return false;
    c->cframe = cframe;
    c->cframe_frame = field(c, c->o->cframe_current);
    c->cframe_previous = field(c, c->o->cframe_previous);
    return true;
}

/* The innermost frame, 0 = none. */
static bool begin(struct cursor *c)
{
    uint64_t top;
    c->cframe = 0;
    if (!read_pointer(c, c->tstate + c->o->tstate_frame, &top))
        return false;
    if (c->o->tstate_cframe != PYTHON_OFFSET_NONE)
        read_pointer(c, c->tstate + c->o->tstate_cframe, &c->cframe);
    if (c->o->layout != PYTHON_LAYOUT_CFRAME) {
        c->frame = top;
        return true;
    }
    if (!take_cframe(c, top))
        return false;
    c->frame = is_root(c, top) ? 0 : c->cframe_frame;
    return true;
}

static uint64_t bytecode(const struct cursor *c, uint64_t code)
{
    uint64_t array, at;
    int32_t index = 0;
    if (c->o->frame_tlbc != PYTHON_OFFSET_NONE)
        index = (int32_t)field(c, c->o->frame_tlbc);
    if (index > 0 && read_pointer(c, code + c->o->code_tlbc, &array) &&
        read_pointer(c, array + 8 + 8 * (uint64_t)index, &at))
        return at;
    return code + c->o->code_bytes;
}

static int32_t instruction(const struct cursor *c, uint64_t code)
{
    uint64_t value = field(c, c->o->frame_instruction);
    if (c->o->layout == PYTHON_LAYOUT_FRAME_OBJECT) {
        int32_t last = (int32_t)value;
        return last > 0 && last < BYTECODE_MAX && c->o->version >= 0x030a ? last * 2 : last;
    }
    uint64_t distance = value - bytecode(c, code);
    return distance < BYTECODE_MAX ? (int32_t)distance : -1;
}

static bool name_frame(struct cursor *c, struct python_remote_frame *frame)
{
    uint64_t address = field(c, c->o->frame_code);
    if (c->o->flags & PYTHON_TAGGED_CODE)
        address &= ~(uint64_t)TAG_BITS;
    frame->instruction = instruction(c, address);
    const struct remote_code *code = remote_code_get(c->remote, address);
    if (!code)
        return false;
    frame->code = address;
    frame->key = code->name;
    frame->anchor = c->cframe && !is_root(c, c->cframe) ? c->cframe : 0;
    frame->function = code->function;
    frame->file = code->file;
    frame->first_line = code->first_line;
    frame->line = python_line(c->o->version, code->lines, code->lines_size, code->first_line,
                              frame->instruction);
    return true;
}

/* Past the outermost frame of a call of the eval function. */
static enum stack_end leave_call(struct cursor *c)
{
    uint64_t outer = c->cframe_previous;
    if (c->o->layout != PYTHON_LAYOUT_CFRAME)
        return c->frame ? STACK_NOT_WALKED : STACK_COMPLETE;
    if (is_root(c, outer))
        return c->frame ? STACK_TORN : STACK_COMPLETE;
    if (!take_cframe(c, outer))
        return STACK_FAULT;
    return c->cframe_frame == c->frame ? STACK_NOT_WALKED : STACK_TORN;
}

static enum stack_end leave_object(struct cursor *c)
{
    if (c->o->tstate_cframe != PYTHON_OFFSET_NONE && c->cframe &&
        (is_root(c, c->cframe) || !read_pointer(c, c->cframe + c->o->cframe_previous, &c->cframe)))
        c->cframe = 0;
    return c->frame ? STACK_NOT_WALKED : STACK_COMPLETE;
}

/* Keeps what c->bytes say of the frame at `address`. */
static void note_frame(struct cursor *c, uint64_t address)
{
    if (c->remote->seen_count < REMOTE_SEEN_MAX)
        c->remote->seen[c->remote->seen_count++] =
            (struct remote_seen){address, field(c, c->o->frame_code),
                                 field(c, c->o->frame_previous), field(c, c->o->frame_instruction)};
}

/* Whether c->bytes are what was noted. A frame that calls rests at its instruction; the innermost
 * one, noted first, moves on. */
static bool is_unchanged(const struct cursor *c, const struct remote_seen *seen)
{
    return field(c, c->o->frame_code) == seen->code &&
           field(c, c->o->frame_previous) == seen->previous &&
           (seen == c->remote->seen || field(c, c->o->frame_instruction) == seen->instruction);
}

/* One frame; STACK_NOT_WALKED: there are more. */
static enum stack_end step(struct cursor *c, struct python_remote_frame *frame)
{
    bool object = c->o->layout == PYTHON_LAYOUT_FRAME_OBJECT;
    uint64_t here = c->frame;
    if (!remote_read(c->remote, here, c->bytes, object ? OBJECT_BYTES : FRAME_BYTES))
        return STACK_FAULT;
    bool shim = c->o->shim_owner != PYTHON_OFFSET_NONE &&
                (field(c, c->o->frame_owner) & 0xff) == c->o->shim_owner;
    bool entry = object || (c->o->frame_is_entry != PYTHON_OFFSET_NONE &&
                            (field(c, c->o->frame_is_entry) & 0xff));
    uint64_t previous = field(c, c->o->frame_previous);
    note_frame(c, here);
    *frame = (struct python_remote_frame){.anchor = here, .function = "", .file = ""};
    frame->flags = shim ? PYTHON_FRAME_SHIM : entry ? PYTHON_FRAME_ENTRY : 0;
    frame->instruction = -1;
    if (!shim && !name_frame(c, frame))
        return STACK_BAD_FRAME;
    c->frame = previous;
    if (object)
        return leave_object(c);
    if (shim || entry)
        return leave_call(c);
    return previous ? STACK_NOT_WALKED : STACK_TORN;
}

/* Whether the top is where it was. */
static bool same_top(const struct cursor *walked, uint64_t frame, uint64_t cframe)
{
    struct cursor now = {.remote = walked->remote, .o = walked->o, .tstate = walked->tstate};
    return begin(&now) && now.frame == frame && now.cframe == cframe;
}

/* Whether so many frames that were noted are what they were; many at once. */
static bool same_batch(struct cursor *c, const struct remote_seen *seen, size_t count)
{
    static _Thread_local uint8_t bytes[SECOND_LOOK_BATCH][sizeof(c->bytes)];
    struct iovec local[SECOND_LOOK_BATCH], place[SECOND_LOOK_BATCH];
    size_t size = c->o->layout == PYTHON_LAYOUT_FRAME_OBJECT ? OBJECT_BYTES : FRAME_BYTES;
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){bytes[i], size};
        place[i] = (struct iovec){(void *)(uintptr_t)seen[i].address, size};
    }
    if (process_vm_readv(c->remote->pid, local, count, place, count, 0) != (ssize_t)(count * size))
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(c->bytes, bytes[i], sizeof(c->bytes));
        if (!is_unchanged(c, &seen[i]))
            return false;
    }
    return true;
}

static bool same_frames(struct cursor *c)
{
    const struct python_remote *remote = c->remote;
    for (size_t at = 0; at < remote->seen_count; at += SECOND_LOOK_BATCH) {
        size_t left = remote->seen_count - at;
        if (!same_batch(c, remote->seen + at, left < SECOND_LOOK_BATCH ? left : SECOND_LOOK_BATCH))
            return false;
    }
    return true;
}

uint32_t python_remote_stack(struct python_remote *remote,
                             const struct python_remote_thread *thread,
                             struct python_remote_frame *frames, uint32_t size,
                             enum stack_end *ret_end)
{
    struct cursor c = {.remote = remote, .o = &remote->runtime.offsets, .tstate = thread->tstate};
    uint32_t count = 0;
    remote->seen_count = 0;
    *ret_end = STACK_FAULT;
    if (!begin(&c))
        return 0;
    uint64_t frame = c.frame, cframe = c.cframe;
    enum stack_end end = frame ? STACK_NOT_WALKED : STACK_COMPLETE;
    while (end == STACK_NOT_WALKED && count < size) {
        end = step(&c, &frames[count]);
        count += end != STACK_FAULT && end != STACK_BAD_FRAME;
    }
    if (end == STACK_NOT_WALKED)
        end = STACK_DEPTH;
    *ret_end = same_frames(&c) && same_top(&c, frame, cframe) ? end : STACK_TORN;
    return count;
}
