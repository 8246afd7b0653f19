/* SPDX-License-Identifier: MIT */
/* Keeps names as strings of the trace and line tables as bytes. A code object that is told again
 * replaces what was known. Thread-safety: one thread per object. */
#include "code_names.h"

#include "hash.h"
#include "python_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_BYTES_MAX = 24 << 20, TEXT_BYTES = 4 * SAMPLER_TEXT_MAX };

/* The program tells those in use again within 15 s: PYTHON_TELL_AGAIN_NS, EMIT_AGAIN_NS. */
#define UNUSED_NS UINT64_C(20000000000)

struct code_name {
    struct wide_key key;
    uint64_t told_ns;
    uint32_t function, file; /* strings */
    int32_t first_line;
    uint32_t version; /* of the interpreter */
    uint32_t lines_size;
    uint8_t lines[];
};

static size_t code_bytes(const struct code_name *code)
{
    return sizeof(*code) + code->lines_size + 64;
}

void code_names_fini(struct code_names *codes)
{
    for (size_t i = 0; i < codes->codes.count; i++)
        free(codes->codes.items[i]);
    vec_free(&codes->codes);
    wide_map_free(&codes->by_code);
}

/* Drops what was told before that time. */
static void forget_before(struct code_names *codes, uint64_t time_ns)
{
    size_t kept = 0;
    uint64_t gone;
    for (size_t i = 0; i < codes->codes.count; i++) {
        struct code_name *code = codes->codes.items[i];
        if (code->told_ns < time_ns) {
            wide_map_take(&codes->by_code, &code->key, &gone);
            codes->bytes -= code_bytes(code);
            free(code);
        } else {
            codes->codes.items[kept++] = code;
            *wide_map_find(&codes->by_code, &code->key) = kept;
        }
    }
    codes->codes.count = kept;
}

/* Looking through them all is worth it only now and then. */
static void make_room(struct code_names *codes, uint64_t now_ns)
{
    if (codes->bytes <= CODE_BYTES_MAX || now_ns < codes->swept_ns + UNUSED_NS / 4)
        return;
    codes->swept_ns = now_ns;
    if (now_ns > UNUSED_NS)
        forget_before(codes, now_ns - UNUSED_NS);
    if (codes->bytes / 2 > CODE_BYTES_MAX)
        forget_before(codes, UINT64_MAX);
}

/* A unicode object's text as a string of the trace; 0: not readable. */
static int64_t text_string(struct trace *trace, const struct python_offsets *offsets,
                           const uint8_t *object, size_t size)
{
    char text[TEXT_BYTES];
    size_t length = size ? python_text(offsets, object, size, text, sizeof(text)) : 0;
    return trace_string_add(trace, text, length);
}

static struct code_name *read_code(struct trace *trace, const struct python_offsets *offsets,
                                   const struct sampler_code *record)
{
    const uint8_t *bytes = (const uint8_t *)(record + 1);
    int64_t function = text_string(trace, offsets, bytes, record->name_size);
    int64_t file = text_string(trace, offsets, bytes + record->name_size, record->file_size);
    struct code_name *code = malloc(sizeof(*code) + record->lines_size);
    if (function < 0 || file < 0 || !code) {
        free(code);
        return NULL;
    }
    *code = (struct code_name){.function = (uint32_t)function,
                               .file = (uint32_t)file,
                               .first_line = record->first_line,
                               .version = offsets->version,
                               .lines_size = record->lines_size};
    memcpy(code->lines, bytes + record->name_size + record->file_size, record->lines_size);
    return code;
}

static bool record_is_whole(const struct sampler_code *record)
{
    uint64_t behind = (uint64_t)record->name_size + record->file_size + record->lines_size;
    return record->head.size >= sizeof(*record) && behind <= record->head.size - sizeof(*record);
}

int code_names_add(struct code_names *codes, struct trace *trace, const struct sampled *process,
                   const struct sampler_code *record)
{
    if (!record_is_whole(record))
        return -EBADMSG;
    if (process->interpreter.state != INTERPRETER_FOUND)
        return 0;
    make_room(codes, record->head.time_ns);
    struct code_name *code = read_code(trace, &process->interpreter.runtime.offsets, record);
    if (!code)
        return -ENOMEM;
    code->key = *WIDE_KEY(record->code, record->key, process->family);
    code->told_ns = record->head.time_ns;
    const uint64_t *found = wide_map_find(&codes->by_code, &code->key);
    if (!found && (vec_reserve(&codes->codes, 1) != 0 ||
                   wide_map_put(&codes->by_code, &code->key, codes->codes.count + 1) != 0)) {
        free(code);
        return -ENOMEM;
    }
    codes->bytes += code_bytes(code);
    if (!found) {
        codes->codes.items[codes->codes.count++] = code;
        return 0;
    }
    struct code_name *old = codes->codes.items[*found - 1];
    codes->codes.items[*found - 1] = code;
    codes->bytes -= code_bytes(old);
    free(old);
    return 0;
}

int64_t code_names_frame(struct code_names *codes, struct trace *trace,
                         const struct sampled *process, const struct sampler_python *place)
{
    const uint64_t *found =
        wide_map_find(&codes->by_code, WIDE_KEY(place->code, place->key, process->family));
    if (!found)
        return 0;
    const struct code_name *code = codes->codes.items[*found - 1];
    if (code->function == 0)
        return 0;
    int line = python_line(code->version, code->lines, code->lines_size, code->first_line,
                           place->instruction);
    struct frame frame = {.kind = FRAME_PYTHON,
                          .function = code->function,
                          .file = code->file,
                          .line = line,
                          .first_line = code->first_line};
    return stacks_frame(trace_stacks(trace), &frame);
}
