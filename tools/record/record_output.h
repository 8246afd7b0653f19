/* SPDX-License-Identifier: MIT */
/* The output of commands that record: a recording, and a page or picture that is written of it.
 * Thread-safety: the main thread only. */
#ifndef ANNOT_RECORD_OUTPUT_H
#define ANNOT_RECORD_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct exporter;

/* What -o of a command that records names: "x.svg" is written of the recording "x.annot" once that
 * is complete. */
struct record_output {
    char recording[PATH_MAX];
    const char *also;                /* what is written of it, as it was named; NULL = nothing */
    const struct exporter *exporter; /* of that; NULL: it is a page */
};

/* What is shown of the recording; rows of an option table, `at` is the offset of the struct. */
struct picture_values {
    bool gil, idle;
};

#define PICTURE_OPTIONS(at)                                                                        \
    {"idle",                                                                                       \
     0,                                                                                            \
     OPTION_FLAG,                                                                                  \
     (at) + offsetof(struct picture_values, idle),                                                 \
     NULL,                                                                                         \
     "with -o x.svg: also the time that threads waited; annot flame --idle shows it later",        \
     NULL},                                                                                        \
    {                                                                                              \
        "gil", 0, OPTION_FLAG, (at) + offsetof(struct picture_values, gil), NULL,                  \
            "with -o x.svg, x.json or x.pftrace: only samples of threads that held Python's GIL",  \
            NULL                                                                                   \
    }

/* 0, or a message was printed: returns `status`. `name` is not NULL. A recording that the user did
 * not name gets a number if there is one already. */
int record_output_choose(const char *name, bool force, int status, struct record_output *ret);

/* Waits for the reader of a FIFO that is to be overwritten, while signals still end annot: then
 * its opening waits no more. A descriptor to close after that, or -1. */
int record_output_wait(const struct record_output *output, bool force);

/* After the recording, of which there is something to show. Returns the exit status; messages are
 * those of `annot export`. */
int record_output_write(const struct record_output *output, const struct picture_values *picture);

/* Says how to get what is asked of a picture that is not written. */
void record_output_note(const struct record_output *output, const struct picture_values *picture);

#endif
