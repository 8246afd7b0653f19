/* SPDX-License-Identifier: MIT */
/* Exports recordings made by hand, without a file in between, so the exporters' input is known to
 * the last bit.
 *
 *     export_made toolkit FILE          the recording of tests/lib/toolkit_trace.h
 *     export_made tracks FILE COUNT     so many tracks: requests, half of them with unique names,
 *                                       queries below them; some 64 at a time
 *
 * The extension of FILE says the format. */
#include "export.h"
#include "random_toolkit.h"
#include "toolkit_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_A_TIME = 64, STEP_NS = 1000 };

static void point(struct maker *maker, uint32_t thread, int64_t time, struct maker_point point)
{
    maker_point(maker, thread, time, &point);
}

/* Request i lasts from step i to i + 64, its query from i + 16 to i + 32; every third request has
 * no query. Emitted by four threads in turn. */
static struct maker *make_tracks(uint32_t count)
{
    struct maker *maker = maker_create();
    uint32_t *requests = calloc(count + 1ul, sizeof(*requests));
    uint32_t *queries = calloc(count + 1ul, sizeof(*queries));
    uint32_t process = maker_process(maker, 5000, -1, "server", 0);
    if (!requests || !queries)
        abort();
    for (int32_t i = 0; i < 4; i++)
        maker_thread(maker, process, 5000 + i, "");
    for (uint32_t step = 0; step < count + AT_A_TIME; step++) {
        int64_t now = (int64_t)step * STEP_NS;
        uint32_t thread = step % 4;
        if (step < count) {
            char name[48];
            snprintf(name, sizeof(name), step % 2 ? "request" : "request %u", step);
            requests[step] = maker_track(maker, process, 1 + 2ull * step, name, -1);
            point(maker, thread, now,
                  (struct maker_point){EVENT_TRACK_BEGIN, requests[step], "serve"});
            maker_value_int(maker, "number", step);
        }
        if (step >= 16 && step - 16 < count && step % 3) {
            uint32_t above = requests[step - 16];
            queries[step - 16] = maker_track(maker, process, 2 + 2ull * step, "query", above);
            point(maker, thread, now + 1,
                  (struct maker_point){EVENT_TRACK_BEGIN, queries[step - 16], "select"});
        }
        if (step >= 32 && step - 32 < count && (step - 16) % 3)
            point(maker, thread, now + 2,
                  (struct maker_point){EVENT_TRACK_END, queries[step - 32], NULL});
        if (step >= AT_A_TIME)
            point(maker, thread, now + 3,
                  (struct maker_point){EVENT_TRACK_END, requests[step - AT_A_TIME], NULL});
    }
    maker_finish(maker, (int64_t)(count + AT_A_TIME + 1) * STEP_NS);
    free(requests);
    free(queries);
    return maker;
}

static struct maker *make(int argc, char **argv)
{
    uint32_t count = argc == 4 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    if (argc == 3 && strcmp(argv[1], "toolkit") == 0)
        return toolkit_trace_create();
    if (count && strcmp(argv[1], "tracks") == 0)
        return make_tracks(count);
    if (count && strcmp(argv[1], "random") == 0)
        return random_toolkit_create(count);
    return NULL;
}

int main(int argc, char **argv)
{
    const struct exporter *exporter = argc > 2 ? exporter_by_path(argv[2]) : NULL;
    struct maker *maker = exporter ? make(argc, argv) : NULL;
    if (!maker) {
        fprintf(stderr,
                "usage: export_made toolkit FILE | tracks FILE COUNT | random FILE COUNT\n");
        return 2;
    }
    const struct out_stream_options options = {.overwrite = true};
    const struct pass_source source = maker_pass_source(maker);
    struct out_stream *out;
    int error = out_stream_open(argv[2], &options, &out);
    if (!error) {
        const struct export_job job = {.source = &source, .out = out};
        error = export_run(exporter, &job, NULL);
        int closed = out_stream_close(out);
        error = error ? error : closed;
    }
    if (error)
        fprintf(stderr, "%s: %s\n", argv[2], strerror(-error));
    maker_destroy(maker);
    return error ? 1 : 0;
}
