/* SPDX-License-Identifier: MIT */
/* The message for a recording, or a selection of it, without samples for a flame graph. Main thread
 * only. */
#ifndef ANNOT_NO_SAMPLES_H
#define ANNOT_NO_SAMPLES_H

#include <stdbool.h>

struct selection;
struct selection_values;
struct store_reader;

struct no_samples {
    const char *recording;
    struct store_reader *reader;
    const struct selection_values *values;
    const struct selection *selection;
    bool off_cpu;      /* waits were requested */
    bool gpu;          /* GPU work was requested */
    bool calls;        /* counted calls were requested */
    bool lines;        /* counted lines were requested */
    bool memory;       /* samples of memory were requested */
    const char *value; /* requested value of samples; NULL: time */
};

/* Prints the reason, if it is known. Returns the exit status. */
int no_samples_fail(const struct no_samples *about);

#endif
