/* SPDX-License-Identifier: MIT */
/* Implements heap_frames.h with the collector's own tables of layouts, texts and lines. */
#include "heap_frames.h"

#include "heap_places.h"
#include "heap_shadow.h"
#include "python_runtime.h"
#include "python_stack.h"

#include <stddef.h>
#include <string.h>

#define OPTIONAL extern __attribute__((weak, visibility("default")))
OPTIONAL const unsigned char _PyRuntime[];
OPTIONAL const unsigned char PyCode_Type[];
OPTIONAL void *_PyThreadState_UncheckedGet(void);
OPTIONAL void *PyThreadState_GetUnchecked(void);
OPTIONAL void *PyGILState_GetThisThreadState(void);
OPTIONAL const char *Py_GetVersion(void);

enum {
    VERSION_DESCRIBED = 0x030d, /* since then the interpreter describes its layout */
    VERSION_OF_THREAD = 0x030c, /* since then each thread knows its own state */
    TYPE_AT = 8,
    TYPE_AT_FREE_THREADED = 24,
    TAG_BITS = 7,
    INSTRUCTION_MAX = 1 << 24,
    TEXT_SIZE = 1024,
    CODES = 4096,
};

static struct python_offsets layout;
static _Atomic bool is_known;
static _Atomic uint32_t code_epoch;

/* ---- Layout ---------------------------------------------------------------------------------- */

/* "3.12.1 (main, ...": 0x030c */
static uint32_t version_of(const char *text)
{
    uint32_t parts[2] = {0};
    for (int i = 0; i < 2; i++, text += *text == '.')
        for (; *text >= '0' && *text <= '9'; text++)
            parts[i] = 10 * parts[i] + (uint32_t)(*text - '0');
    return parts[0] << 8 | (parts[1] & 0xff);
}

static bool find_layout(uint32_t version)
{
    const struct python_offsets *known = python_offsets_table(version);
    uint32_t found;
    if (known)
        layout = *known;
    return known ||
           (version >= VERSION_DESCRIBED && _PyRuntime &&
            python_offsets_debug(_PyRuntime, PYTHON_DEBUG_OFFSETS_SIZE, &layout, &found) == 0);
}

void heap_frames_begin(void)
{
    uint32_t version = Py_GetVersion ? version_of(Py_GetVersion()) : 0;
    bool has_state = _PyThreadState_UncheckedGet || PyThreadState_GetUnchecked;
    if (!has_state || !PyCode_Type ||
        (version < VERSION_OF_THREAD && !PyGILState_GetThisThreadState))
        return;
    if (find_layout(version) && layout.version == version)
        atomic_store_explicit(&is_known, true, memory_order_release);
}

/* The state of the calling thread if it holds the GIL or needs none; else NULL. */
static const uint8_t *thread_state(void)
{
    const void *state =
        _PyThreadState_UncheckedGet ? _PyThreadState_UncheckedGet() : PyThreadState_GetUnchecked();
    if (state && layout.version < VERSION_OF_THREAD && state != PyGILState_GetThisThreadState())
        return NULL;
    return state;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static inline uint64_t word_at(uint64_t object, uint32_t offset)
{
    uint64_t word;
    __builtin_memcpy(&word, (const void *)(uintptr_t)(object + offset), sizeof(word));
    return word;
}

static inline uint32_t half_at(uint64_t object, uint32_t offset)
{
    uint32_t half;
    __builtin_memcpy(&half, (const void *)(uintptr_t)(object + offset), sizeof(half));
    return half;
}

static inline uint64_t code_of(uint64_t frame)
{
    uint64_t code = word_at(frame, layout.frame_code);
    return layout.flags & PYTHON_TAGGED_CODE ? code & ~(uint64_t)TAG_BITS : code;
}

/* Changes when the frame goes on, or is another one at the same address. */
static inline uint64_t instruction_of(uint64_t frame)
{
    if (__builtin_expect(layout.layout == PYTHON_LAYOUT_FRAME_OBJECT, 0))
        return code_of(frame) << 20 ^ half_at(frame, layout.frame_instruction);
    return word_at(frame, layout.frame_instruction);
}

static uint64_t innermost_frame(const uint8_t *state)
{
    uint64_t frame = word_at((uintptr_t)state, layout.tstate_frame);
    return layout.layout == PYTHON_LAYOUT_CFRAME && frame ? word_at(frame, layout.cframe_current)
                                                          : frame;
}

/* Marks calls from C: it has no code. */
static inline bool is_shim(uint64_t frame)
{
    return layout.shim_owner != PYTHON_OFFSET_NONE &&
           *(const uint8_t *)(uintptr_t)(frame + layout.frame_owner) == layout.shim_owner;
}

/* ---- Code objects ---------------------------------------------------------------------------- */

/* By address, each as two words: the text with the epoch, and that xor the address, so that a mix
 * of two writers is recognized. */
static _Atomic uint64_t codes[CODES][2];

static bool is_code(uint64_t object)
{
    uint32_t type_at = layout.flags & PYTHON_FREE_THREADED ? TYPE_AT_FREE_THREADED : TYPE_AT;
    return object && word_at(object, type_at) == (uintptr_t)PyCode_Type;
}

static uint32_t read_text(uint64_t object, char text[TEXT_SIZE])
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)object;
    size_t size = object ? python_text_bytes(&layout, bytes, layout.unicode_compact_data) : 0;
    return size ? (uint32_t)python_text(&layout, bytes, size, text, TEXT_SIZE) : 0;
}

static __attribute__((noinline)) uint32_t name_code(uint64_t code)
{
    char file[TEXT_SIZE], name[TEXT_SIZE];
    uint32_t name_at =
        layout.code_qualname == PYTHON_OFFSET_NONE ? layout.code_name : layout.code_qualname;
    const struct heap_text text = {
        .file = file,
        .name = name,
        .file_size = read_text(word_at(code, layout.code_filename), file),
        .name_size = read_text(word_at(code, name_at), name),
        .first_line = half_at(code, layout.code_first_line),
    };
    heap_shadow_mark_code((const void *)(uintptr_t)code);
    return heap_places_text(&text);
}

static uint32_t text_of(uint64_t code)
{
    _Atomic uint64_t *entry = codes[(code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 52 & (CODES - 1)];
    uint64_t epoch = (uint64_t)heap_process->epoch << 48 ^
                     (uint64_t)atomic_load_explicit(&code_epoch, memory_order_relaxed) << 22;
    uint64_t value = atomic_load_explicit(&entry[0], memory_order_relaxed);
    uint64_t check = atomic_load_explicit(&entry[1], memory_order_relaxed);
    if ((value ^ check) == code && value >> 22 << 22 == epoch)
        return (uint32_t)(value & ((1 << 22) - 1));
    uint32_t text = name_code(code);
    atomic_store_explicit(&entry[0], epoch | text, memory_order_relaxed);
    atomic_store_explicit(&entry[1], (epoch | text) ^ code, memory_order_relaxed);
    return text;
}

void heap_frames_forget_code(void)
{
    atomic_fetch_add_explicit(&code_epoch, 1, memory_order_relaxed);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Free-threaded builds may execute a thread's own copy of the bytecode. */
static uint64_t bytecode_of(uint64_t frame, uint64_t code)
{
    uint32_t copy = layout.frame_tlbc == PYTHON_OFFSET_NONE ? 0 : half_at(frame, layout.frame_tlbc);
    if (copy == 0)
        return code + layout.code_bytes;
    return word_at(word_at(code, layout.code_tlbc), 8 + 8 * copy);
}

/* Bytes from the start of the bytecode; -1: before the first instruction. */
static int instruction_offset(uint64_t frame, uint64_t code)
{
    if (layout.layout == PYTHON_LAYOUT_FRAME_OBJECT) {
        int index = (int)half_at(frame, layout.frame_instruction);
        return index > 0 && layout.version >= 0x030a ? 2 * index : index;
    }
    int64_t distance =
        (int64_t)(word_at(frame, layout.frame_instruction) - bytecode_of(frame, code));
    return distance < 0 || distance > INSTRUCTION_MAX ? -1 : (int)distance;
}

static uint32_t line_of(uint64_t frame, uint64_t code)
{
    uint64_t lines = word_at(code, layout.code_lines);
    if (!lines)
        return 0;
    struct source_place place = python_source_place(
        layout.version, (const uint8_t *)(uintptr_t)(lines + layout.bytes_data),
        word_at(lines, layout.bytes_size), (int)half_at(code, layout.code_first_line),
        instruction_offset(frame, code));
    return place.line > 0 ? (uint32_t)place.line : 0;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* A frame whose code is unreadable has no place of its own. */
static __attribute__((noinline)) uint32_t find_place(uint64_t frame, uint32_t parent)
{
    uint64_t code = code_of(frame);
    if (!is_code(code))
        return parent;
    uint32_t text = text_of(code);
    return heap_places_child(parent, ANNOT_HEAP_PYTHON << ANNOT_HEAP_KIND_SHIFT | text,
                             line_of(frame, code));
}

static inline uint32_t place_frame(struct heap_frames *frames, const struct heap_frame *frame,
                                   uint32_t parent)
{
    uint64_t hash = (frame->instruction ^ parent) * UINT64_C(0x9e3779b97f4a7c15);
    struct heap_step *step = &frames->steps[hash >> 32 & (HEAP_STEPS - 1)];
    if (__builtin_expect(step->instruction != frame->instruction || step->parent != parent, 0))
        *step = (struct heap_step){frame->instruction, parent, find_place(frame->frame, parent)};
    return step->place;
}

/* Of a deeper stack only the innermost frames are kept. */
static uint32_t gather(struct heap_frames *frames, uint64_t frame)
{
    uint32_t count = 0;
    for (; frame && count < HEAP_FRAMES_MAX; frame = word_at(frame, layout.frame_previous))
        if (!is_shim(frame))
            frames->now[count++] = (struct heap_frame){frame, instruction_of(frame)};
    if (__builtin_expect(frame != 0, 0))
        __atomic_fetch_add(&heap_header()->deep_count, 1, __ATOMIC_RELAXED);
    return count;
}

/* The number of outer frames that are as they were at the last stack. */
static uint32_t count_same(const struct heap_frames *frames, uint32_t count)
{
    uint32_t same = 0, most = count < frames->count ? count : frames->count;
    const struct heap_frame *now = &frames->now[count];
    for (; same < most; same++) {
        now--;
        if (now->frame != frames->kept[same].frame ||
            now->instruction != frames->kept[same].instruction)
            break;
    }
    return same;
}

static __attribute__((noinline)) void keep_new(struct heap_frames *frames, uint32_t same,
                                               uint32_t count)
{
    uint32_t parent = same > 0 ? frames->places[same - 1] : frames->root;
    for (uint32_t i = same; i < count; i++) {
        frames->kept[i] = frames->now[count - 1 - i];
        frames->places[i] = parent = place_frame(frames, &frames->kept[i], parent);
    }
}

static __attribute__((noinline)) void forget(struct heap_frames *frames, uint32_t root,
                                             uint32_t epoch)
{
    memset(frames->steps, 0, sizeof(frames->steps));
    frames->count = 0;
    frames->root = root;
    frames->code_epoch = epoch;
}

uint32_t heap_frames_place(struct heap_frames *frames, uint32_t root)
{
    uint32_t epoch = atomic_load_explicit(&code_epoch, memory_order_relaxed);
    const uint8_t *state =
        atomic_load_explicit(&is_known, memory_order_acquire) ? thread_state() : NULL;
    if (!state)
        return root;
    if (__builtin_expect(frames->root != root || frames->code_epoch != epoch, 0))
        forget(frames, root, epoch);
    uint32_t count = gather(frames, innermost_frame(state));
    uint32_t same = count_same(frames, count);
    if (same < count)
        keep_new(frames, same, count);
    frames->count = count;
    return count > 0 ? frames->places[count - 1] : root;
}
