/* SPDX-License-Identifier: MIT */
/* Instead of annot: what libannot-gpu tells, as lines of JSON in the file ANNOT_GPU_TELL. So tests
 * see each span as it was told, before anything else has touched it. Threads are their tids. */
#include "gpu_tell.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES = 4096 };

static uint64_t counts[GPU_COUNTS];
static uint64_t answered, activities, untimed, violating;
static char *names[NAMES];
static uint32_t name_count;
static int out = -1;

/* A line is one write: what a fork meets in the middle is no line of the child's. */
static int output(void)
{
    const char *path = getenv("ANNOT_GPU_TELL");
    if (out < 0)
        out = path ? open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0644) : 2;
    return out;
}

void gpu_tell_here(struct gpu_origin *ret_origin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ret_origin->time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    ret_origin->thread = (uint32_t)gettid();
}

int gpu_tell_is_on(void)
{
    return getenv("ANNOT_GPU_TELL_OFF") == NULL;
}

uint32_t gpu_tell_name(const char *text)
{
    for (uint32_t i = 0; i < name_count; i++)
        if (strcmp(names[i], text) == 0)
            return i + 1;
    if (name_count == NAMES)
        return 0;
    names[name_count++] = strdup(text);
    return name_count;
}

/* As a string of JSON. */
static const char *quoted(const char *text, char *to, size_t size)
{
    char *at = to;
    for (; *text && at + 8 < to + size; text++)
        if (*text < 32 || *text == '"' || *text == '\\')
            at += sprintf(at, "\\u%04x", *text);
        else
            *at++ = *text;
    *at = 0;
    return to;
}

uint32_t gpu_tell_kernel(const struct gpu_shape *shape)
{
    char text[256];
    const uint32_t *grid = shape->grid, *block = shape->block;
    snprintf(text, sizeof(text), "%s|%u,%u,%u|%u,%u,%u|%u|%u", shape->name, grid[0], grid[1],
             grid[2], block[0], block[1], block[2], shape->registers, shape->shared_bytes);
    return gpu_tell_name(text);
}

void gpu_tell_count(enum gpu_count which, uint64_t by)
{
    __atomic_add_fetch(&counts[which], by, __ATOMIC_RELAXED);
}

void gpu_tell_span(const struct gpu_span *span)
{
    answered += span->answers;
    activities += span->kind <= GPU_GRAPH;
    if (span->begin_ns == 0 || span->end_ns < span->begin_ns) {
        untimed++;
        return;
    }
    violating += span->origin.time > span->begin_ns;
    char name[1024];
    dprintf(output(),
            "{\"kind\": %u, \"device\": %u, \"context\": %u, \"stream\": %u, \"begin\": %lu, "
            "\"end\": %lu, \"launch\": %lu, \"thread\": %u, \"bytes\": %lu, \"name\": \"%s\"}\n",
            span->kind, span->device, span->context, span->stream, span->begin_ns, span->end_ns,
            span->origin.time, span->origin.thread, span->bytes,
            quoted(span->name ? names[span->name - 1] : "", name, sizeof(name)));
}

void gpu_tell_counts(void)
{
    dprintf(output(),
            "{\"counts\": {\"launches\": %lu, \"answered\": %lu, \"activities\": %lu, "
            "\"dropped\": %lu, \"untimed\": %lu, \"violating\": %lu, \"orphans\": %lu, "
            "\"unknown\": %lu}}\n",
            counts[GPU_COUNT_LAUNCHED], answered, activities, counts[GPU_COUNT_DROPPED], untimed,
            violating, counts[GPU_COUNT_ORPHANS], counts[GPU_COUNT_UNKNOWN]);
}

void gpu_tell_note(const char *text)
{
    char line[1024];
    dprintf(output(), "{\"note\": \"%s\"}\n", quoted(text, line, sizeof(line)));
}
