/* SPDX-License-Identifier: MIT */
/* What the files of the store share with each other only. Thread-safety: none. */
#ifndef ANNOT_STORE_PARTS_H
#define ANNOT_STORE_PARTS_H

#include "checkpoint.h"
#include "chunk_queue.h"
#include "definitions.h"
#include "event_code.h"
#include "sample_code.h"
#include "scan.h"
#include "store.h"
#include "vec.h"

/* ---- What a writer asks a reader when it resumes a recording: reader.c ---- */

/* Opens it; the trace has nothing that is not in the file. */
int store_reader_open_bare(const char *path, struct store_reader **ret_reader);

/* Of the last batch. */
uint32_t store_reader_stream(const struct store_reader *reader);

const struct scan *store_reader_scan(const struct store_reader *reader);

/* After the last batch. `thread` < count. */
uint32_t store_reader_thread_count(const struct store_reader *reader);
struct thread_state store_reader_thread_state(const struct store_reader *reader, uint32_t thread);

/* ---- A writer: writer.c, writer_open.c ---- */

/* A declared stream. */
struct late_stream {
    struct event_encoder *encoder;
    int64_t settled_ns; /* promised */
};

struct store_writer {
    int fd;
    int error;
    const struct trace *trace;
    uint64_t event_count;
    struct chunk_queue *queue;
    struct event_encoder *encoder;
    VEC(struct late_stream) late;
    struct checkpoint *checkpoint;
    uint32_t checkpoint_bytes;
    uint64_t since_checkpoint, next_checkpoint; /* bytes of events */
    struct sample_encoder *samples;
    struct definitions_state defined;
    struct definitions_buffer definitions;
    VEC(struct thread_state) threads;
};

/* The next chunk: its payload is copied. 0 or -errno. */
int writer_put_chunk(struct store_writer *writer, const struct store_chunk_header *header,
                     const void *payload, size_t size);

/* The number that the next chunk will have. */
uint32_t writer_next_number(const struct store_writer *writer);

#endif
