/* SPDX-License-Identifier: MIT */
/* What is missing beside records: samples, stacks, waits. How much of all that is, and what it
 * means for the numbers that are there. Main thread only. */
#ifndef ANNOT_SAMPLE_LOSS_H
#define ANNOT_SAMPLE_LOSS_H

#include "trace.h"

#include <stdio.h>

/* What did arrive: losses are told as a part of it. */
struct sample_wholes {
    uint64_t samples;   /* on a CPU */
    uint64_t stretches; /* off the CPU */
};

/* Anything at all; and so much that it matters: a hundredth or more of its kind, or nobody knows of
 * how much. */
bool sample_loss_any(const struct trace *trace);
bool sample_loss_counts(const struct trace *trace, const struct sample_wholes *wholes);

/* A line for each: "  13 of 7,731 stretches off the CPU: the kernel did not tell their end", and
 * below it what it means. To standard output. */
void sample_loss_print(const struct trace *trace, const struct sample_wholes *wholes);

/* All in one line, without meanings: "13 of 7,731 stretches off the CPU (the kernel ...), ...". */
void sample_loss_print_short(const struct trace *trace, const struct sample_wholes *wholes,
                             FILE *stream);

#endif
