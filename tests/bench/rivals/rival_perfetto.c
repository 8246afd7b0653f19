/* SPDX-License-Identifier: MIT */
/* The Perfetto SDK's C interface, in-process backend: track events of a static category into a
 * buffer that holds the whole run, which is written to the file at the end. */
#include "rival.h"

#include <perfetto_c.h>
#include <stdio.h>
#include <stdlib.h>

#define CATEGORIES(C) C(rival, "rival", "the bench")
PERFETTO_TE_CATEGORIES_DEFINE(CATEGORIES);

/* TraceConfig: a buffer of 256 MiB, and the data source "track_event" with all its categories. */
static const char config[] = "\x0a\x04\x08\x80\x80\x10"
                             "\x12\x15\x0a\x13\x0a\x0b"
                             "track_event"
                             "\x8a\x07\x03\x12\x01*";

static struct PerfettoTracingSessionImpl *session;
static struct PerfettoTeRegisteredTrack counter_track;
static FILE *file;

void rival_begin(const char *trace)
{
    struct PerfettoProducerInitArgs arguments = PERFETTO_PRODUCER_INIT_ARGS_INIT();
    arguments.backends = PERFETTO_BACKEND_IN_PROCESS;
    arguments.shmem_size_hint_kb = 16 * 1024;
    PerfettoProducerInit(arguments);
    PerfettoTeInit();
    PERFETTO_TE_REGISTER_CATEGORIES(CATEGORIES);
    PerfettoTeCounterTrackRegister(&counter_track, "bench counter", PerfettoTeProcessTrackUuid(),
                                   true);
    if (!trace)
        return;
    file = fopen(trace, "w");
    if (!file)
        exit(1);
    session = PerfettoTracingSessionInProcessCreate();
    PerfettoTracingSessionSetup(session, (void *)config, sizeof(config) - 1);
    PerfettoTracingSessionStartBlocking(session);
}

static void write_piece(struct PerfettoTracingSessionImpl *from, const void *data, size_t size,
                        bool has_more, void *context)
{
    (void)from, (void)has_more, (void)context;
    if (fwrite(data, 1, size, file) != size)
        exit(1);
}

void rival_end(void)
{
    if (!session)
        return;
    PerfettoTracingSessionFlushBlocking(session, 10000);
    PerfettoTracingSessionStopBlocking(session);
    PerfettoTracingSessionReadTraceBlocking(session, write_piece, NULL);
    PerfettoTracingSessionDestroy(session);
    fclose(file);
}

void rival_pairs(int count)
{
    for (int i = 0; i < count; i++) {
        PERFETTO_TE(rival, PERFETTO_TE_SLICE_BEGIN("bench"));
        PERFETTO_TE(rival, PERFETTO_TE_SLICE_END());
    }
}

void rival_counters(int count)
{
    for (int i = 0; i < count; i++)
        PERFETTO_TE(rival, PERFETTO_TE_COUNTER(), PERFETTO_TE_REGISTERED_TRACK(&counter_track),
                    PERFETTO_TE_INT_COUNTER(i));
}
