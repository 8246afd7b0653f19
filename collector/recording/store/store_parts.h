/* SPDX-License-Identifier: MIT */
/* What the files of the store share with each other only. Thread-safety: none, but for the chunk
 * queue. */
#ifndef ANNOT_STORE_PARTS_H
#define ANNOT_STORE_PARTS_H

#include "definitions.h"
#include "event.h"
#include "event_code.h"
#include "format.h"
#include "sample.h"
#include "sample_code.h"
#include "store.h"
#include "trace.h"
#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Chunks: chunk.c ------------------------------------------------------------------------- */

/* Headers of a recording and its chunks: made, checked, found again after damage.
 * Thread-safety: functions without state. */

void file_header_seal(struct store_file_header *header);
bool file_header_is_whole(const struct store_file_header *header);

/* Magic, version and checksum. */
void chunk_header_seal(struct store_chunk_header *header);

/* Magic, checksum and limits hold; the major version may be another. */
bool chunk_header_is_whole(const struct store_chunk_header *header);

/* The first offset >= `offset` at which a whole chunk header of this file lies, or `file_size`.
 * -EIO..., -ENOMEM. */
int chunk_find(int fd, uint64_t offset, uint64_t file_size, uint64_t file_id, uint64_t *ret_offset);

struct chunk_place {
    uint32_t volume; /* index of the file among those of the recording */
    uint64_t offset;
    struct store_chunk_header header;
};

/* The payload of a chunk, uncompressed, in memory that is kept for the next one. */
struct chunk_buffer {
    uint8_t *stored, *raw;
    size_t stored_capacity, raw_capacity;
    void *context; /* ZSTD_DCtx */
};

/* 0; -EBADMSG: damaged, *ret_reason says how; -EIO..., -ENOMEM. At least EVENT_DECODER_SLACK bytes
 * behind the payload can be read. */
int chunk_load(struct chunk_buffer *buffer, int fd, const struct chunk_place *chunk,
               const uint8_t **ret_payload, const char **ret_reason);
void chunk_buffer_free(struct chunk_buffer *buffer);

/* ---- The walk over a file: chunk.c ---------------------------------------------------------- */

/* The walk over a recording's chunk headers: which chunks are whole, where, and what lies between
 * them that is none. Payloads are not read. Thread-safety: none. */

enum { SCAN_DAMAGE_MAX = 4096 }; /* entries of the list; the last one then grows */

struct damage_list {
    struct store_damage *items;
    size_t count, capacity;
};

struct scan {
    int fd;
    uint64_t file_size, offset;
    struct store_file_header header;
    bool any;             /* a chunk was found */
    uint32_t last_number; /* of it */
    bool ended;           /* END came, and behind it nothing but DEFINITIONS */
    bool follow;          /* somebody writes on: what is cut at the end is not whole yet */
    /* Where a writer may go on: behind the last chunk that is not END. */
    uint64_t resume_offset;
    uint32_t resume_number;
    uint64_t whole_offset; /* the end of the last whole chunk */
    const char *path;      /* the caller's */
    struct damage_list *damage;
};

/* Reads the file's header, or finds out what it must have said. 0, -EBADMSG, -ENODATA,
 * -EPROTONOSUPPORT, -EIO..., -ENOMEM. `fd`, `path` and `damage` stay the caller's. */
int scan_start(struct scan *scan, int fd, const char *path, struct damage_list *damage);

/* 1 and the next chunk whose header is whole and whose payload lies in the file; 0 at the end. */
int scan_next(struct scan *scan, struct chunk_place *ret_chunk);

/* Looks how long the file is by now. 0; -ESTALE: shorter than what was read; -errno. */
int scan_refresh(struct scan *scan);

/* 0 or -ENOMEM. */
int scan_add_damage(struct scan *scan, uint64_t offset, uint64_t length, const char *reason);

/* ---- Files of a recording: volumes.c --------------------------------------------------------- */

/* The files of a recording: run.annot, run.1.annot, ... Any of them leads to all that are there.
 * Each is walked by a scan of its own; what is damaged or missing stands in one list. Files beyond
 * the first VOLUMES_OPEN_MAX are opened when they are read. Thread-safety: none. */

enum { VOLUMES_OPEN_MAX = 64, VOLUME_NUMBER_MAX = 999999 };

struct volume {
    char *path; /* owned */
    int fd;     /* -1: not open now */
    uint32_t number;
    struct scan scan;
    uint64_t event_count;
    bool has_data;  /* a chunk that is no definition came */
    bool follows;   /* its end says that there is another volume */
    bool ids_mixed; /* and that ids are */
};

struct volumes {
    VEC(struct volume) items; /* by number */
    struct damage_list damage;
    VEC(char *) missing; /* paths in the damage list; owned */
    uint32_t open_count; /* descriptors */
    size_t next_closed;  /* whose turn it is to be closed */
    bool next_begun;     /* the volume behind the last one is there, without a whole header */
};

/* The numbers of volumes beyond 0 that lie beside `path`, which is volume 0, in order. 0 or
 * -ENOMEM. */
struct volume_numbers {
    VEC(uint32_t) items;
};

int volume_numbers(const char *path, struct volume_numbers *ret_numbers);

/* Finds the recording that `path` is a volume of. What it leaves is freed by volumes_close, also
 * after an error. 0; -errno as scan_start, of that file. */
int volumes_open(struct volumes *volumes, const char *path, bool follow);
void volumes_close(struct volumes *volumes);

/* What the volume behind the last one is called. NULL: out of memory, or nobody knows. */
char *volumes_next_path(const struct volumes *volumes);

/* The volume behind the last one may have been made since: 1 it is there, 0, -ENOMEM. */
int volumes_look_on(struct volumes *volumes);

/* All chunks were seen: notes which volumes are missing. 0 or -ENOMEM. */
int volumes_note_missing(struct volumes *volumes);

/* To read from; -errno. */
int volume_fd(struct volumes *volumes, uint32_t index);

/* A chunk of a volume that cannot be read. 0 or -ENOMEM. */
int volumes_add_damage(struct volumes *volumes, const struct chunk_place *chunk,
                       const char *reason);

/* As chunk_load. */
int volumes_load(struct volumes *volumes, struct chunk_buffer *buffer,
                 const struct chunk_place *chunk, const uint8_t **ret_payload,
                 const char **ret_reason);

/* ---- Samples of a recording: sample_stream.c ------------------------------------------------- */

/* The samples of a recording, chunk by chunk; part of a store_reader. Thread-safety: none. */

enum { SAMPLE_STREAM_MAX = 1024 }; /* samples handed out at once */

struct samples_chunk {
    struct chunk_place chunk;
    int64_t settled_ns; /* no sample of it or of a later one begins earlier */
    bool damage_noted;
};

struct sample_stream {
    struct chunk_buffer buffer;
    struct sample_decoder *decoder;
    struct sample *samples;
    int64_t (*values)[SAMPLE_VALUES_MAX]; /* of these */
    VEC(struct samples_chunk) chunks;
    size_t next_chunk;
    bool in_chunk;
    bool settled;    /* the chunks know what is settled */
    int64_t from_ns; /* chunks that end before are passed over */
};

/* 0 or -ENOMEM. fini accepts a stream of zeros or half initialised. */
int sample_stream_init(struct sample_stream *stream);
void sample_stream_fini(struct sample_stream *stream);

/* A chunk more. 0 or -ENOMEM. */
int sample_stream_add(struct sample_stream *stream, const struct chunk_place *chunk);

/* Raises *highest to the largest thread ordinal of all samples. 0, -ENOMEM, -EIO. To be called
 * before the first sample_stream_next; damage is left to that. */
int sample_stream_highest_thread(struct sample_stream *stream, struct volumes *volumes,
                                 uint32_t *highest);

/* As store_reader_next_samples: stacks, paths and threads are in the trace. Damage goes into the
 * list of the volumes. */
int sample_stream_next(struct sample_stream *stream, struct volumes *volumes,
                       const struct trace *trace, const struct sample **ret_samples,
                       uint32_t *ret_count);

/* All chunks are there: says of each what is settled. Then: no sample that was not handed out
 * begins before this; INT64_MIN: not known. */
void sample_stream_settle(struct sample_stream *stream);
int64_t sample_stream_settled_ns(const struct sample_stream *stream);

/* Drops the chunks that were read: nobody will rewind. */
void sample_stream_forget(struct sample_stream *stream);
void sample_stream_rewind(struct sample_stream *stream);
void sample_stream_seek(struct sample_stream *stream, int64_t from_ns);

/* ---- Chunks on their way into the file: chunk_queue.c ---------------------------------------- */

/* Chunks on their way into the file, in the order in which they were put: compressed, sealed,
 * written.
 *
 * That is done at once by the one who puts them, or, after chunk_queue_beside, on a thread of its
 * own, so that neither compression nor a disk that stalls keeps the caller. The queue knows nothing
 * of what a chunk means. One write per chunk, always at the end of the file, which may change. The
 * first error sticks: the part of a chunk that it left is cut off again, and nothing is written any
 * more. Thread-safety: one caller; the thread is the queue's own affair. */

/* So many chunks may wait before there is no room. */
enum { CHUNK_QUEUE_MAX = 8 };

struct chunk_queue;

/* A chunk that is complete but for its compression. */
struct queued_chunk {
    struct store_chunk_header header; /* the caller's: type, count, span */
    uint8_t *payload;
    size_t size, capacity;
    int turn_fd; /* the rest is the queue's; of a file that begins here, else -1 */
    uint64_t ticket;
    int64_t put_ns;
    struct queued_chunk *next;
};

/* Where the next chunk goes. */
struct chunk_queue_place {
    int fd; /* stays the caller's; those of chunk_queue_turn are the queue's */
    uint64_t file_id, offset;
    uint32_t number;
};

/* NULL: out of memory. destroy accepts NULL, drops what is not being written yet, and waits for
 * the rest; 0, or -errno of closing the queue's last file. */
struct chunk_queue *chunk_queue_create(int compression);
int chunk_queue_destroy(struct chunk_queue *queue);

/* Before the first chunk. */
void chunk_queue_begin(struct chunk_queue *queue, const struct chunk_queue_place *place);

/* From the next chunk on, they are written on a thread, which begins with that one; if there can be
 * none, at once as before. 0 or -errno. */
int chunk_queue_beside(struct chunk_queue *queue);

/* Readable when chunks have been written, or failed, since chunk_queue_hear; -1 without a thread.
 */
int chunk_queue_fd(const struct chunk_queue *queue);
void chunk_queue_hear(struct chunk_queue *queue);

/* An empty chunk with room for `size` bytes, to be filled and put. NULL: out of memory. */
struct queued_chunk *chunk_queue_take(struct chunk_queue *queue, size_t size);

/* Takes the chunk back in any case. Never waits for the thread, whatever the room: those who can
 * wait ask chunk_queue_has_room before they make more. 0, -ENOMEM, or the first error. */
int chunk_queue_put(struct chunk_queue *queue, struct queued_chunk *chunk);

/* What is put from now on goes into another file, which is empty; its header is written when its
 * turn comes. Takes `fd` in any case. 0 or -errno, as chunk_queue_put. */
int chunk_queue_turn(struct chunk_queue *queue, int fd, const struct store_file_header *header);

/* A ticket for all that was put so far: see chunk_queue_state.written. They ascend. */
uint64_t chunk_queue_mark(struct chunk_queue *queue);

struct chunk_queue_state {
    uint64_t written;         /* the last ticket of which all is in the file */
    uint64_t offset;          /* the end of the last whole chunk in the file */
    uint64_t former;          /* bytes of the files before it */
    uint64_t present;         /* bytes of the file that is put to, which may be a later one */
    uint64_t waiting_bytes;   /* of it, that wait, uncompressed */
    double ratio;             /* of bytes in the file to bytes uncompressed, of data of late */
    int64_t waiting_since_ns; /* when the oldest chunk that is not in the file was put; 0: none */
    uint32_t number;          /* of the next chunk that is put */
    int error;
};

void chunk_queue_look(struct chunk_queue *queue, struct chunk_queue_state *ret_state);

/* Do fewer than that wait? */
bool chunk_queue_has_room(struct chunk_queue *queue, uint32_t count_max);

/* Waits until there is room, or an error. */
void chunk_queue_await_room(struct chunk_queue *queue, uint32_t count_max);

/* Waits until a ticket is written. 0, or the error that keeps it from being so. */
int chunk_queue_await(struct chunk_queue *queue, uint64_t ticket);

/* ---- What is open: checkpoint.c -------------------------------------------------------------- */

/* What is open: all that a reader would know of the events before a place in the recording. A
 * CHECKPOINT is that as events, so that a reader which begins there needs no other rules than one
 * that has read all before.
 *
 * Kept while events are written: the open pushed ranges of each thread, starts without an end and
 * ends without a start. What is open on tracks depends on the order of time between threads, which
 * is not known yet: after the first event of a track there are no more checkpoints. Thread-safety:
 * none. */

struct checkpoint;

/* NULL: out of memory. destroy accepts NULL. */
struct checkpoint *checkpoint_create(void);
void checkpoint_destroy(struct checkpoint *checkpoint);

/* The next events of a thread, which `trace` has. `after`: what the encoder knew after it had taken
 * just these; NULL: it has not. 0 or -ENOMEM. Cost: about 2 ns an event, but for plain ranges with
 * `after`: next to nothing. */
int checkpoint_add(struct checkpoint *checkpoint, const struct trace *trace,
                   const struct event_batch *batch, const struct thread_state *after);

/* The next events of any thread, also those that are in no checkpoint: whether ids are mixed. 0 or
 * -ENOMEM. */
int checkpoint_note_ids(struct checkpoint *checkpoint, const struct trace *trace,
                        const struct event_batch *batch);

/* Several threads used an id so that its starts and ends pair otherwise in order of time than in
 * the order of the file; nothing else that is kept tells. It may go unnoticed where thousands of
 * other ids were used in between. */
bool checkpoint_ids_mixed(const struct checkpoint *checkpoint);

/* Some of them were told at this time. */
void checkpoint_told(struct checkpoint *checkpoint, int64_t time_ns);

/* When the last of them all was told. */
int64_t checkpoint_told_ns(const struct checkpoint *checkpoint);

/* What is open, into an encoder that is empty. `threads`: by ordinal, as many as have events. 1; 0:
 * there is none, too much is open or not in order; -ENOMEM. */
int checkpoint_encode(struct checkpoint *checkpoint, const struct thread_state *threads,
                      struct event_encoder *encoder);

/* ---- From one recording to another: remap.c -------------------------------------------------- */

/* From the ordinals and the clock of one recording to those of another, driven by the tables of
 * fields (definitions.c). Thread-safety: none. */

/* New ordinals by old ones. `{0}`: nothing. */
struct remap {
    uint32_t *maps[STORE_DEFINE_COUNT];
    uint32_t counts[STORE_DEFINE_COUNT];
    struct store_time_map time;
};

/* Adds all that `from` knows to `to`: what has the same content becomes one entry, but for
 * processes, threads, lanes, clocks and streams. `from` gets a host if it has none. 0, -ENOMEM,
 * -ENOSPC. */
int remap_trace(struct remap *remap, struct trace *to, struct trace *from);
void remap_free(struct remap *remap);

/* To the new clock, and back. The limits of int64_t stay. */
int64_t remap_time(const struct remap *remap, int64_t time_ns);
int64_t remap_time_back(const struct remap *remap, int64_t time_ns);

/* In place. */
void remap_event(const struct remap *remap, struct event *event);
void remap_arg(const struct remap *remap, struct arg *arg);
void remap_sample(const struct remap *remap, struct sample *sample);

uint32_t remap_ordinal(const struct remap *remap, unsigned number, uint32_t ordinal);

/* ---- A reader: reader.c, reader_outline.c ---- */

struct thread_position {
    struct thread_state state;
    int64_t last_ns;
    uint32_t missing; /* volumes before it */
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
    uint32_t *stack_map; /* of stacks as they are in the file, stacks_expand(); NULL: as there */
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
    uint32_t thread_capacity, stack_map_count;
    uint32_t scanned; /* volumes before this one have been seen to their end */
    bool follow;      /* read as it grows */
    bool again;       /* volumes and trace are another's */
    struct definitions_holes holes;
    struct store_info info;
    /* A batch that waits behind the EVENT_LOST made for it. */
    struct event lost;
    struct event_batch waiting;
    bool has_waiting;
    struct event_batch spans; /* what is left of a batch of a declared stream */
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

/* A recording that is read with others: the ordinal behind its processes, in the trace of all. */
struct joined_source {
    uint64_t session; /* 0: not known */
    uint32_t process_end;
    bool sampled;
};

int joined_find_twice(struct trace *trace, const struct joined_source *sources,
                      struct store_twice *ret_twice);

/* What that found when it was opened. */
const struct store_twice *joined_twice(const struct joined *joined);
int joined_again(const struct joined *first, struct joined **ret_joined);
void joined_destroy(struct joined *joined);

/* As the functions of a reader. */
int joined_next(struct joined *joined, struct event_batch *ret_batch);
int joined_next_samples(struct joined *joined, const struct sample **ret_samples,
                        uint32_t *ret_count);
int64_t joined_samples_settled_ns(const struct joined *joined);
int joined_rewind(struct joined *joined);
int joined_seek(struct joined *joined, int64_t from_ns, bool nested, bool in_time);
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

/* How many chunks may wait. Where a volume could end with them, if they didn't shrink, it is one:
 * then no more than that is beyond its end. */
uint32_t writer_queue_max(const struct store_writer *writer);

/* Are names free that later volumes of `path` will have? Volumes that an older recording left are
 * no hindrance to one who overwrites. 0, -EEXIST or -ENOMEM. */
int writer_look_beside(const char *path, bool overwrite);

/* The file at the path, which is locked, will be another recording: if it is the first of one, the
 * volumes behind it go. 0, -ENOMEM; -EBUSY: it is a volume of one that is being written. */
int writer_leave_recording(const char *path);

/* The number that the next chunk will have. */
uint32_t writer_next_number(const struct store_writer *writer);

#endif
