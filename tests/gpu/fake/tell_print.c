/* SPDX-License-Identifier: MIT */
/* Replaces annot: writes the reports of libannot-gpu as lines of JSON to the file ANNOT_GPU_TELL.
 * This way tests see each span exactly as reported. Threads are their tids. */
#include "gpu_streams.h"
#include "gpu_values.h"

#include <errno.h>
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

/* Each line is a single write, so that a fork cannot split it between parent and child. */
static int output(void)
{
    const char *path = getenv("ANNOT_GPU_TELL");
    if (out < 0)
        out = path ? open(path, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0644) : 2;
    return out;
}

void gpu_emit_here(struct gpu_origin *ret_origin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ret_origin->time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    ret_origin->thread = (uint32_t)gettid();
}

void gpu_emit_open(char *text, size_t size)
{
    static uint32_t captures;
    snprintf(text, size, "capture %u", captures++);
}

uint64_t gpu_emit_is_on(void)
{
    const char *path = getenv("ANNOT_GPU_TELL_SWITCH");
    return getenv("ANNOT_GPU_TELL_OFF") == NULL && (!path || access(path, F_OK) == 0);
}

uint32_t gpu_emit_wishes(void)
{
    return 0;
}

int gpu_emit_watch(const char *name, const char *domain,
                   void (*on_range)(void *context, int begins, uint64_t time))
{
    (void)name;
    (void)domain;
    (void)on_range;
    return -ENOSYS;
}

void gpu_emit_switch(const struct gpu_switch *window)
{
    dprintf(output(), "{\"switch\": \"%s\", \"ns\": %lu, \"launches\": %lu}\n",
            window->kind == GPU_SWITCH_OPENED ? "opened" : "shut",
            window->end_ns - window->begin_ns, window->launches);
}

uint32_t gpu_emit_name(const char *text)
{
    for (uint32_t i = 0; i < name_count; i++)
        if (strcmp(names[i], text) == 0)
            return i + 1;
    if (name_count == NAMES)
        return 0;
    names[name_count++] = strdup(text);
    return name_count;
}

/* Formats a JSON string. */
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

/* Formats a JSON object. */
static const char *written(const struct gpu_values *values, char *to, size_t size)
{
    char text[512];
    size_t used = (size_t)snprintf(to, size, "{");
    for (uint32_t i = 0; values && i < values->count && used + 600 < size; i++) {
        const struct gpu_value *value = &values->items[i];
        used += (size_t)snprintf(to + used, size - used, "%s\"%s\": ", i ? ", " : "",
                                 gpu_key_text(value->key));
        if (value->text)
            used += (size_t)snprintf(to + used, size - used, "\"%s\"",
                                     quoted(value->text, text, sizeof(text)));
        else if (value->real != 0)
            used += (size_t)snprintf(to + used, size - used, "%.17g", value->real);
        else
            used += (size_t)snprintf(to + used, size - used, "%ld", (long)value->number);
    }
    snprintf(to + used, size - used, "}");
    return to;
}

/* The name comes before a tab, its values after it. ANNOT_GPU_TELL_FULL: there is no room. */
uint32_t gpu_emit_label(const char *text, const struct gpu_values *values)
{
    char label[4096], object[3000];
    if (getenv("ANNOT_GPU_TELL_FULL"))
        return gpu_emit_name(text);
    snprintf(label, sizeof(label), "%s\t%s", text, written(values, object, sizeof(object)));
    return gpu_emit_name(label);
}

/* The name of a queue is reported when it changes. */
enum { QUEUES = 256 };

static struct {
    uint32_t context, stream;
    char text[128];
} queues[QUEUES];

static uint32_t queue_count;

void gpu_emit_names(void)
{
    for (uint32_t i = 0; i < queue_count; i++) {
        char text[128], line[256];
        gpu_stream_text(queues[i].context, queues[i].stream, text, sizeof(text));
        if (strcmp(text, queues[i].text) == 0)
            continue;
        strcpy(queues[i].text, text);
        dprintf(output(), "{\"context\": %u, \"stream\": %u, \"queue\": \"%s\"}\n",
                queues[i].context, queues[i].stream, quoted(text, line, sizeof(line)));
    }
}

static void meet_queue(const struct gpu_span *span)
{
    for (uint32_t i = 0; i < queue_count; i++)
        if (queues[i].context == span->context && queues[i].stream == span->stream)
            return;
    if (queue_count == QUEUES || span->kind > GPU_GRAPH)
        return;
    queues[queue_count].context = span->context;
    queues[queue_count++].stream = span->stream;
}

void gpu_emit_anchor(uint64_t cupti_ns, uint64_t time, uint32_t error_ns)
{
    dprintf(output(), "{\"anchor\": [%lu, %lu, %u]}\n", cupti_ns, time, error_ns);
}

void gpu_emit_fact(const char *category, const char *text, const struct gpu_values *values)
{
    char name[512], object[2000];
    dprintf(output(), "{\"fact\": \"%s\", \"of\": \"%s\", \"values\": %s}\n", category,
            quoted(text, name, sizeof(name)), written(values, object, sizeof(object)));
}

/* Everything about a place in one line. */
void gpu_emit_pc(const struct gpu_pc *pc)
{
    char name[512], text[4096];
    size_t used = 0;
    for (uint32_t i = 0; i < pc->count && used + 200 < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\"%s\": %u", i ? ", " : "",
                                 pc->stalls[i].reason, pc->stalls[i].samples);
    dprintf(output(), "{\"pc\": %lu, \"cubin\": %lu, \"function\": \"%s\", \"stalls\": {%s}}\n",
            pc->offset, pc->cubin, quoted(pc->function, name, sizeof(name)), text);
}

void gpu_emit_pc_sums(const struct gpu_pc_sums *sums)
{
    dprintf(output(), "{\"sums\": [%lu, %lu, %lu, %lu]}\n", sums->samples, sums->dropped,
            sums->others, sums->full);
}

void gpu_emit_count(enum gpu_count which, uint64_t by)
{
    __atomic_add_fetch(&counts[which], by, __ATOMIC_RELAXED);
}

void gpu_emit_span(const struct gpu_span *span)
{
    answered += span->answers;
    activities += span->kind <= GPU_GRAPH;
    if (span->begin_ns == 0 || span->end_ns < span->begin_ns) {
        untimed++;
        return;
    }
    violating += span->origin.time > span->begin_ns && span->kind <= GPU_GRAPH;
    meet_queue(span);
    char label[4096], name[4096], values[2000];
    snprintf(label, sizeof(label), "%s", span->name ? names[span->name - 1] : "");
    char *tab = strchr(label, '\t');
    if (tab)
        *tab = 0;
    dprintf(output(),
            "{\"kind\": %u, \"device\": %u, \"context\": %u, \"stream\": %u, \"begin\": %lu, "
            "\"end\": %lu, \"launch\": %lu, \"thread\": %u, \"caller\": %u, \"clock\": %u, "
            "\"values\": %s, \"label\": %s, \"name\": \"%s\"}\n",
            span->kind, span->device, span->context, span->stream, span->begin_ns, span->end_ns,
            span->origin.time, span->origin.thread, span->system_thread, span->clock,
            written(span->values, values, sizeof(values)), tab ? tab + 1 : "{}",
            quoted(label, name, sizeof(name)));
}

void gpu_emit_counts(void)
{
    dprintf(output(),
            "{\"counts\": {\"launches\": %lu, \"answered\": %lu, \"activities\": %lu, "
            "\"dropped\": %lu, \"untimed\": %lu, \"violating\": %lu, \"orphans\": %lu, "
            "\"unknown\": %lu, \"outside\": %lu, \"opened\": %lu}}\n",
            counts[GPU_COUNT_LAUNCHED], answered, activities, counts[GPU_COUNT_DROPPED], untimed,
            violating, counts[GPU_COUNT_ORPHANS], counts[GPU_COUNT_UNKNOWN],
            counts[GPU_COUNT_OUTSIDE], counts[GPU_COUNT_OPENED]);
}

void gpu_emit_note(const char *text)
{
    char line[1024];
    dprintf(output(), "{\"note\": \"%s\"}\n", quoted(text, line, sizeof(line)));
}
