/* SPDX-License-Identifier: MIT */
/* The output of commands that record: a recording, and optionally a page or picture made from it.
 * Thread-safety: the main thread only. */
#ifndef ANNOT_RECORD_OUTPUT_H
#define ANNOT_RECORD_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct exporter;

/* The argument of -o: for "x.svg", the recording is "x.annot", from which "x.svg" is written once
 * it is complete. */
struct record_output {
    char recording[PATH_MAX];
    const char *also;                /* further output file, as named by the user; NULL: unset */
    const struct exporter *exporter; /* of `also`; NULL: a page */
};

/* Contents of the picture; entries of an option table, `at` is the offset of the struct. */
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

/* 0, or `status` after a printed message. `name` is not NULL. A recording whose name the user did
 * not give gets a number if the file exists. */
int record_output_choose(const char *name, bool force, int status, struct record_output *ret);

/* Waits for the reader of a FIFO that is to be overwritten, while signals still end annot; opening
 * it later does not block. Returns a descriptor to close after that, or -1. */
int record_output_wait(const struct record_output *output, bool force);

/* Writes the further output of a recording that is not empty. Returns the exit status; messages are
 * those of `annot export`. */
int record_output_write(const struct record_output *output, const struct picture_values *picture);

/* Prints how to apply picture options for which no picture was written. */
void record_output_note(const struct record_output *output, const struct picture_values *picture);

#endif
