/* SPDX-License-Identifier: MIT */
/* Instead of annot: what libannot-gpu tells, as lines of JSON in the file ANNOT_GPU_TELL. So tests
 * see each span as it was told, before anything else has touched it. Threads are their tids. */
#include "gpu_tell.h"

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
static FILE *out;

static FILE *output(void)
{
    const char *path = getenv("ANNOT_GPU_TELL");
    if (!out) {
        out = path ? fopen(path, "w") : stderr;
        setlinebuf(out); /* a forked child has nothing to write at its exit */
    }
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

static void put_text(const char *text)
{
    fputc('"', output());
    for (; *text; text++)
        if (*text < 32 || *text == '"' || *text == '\\')
            fprintf(output(), "\\u%04x", *text);
        else
            fputc(*text, output());
    fputc('"', output());
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
    fprintf(output(),
            "{\"kind\": %u, \"device\": %u, \"context\": %u, \"stream\": %u, \"begin\": %lu, "
            "\"end\": %lu, \"launch\": %lu, \"thread\": %u, \"bytes\": %lu, \"name\": ",
            span->kind, span->device, span->context, span->stream, span->begin_ns, span->end_ns,
            span->origin.time, span->origin.thread, span->bytes);
    put_text(span->name ? names[span->name - 1] : "");
    fprintf(output(), "}\n");
}

void gpu_tell_counts(void)
{
    fprintf(output(),
            "{\"counts\": {\"launches\": %lu, \"answered\": %lu, \"activities\": %lu, "
            "\"dropped\": %lu, \"untimed\": %lu, \"violating\": %lu, \"orphans\": %lu, "
            "\"unknown\": %lu}}\n",
            counts[GPU_COUNT_LAUNCHED], answered, activities, counts[GPU_COUNT_DROPPED], untimed,
            violating, counts[GPU_COUNT_ORPHANS], counts[GPU_COUNT_UNKNOWN]);
    fflush(output());
}

void gpu_tell_note(const char *text)
{
    fprintf(output(), "{\"note\": ");
    put_text(text);
    fprintf(output(), "}\n");
    fflush(output());
}
