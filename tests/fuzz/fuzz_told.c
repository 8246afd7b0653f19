/* SPDX-License-Identifier: MIT */
/* Scrambled data from the kernel and the program: perf records, lines of maps, code objects in a
 * program's memory. No crash, no overread, and accepted data satisfies its contract.
 *
 * The first byte chooses the kind. */
#include "frames.h"
#include "proc_info.h"
#include "processes.h"
#include "sampler_bpf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void tell_perf(const uint8_t *bytes, size_t size)
{
    struct perf_note note;
    uint64_t lost = 0;
    if (!perf_note_parse(bytes, size, &note, &lost))
        return;
    assert(note.text >= (const char *)bytes && strlen(note.text) < size);
    assert(note.kind == PERF_NOTE_EXEC || note.end > note.begin);
}

static void tell_line(const uint8_t *bytes, size_t size)
{
    char *line = malloc(size + 1);
    struct maps_line parsed;
    memcpy(line, bytes, size);
    line[size] = 0;
    if (maps_line_parse(line, &parsed)) {
        assert(parsed.end > parsed.begin);
        assert(parsed.path >= line && parsed.path <= line + size);
    }
    free(line);
}

/* A code object of an interpreter with a layout from the input, and a lookup of a line in it. */
static void tell_code(const uint8_t *bytes, size_t size)
{
    struct sampler_code head;
    struct sampled process = {.family = 1, .interpreter = {.state = INTERPRETER_FOUND}};
    struct python_offsets *offsets = &process.interpreter.runtime.offsets;
    if (size < sizeof(*offsets) + sizeof(head))
        return;
    memcpy(offsets, bytes, sizeof(*offsets));
    bytes += sizeof(*offsets);
    size -= sizeof(*offsets);
    struct sampler_code *record = malloc(size);
    struct trace *trace = trace_create();
    struct code_names codes = {0};
    memcpy(record, bytes, size);
    record->head.size = (uint32_t)size;
    int error = code_names_add(&codes, trace, &process, record);
    assert(error == 0 || error == -EBADMSG); /* damaged, and reported as such */
    struct sampler_python place = {
        .code = record->code, .key = record->key, .instruction = (int32_t)record->head.tid};
    assert(code_names_frame(&codes, trace, &process, &place) >= 0);
    code_names_fini(&codes);
    trace_destroy(trace);
    free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static void (*const tell[])(const uint8_t *, size_t) = {tell_perf, tell_line, tell_code};
    if (size == 0)
        return 0;
    uint8_t *rest = malloc(size); /* exactly as long, for a sanitizer */
    memcpy(rest, bytes + 1, size - 1);
    tell[bytes[0] % 3](rest, size - 1);
    free(rest);
    return 0;
}
