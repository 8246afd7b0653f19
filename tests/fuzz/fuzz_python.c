/* SPDX-License-Identifier: MIT */
/* Arbitrary memory of an interpreter: texts are terminated UTF-8, lines are valid, the
 * interpreter's description is used or rejected, and joining does not lose, duplicate or swap
 * frames.
 *
 * The first byte chooses the kind of the rest, the second the version. */
#include "python_runtime.h"
#include "python_stack.h"
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { JOIN_MAX = 64, FRAME_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct python_offsets *offsets_of(uint8_t choice)
{
    return python_offsets_table(0x0309 + choice % 4u);
}

static void fuzz_text(const uint8_t *bytes, size_t size, uint8_t choice)
{
    char text[64];
    size_t room = choice % sizeof(text) + 1;
    size_t length = python_text(offsets_of(choice), bytes, size, text, room);
    assert(length < room && strlen(text) == length);
    assert(utf8_is_text(text, length));
}

static void fuzz_line(const uint8_t *bytes, size_t size, uint8_t choice)
{
    for (int instruction = -2; instruction < 4096; instruction += 1 + instruction / 16) {
        struct source_place place =
            python_source_place(0x0309 + choice % 6u, bytes, size, choice, instruction);
        assert(place.line >= 0 && (place.column || !place.end_column));
        assert(!place.end_column || place.end_column >= place.column);
    }
}

struct memory {
    const uint8_t *bytes;
    size_t size;
};

/* Addresses wrap around the input. */
static int64_t read_bytes(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct memory *memory = context;
    if (memory->size == 0 || address % 64 == 63)
        return -EFAULT;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)buffer)[i] = memory->bytes[(address + i) % memory->size];
    return (int64_t)size;
}

static void fuzz_runtime(const uint8_t *bytes, size_t size, uint8_t choice)
{
    struct memory memory = {bytes, size};
    struct python_memory reader = {read_bytes, &memory};
    struct python_image image = {.runtime = 0, .runtime_size = size, .eval = 64, .eval_size = 64};
    struct python_runtime runtime;
    struct python_offsets published, told;
    uint32_t version;
    image.version = choice & 128 ? 0 : 0x0308 + choice % 8u;
    image.flags = choice & 64 ? PYTHON_DEBUG_BUILD : 0;
    memset(&published, 0, sizeof(published));
    memcpy(&published, bytes, size < sizeof(published) ? size : sizeof(published));
    int result = python_runtime_find(&image, 0, &reader, choice & 32 ? &published : NULL, &runtime);
    assert(result == 0 || result == -EAGAIN);
    if (result == 0)
        assert((runtime.offsets.version == 0) == (runtime.reason[0] != 0));
    if (result == 0 && runtime.offsets.version)
        assert(python_offsets_check(&runtime.offsets) == 0);
    if (python_offsets_debug(bytes, size, &told, &version) == 0)
        assert(python_offsets_check(&told) == 0 && told.version == version);
}

/* Every frame that is not just a marker occurs once, and native frames keep their order. */
static void check_joined(const struct python_join *join, const struct python_joint *joints,
                         uint32_t count)
{
    bool seen[JOIN_MAX] = {false};
    uint32_t frames = 0;
    int64_t native = -1;
    for (uint32_t i = 0; i < join->frame_count; i++)
        frames += !(join->frames[i].flags & PYTHON_FRAME_SHIM);
    for (uint32_t i = 0; i < count; i++) {
        if (!joints[i].python) {
            assert(joints[i].index < join->native_count && joints[i].index > native);
            native = joints[i].index;
            continue;
        }
        assert(joints[i].index < join->frame_count && !seen[joints[i].index]);
        assert(!(join->frames[joints[i].index].flags & PYTHON_FRAME_SHIM));
        seen[joints[i].index] = true;
        frames--;
    }
    assert(frames == 0 && count <= join->native_count + join->frame_count);
}

static void fuzz_join(const uint8_t *bytes, size_t size, uint8_t choice)
{
    struct python_native natives[JOIN_MAX];
    struct python_frame frames[JOIN_MAX];
    struct python_joint joints[2 * JOIN_MAX];
    struct python_join join = {.eval = 64, .eval_end = 128, .natives = natives, .frames = frames};
    uint32_t unplaced;
    uint64_t cfa = 0x1000;
    for (; size >= FRAME_BYTES; bytes += FRAME_BYTES, size -= FRAME_BYTES) {
        if (bytes[0] & 1 && join.native_count < JOIN_MAX) {
            cfa = choice & 1 ? cfa + bytes[2] : (uint64_t)bytes[2] << 4;
            natives[join.native_count++] = (struct python_native){bytes[1], bytes[3] & 7 ? cfa : 0};
        } else if (join.frame_count < JOIN_MAX) {
            frames[join.frame_count++] = (struct python_frame){
                bytes[3] & 3 ? (choice & 1 ? 0x1000 : 0) + bytes[2] * 16u : 0, bytes[1] & 3};
        }
    }
    uint32_t count = python_stack_join(&join, joints, &unplaced);
    assert(unplaced <= join.frame_count);
    check_joined(&join, joints, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const targets[])(const uint8_t *, size_t, uint8_t) = {fuzz_text, fuzz_line,
                                                                        fuzz_runtime, fuzz_join};
    if (size < 2)
        return 0;
    uint8_t *copy = malloc(size - 2 ? size - 2 : 1); /* so that overreads are detected */
    if (!copy)
        return 0;
    memcpy(copy, bytes + 2, size - 2);
    targets[bytes[0] % 4](copy, size - 2, bytes[1]);
    free(copy);
    return 0;
}
