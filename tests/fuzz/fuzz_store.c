/* SPDX-License-Identifier: MIT */
/* Fuzz target: the reader of recordings, and the pairing of what it reads.
 *
 * The first byte chooses how the rest becomes a file: 0 as it is; 1 as a file whose checksums are
 * made right first, so that lengths and payloads get past them; 2 as a row of payloads (type,
 * 16-bit length, bytes), each made into a right chunk, so that the decoders see every byte. Beside
 * not crashing, every batch must stay in its limits. */
#include "checksum.h"
#include "chunk.h"
#include "format.h"
#include "slices.h"
#include "stacks.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20, FILE_ID = 0x5eed };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t bytes[FILE_MAX];

/* Makes the checksums of all chunks right that can be walked by their lengths. */
static size_t make_right(const uint8_t *data, size_t size)
{
    struct store_file_header header = {.file_id = FILE_ID};
    file_header_seal(&header);
    memcpy(bytes, data, size);
    if (size < sizeof(header))
        return size;
    memcpy(bytes, &header, sizeof(header));
    for (size_t at = STORE_HEADER_SIZE; size - at >= sizeof(struct store_chunk_header);) {
        struct store_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof(chunk));
        size_t rest = size - at - sizeof(chunk);
        chunk.file_id = FILE_ID;
        if (chunk.stored_size <= rest)
            chunk.payload_crc = checksum_crc32c(0, bytes + at + sizeof(chunk), chunk.stored_size);
        chunk_header_seal(&chunk);
        memcpy(bytes + at, &chunk, sizeof(chunk));
        if (chunk.stored_size > rest)
            break;
        at += sizeof(chunk) + chunk.stored_size;
    }
    return size;
}

static size_t make_chunks(const uint8_t *data, size_t size)
{
    struct store_file_header header = {.file_id = FILE_ID};
    uint32_t number = 0;
    file_header_seal(&header);
    memcpy(bytes, &header, sizeof(header));
    size_t end = sizeof(header);
    for (size_t at = 0; at + 3 <= size;) {
        size_t length = data[at + 1] | (size_t)data[at + 2] << 8;
        length = length > size - at - 3 ? size - at - 3 : length;
        if (end + sizeof(struct store_chunk_header) + length > FILE_MAX)
            break;
        struct store_chunk_header chunk = {
            .type = data[at] & 0x7f,
            .flags = data[at] >> 7,
            .file_id = FILE_ID,
            .number = number++,
            .stored_size = (uint32_t)length,
            .raw_size = data[at] >> 7 ? 1u << 16 : (uint32_t)length,
            .payload_crc = checksum_crc32c(0, data + at + 3, length),
        };
        chunk_header_seal(&chunk);
        memcpy(bytes + end, &chunk, sizeof(chunk));
        memcpy(bytes + end + sizeof(chunk), data + at + 3, length);
        end += sizeof(chunk) + length;
        at += 3 + length;
    }
    return end;
}

/* What every consumer relies on. */
static void check_batch(const struct trace *trace, const struct event_batch *batch)
{
    if (batch->thread >= trace_thread_count(trace) || batch->count > STORE_BATCH_MAX)
        abort();
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (event->kind == 0 || event->kind >= EVENT_KIND_COUNT ||
            event->value_kind > VALUE_STRING || event->thread != batch->thread)
            abort();
    }
}

static int check_slice(void *context, const struct slice *slice)
{
    (void)context;
    if (slice->end_ns < slice->begin->time_ns)
        abort();
    for (uint32_t i = 0; i < slice->depth; i++)
        if (slice->parents[i]->kind != EVENT_PUSH)
            abort();
    return 0;
}

static int check_track_slice(void *context, const struct slice *slice)
{
    (void)context;
    if (slice->end_ns < slice->begin->time_ns)
        abort();
    for (uint32_t i = 0; i < slice->depth; i++)
        if (slice->parents[i]->kind != EVENT_TRACK_BEGIN ||
            slice->parents[i]->id != slice->begin->id)
            abort();
    return 0;
}

/* Parents lead to the top. */
static void check_tracks(const struct trace *trace)
{
    char label[64];
    for (uint32_t i = 0; i < trace_track_count(trace); i++) {
        uint32_t levels = 0, at = i + 1;
        for (; at != 0 && levels <= TRACE_TRACK_LEVELS; levels++) {
            const struct trace_track *track = trace_track_get(trace, at - 1);
            if (!track || (trace_process_count(trace) && !trace_process_get(trace, track->process)))
                abort();
            at = track->parent;
        }
        if (levels > TRACE_TRACK_LEVELS || trace_track_path(trace, i, label, sizeof(label)) > 63)
            abort();
    }
    for (uint32_t i = 0; i < trace_unit_count(trace); i++) {
        const struct trace_unit *unit = trace_unit_get(trace, i);
        if (trace_unit_find(trace, unit->domain, unit->counter) != unit->unit)
            abort();
    }
}

static void check_trace(struct trace *trace)
{
    char label[64];
    check_tracks(trace);
    uint32_t count = trace_process_count(trace);
    for (uint32_t i = 0; i < count && i < 64; i++) {
        trace_process_label(trace, i, label, sizeof(label));
        trace_process_end_label(trace, i, label, sizeof(label));
    }
    for (uint32_t i = 0; i < trace_thread_count(trace) && i < 64; i++)
        trace_thread_label(trace, i, label, sizeof(label));
    uint32_t *order = calloc(count + 1, sizeof(*order));
    if (!order || trace_process_order(trace, order) != 0)
        abort();
    free(order);
}

static void check_sample(struct trace *trace, const struct sample *sample)
{
    uint32_t whats[64];
    const struct stacks *stacks = trace_stacks(trace);
    if (sample->thread >= trace_thread_count(trace) ||
        sample->stack >= stacks_stack_count(stacks) || sample->path >= stacks_path_count(stacks))
        abort();
    if (sample->kind == SAMPLE_OFF_CPU
            ? sample->end_ns < sample->time_ns ||
                  (sample->wake_ns &&
                   (sample->wake_ns < sample->time_ns || sample->wake_ns > sample->end_ns))
            : sample->kind != SAMPLE_CPU || sample->weight_ns > STORE_WEIGHT_MAX)
        abort();
    uint32_t depth = stacks_frames(stacks, sample->stack, whats, 64);
    for (uint32_t i = 0; i < depth; i++)
        if (whats[i] >= stacks_frame_count(stacks))
            abort();
    stacks_names(stacks, sample->path, whats, 64);
}

static void read_samples(struct store_reader *reader)
{
    const struct sample *samples;
    uint32_t count;
    while (store_reader_next_samples(reader, &samples, &count) == 1)
        for (uint32_t i = 0; i < count; i++)
            check_sample(store_reader_trace(reader), &samples[i]);
}

static void read_all(struct store_reader *reader)
{
    struct slice_sink sink = {
        .pushed = check_slice, .started = check_slice, .track_closed = check_track_slice};
    struct slices *slices = slices_create(store_reader_trace(reader), &sink);
    struct event_batch batch;
    while (slices && store_reader_next(reader, &batch) == 1) {
        check_batch(store_reader_trace(reader), &batch);
        if (slices_feed(slices, &batch) != 0)
            break;
    }
    if (!slices || slices_finish(slices) != 0)
        abort();
    slices_destroy(slices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store_reader *reader;
    char path[64];
    if (size < 1 || size > FILE_MAX)
        return 0;
    size_t file_size = data[0] == 2   ? make_chunks(data + 1, size - 1)
                       : data[0] == 1 ? make_right(data + 1, size - 1)
                                      : size - 1;
    if (data[0] != 1 && data[0] != 2)
        memcpy(bytes, data + 1, size - 1);
    int fd = memfd_create("recording", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, file_size) != (ssize_t)file_size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (store_reader_open(path, &reader) == 0) {
        check_trace(store_reader_trace(reader));
        read_all(reader);
        read_samples(reader);
        store_reader_close(reader);
    }
    close(fd);
    return 0;
}
