/* SPDX-License-Identifier: MIT */
/* What the files of the store share with each other only. Thread-safety: none. */
#ifndef ANNOT_STORE_PARTS_H
#define ANNOT_STORE_PARTS_H

#include "checkpoint.h"
#include "chunk_queue.h"
#include "definitions.h"
#include "event_code.h"
#include "sample_code.h"
#include "sample_stream.h"
#include "store.h"
#include "vec.h"
#include "volumes.h"

/* ---- A reader: reader.c, reader_outline.c ---- */

struct thread_position {
    struct thread_state state;
    int64_t last_ns;
};

struct events_chunk {
    struct chunk_place chunk;
    int64_t settled_ns; /* no event of it or of a later one is earlier */
    bool damage_noted;
};

struct joined; /* several recordings: joined.c */

struct store_reader {
    struct joined *joined; /* then only this and the trace are used */
    struct volumes own;
    struct volumes *volumes;
    struct trace *trace;
    struct chunk_buffer buffer;
    struct event_decoder *decoder;
    struct sample_stream samples;
    VEC(struct events_chunk) chunks;
    VEC(struct chunk_place) checkpoints;
    uint64_t begin_order; /* chunks of stream 0 before this place are passed over */
    bool has_late;        /* there are declared streams */
    size_t next_chunk;
    bool in_chunk;
    bool in_checkpoint; /* it is one */
    struct thread_position *threads;
    uint32_t thread_capacity;
    bool follow;      /* read as it grows */
    uint32_t scanned; /* volumes before this one have been seen to their end */
    bool again;       /* volumes and trace are another's */
    struct definitions_holes holes;
    struct store_info info;
    /* A batch that waits behind the EVENT_LOST made for it. */
    struct event lost;
    struct event_batch waiting;
    bool has_waiting;
};

/* Chunks of all volumes in a row. */
static inline uint64_t chunk_order(const struct chunk_place *chunk)
{
    return (uint64_t)chunk->volume << 32 | chunk->header.number;
}

/* Headers of all chunks that were not seen yet, payloads of definitions. 0, -ENOMEM, -EIO. */
int reader_read_chunks(struct store_reader *reader);

/* The first pass over a recording whose volumes are open. */
int reader_read_outline(struct store_reader *reader);

/* Opens the parts of a manifest, and brings what they know into the trace of the reader. -errno: of
 * a part, too. destroy accepts NULL. */
int joined_open(const struct store_manifest *manifest, struct trace *trace,
                struct joined **ret_joined);
int joined_again(const struct joined *first, struct joined **ret_joined);
void joined_destroy(struct joined *joined);

/* As the functions of a reader. */
int joined_next(struct joined *joined, struct event_batch *ret_batch);
int joined_next_samples(struct joined *joined, const struct sample **ret_samples,
                        uint32_t *ret_count);
int64_t joined_samples_settled_ns(const struct joined *joined);
int joined_rewind(struct joined *joined);
int joined_seek(struct joined *joined, int64_t from_ns);
int64_t joined_begin_ns(const struct joined *joined);
bool joined_volume(const struct joined *joined, uint32_t index, struct store_volume *ret_volume);
uint32_t joined_damage_count(const struct joined *joined);
const struct store_damage *joined_damage(const struct joined *joined, uint32_t index);
void joined_info(const struct joined *joined, struct store_info *ret_info);

/* Opens it; the trace has nothing that is not in the file. */
int store_reader_open_bare(const char *path, struct store_reader **ret_reader);

/* Of the last batch. */
uint32_t store_reader_stream(const struct store_reader *reader);

/* ---- A writer: writer.c, writer_open.c, writer_turn.c ---- */

/* A declared stream. */
struct late_stream {
    struct event_encoder *encoder;
    int64_t settled_ns; /* promised */
    VEC(struct thread_state) threads;
};

/* The file that is written. */
struct written_volume {
    char *path; /* of volume 0; owned; NULL: there is no other one */
    uint64_t set_id, bytes_max;
    uint32_t number;
    bool overwrite;
    uint64_t definition_bytes, data_bytes; /* put so far, uncompressed */
    uint64_t retry_bytes;                  /* of data; no other file could be made before */
};

struct store_writer {
    int fd;      /* the first file that it wrote */
    int lock_fd; /* the first volume, where that is another one; else -1 */
    int error;
    struct written_volume volume;
    const struct trace *trace;
    uint64_t event_count; /* of the file */
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

int writer_put_definitions(struct store_writer *writer);

/* All that was added. */
int writer_put_all(struct store_writer *writer);

/* What is open where a volume begins, if that is known. */
int writer_put_first_checkpoint(struct store_writer *writer);

/* `follows`: another volume does. */
int writer_put_end(struct store_writer *writer, bool follows);

/* The header of the volume that is written. 0 or -EIO. */
int writer_make_header(const struct store_writer *writer, struct store_file_header *ret_header);

/* Goes on in another volume if this one is full. 0 or -errno. */
int writer_turn(struct store_writer *writer);

/* Are names free that later volumes of `path` will have? Volumes that an older recording left are
 * no hindrance to one who overwrites. 0, -EEXIST or -ENOMEM. */
int writer_look_beside(const char *path, bool overwrite);

/* Removes the volumes behind the first of the recording that lies at the path. 0 or -ENOMEM. */
int writer_remove_volumes(const char *path);

/* The number that the next chunk will have. */
uint32_t writer_next_number(const struct store_writer *writer);

#endif
