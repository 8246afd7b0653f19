/* SPDX-License-Identifier: MIT */
/* Finds and reads the interpreter of another process, and lists its threads.
 *
 * The kernel thread of a thread state is recorded by the interpreter from 3.11 on; before, by the C
 * library's record of the thread, with the tid at the same offset as in our own process, if both
 * have the same library: a value read there must be a thread of the process. Thread-safety: one
 * thread per object. */
#include "python_remote.h"

#include "hash_map.h"
#include "proc_info.h"
#include "python_stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    THREAD_RECORD_SIZE = 2048, /* searched in our own process */
    INTERPRETERS_LOOKED_AT = 64,
    THREADS_LOOKED_AT = 1 << 16,
};

struct remote_code {
    uint64_t code, name, lines_at; /* addresses; with first_line its identity */
    int32_t first_line;
    char *function, *file;
    uint8_t *lines;
    size_t lines_size;
    struct remote_code *next; /* an older one at the same address */
};

/* A frame as it was read, to be compared with a second read. */
struct remote_seen {
    uint64_t address, code, previous, instruction;
};

enum { REMOTE_SEEN_MAX = 1024 };

struct python_remote {
    int32_t pid;
    struct python_runtime runtime;
    struct map64 codes; /* address -> the newest struct remote_code there */
    bool translates;    /* tids, because the process is in another pid namespace */
    int32_t tid_offset; /* of the tid in the struct at pthread_self(); -1 = unknown */
    uint32_t seen_count;
    struct remote_seen seen[REMOTE_SEEN_MAX];
};

/* True if all bytes could be read. */
static bool remote_read(const struct python_remote *remote, uint64_t address, void *buffer,
                        size_t size)
{
    return proc_read_memory(remote->pid, address, buffer, size) == (int64_t)size;
}

/* ---- Code objects ---------------------------------------------------------------------------- */

/* Code objects of another process, read once each. An address may be reused by another code object:
 * then its name and lines are at other addresses too, which a read of a few words detects.
 * Foreign bytes: bounded. Thread-safety: one thread per object. */

enum { TEXT_MAX = 4096, LINES_MAX = 1 << 20, HEADER_MAX = 128 };

static bool read_pointer(const struct python_remote *remote, uint64_t address, uint64_t *ret)
{
    return remote_read(remote, address, ret, sizeof(*ret));
}

/* The text of a unicode object; "?" if unreadable. NULL: out of memory. */
static char *read_text(const struct python_remote *remote, uint64_t address)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint8_t object[HEADER_MAX + TEXT_MAX];
    char text[TEXT_MAX];
    uint64_t length = 0;
    size_t size = o->unicode_ascii_data;
    if (size > HEADER_MAX || !remote_read(remote, address, object, size) ||
        !read_pointer(remote, address + o->unicode_length, &length))
        return strdup("?");
    if (length > TEXT_MAX / 4)
        length = TEXT_MAX / 4;
    /* Its length depends on its kind, and longer reads may leave the mapping: try the longest
     * first. */
    static const uint8_t widths[] = {4, 2, 1, 0};
    for (size_t i = 0; i < sizeof(widths); i++) {
        size_t more = (widths[i] ? o->unicode_compact_data - o->unicode_ascii_data : 0) +
                      (size_t)length * (widths[i] ? widths[i] : 1);
        if (size + more > sizeof(object) || !remote_read(remote, address, object, size + more))
            continue;
        if (python_text(o, object, size + more, text, sizeof(text)) == 0)
            break;
        return strdup(text);
    }
    return strdup("?");
}

static void read_lines(const struct python_remote *remote, struct remote_code *code)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint64_t size = 0;
    if (!read_pointer(remote, code->lines_at + o->bytes_size, &size) || size > LINES_MAX)
        return;
    code->lines = malloc(size ? (size_t)size : 1);
    if (code->lines && remote_read(remote, code->lines_at + o->bytes_data, code->lines, size))
        code->lines_size = (size_t)size;
}

static void free_code(struct remote_code *code)
{
    free(code->function);
    free(code->file);
    free(code->lines);
    free(code);
}

/* Reads the fields that identify a code object. */
static bool read_identity(const struct python_remote *remote, struct remote_code *code)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint16_t name = o->code_qualname == PYTHON_OFFSET_NONE ? o->code_name : o->code_qualname;
    return read_pointer(remote, code->code + name, &code->name) &&
           read_pointer(remote, code->code + o->code_lines, &code->lines_at) &&
           remote_read(remote, code->code + o->code_first_line, &code->first_line,
                       sizeof(code->first_line));
}

static struct remote_code *read_code(const struct python_remote *remote,
                                     const struct remote_code *identity)
{
    uint64_t file = 0;
    struct remote_code *code = calloc(1, sizeof(*code));
    if (!code)
        return NULL;
    *code = *identity;
    read_pointer(remote, code->code + remote->runtime.offsets.code_filename, &file);
    code->function = read_text(remote, code->name);
    code->file = read_text(remote, file);
    read_lines(remote, code);
    if (code->function && code->file)
        return code;
    free_code(code);
    return NULL;
}

/* The code object at an address, read at first sight. NULL: unreadable, or out of memory. */
static const struct remote_code *remote_code_get(struct python_remote *remote, uint64_t address)
{
    struct remote_code identity = {.code = address};
    if (!address || !read_identity(remote, &identity))
        return NULL;
    uint64_t *found = map64_find(&remote->codes, address);
    struct remote_code *newest = found ? (struct remote_code *)(uintptr_t)*found : NULL;
    for (struct remote_code *code = newest; code; code = code->next)
        if (code->name == identity.name && code->lines_at == identity.lines_at &&
            code->first_line == identity.first_line)
            return code;
    identity.next = newest;
    struct remote_code *code = read_code(remote, &identity);
    if (code && map64_put(&remote->codes, address, (uintptr_t)code) < 0) {
        free_code(code);
        return NULL;
    }
    return code;
}

static void remote_codes_free(struct python_remote *remote)
{
    for (size_t i = 0; i < remote->codes.capacity; i++) {
        struct remote_code *code = (struct remote_code *)(uintptr_t)remote->codes.entries[i].value;
        while (remote->codes.entries[i].key && code) {
            struct remote_code *next = code->next;
            free_code(code);
            code = next;
        }
    }
    map64_free(&remote->codes);
}

/* ---- The process ----------------------------------------------------------------------------- */

/* The offset of a thread's tid from pthread_self() in this process's C library. */
static int32_t own_tid_offset(void)
{
    const char *record = (const char *)pthread_self();
    int32_t tid = gettid();
    for (int32_t at = 0; at < THREAD_RECORD_SIZE; at += (int32_t)sizeof(tid))
        if (memcmp(record + at, &tid, sizeof(tid)) == 0)
            return at;
    return -1;
}

static int explain(int error, char reason[PYTHON_REMOTE_REASON_MAX])
{
    const char *text = error == -EPERM    ? "not allowed to read its memory"
                       : error == -ENOENT ? "no CPython interpreter in it"
                       : error == -ESRCH  ? "no such process"
                       : error == -EAGAIN ? "its interpreter is not initialised yet"
                                          : strerror(-error);
    snprintf(reason, PYTHON_REMOTE_REASON_MAX, "%s", text);
    return error;
}

static int find_runtime(struct python_remote *remote, char reason[PYTHON_REMOTE_REASON_MAX])
{
    struct python_location location;
    struct python_memory memory = python_memory_of(&remote->pid);
    uint8_t byte;
    int result = python_locate(remote->pid, &location);
    if (result)
        return explain(result == -EACCES ? -EPERM : result, reason);
    int64_t got = proc_read_memory(remote->pid, location.image.runtime + location.bias, &byte, 1);
    if (got < 0)
        return explain((int)got, reason);
    result = python_runtime_find(&location.image, location.bias, &memory,
                                 location.published ? &location.offsets : NULL, &remote->runtime);
    if (result)
        return explain(result, reason);
    snprintf(reason, PYTHON_REMOTE_REASON_MAX, "%s", remote->runtime.reason);
    return remote->runtime.offsets.version ? 0 : -ENOTSUP;
}

int python_remote_open(int32_t pid, struct python_remote **ret_remote,
                       char reason[PYTHON_REMOTE_REASON_MAX])
{
    struct python_remote *remote = calloc(1, sizeof(*remote));
    *ret_remote = NULL;
    if (!remote)
        return explain(-ENOMEM, reason);
    remote->pid = pid;
    remote->tid_offset = own_tid_offset();
    remote->translates = proc_pid_inside(pid) != pid;
    int result = find_runtime(remote, reason);
    if (result)
        python_remote_close(remote);
    else
        *ret_remote = remote;
    return result;
}

void python_remote_close(struct python_remote *remote)
{
    if (!remote)
        return;
    remote_codes_free(remote);
    free(remote);
}

const struct python_runtime *python_remote_runtime(const struct python_remote *remote)
{
    return &remote->runtime;
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* The tid in our namespace; 0: the process has no such thread. */
static int32_t tid_here(const struct python_remote *remote, int32_t ns_tid)
{
    int32_t tid = ns_tid <= 0          ? 0
                  : remote->translates ? proc_tid_outside(remote->pid, ns_tid)
                                       : ns_tid;
    return tid > 0 && proc_thread_exists(remote->pid, tid) ? tid : 0;
}

/* The tid in the thread's namespace. */
static int32_t thread_tid(const struct python_remote *remote, uint64_t tstate, uint64_t record)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint64_t native = 0;
    int32_t tid = 0;
    if (o->tstate_native_thread_id != PYTHON_OFFSET_NONE &&
        remote_read(remote, tstate + o->tstate_native_thread_id, &native, sizeof(native)) &&
        native <= INT32_MAX && tid_here(remote, (int32_t)native))
        return (int32_t)native;
    if (remote->tid_offset >= 0 &&
        remote_read(remote, record + (uint64_t)remote->tid_offset, &tid, sizeof(tid)) &&
        tid_here(remote, tid))
        return tid;
    return 0;
}

struct listing {
    struct python_remote *remote;
    struct python_remote_thread *threads;
    size_t size, count, seen;
};

/* Adds one interpreter's list. 0, or -EAGAIN: the list was inconsistent. */
static int list_threads(struct listing *listing, uint64_t interp)
{
    const struct python_offsets *o = &listing->remote->runtime.offsets;
    uint64_t tstate;
    if (!remote_read(listing->remote, interp + o->interp_threads_head, &tstate, sizeof(tstate)))
        return -EAGAIN;
    while (tstate && listing->count < listing->size && listing->seen++ < THREADS_LOOKED_AT) {
        uint64_t owner, record, next;
        if (!remote_read(listing->remote, tstate + o->tstate_interp, &owner, sizeof(owner)) ||
            !remote_read(listing->remote, tstate + o->tstate_thread_id, &record, sizeof(record)) ||
            !remote_read(listing->remote, tstate + o->tstate_next, &next, sizeof(next)) ||
            (owner && owner != interp))
            return -EAGAIN;
        if (owner && record) { /* else it is just being made */
            int32_t ns_tid = thread_tid(listing->remote, tstate, record);
            listing->threads[listing->count++] =
                (struct python_remote_thread){tstate, tid_here(listing->remote, ns_tid), ns_tid};
        }
        tstate = next;
    }
    return 0;
}

int python_remote_threads(struct python_remote *remote, struct python_remote_thread *threads,
                          size_t size)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    struct listing listing = {.remote = remote, .threads = threads, .size = size};
    uint64_t interp;
    int64_t got =
        proc_read_memory(remote->pid, remote->runtime.runtime + o->runtime_interpreters_head,
                         &interp, sizeof(interp));
    if (got != sizeof(interp))
        return got < 0 ? (int)got : -EAGAIN;
    for (int i = 0; interp && i < INTERPRETERS_LOOKED_AT; i++) {
        int result = list_threads(&listing, interp);
        if (result)
            return result;
        if (!remote_read(remote, interp + o->interp_next, &interp, sizeof(interp)))
            return -EAGAIN;
    }
    return (int)listing.count;
}

bool python_remote_holds_gil(const struct python_remote *remote,
                             const struct python_remote_thread *thread)
{
    const struct python_offsets *o = &remote->runtime.offsets;
    uint64_t interp = 0, gil = 0, holder = 0;
    int32_t locked = 1;
    if (o->interp_gil == PYTHON_OFFSET_NONE || o->gil_holder == PYTHON_OFFSET_NONE)
        return o->runtime_gil_holder != PYTHON_OFFSET_NONE &&
               read_pointer(remote, remote->runtime.runtime + o->runtime_gil_holder, &holder) &&
               holder == thread->tstate;
    if (!read_pointer(remote, thread->tstate + o->tstate_interp, &interp) ||
        !read_pointer(remote, interp + o->interp_gil, &gil) ||
        !read_pointer(remote, gil + o->gil_holder, &holder))
        return false;
    if (o->gil_locked != PYTHON_OFFSET_NONE)
        remote_read(remote, gil + o->gil_locked, &locked, sizeof(locked));
    return holder == thread->tstate && locked > 0;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* Walks the Python frames of a running thread of another process: the rules of the BPF walker, and
 * a second look at the end, when the top and every frame must be unchanged. Foreign bytes: bounded.
 * Thread-safety: one thread per object. */

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

/* Starts at the innermost frame; 0 = no frame. */
static bool begin(struct cursor *c)
{
    uint64_t top;
    c->cframe = 0;
    if (!read_pointer(c->remote, c->tstate + c->o->tstate_frame, &top))
        return false;
    if (c->o->tstate_cframe != PYTHON_OFFSET_NONE)
        read_pointer(c->remote, c->tstate + c->o->tstate_cframe, &c->cframe);
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
    if (index > 0 && read_pointer(c->remote, code + c->o->code_tlbc, &array) &&
        read_pointer(c->remote, array + 8 + 8 * (uint64_t)index, &at))
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
    frame->place = python_source_place(c->o->version, code->lines, code->lines_size,
                                       code->first_line, frame->instruction);
    return true;
}

/* Moves past the outermost frame of a call of the eval function. */
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
        (is_root(c, c->cframe) ||
         !read_pointer(c->remote, c->cframe + c->o->cframe_previous, &c->cframe)))
        c->cframe = 0;
    return c->frame ? STACK_NOT_WALKED : STACK_COMPLETE;
}

/* Keeps the fields in c->bytes of the frame at `address`. */
static void note_frame(struct cursor *c, uint64_t address)
{
    if (c->remote->seen_count < REMOTE_SEEN_MAX)
        c->remote->seen[c->remote->seen_count++] =
            (struct remote_seen){address, field(c, c->o->frame_code),
                                 field(c, c->o->frame_previous), field(c, c->o->frame_instruction)};
}

/* True if c->bytes are unchanged. A calling frame stays at its instruction; the innermost one,
 * stored first, moves on. */
static bool is_unchanged(const struct cursor *c, const struct remote_seen *seen)
{
    return field(c, c->o->frame_code) == seen->code &&
           field(c, c->o->frame_previous) == seen->previous &&
           (seen == c->remote->seen || field(c, c->o->frame_instruction) == seen->instruction);
}

/* Reads one frame; STACK_NOT_WALKED: there are more. */
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
    *frame =
        (struct python_remote_frame){.address = here, .anchor = here, .function = "", .file = ""};
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

/* True if the top frame is unchanged. */
static bool same_top(const struct cursor *walked, uint64_t frame, uint64_t cframe)
{
    struct cursor now = {.remote = walked->remote, .o = walked->o, .tstate = walked->tstate};
    return begin(&now) && now.frame == frame && now.cframe == cframe;
}

/* True if a batch of frames is unchanged; reads many at once. */
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
