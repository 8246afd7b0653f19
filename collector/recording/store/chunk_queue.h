/* SPDX-License-Identifier: MIT */
/* Chunks on their way into the file, in the order in which they were put: compressed, sealed,
 * written.
 *
 * This happens in the call that puts them, or, after chunk_queue_beside, on a separate thread, so
 * that neither compression nor a stalled disk blocks the caller. The queue does not interpret
 * chunks. One write per chunk, always at the end of the file, which may change. The first error
 * sticks: the partly written chunk is cut off again, and no more chunks are written. Thread-safety:
 * one caller; the thread is internal to the queue. */
#ifndef ANNOT_CHUNK_QUEUE_H
#define ANNOT_CHUNK_QUEUE_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_queue;

/* Number of waiting chunks at which the queue is full. */
enum { CHUNK_QUEUE_MAX = 8 };

/* A complete, uncompressed chunk. */
struct queued_chunk {
    struct store_chunk_header header; /* the caller's: type, count, span */
    uint8_t *payload;
    size_t size, capacity;
    int turn_fd; /* the remaining fields are the queue's; of a file that begins here, else -1 */
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

/* NULL: out of memory. destroy accepts NULL, drops chunks that are not being written, and waits for
 * the others; 0, or -errno of closing the queue's last file. */
struct chunk_queue *chunk_queue_create(int compression);
int chunk_queue_destroy(struct chunk_queue *queue);

/* Before the first chunk. */
void chunk_queue_begin(struct chunk_queue *queue, const struct chunk_queue_place *place);

/* Writes later chunks on a thread, which starts with the next one; if it cannot be created, in the
 * caller as before. 0 or -errno. */
int chunk_queue_beside(struct chunk_queue *queue);

/* Readable when chunks have been written, or failed, since chunk_queue_hear; -1 without a thread.
 */
int chunk_queue_fd(const struct chunk_queue *queue);
void chunk_queue_hear(struct chunk_queue *queue);

/* An empty chunk with room for `size` bytes, to be filled and put. NULL: out of memory. */
struct queued_chunk *chunk_queue_take(struct chunk_queue *queue, size_t size);

/* Takes the chunk back in any case. Never blocks, even if the queue is full: callers that can wait
 * check chunk_queue_has_room before they make more. 0, -ENOMEM, or the first error. */
int chunk_queue_put(struct chunk_queue *queue, struct queued_chunk *chunk);

/* Sends later chunks to another file, which is empty; its header is written in its turn. Takes `fd`
 * in any case. 0 or -errno, as chunk_queue_put. */
int chunk_queue_turn(struct chunk_queue *queue, int fd, const struct store_file_header *header);

/* A ticket for all chunks put so far: see chunk_queue_state.written. They ascend. */
uint64_t chunk_queue_mark(struct chunk_queue *queue);

struct chunk_queue_state {
    uint64_t written;         /* the last ticket that is completely in the file */
    uint64_t offset;          /* the end of the last whole chunk in the file */
    uint64_t former;          /* bytes of the files before it */
    uint64_t present;         /* bytes of the file to which chunks are put, maybe a later one */
    uint64_t waiting_bytes;   /* its waiting bytes, uncompressed */
    double ratio;             /* of bytes in the file to uncompressed bytes, of recent data */
    int64_t waiting_since_ns; /* time when the oldest unwritten chunk was put; 0: all are written */
    uint32_t number;          /* of the next chunk that is put */
    int error;
};

void chunk_queue_look(struct chunk_queue *queue, struct chunk_queue_state *ret_state);

/* True if fewer than `count_max` wait. */
bool chunk_queue_has_room(struct chunk_queue *queue, uint32_t count_max);

/* Waits until fewer than `count_max` wait, or for an error. */
void chunk_queue_await_room(struct chunk_queue *queue, uint32_t count_max);

/* Waits until a ticket is written. 0, or the error that prevents it. */
int chunk_queue_await(struct chunk_queue *queue, uint64_t ticket);

#endif
