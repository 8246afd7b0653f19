/* SPDX-License-Identifier: MIT */
/* Requests of a test program to the fake libcupti. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdint.h>

/* A launching call of a recorded program: `call` calls CUPTI's subscriber, at any time, on the
 * thread that the program chooses for the recorded one. */
struct fake_launch {
    uint32_t correlation;
    uint32_t tid; /* of the recorded program */
    void (*call)(void *context);
    void *context;
};

/* Replays a file of gpu_keep.c (not compressed): each launching call through `launch`, each buffer
 * according to the mode. Times are shifted so that everything that was launched before a moment
 * also began before it, and after its launch. Returns 0, or -errno. */
typedef int fake_play_function(const char *path, const char *mode,
                               void (*launch)(const struct fake_launch *launch));

/* Launches a kernel with this name and duration. Returns 1, or 0 if kernels are not recorded. */
typedef int fake_launch_function(const char *name, uint64_t ns);
/* The same for a copy. */
typedef int fake_copy_function(uint64_t bytes, uint64_t ns);

/* Captures a kernel, or a copy of this many bytes, on the calling thread. Makes a graph of
 * everything it has captured so far and returns its number. Launches a graph. */
typedef void fake_capture_function(const char *name, uint64_t bytes, uint64_t ns);
typedef uint32_t fake_instantiate_function(void);
typedef void fake_graph_launch_function(uint32_t graph);

#endif
