/* SPDX-License-Identifier: MIT */
/* Layouts of interpreters: our table for those without a description, and the description in 3.13
 * and later. */
#include "python_runtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* ---- Table ----------------------------------------------------------------------------------- */

/* Layouts that the interpreter does not describe: CPython 3.9 to 3.12, release builds, x86-64.
 * Internal structures of these versions are frozen: they get security fixes only. The numbers are
 * those of pyannot/src/python_layout.c compiled against each version's headers, and a test compiles
 * it again. Thread-safety: constant data. */

#define NONE PYTHON_OFFSET_NONE

static const struct python_offsets table[] = {
    {.version = 0x0309,
     .layout = PYTHON_LAYOUT_FRAME_OBJECT,
     .runtime_interpreters_head = 32,
     .runtime_gil_holder = 568,
     .interp_next = 0,
     .interp_threads_head = 8,
     .interp_gc_collecting = 816,
     .interp_gil = NONE,
     .gil_holder = NONE,
     .tstate_next = 8,
     .tstate_interp = 16,
     .tstate_thread_id = 176,
     .tstate_native_thread_id = NONE,
     .tstate_frame = 24,
     .cframe_current = NONE,
     .cframe_previous = NONE,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 104,
     .frame_owner = NONE,
     .frame_is_entry = NONE,
     .frame_tlbc = NONE,
     .code_filename = 104,
     .code_name = 112,
     .code_qualname = NONE,
     .code_first_line = 40,
     .code_lines = 120,
     .code_bytes = NONE,
     .code_tlbc = NONE,
     .unicode_length = 16,
     .unicode_state = 32,
     .unicode_ascii_data = 48,
     .unicode_compact_data = 72,
     .bytes_size = 16,
     .bytes_data = 32,
     .shim_owner = NONE,
     .gil_locked = NONE,
     .tstate_cframe = NONE,
     .code_version = NONE},
    {.version = 0x030a,
     .layout = PYTHON_LAYOUT_FRAME_OBJECT,
     .runtime_interpreters_head = 32,
     .runtime_gil_holder = 568,
     .interp_next = 0,
     .interp_threads_head = 8,
     .interp_gc_collecting = 816,
     .interp_gil = NONE,
     .gil_holder = NONE,
     .tstate_next = 8,
     .tstate_interp = 16,
     .tstate_thread_id = 176,
     .tstate_native_thread_id = NONE,
     .tstate_frame = 24,
     .cframe_current = NONE,
     .cframe_previous = 8,
     .frame_code = 32,
     .frame_previous = 24,
     .frame_instruction = 96,
     .frame_owner = NONE,
     .frame_is_entry = NONE,
     .frame_tlbc = NONE,
     .code_filename = 104,
     .code_name = 112,
     .code_qualname = NONE,
     .code_first_line = 40,
     .code_lines = 120,
     .code_bytes = NONE,
     .code_tlbc = NONE,
     .unicode_length = 16,
     .unicode_state = 32,
     .unicode_ascii_data = 48,
     .unicode_compact_data = 72,
     .bytes_size = 16,
     .bytes_data = 32,
     .shim_owner = NONE,
     .gil_locked = NONE,
     .tstate_cframe = 48,
     .code_version = NONE},
    {.version = 0x030b,
     .layout = PYTHON_LAYOUT_CFRAME,
     .runtime_interpreters_head = 40,
     .runtime_gil_holder = 576,
     .interp_next = 0,
     .interp_threads_head = 16,
     .interp_gc_collecting = 848,
     .interp_gil = NONE,
     .gil_holder = NONE,
     .tstate_next = 8,
     .tstate_interp = 16,
     .tstate_thread_id = 152,
     .tstate_native_thread_id = 160,
     .tstate_frame = 56,
     .cframe_current = 8,
     .cframe_previous = 16,
     .frame_code = 32,
     .frame_previous = 48,
     .frame_instruction = 56,
     .frame_owner = 69,
     .frame_is_entry = 68,
     .frame_tlbc = NONE,
     .code_filename = 112,
     .code_name = 120,
     .code_qualname = 128,
     .code_first_line = 72,
     .code_lines = 136,
     .code_bytes = 184,
     .code_tlbc = NONE,
     .unicode_length = 16,
     .unicode_state = 32,
     .unicode_ascii_data = 48,
     .unicode_compact_data = 72,
     .bytes_size = 16,
     .bytes_data = 32,
     .shim_owner = NONE,
     .gil_locked = NONE,
     .tstate_cframe = NONE,
     .code_version = NONE},
    {.version = 0x030c,
     .layout = PYTHON_LAYOUT_CFRAME,
     .runtime_interpreters_head = 40,
     .runtime_gil_holder = NONE,
     .interp_next = 0,
     .interp_threads_head = 72,
     .interp_gc_collecting = 312,
     .interp_gil = 384,
     .gil_holder = 8,
     .tstate_next = 8,
     .tstate_interp = 16,
     .tstate_thread_id = 136,
     .tstate_native_thread_id = 144,
     .tstate_frame = 56,
     .cframe_current = 0,
     .cframe_previous = 8,
     .frame_code = 0,
     .frame_previous = 8,
     .frame_instruction = 56,
     .frame_owner = 70,
     .frame_is_entry = NONE,
     .frame_tlbc = NONE,
     .code_filename = 112,
     .code_name = 120,
     .code_qualname = 128,
     .code_first_line = 68,
     .code_lines = 136,
     .code_bytes = 192,
     .code_tlbc = NONE,
     .unicode_length = 16,
     .unicode_state = 32,
     .unicode_ascii_data = 40,
     .unicode_compact_data = 56,
     .bytes_size = 16,
     .bytes_data = 32,
     .shim_owner = 3,
     .gil_locked = 16,
     .tstate_cframe = NONE,
     .code_version = 92},
};

const struct python_offsets *python_offsets_table(uint32_t version)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].version == version)
            return &table[i];
    return NULL;
}

/* Structures of the interpreter are of the order of kilobytes; only its state is larger. */
enum { FIELD_MAX = 1 << 14, STATE_MAX = 1 << 24 };

static bool is_field(uint16_t offset)
{
    return offset < FIELD_MAX;
}

static bool is_field_or_none(uint16_t offset)
{
    return offset < FIELD_MAX || offset == NONE;
}

static bool frames_are_there(const struct python_offsets *o)
{
    if (!is_field(o->frame_code) || !is_field(o->frame_previous) || !is_field(o->frame_instruction))
        return false;
    switch (o->layout) {
    case PYTHON_LAYOUT_FRAME_OBJECT:
        return is_field_or_none(o->tstate_cframe) && is_field_or_none(o->cframe_previous);
    case PYTHON_LAYOUT_CFRAME:
        return is_field(o->cframe_current) && is_field(o->cframe_previous) &&
               is_field(o->frame_owner) && is_field(o->code_bytes) &&
               (is_field(o->frame_is_entry) || is_field(o->shim_owner));
    case PYTHON_LAYOUT_CURRENT:
        return is_field(o->frame_owner) && is_field(o->code_bytes) && is_field(o->shim_owner) &&
               is_field_or_none(o->frame_tlbc) && is_field_or_none(o->code_tlbc);
    default:
        return false;
    }
}

int python_offsets_check(const struct python_offsets *o)
{
    bool good =
        o->version >= table[0].version && o->runtime_interpreters_head < STATE_MAX &&
        o->runtime_gil_holder < STATE_MAX && o->interp_next < STATE_MAX &&
        o->interp_threads_head < STATE_MAX && o->interp_gc_collecting < STATE_MAX &&
        o->interp_gil < STATE_MAX && is_field_or_none(o->gil_holder) &&
        is_field_or_none(o->code_version) && is_field_or_none(o->gil_locked) &&
        is_field(o->tstate_next) && is_field(o->tstate_interp) && is_field(o->tstate_thread_id) &&
        is_field(o->tstate_frame) && is_field(o->code_filename) && is_field(o->code_name) &&
        is_field_or_none(o->code_qualname) && is_field(o->code_first_line) &&
        is_field(o->code_lines) && is_field(o->unicode_length) && is_field(o->unicode_state) &&
        is_field(o->unicode_ascii_data) && is_field(o->unicode_compact_data) &&
        is_field(o->bytes_size) && is_field(o->bytes_data);
    return good && frames_are_there(o) ? 0 : -EBADMSG;
}

/* ---- _Py_DebugOffsets ------------------------------------------------------------------------ */

/* _Py_DebugOffsets: the structure at the head of _PyRuntime in which CPython 3.13 and later
 * describe their layout to debuggers. A cookie, the version, then 64-bit words in an order that
 * differs by version. Source: Include/internal/pycore_runtime.h of 3.13, pycore_debug_offsets.h of
 * 3.14 and 3.15. Foreign bytes: bounded. Thread-safety: any thread. */

/* Word indexes by field. 0 = not in this version. */
struct words {
    uint32_t version;
    uint8_t count;
    uint8_t interpreters_head;
    uint8_t interp_next, interp_threads_head, interp_gc, interp_gil;
    uint8_t gil, gil_locked, gil_holder;
    uint8_t tstate_next, tstate_interp, tstate_frame, tstate_thread_id, tstate_native_thread_id;
    uint8_t frame_previous, frame_code, frame_instruction, frame_owner, frame_tlbc;
    uint8_t code_filename, code_name, code_qualname, code_lines, code_first_line, code_bytes;
    uint8_t code_tlbc;
    uint8_t bytes_size, bytes_data;
    uint8_t unicode_state, unicode_length, unicode_ascii_size;
    uint8_t gc_collecting;
    uint8_t interp_main_thread, debugger; /* the first of six words about debuggers */
};

enum { WORD_COOKIE, WORD_VERSION, WORD_FREE_THREADED };

static const struct words known[] = {
    {.version = 0x030d,
     .count = 73,
     .interpreters_head = 5,
     .interp_next = 8,
     .interp_threads_head = 9,
     .interp_gc = 10,
     .interp_gil = 14,
     .gil = 15,
     .gil_locked = 17,
     .gil_holder = 18,
     .tstate_next = 21,
     .tstate_interp = 22,
     .tstate_frame = 23,
     .tstate_thread_id = 24,
     .tstate_native_thread_id = 25,
     .frame_previous = 29,
     .frame_code = 30,
     .frame_instruction = 31,
     .frame_owner = 33,
     .code_filename = 35,
     .code_name = 36,
     .code_qualname = 37,
     .code_lines = 38,
     .code_first_line = 39,
     .code_bytes = 43,
     .bytes_size = 65,
     .bytes_data = 66,
     .unicode_state = 68,
     .unicode_length = 69,
     .unicode_ascii_size = 70,
     .gc_collecting = 72},
    {.version = 0x030e,
     .count = 83,
     .interpreters_head = 5,
     .interp_next = 8,
     .interp_threads_head = 9,
     .interp_gc = 11,
     .interp_gil = 15,
     .gil = 16,
     .gil_locked = 18,
     .gil_holder = 19,
     .tstate_next = 24,
     .tstate_interp = 25,
     .tstate_frame = 26,
     .tstate_thread_id = 27,
     .tstate_native_thread_id = 28,
     .frame_previous = 32,
     .frame_code = 33,
     .frame_instruction = 34,
     .frame_owner = 36,
     .frame_tlbc = 38,
     .code_filename = 40,
     .code_name = 41,
     .code_qualname = 42,
     .code_lines = 43,
     .code_first_line = 44,
     .code_bytes = 48,
     .code_tlbc = 49,
     .bytes_size = 75,
     .bytes_data = 76,
     .unicode_state = 78,
     .unicode_length = 79,
     .unicode_ascii_size = 80,
     .gc_collecting = 82,
     .interp_main_thread = 10,
     .debugger = 89},
    {.version = 0x030f,
     .count = 96,
     .interpreters_head = 5,
     .interp_next = 8,
     .interp_threads_head = 9,
     .interp_gc = 11,
     .interp_gil = 15,
     .gil = 16,
     .gil_locked = 18,
     .gil_holder = 19,
     .tstate_next = 24,
     .tstate_interp = 25,
     .tstate_frame = 26,
     .tstate_thread_id = 30,
     .tstate_native_thread_id = 31,
     .frame_previous = 40,
     .frame_code = 41,
     .frame_instruction = 42,
     .frame_owner = 44,
     .frame_tlbc = 46,
     .code_filename = 48,
     .code_name = 49,
     .code_qualname = 50,
     .code_lines = 51,
     .code_first_line = 52,
     .code_bytes = 56,
     .code_tlbc = 57,
     .bytes_size = 87,
     .bytes_data = 88,
     .unicode_state = 90,
     .unicode_length = 91,
     .unicode_ascii_size = 92,
     .gc_collecting = 95,
     .interp_main_thread = 10,
     .debugger = 105},
};

/* Constants missing in the structure: the owner that marks the frame of a call from C, the rest of
 * a unicode object's header, and the distance of a code object's number from its first line. */
enum { SHIM_OWNER = 3, UNICODE_UTF8_SIZE = 16, CODE_VERSION = 24 };

enum { OFFSET_MAX = 1 << 14, STATE_OFFSET_MAX = 1 << 24 };

static int wide(uint64_t value, uint32_t *ret)
{
    *ret = (uint32_t)value;
    return value < STATE_OFFSET_MAX ? 0 : -EBADMSG;
}

static int narrow(uint64_t value, uint16_t *ret)
{
    *ret = (uint16_t)value;
    return value < OFFSET_MAX ? 0 : -EBADMSG;
}

/* Offsets of fields of the GIL are relative to the GIL (3.13) or to the interpreter (3.14
 * on). */
static int within_gil(uint64_t value, uint64_t gil, uint16_t *ret)
{
    return narrow(value >= gil ? value - gil : value, ret);
}

static int take_states(const struct words *w, const uint64_t *word, struct python_offsets *ret)
{
    int bad = 0;
    bad |= wide(word[w->interpreters_head], &ret->runtime_interpreters_head);
    bad |= wide(word[w->interp_next], &ret->interp_next);
    bad |= wide(word[w->interp_threads_head], &ret->interp_threads_head);
    bad |= wide(word[w->interp_gc] + word[w->gc_collecting], &ret->interp_gc_collecting);
    bad |= wide(word[w->interp_gil], &ret->interp_gil);
    bad |= within_gil(word[w->gil_locked], word[w->gil], &ret->gil_locked);
    bad |= within_gil(word[w->gil_holder], word[w->gil], &ret->gil_holder);
    bad |= narrow(word[w->tstate_next], &ret->tstate_next);
    bad |= narrow(word[w->tstate_interp], &ret->tstate_interp);
    bad |= narrow(word[w->tstate_frame], &ret->tstate_frame);
    bad |= narrow(word[w->tstate_thread_id], &ret->tstate_thread_id);
    bad |= narrow(word[w->tstate_native_thread_id], &ret->tstate_native_thread_id);
    return bad;
}

static int take_objects(const struct words *w, const uint64_t *word, struct python_offsets *ret)
{
    int bad = 0;
    bad |= narrow(word[w->frame_previous], &ret->frame_previous);
    bad |= narrow(word[w->frame_code], &ret->frame_code);
    bad |= narrow(word[w->frame_instruction], &ret->frame_instruction);
    bad |= narrow(word[w->frame_owner], &ret->frame_owner);
    bad |= narrow(word[w->code_filename], &ret->code_filename);
    bad |= narrow(word[w->code_name], &ret->code_name);
    bad |= narrow(word[w->code_qualname], &ret->code_qualname);
    bad |= narrow(word[w->code_lines], &ret->code_lines);
    bad |= narrow(word[w->code_first_line], &ret->code_first_line);
    bad |= narrow(word[w->code_first_line] + CODE_VERSION, &ret->code_version);
    bad |= narrow(word[w->code_bytes], &ret->code_bytes);
    bad |= narrow(word[w->bytes_size], &ret->bytes_size);
    bad |= narrow(word[w->bytes_data], &ret->bytes_data);
    bad |= narrow(word[w->unicode_state], &ret->unicode_state);
    bad |= narrow(word[w->unicode_length], &ret->unicode_length);
    bad |= narrow(word[w->unicode_ascii_size], &ret->unicode_ascii_data);
    bad |= narrow(word[w->unicode_ascii_size] + UNICODE_UTF8_SIZE, &ret->unicode_compact_data);
    return bad;
}

/* Free-threaded builds still have a GIL, which is not held unless it was switched on. From 3.14 on
 * their threads have copies of the bytecode. */
static int take_free_threaded(const struct words *w, const uint64_t *word,
                              struct python_offsets *ret)
{
    ret->flags |= PYTHON_FREE_THREADED;
    if (!w->frame_tlbc)
        return 0;
    return narrow(word[w->frame_tlbc], &ret->frame_tlbc) |
           narrow(word[w->code_tlbc], &ret->code_tlbc);
}

/* NULL: no structure, or an unknown version. */
static const struct words *words_of(const uint8_t *bytes, size_t size, uint64_t *word,
                                    uint32_t *ret_version)
{
    memcpy(word, bytes, size < PYTHON_DEBUG_OFFSETS_SIZE ? size : PYTHON_DEBUG_OFFSETS_SIZE);
    *ret_version = 0;
    if (size < 24 || memcmp(bytes, "xdebugpy", 8) != 0 || word[WORD_VERSION] >> 32)
        return NULL;
    *ret_version = (uint32_t)(word[WORD_VERSION] >> 16);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].version == *ret_version)
            return &known[i];
    return NULL;
}

/* Pre-releases may have another layout. */
static bool is_release(const uint64_t *word)
{
    return (word[WORD_VERSION] & 0xf0) == 0xf0;
}

enum { WORD_INTERP_ID = 7, DEBUGGER_WORDS = 6, PATH_LEAST = 64, PATH_MOST = 4096 };

int python_offsets_debugger(const uint8_t *bytes, size_t size, struct python_debugger *ret_debugger)
{
    uint64_t word[PYTHON_DEBUG_OFFSETS_SIZE / 8] = {0};
    uint32_t version, support, pending, path;
    const struct words *w = words_of(bytes, size, word, &version);
    memset(ret_debugger, 0, sizeof(*ret_debugger));
    if (!w || !w->debugger || !is_release(word))
        return -ENOTSUP;
    if (size < (w->debugger + (size_t)DEBUGGER_WORDS) * sizeof(word[0]))
        return -EBADMSG;
    const uint64_t *own = word + w->debugger;
    int bad = wide(word[w->interpreters_head], &ret_debugger->runtime_interpreters_head);
    bad |= wide(word[w->interp_next], &ret_debugger->interp_next);
    bad |= wide(word[WORD_INTERP_ID], &ret_debugger->interp_id);
    bad |= wide(word[w->interp_main_thread], &ret_debugger->interp_main_thread);
    bad |= wide(own[0], &ret_debugger->tstate_breaker);
    bad |= wide(own[1], &support);
    bad |= wide(own[2], &ret_debugger->interp_enabled);
    bad |= wide(own[3], &pending);
    bad |= wide(own[4], &path);
    bad |= wide(own[5], &ret_debugger->path_size);
    if (bad || pending % sizeof(int32_t) || path < pending + sizeof(int32_t) ||
        path > pending + PATH_LEAST || ret_debugger->path_size < PATH_LEAST ||
        ret_debugger->path_size > PATH_MOST)
        return -EBADMSG;
    ret_debugger->tstate_pending = support + pending;
    ret_debugger->tstate_path = support + path;
    return 0;
}

int python_offsets_debug(const uint8_t *bytes, size_t size, struct python_offsets *ret_offsets,
                         uint32_t *ret_version)
{
    uint64_t word[PYTHON_DEBUG_OFFSETS_SIZE / 8] = {0};
    const struct words *w = words_of(bytes, size, word, ret_version);
    uint32_t version = *ret_version;
    memset(ret_offsets, 0, sizeof(*ret_offsets));
    if (!w)
        return version ? -ENOTSUP : -EBADMSG;
    if (size < w->count * sizeof(word[0]) || word[WORD_FREE_THREADED] > 1)
        return -EBADMSG;
    struct python_offsets offsets = {
        .version = version,
        .layout = PYTHON_LAYOUT_CURRENT,
        .flags = version >= 0x030e ? PYTHON_TAGGED_CODE : 0,
        .runtime_gil_holder = PYTHON_OFFSET_NONE,
        .cframe_current = PYTHON_OFFSET_NONE,
        .cframe_previous = PYTHON_OFFSET_NONE,
        .frame_is_entry = PYTHON_OFFSET_NONE,
        .frame_tlbc = PYTHON_OFFSET_NONE,
        .code_tlbc = PYTHON_OFFSET_NONE,
        .tstate_cframe = PYTHON_OFFSET_NONE,
        .shim_owner = SHIM_OWNER,
    };
    if (take_states(w, word, &offsets) || take_objects(w, word, &offsets) ||
        (word[WORD_FREE_THREADED] && take_free_threaded(w, word, &offsets)))
        return -EBADMSG;
    *ret_offsets = offsets;
    return 0;
}
