/* SPDX-License-Identifier: MIT */
/* See chunk_queue.h. The list goes from `first`, which is being written, to `last`. `lock` protects
 * all that the thread and its caller share, except the payload of a chunk, its compressed form and
 * the file, which belong to the writing thread. */
#include "chunk_queue.h"

#include "chunk.h"

#include "clock_now.h"
#include "file_io.h"
#include "hash.h"
#include "vec.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zstd.h>

/* Compression ratio of recent data. The initial estimate, a quarter, has the weight of
 * RATIO_FIRST_BYTES. */
enum { RATIO_BYTES = 4 << 20, RATIO_FIRST_BYTES = 256 << 10 };

struct chunk_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied; /* signalled for the thread and for its caller */
    struct queued_chunk *first, *last;
    struct queued_chunk *spare; /* most recent first: still in cache */
    uint32_t count;
    uint64_t tickets, written;
    uint64_t offset, former;
    uint64_t waiting_bytes;         /* payloads after the last turn */
    uint32_t turn_count;            /* number of waiting turns */
    uint64_t data_raw, data_stored; /* of recent chunks */
    uint32_t next_number;
    int error;
    bool beside, running, ending;
    pthread_t thread;
    int event_fd;
    /* Owned by the writing thread. */
    int fd, first_fd; /* the first one is the caller's */
    uint64_t file_id;
    int compression;
    VEC(uint8_t) stored; /* header and payload as written */
    ZSTD_CCtx *context;
};

struct chunk_queue *chunk_queue_create(int compression)
{
    struct chunk_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    queue->event_fd = queue->fd = queue->first_fd = -1;
    queue->compression = compression;
    queue->data_raw = RATIO_FIRST_BYTES;
    queue->data_stored = RATIO_FIRST_BYTES / 4;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    pthread_cond_init(&queue->emptied, NULL);
    queue->context = ZSTD_createCCtx();
    if (queue->context)
        return queue;
    chunk_queue_destroy(queue);
    return NULL;
}

static void drop_turn(struct queued_chunk *chunk)
{
    if (chunk->turn_fd >= 0)
        close(chunk->turn_fd);
    chunk->turn_fd = -1;
}

/* Only one attempt: a descriptor is closed even if close fails, and its number may be reused. 0 or
 * -errno. */
static int close_file(struct chunk_queue *queue)
{
    int fd = queue->fd;
    queue->fd = queue->first_fd;
    return fd != queue->first_fd && close(fd) != 0 ? -errno : 0;
}

static void free_chunks(struct queued_chunk *chunk)
{
    while (chunk) {
        struct queued_chunk *next = chunk->next;
        drop_turn(chunk);
        free(chunk->payload);
        free(chunk);
        chunk = next;
    }
}

int chunk_queue_destroy(struct chunk_queue *queue)
{
    if (!queue)
        return 0;
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    if (queue->running)
        pthread_join(queue->thread, NULL);
    int error = close_file(queue);
    free_chunks(queue->first);
    free_chunks(queue->spare);
    if (queue->event_fd >= 0)
        close(queue->event_fd);
    vec_free(&queue->stored);
    ZSTD_freeCCtx(queue->context);
    pthread_cond_destroy(&queue->filled);
    pthread_cond_destroy(&queue->emptied);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return error;
}

void chunk_queue_begin(struct chunk_queue *queue, const struct chunk_queue_place *place)
{
    queue->fd = queue->first_fd = place->fd;
    queue->file_id = place->file_id;
    queue->offset = place->offset;
    queue->next_number = place->number;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Compresses into the place after the header; data that do not shrink are stored uncompressed. */
static int compress(struct chunk_queue *queue, struct queued_chunk *chunk)
{
    struct store_chunk_header *header = &chunk->header;
    size_t bound = ZSTD_compressBound(chunk->size);
    queue->stored.count = 0;
    if (vec_reserve(&queue->stored, sizeof(*header) + bound) != 0)
        return -ENOMEM;
    uint8_t *out = queue->stored.items + sizeof(*header);
    size_t size = ZSTD_compressCCtx(queue->context, out, bound, chunk->payload, chunk->size,
                                    queue->compression);
    bool smaller = !ZSTD_isError(size) && size < chunk->size;
    if (!smaller && chunk->size)
        memcpy(out, chunk->payload, chunk->size);
    header->flags = smaller ? STORE_FLAG_ZSTD : 0;
    header->raw_size = (uint32_t)chunk->size;
    header->stored_size = smaller ? (uint32_t)size : header->raw_size;
    header->payload_crc = checksum_crc32c(0, out, header->stored_size);
    return 0;
}

static int write_chunk(struct chunk_queue *queue, struct queued_chunk *chunk, uint64_t offset)
{
    int error = compress(queue, chunk);
    if (error != 0)
        return error;
    chunk->header.file_id = queue->file_id;
    chunk_header_seal(&chunk->header);
    memcpy(queue->stored.items, &chunk->header, sizeof(chunk->header));
    error = file_write_all(queue->fd, queue->stored.items,
                           sizeof(chunk->header) + chunk->header.stored_size);
    if (error != 0 && ftruncate(queue->fd, (off_t)offset) != 0)
        return error; /* the cut chunk stays; readers list it as damage */
    return error;
}

/* Switches to another file. */
static int begin_file(struct chunk_queue *queue, struct queued_chunk *chunk)
{
    struct store_file_header header;
    memcpy(&header, chunk->payload, sizeof(header));
    int error = file_write_all(chunk->turn_fd, &header, sizeof(header));
    if (error == 0)
        error = close_file(queue);
    if (error != 0)
        return error;
    queue->fd = chunk->turn_fd;
    queue->file_id = header.file_id;
    chunk->turn_fd = -1;
    return 0;
}

static void note_ratio(struct chunk_queue *queue, const struct store_chunk_header *header)
{
    if (header->type != STORE_CHUNK_EVENTS && header->type != STORE_CHUNK_SAMPLES)
        return;
    if (queue->data_raw >= RATIO_BYTES) {
        queue->data_raw /= 2;
        queue->data_stored /= 2;
    }
    queue->data_raw += header->raw_size;
    queue->data_stored += sizeof(*header) + header->stored_size;
}

/* With the lock: updates the state after a chunk, or a file's header, was written. */
static void note_written(struct chunk_queue *queue, const struct queued_chunk *chunk, bool turned)
{
    if (turned) {
        queue->former += queue->offset;
        queue->offset = chunk->size;
        queue->turn_count--;
    } else {
        queue->offset += sizeof(chunk->header) + chunk->header.stored_size;
        queue->waiting_bytes -= queue->turn_count ? 0 : chunk->size;
        note_ratio(queue, &chunk->header);
    }
    if (chunk->ticket != 0)
        queue->written = chunk->ticket;
}

/* Writes the first one; with the lock, which is released meanwhile. */
static void write_first(struct chunk_queue *queue)
{
    struct queued_chunk *chunk = queue->first;
    uint64_t offset = queue->offset;
    bool turns = chunk->turn_fd >= 0;
    int error = queue->error;
    if (error == 0) {
        pthread_mutex_unlock(&queue->lock);
        error = turns ? begin_file(queue, chunk) : write_chunk(queue, chunk, offset);
        pthread_mutex_lock(&queue->lock);
    }
    if (error == 0)
        note_written(queue, chunk, turns);
    drop_turn(chunk);
    queue->error = error;
    queue->first = chunk->next;
    queue->count--;
    chunk->next = queue->spare;
    queue->spare = chunk;
    pthread_cond_signal(&queue->emptied);
}

static void *run(void *context)
{
    struct chunk_queue *queue = context;
    pthread_mutex_lock(&queue->lock);
    while (!queue->ending) {
        if (!queue->first) {
            pthread_cond_wait(&queue->filled, &queue->lock);
            continue;
        }
        write_first(queue);
        pthread_mutex_unlock(&queue->lock);
        eventfd_write(queue->event_fd, 1);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Signals are left to the other threads. */
static void start(struct chunk_queue *queue)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    queue->running = pthread_create(&queue->thread, NULL, run, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    queue->beside = queue->running;
}

int chunk_queue_beside(struct chunk_queue *queue)
{
    queue->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->event_fd < 0)
        return -errno;
    queue->beside = true;
    return 0;
}

int chunk_queue_fd(const struct chunk_queue *queue)
{
    return queue->event_fd;
}

/* ---- The caller's side ----------------------------------------------------------------------- */

struct queued_chunk *chunk_queue_take(struct chunk_queue *queue, size_t size)
{
    pthread_mutex_lock(&queue->lock);
    struct queued_chunk *chunk = queue->spare;
    if (chunk)
        queue->spare = chunk->next;
    pthread_mutex_unlock(&queue->lock);
    if (!chunk && !(chunk = calloc(1, sizeof(*chunk))))
        return NULL;
    chunk->next = NULL;
    chunk->turn_fd = -1;
    chunk->ticket = 0;
    chunk->size = size;
    chunk->header = (struct store_chunk_header){0};
    if (vec_grow((void **)&chunk->payload, &chunk->capacity, size, 1) == 0)
        return chunk;
    free_chunks(chunk);
    return NULL;
}

int chunk_queue_put(struct chunk_queue *queue, struct queued_chunk *chunk)
{
    if (queue->beside && !queue->running)
        start(queue);
    chunk->put_ns = clock_now_ns();
    pthread_mutex_lock(&queue->lock);
    int error = queue->error;
    if (error != 0) {
        drop_turn(chunk);
        chunk->next = queue->spare;
        queue->spare = chunk;
        pthread_mutex_unlock(&queue->lock);
        return error;
    }
    bool turns = chunk->turn_fd >= 0;
    chunk->header.number = turns ? 0 : queue->next_number;
    queue->next_number = turns ? 0 : queue->next_number + 1;
    queue->turn_count += turns;
    queue->waiting_bytes = turns ? 0 : queue->waiting_bytes + chunk->size;
    if (queue->first)
        queue->last->next = chunk;
    else
        queue->first = chunk;
    queue->last = chunk;
    queue->count++;
    if (!queue->running)
        write_first(queue);
    error = queue->error;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    return error;
}

int chunk_queue_turn(struct chunk_queue *queue, int fd, const struct store_file_header *header)
{
    struct queued_chunk *chunk = chunk_queue_take(queue, sizeof(*header));
    if (!chunk) {
        close(fd);
        return -ENOMEM;
    }
    memcpy(chunk->payload, header, sizeof(*header));
    chunk->turn_fd = fd;
    return chunk_queue_put(queue, chunk);
}

/* The ticket belongs to the last chunk that was put, if it still waits. */
uint64_t chunk_queue_mark(struct chunk_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    uint64_t ticket = ++queue->tickets;
    if (queue->first)
        queue->last->ticket = ticket;
    else if (queue->error == 0)
        queue->written = ticket;
    pthread_mutex_unlock(&queue->lock);
    return ticket;
}

void chunk_queue_hear(struct chunk_queue *queue)
{
    eventfd_t ignored;
    if (queue->event_fd >= 0)
        eventfd_read(queue->event_fd, &ignored);
}

void chunk_queue_look(struct chunk_queue *queue, struct chunk_queue_state *ret_state)
{
    pthread_mutex_lock(&queue->lock);
    *ret_state = (struct chunk_queue_state){
        .written = queue->written,
        .offset = queue->offset,
        .former = queue->former,
        .present = queue->turn_count ? 0 : queue->offset,
        .waiting_bytes = queue->waiting_bytes,
        .ratio = (double)queue->data_stored / (double)queue->data_raw,
        .waiting_since_ns = queue->first ? queue->first->put_ns : 0,
        .number = queue->next_number,
        .error = queue->error,
    };
    pthread_mutex_unlock(&queue->lock);
}

bool chunk_queue_has_room(struct chunk_queue *queue, uint32_t count_max)
{
    pthread_mutex_lock(&queue->lock);
    bool room = queue->count < count_max;
    pthread_mutex_unlock(&queue->lock);
    return room;
}

void chunk_queue_await_room(struct chunk_queue *queue, uint32_t count_max)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count >= count_max && queue->error == 0)
        pthread_cond_wait(&queue->emptied, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

int chunk_queue_await(struct chunk_queue *queue, uint64_t ticket)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->written < ticket && queue->error == 0)
        pthread_cond_wait(&queue->emptied, &queue->lock);
    int error = queue->written < ticket ? queue->error : 0;
    pthread_mutex_unlock(&queue->lock);
    return error;
}
