/* SPDX-License-Identifier: MIT */
/* A whole sampler on a real command: runs it, keeps every sample, answers questions about them.
 *
 *     scene = session_open(&options); session_run(scene, argv); session_finish; look; close
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
    struct value_pool values; /* of these */
};

/* `sink`, `trace`, `lives` and `context` of the options are filled in. */
struct session *session_open(struct sampler_options *options);

/* A child that becomes `argv` once session_go() lets it; tracked from its exec on. */
struct session_child {
    pid_t pid;
    int gate;
};

struct session_child session_start(struct session *session, char *const argv[]);
/* The same, but the child runs `work` and exits with what it returns. */
struct session_child session_fork(struct session *session, int (*work)(void *context),
                                  void *context);
void session_go(const struct session_child *child);
/* As the intake does when it has found and read a segment of the program that runs in it now: names
 * 1 to 100 are the letter and their number. Names are asked for until lives_note_search(). */
struct image *session_serve(struct session *session, pid_t pid, int64_t tls_offset,
                            const char *letter);
/* Steps until it has ended; returns its wait status. */
int session_wait(struct session *session, pid_t pid);
/* Start, go and wait. */
int session_run(struct session *session, char *const argv[]);
/* Steps for so long. */
void session_steps(struct session *session, int milliseconds);
void session_finish(struct session *session);
void session_close(struct session *session);

/* Whether a function of that name is on the sample's stack. */
bool session_has(const struct session *session, const struct sample *sample, const char *function);
/* The texts of a frame: its function's, its file's; "" = none. */
const char *frame_function(const struct session *session, const struct frame *frame);
const char *frame_file(const struct session *session, const struct frame *frame);

/* The leaf's function; "" = none. */
const char *session_leaf(const struct session *session, const struct sample *sample);
/* The sample's range path, outermost first, joined by '/'; "" = none. Valid until the next call. */
const char *session_path(const struct session *session, const struct sample *sample);
/* How many CPU samples have it on their stacks. */
size_t session_count(const struct session *session, const char *function);
/* Samples whose native stack is complete, or that have none as yet (in an exec), in thousandths. */
unsigned session_complete(const struct session *session);
/* The value of a fact; 0 if it is not there. */
uint64_t session_fact(const struct session *session, const char *name);
/* One stack a line, root first, to stderr: for people who look at a failure. */
void session_print(const struct session *session, size_t count);

#endif
