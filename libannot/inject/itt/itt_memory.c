/* SPDX-License-Identifier: MIT */
/* Allocates pages sequentially. */
#include "itt.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { CHUNK_SIZE = 64 * 1024, ALIGNMENT = 16 };

static pthread_mutex_t memory_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t common_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static char *chunk; /* memory_lock */
static size_t chunk_left;

static void *map_pages(size_t size)
{
    int error = errno;
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = error;
    return pages == MAP_FAILED ? NULL : pages;
}

static void *take_locked(size_t size)
{
    if (size > chunk_left) {
        chunk = map_pages(CHUNK_SIZE);
        chunk_left = chunk ? CHUNK_SIZE : 0;
    }
    if (!chunk)
        return NULL;
    void *taken = chunk;
    chunk += size;
    chunk_left -= size;
    return taken;
}

void *itt_memory_take(size_t size)
{
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > CHUNK_SIZE / 4)
        return map_pages(size);
    if (pthread_mutex_lock(&memory_lock) != 0)
        return NULL; /* a signal handler that interrupts this */
    void *taken = take_locked(size);
    pthread_mutex_unlock(&memory_lock);
    return taken;
}

char *itt_memory_copy(const char *text, size_t length_max)
{
    size_t length = strnlen(text, length_max);
    char *copy = itt_memory_take(length + 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

int itt_lock(void)
{
    return pthread_mutex_lock(&common_lock) == 0;
}

void itt_unlock(void)
{
    pthread_mutex_unlock(&common_lock);
}

void itt_memory_before_fork(void)
{
    pthread_mutex_lock(&common_lock);
    pthread_mutex_lock(&memory_lock);
}

void itt_memory_after_fork(int is_child)
{
    const pthread_mutex_t fresh = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    if (is_child) { /* the child's thread id differs from that of the locks' owner */
        memory_lock = common_lock = fresh;
        return;
    }
    pthread_mutex_unlock(&memory_lock);
    pthread_mutex_unlock(&common_lock);
}
