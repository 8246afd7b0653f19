/* SPDX-License-Identifier: MIT */
/* A whole sampler on a real command: runs it, keeps every sample, and provides access to them.
 *
 *     scene = session_open(&options); session_run(scene, argv); session_finish; checks; close
 *
 * Failures end the test; machines that forbid sampling skip it. Thread-safety: one thread. */
#ifndef ANNOT_SAMPLER_SCENE_H
#define ANNOT_SAMPLER_SCENE_H

#include "sampler.h"
#include "stacks.h"
#include "test.h"

#include <sys/types.h>

struct session {
    struct trace *trace;
    struct lives *lives;
    struct sampler *sampler;

    struct {
        struct sample *items;
        size_t count, capacity;
    } samples;
    struct value_pool values; /* of the samples */
};

/* Sets `sink`, `trace`, `lives` and `context` of the options. */
struct session *session_open(struct sampler_options *options);

/* A child that executes `argv` after session_go(); tracked from its exec on. */
struct session_child {
    pid_t pid;
    int gate;
};

struct session_child session_start(struct session *session, char *const argv[]);
/* The same, but the child runs `work` and exits with its result. */
struct session_child session_fork(struct session *session, int (*work)(void *context),
                                  void *context);
void session_go(const struct session_child *child);
/* Acts like the intake after reading a segment of the program that runs in the process: names 1 to
 * 100 are the letter and their number. Name lookups are pending until lives_note_search(). */
struct image *session_serve(struct session *session, pid_t pid, int64_t tls_offset,
                            const char *letter);
/* Steps until the process has ended; returns its wait status. */
int session_wait(struct session *session, pid_t pid);
/* Starts, releases and waits for a command. */
int session_run(struct session *session, char *const argv[]);
/* Steps for this time. */
void session_steps(struct session *session, int milliseconds);
void session_finish(struct session *session);
void session_close(struct session *session);

/* Returns true if the sample's stack contains a function of that name. */
bool session_has(const struct session *session, const struct sample *sample, const char *function);
/* The names of a frame's function and file; "": missing. */
const char *frame_function(const struct session *session, const struct frame *frame);
const char *frame_file(const struct session *session, const struct frame *frame);

/* The leaf's function; "": missing. */
const char *session_leaf(const struct session *session, const struct sample *sample);
/* The sample's range path, outermost first, joined by '/'; "": empty. Valid until the next call. */
const char *session_path(const struct session *session, const struct sample *sample);
/* Number of CPU samples with the function on their stacks. */
size_t session_count(const struct session *session, const char *function);
/* Samples with a complete native stack, or without one yet (during an exec), in thousandths. */
unsigned session_complete(const struct session *session);
/* The value of a fact; 0 if missing. */
uint64_t session_fact(const struct session *session, const char *name);
/* Prints one stack per line, root first, to stderr, for investigating failures. */
void session_print(const struct session *session, size_t count);

#endif
