/* SPDX-License-Identifier: MIT */
/* Processes below annot that meet collectors elsewhere: with other mounts, another root, another
 * user namespace or another ANNOT_DIR. Each is inspected, from its exec on, until its mappings show
 * its directory; the session is continued there. An unreachable one is a refusal of the recording.
 * fini accepts a zeroed object. Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_PLACES_H
#define ANNOT_COLLECTOR_PLACES_H

#include "hash_map.h"
#include "intake_directory.h"
#include "refusals.h"
#include "session_file.h"
#include "target.h"
#include "vec.h"

#include <stdbool.h>
#include <stdint.h>

struct intake;
struct lives;
struct place;
struct trace;

/* A process with an unknown directory. */
struct stranger {
    int32_t pid;
    uint64_t start_ticks;
    int64_t seen_ns;    /* its exec */
    int64_t before_ns;  /* the last look that found no directory */
    int64_t without_ns; /* the first look that found libannot without a directory; 0: not yet */
    int64_t due_ns, pause_ns;
    bool awaits; /* its libannot waits for us: session_await */
    enum target_state state;
    char comm[16];
};

struct places {
    const struct directory *directory;  /* these outlive it: the session's own place, */
    const struct session_file *session; /* and its file, the model of the others */
    struct intake *intake;
    struct refusals *refusals;
    struct lives *lives;
    struct trace *trace;
    bool open; /* the gate is */
    VEC(struct place *) items;
    VEC(struct stranger) strangers;
    struct map64 seen; /* without eBPF: hash of start time and stack address, by pid */
    int64_t scan_ns;
    uint64_t late_count, left_out;
};

/* Call when the gate of the session was opened. */
void places_open(struct places *places);

/* Inspects due strangers. 0 or -ENOMEM. */
int places_step(struct places *places, int64_t now_ns);

/* The time until a step is due, `most_ms` at most. */
int places_timeout_ms(const struct places *places, int most_ms);

/* Reads the refused processes of all directories; the lines of their session files. 0 or
 * -ENOMEM. */
int places_poll_refusals(struct places *places, bool last);
int places_take_lines(struct places *places);

/* Makes programs of other places leave; when all is in the file, the session's files there are
 * removed. */
void places_close(struct places *places);

/* Leaves the sessions there for a recovery. */
void places_leave(struct places *places);
void places_fini(struct places *places);

/* The value for ANNOT_PLACE of the command: lets libannot detect that it is elsewhere. */
void place_text(const struct directory *directory, char text[40]);

#endif
