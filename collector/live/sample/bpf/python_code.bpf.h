/* SPDX-License-Identifier: MIT */
/* (MIT OR GPL-2.0) Code objects: their keys, and their names and lines, sent at first sight, so
 * that they are known even if the process has ended when the collector looks. */
#ifndef ANNOT_PYTHON_CODE_BPF_H
#define ANNOT_PYTHON_CODE_BPF_H

#include "python_state.bpf.h"

enum {
    PYTHON_TEXT_BYTES = 128 + SAMPLER_TEXT_MAX, /* of a unicode object, with its header */
    PYTHON_TEXT_WORDS = 4,                      /* of its end, to distinguish it from others */
};

_Static_assert(2 * PYTHON_TEXT_BYTES + SAMPLER_LINES_MAX <= WALK_CODE_BYTES, "one record's bytes");

/* A code object in use is sent again after this time: the collector may have dropped it. */
#define PYTHON_TELL_AGAIN_NS 10000000000ull

/* Time of the last send, by a hash of space, code and key. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, uint64_t);
    __type(value, uint64_t);
} python_sent SEC(".maps");

static __always_inline int python_code_read(struct python_cursor *c, uint64_t code)
{
    return read_user(c->code, PYTHON_CODE_BYTES, code + c->offsets.code_first_line);
}

/* A field in the bytes read by python_code_read(); 0: outside of them. */
static __always_inline uint64_t python_code_field(const struct python_cursor *c, uint32_t offset)
{
    uint32_t place = offset - c->offsets.code_first_line;

    return place <= PYTHON_CODE_BYTES - 8 ? *(uint64_t *)(c->code + (place & 127)) : 0;
}

static __always_inline uint64_t python_code_name(const struct python_cursor *c)
{
    return python_code_field(c, c->offsets.code_qualname != PYTHON_OFFSET_NONE
                                    ? c->offsets.code_qualname
                                    : c->offsets.code_name);
}

/* Hashes a unicode object's content: its length and last bytes, where generated names differ. Not
 * its address: the next text may be at the same one. 0: unreadable. */
static __always_inline uint64_t python_text_hash(const struct python_cursor *c, uint64_t address)
{
    uint64_t words[PYTHON_TEXT_WORDS] = {0}, length = 0;
    uint32_t size = sizeof(words);

    if (read_user(&length, sizeof(length), address + c->offsets.unicode_length))
        return 0;
    if (length < size)
        size = length;
    if (read_user(words, size, address + c->offsets.unicode_ascii_data + length - size))
        return 0;
    for (uint32_t i = 0; i < PYTHON_TEXT_WORDS; i++)
        length = emit_mix(length, words[i]);
    return length;
}

/* Likewise for a file's name, in one read if it is short enough. */
static __always_inline uint64_t python_file_hash(struct python_cursor *c, uint64_t address)
{
    uint64_t text = c->offsets.unicode_ascii_data - c->offsets.unicode_length, length, hash;

    if (read_user(c->file_text, PYTHON_FILE_BYTES, address + c->offsets.unicode_length))
        return python_text_hash(c, address); /* the mapping ends early */
    hash = length = *(uint64_t *)c->file_text;
    if (length > PYTHON_FILE_BYTES - text)
        return python_text_hash(c, address);
    if (length > 8 * PYTHON_TEXT_WORDS)
        text += length - 8 * PYTHON_TEXT_WORDS;
    for (uint32_t i = 0; i < PYTHON_TEXT_WORDS && length > 8 * i; i++)
        hash = emit_mix(hash, *(uint64_t *)(c->file_text + ((text + 8 * i) & 255)));
    return hash;
}

/* Likewise for the first bytes of a name: in one read, as every frame has another one. Not to the
 * BPF stack, of which the callers leave little. */
static __always_inline uint64_t python_name_hash(struct python_cursor *c, uint64_t address)
{
    uint32_t text = c->offsets.unicode_ascii_data - c->offsets.unicode_length;
    uint64_t bytes, hash;

    if (read_user(c->words, PYTHON_WORDS_BYTES, address + c->offsets.unicode_length))
        return python_text_hash(c, address); /* the mapping ends early */
    hash = bytes = *(uint64_t *)c->words;
    /* The padding of its last word is constant during its life. */
    for (uint32_t i = 0; i < PYTHON_TEXT_WORDS && bytes > 8 * i; i++)
        hash =
            emit_mix(hash, *(uint64_t *)(c->words + ((text + 8 * i) & (PYTHON_WORDS_BYTES - 8))));
    return hash;
}

/* Code objects come and go at one address, and forked processes have others at the same one: names
 * and lines count, in addition to addresses. Sets c->key for the code object read; false: its names
 * are unreadable. A separate function, so that it is verified once. */
__noinline bool python_make_key(struct walk *walk)
{
    struct python_cursor *c;
    uint64_t name, file;

    if (!walk)
        return false;
    c = python_cursor(walk);
    name = python_name_hash(c, python_code_name(c));
    file = python_code_field(c, c->offsets.code_filename);
    if (file != c->file) { /* the next frame is often in the same file */
        c->file = file;
        c->file_hash = python_file_hash(c, file);
    }
    c->key = emit_mix(emit_mix(name, c->file_hash), python_code_field(c, c->offsets.code_lines) ^
                                                        (uint64_t)(*(uint32_t *)c->code) << 32);
    return name && c->file_hash;
}

/* From 3.12 on an interpreter gives each code object a unique number (until they run out, then 0),
 * which saves computing the key again. 0: no number. */
static __always_inline uint64_t python_key_tag(const struct python_cursor *c, uint64_t code)
{
    uint32_t number = python_code_field(c, c->offsets.code_version);

    if (number == 0 || c->several)
        return 0;
    return emit_mix(emit_mix(emit_begin(c->image), code), number | (uint64_t)(*(uint32_t *)c->code)
                                                                       << 32);
}

/* Sets c->key. Not 0: no code object. */
static __always_inline int python_code_key(struct walk *walk, struct python_cursor *c,
                                           uint64_t code)
{
    struct walk_key *kept;
    uint64_t tag;

    if (code == c->key_code) /* recursion */
        return 0;
    if (python_code_read(c, code))
        return -1;
    tag = python_key_tag(c, code);
    kept = &walk->keys[tag >> 40 & (WALK_KEYS - 1)];
    if (tag && kept->tag == tag) {
        c->key = kept->key;
    } else if (python_make_key(walk) && tag) {
        kept->tag = tag;
        kept->key = c->key;
    }
    c->key_code = code;
    return 0;
}

/* Bytes of one character; the flags moved with the first free-threaded builds. 0: invalid. */
static __always_inline uint32_t python_text_kind(uint32_t state, bool *ret_ascii)
{
    uint32_t flags = state >> 2;

    if (!(flags & 0x3f))
        flags = state >> 8;
    if (!(flags & 0x3f))
        flags = state >> 16;
    *ret_ascii = flags & 16;
    flags &= 15;
    return flags == 9 ? 1 : flags == 10 ? 2 : flags == 12 ? 4 : 0;
}

/* Copies a unicode object to walk->code_bytes + at. Returns its size, 0 if unreadable. */
__noinline uint32_t python_copy_text(struct walk *walk, uint64_t address, uint32_t at)
{
    const struct python_cursor *c;
    uint64_t length = 0;
    uint32_t state = 0, kind, size;
    bool ascii;

    if (!walk)
        return 0;
    c = python_cursor(walk);
    if (read_user(&length, sizeof(length), address + c->offsets.unicode_length) ||
        read_user(&state, sizeof(state), address + c->offsets.unicode_state))
        return 0;
    kind = python_text_kind(state, &ascii);
    if (!kind)
        return 0;
    if (length > SAMPLER_TEXT_MAX / kind)
        length = SAMPLER_TEXT_MAX / kind;
    size = (ascii ? c->offsets.unicode_ascii_data : c->offsets.unicode_compact_data) +
           (uint32_t)length * kind;
    BOUND(size, PYTHON_TEXT_BYTES);
    BOUND(at, PYTHON_TEXT_BYTES);
    return read_user(walk->code_bytes + at, size, address) ? 0 : size;
}

static __always_inline uint32_t python_copy_lines(struct walk *walk, const struct python_cursor *c,
                                                  uint64_t address, uint32_t at)
{
    uint64_t length = 0;
    uint32_t size;

    if (read_user(&length, sizeof(length), address + c->offsets.bytes_size))
        return 0;
    walk->code.lines_length = length > 0xffffffff ? 0xffffffff : length;
    size = walk->code.lines_length;
    BOUND(size, SAMPLER_LINES_MAX);
    BOUND(at, 2 * PYTHON_TEXT_BYTES);
    return read_user(walk->code_bytes + at, size, address + c->offsets.bytes_data) ? 0 : size;
}

/* Not 0: not sent. */
__noinline int python_send_code(struct walk *walk, const struct sampler_python *frame)
{
    struct python_cursor *c;
    struct sampler_code *code;
    uint32_t size;

    if (!walk || !frame)
        return -1;
    c = python_cursor(walk);
    code = &walk->code;
    if (python_code_read(c, frame->code))
        return -1;
    code->code = frame->code;
    code->key = frame->key;
    code->space = walk->process.space;
    code->first_line = *(int32_t *)c->code;
    code->lines_length = 0;
    code->name_size = size = python_copy_text(walk, python_code_name(c), 0);
    code->file_size = python_copy_text(walk, python_code_field(c, c->offsets.code_filename), size);
    size += code->file_size;
    code->lines_size =
        python_copy_lines(walk, c, python_code_field(c, c->offsets.code_lines), size);
    size += code->lines_size;
    BOUND(size, WALK_CODE_BYTES);
    emit_head(walk, &code->head, SAMPLER_CODE, 0);
    return emit_record(&code->head, sizeof(*code) + size, emit_flags(walk->now, false),
                       SAMPLER_LOSS_RING_FULL_CODE);
}

static long python_send_step(uint32_t index, void *context)
{
    struct walk *walk = *(struct walk **)context;
    struct sampler_python *frame;
    uint64_t hash, *sent, now = walk->now; /* a value of a map is copied from the stack */

    if (index >= SAMPLER_PYTHON_MAX)
        return 1;
    frame = &walk->python[index];
    if (!frame->code)
        return 0;
    hash = emit_mix(emit_mix(emit_begin(walk->process.space), frame->code), frame->key);
    sent = bpf_map_lookup_elem(&python_sent, &hash);
    if (sent && now - *sent < PYTHON_TELL_AGAIN_NS)
        return 0;
    if (python_send_code(walk, frame) == 0)
        bpf_map_update_elem(&python_sent, &hash, &now, BPF_ANY);
    return 0;
}

/* Sends a SAMPLER_CODE record for each code object of walk->python not sent recently, by
 * emit_record(). Called after python_walk(), only when the Python part itself is to be sent. */
static __always_inline void python_emit_codes(struct walk *walk)
{
    bpf_loop(walk->python_count, python_send_step, &walk, 0);
}

#endif
