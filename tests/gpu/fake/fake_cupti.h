/* SPDX-License-Identifier: MIT */
/* What a test's program asks of the libcupti beside it, which is ours. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdint.h>

/* A launching call of a recorded program: `call` calls CUPTI's subscriber, on the thread that the
 * program chooses for the recorded one, whenever it likes. */
struct fake_launch {
    uint32_t correlation;
    uint32_t tid; /* of the recorded program */
    void (*call)(void *context);
    void *context;
};

/* Replays a file of gpu_keep.c (not compressed): each launching call by `launch`, each buffer as
 * the mode says. Times are moved so that what was launched before now began before now, and after
 * its launch. Returns 0, or -errno. */
typedef int fake_play_function(const char *path, const char *mode,
                               void (*launch)(const struct fake_launch *launch));

/* Launches a kernel of that name that takes so long: 1, or 0: nobody records kernels. */
typedef int fake_launch_function(const char *name, uint64_t ns);
/* The same of a copy. */
typedef int fake_copy_function(uint64_t bytes, uint64_t ns);

/* The calling thread captures a kernel, or a copy of so many bytes; makes a graph of what it has
 * captured so far: its number; launches one. */
typedef void fake_capture_function(const char *name, uint64_t bytes, uint64_t ns);
typedef uint32_t fake_instantiate_function(void);
typedef void fake_graph_launch_function(uint32_t graph);

#endif
