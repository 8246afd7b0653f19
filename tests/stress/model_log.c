/* SPDX-License-Identifier: MIT */
/* See model_log.h. */
#include "model_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct model_log *model_log_map(const char *path, int create)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (fd < 0 || (create && ftruncate(fd, sizeof(struct model_log)) != 0)) {
        perror(path);
        exit(125);
    }
    void *log = mmap(NULL, sizeof(struct model_log), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (log == MAP_FAILED) {
        perror(path);
        exit(125);
    }
    return log;
}

struct model_writer model_writer_begin(struct model_log *log)
{
    return (struct model_writer){
        .log = log, .thread = __atomic_add_fetch(&log->thread_count, 1, __ATOMIC_RELAXED)};
}

void model_write(struct model_writer *writer, const struct model_entry *entry)
{
    struct model_log *log = writer->log;
    if (!writer->chunk || writer->chunk->count == MODEL_CHUNK_ENTRIES) {
        uint32_t index = __atomic_fetch_add(&log->chunk_count, 1, __ATOMIC_RELAXED);
        if (index >= MODEL_CHUNKS_MAX) {
            fprintf(stderr, "the log of the model is full\n");
            exit(125);
        }
        writer->chunk = &log->chunks[index];
        writer->chunk->thread = writer->thread;
    }
    writer->chunk->entries[writer->chunk->count] = *entry;
    writer->chunk->count++;
}

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return text ? add_bytes(hash, text, strlen(text) + 1) : add_bytes(hash, "", 1);
}

uint64_t model_digest(uint64_t before, const struct model_event *event)
{
    const uint64_t numbers[] = {
        event->kind,      event->level, event->value_kind, event->has_color ? event->color : 0,
        event->has_color, event->value, event->id};
    uint64_t hash = add_bytes(before, numbers, sizeof(numbers));
    hash = add_text(hash, event->name);
    hash = add_text(hash, event->domain);
    hash = add_text(hash, event->category);
    return add_text(hash, event->string);
}
