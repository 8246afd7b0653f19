/* SPDX-License-Identifier: MIT */
/* Hosts, clocks and streams: see trace.h. */
#include "trace_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_MAX = 4096, ANCHORS_MAX = 1 << 20 };

int64_t trace_host_add(struct trace *trace)
{
    if (trace->hosts.count >= HOSTS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->hosts, ((struct trace_host){.revision = 1, .rank = -1}));
    return error ? error : (int64_t)trace->hosts.count - 1;
}

const char *trace_boot_id(const struct trace_host *host, char buffer[TRACE_BOOT_ID_SIZE])
{
    static const uint8_t unknown[sizeof(host->boot_id)];
    bool known = memcmp(host->boot_id, unknown, sizeof(unknown)) != 0;
    char *at = buffer, *end = buffer + TRACE_BOOT_ID_SIZE;
    for (unsigned i = 0; i < sizeof(host->boot_id) && known; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        at += snprintf(at, (size_t)(end - at), "%s%02x", dash ? "-" : "", host->boot_id[i]);
    }
    if (!known)
        snprintf(buffer, TRACE_BOOT_ID_SIZE, "unknown");
    return buffer;
}

int64_t trace_clock_add(struct trace *trace, uint32_t host, enum clock_kind kind)
{
    struct trace_clock clock = {.revision = 1, .host = host, .kind = (uint8_t)kind};
    if (trace->clocks.count >= HOSTS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->clocks, clock);
    return error ? error : (int64_t)trace->clocks.count - 1;
}

int64_t trace_anchor_add(struct trace *trace, const struct trace_anchor *anchor)
{
    if (trace->anchors.count >= ANCHORS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->anchors, *anchor);
    return error ? error : (int64_t)trace->anchors.count - 1;
}

uint32_t trace_host_count(const struct trace *trace)
{
    return (uint32_t)trace->hosts.count;
}

uint32_t trace_clock_count(const struct trace *trace)
{
    return (uint32_t)trace->clocks.count;
}

uint32_t trace_anchor_count(const struct trace *trace)
{
    return (uint32_t)trace->anchors.count;
}

struct trace_host *trace_host(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->hosts.count ? &trace->hosts.items[ordinal] : NULL;
}

struct trace_clock *trace_clock(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->clocks.count ? &trace->clocks.items[ordinal] : NULL;
}

const struct trace_host *trace_host_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->hosts.count ? &trace->hosts.items[ordinal] : NULL;
}

const struct trace_clock *trace_clock_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->clocks.count ? &trace->clocks.items[ordinal] : NULL;
}

const struct trace_anchor *trace_anchor_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->anchors.count ? &trace->anchors.items[ordinal] : NULL;
}

int64_t trace_stream_add(struct trace *trace, uint32_t name)
{
    if (trace->streams.count >= TRACE_STREAMS_MAX)
        return -ENOSPC;
    int error = vec_push(&trace->streams, ((struct trace_stream){.revision = 1, .name = name}));
    return error ? error : (int64_t)trace->streams.count - 1;
}

uint32_t trace_stream_count(const struct trace *trace)
{
    return (uint32_t)trace->streams.count;
}

struct trace_stream *trace_stream(struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->streams.count ? &trace->streams.items[ordinal] : NULL;
}

const struct trace_stream *trace_stream_get(const struct trace *trace, uint32_t ordinal)
{
    return ordinal < trace->streams.count ? &trace->streams.items[ordinal] : NULL;
}
