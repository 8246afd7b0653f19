/* SPDX-License-Identifier: MIT */
/* Chunks on their way into the file, in the order in which they were put: compressed, sealed,
 * written.
 *
 * That is done at once by the one who puts them, or, after chunk_queue_beside, on a thread of its
 * own, so that neither compression nor a disk that stalls keeps the caller. The queue knows nothing
 * of what a chunk means. One write per chunk, always at the end of the file, which may change. The
 * first error sticks: the part of a chunk that it left is cut off again, and nothing is written any
 * more. Thread-safety: one caller; the thread is the queue's own affair. */
#ifndef ANNOT_CHUNK_QUEUE_H
#define ANNOT_CHUNK_QUEUE_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_queue;

/* So many chunks may wait before there is no room. */
enum { CHUNK_QUEUE_MAX = 8 };

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

#endif
