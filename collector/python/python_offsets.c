/* SPDX-License-Identifier: MIT */
/* The layouts that no interpreter tells itself: CPython 3.9 to 3.12, release builds, x86-64.
 * Internal structures of these versions are frozen: they get security fixes only. The numbers are
 * those of pyannot/src/python_layout.c compiled against each version's headers, and a test compiles
 * it again. Thread-safety: constant data. */
#include "python_offsets_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

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
