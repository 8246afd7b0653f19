/* SPDX-License-Identifier: MIT */
/* The program that bench_collector watches: bench_emitter RECORDS_PER_SECOND SECONDS KIND. Kinds:
 * pairs of push and pop, flows, ranges on tracks, marks with three key-values. */
#include <annot/annot.h>
#include <annot/tracks.h>
#include <annot/values.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 64, TRACKS = 256 };

static struct annot_track tracks[TRACKS];

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Each emits 4 * BURST records. */

static void pairs(void)
{
    for (int i = 0; i < BURST; i++) {
        ANNOT_PUSH("outer");
        ANNOT_PUSH("inner");
        ANNOT_POP();
        ANNOT_POP();
    }
}

static void flows(void)
{
    for (int i = 0; i < 2 * BURST; i++) {
        annot_flow flow = annot_flow_new();
        annot_flow_begin(flow, "send");
        annot_flow_end(flow);
    }
}

static void ranges_on_tracks(void)
{
    static unsigned next;
    for (int i = 0; i < 2 * BURST; i++) {
        const struct annot_track *track = &tracks[next++ % TRACKS];
        annot_track_begin(track, "serve");
        annot_track_end(track);
    }
}

static void valued_marks(void)
{
    static int64_t number;
    for (int i = 0; i < 4 * BURST; i++) {
        const struct annot_value values[] = {
            annot_value_int64("number", number++),
            annot_value_double("load", (double)i),
            annot_value_string("path", i % 2 ? "/index.html" : "/favicon.ico"),
        };
        const struct annot_event event = {.text = "request", .values = values, .value_count = 3};
        annot_mark_event(&event);
    }
}

/* Emits bursts at the requested rate. */
static int produce(double rate, double duration, void (*burst)(void))
{
    double begin = seconds(CLOCK_MONOTONIC), now = begin;
    uint64_t records = 0;
    while (now - begin < duration) {
        if (rate == 0) {
            annot_mark("idle");
            usleep(500000);
        }
        while (rate > 0 && (double)records < (now - begin) * rate) {
            burst();
            records += 4 * BURST;
        }
        now = seconds(CLOCK_MONOTONIC);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *kind = argc == 4 ? argv[3] : "";
    for (int i = 0; i < TRACKS; i++)
        tracks[i] = annot_track_create("worker", NULL);
    return argc != 4                     ? 2
           : strcmp(kind, "flows") == 0  ? produce(atof(argv[1]), atof(argv[2]), flows)
           : strcmp(kind, "tracks") == 0 ? produce(atof(argv[1]), atof(argv[2]), ranges_on_tracks)
           : strcmp(kind, "values") == 0 ? produce(atof(argv[1]), atof(argv[2]), valued_marks)
                                         : produce(atof(argv[1]), atof(argv[2]), pairs);
}
