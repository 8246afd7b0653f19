/* SPDX-License-Identifier: MIT */
/* A recording, or what was chosen of it, has no samples for a flame graph. Main thread only. */
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
    bool off_cpu;      /* waits were to be drawn */
    bool gpu;          /* work of GPUs was */
    bool calls;        /* calls that were counted were */
    bool lines;        /* lines that were counted were */
    const char *value; /* what samples were to count for; NULL: time */
};

/* Says why, as far as that is known. Returns the exit status. */
int no_samples_fail(const struct no_samples *about);

#endif
