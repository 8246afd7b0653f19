/* SPDX-License-Identifier: MIT */
/* Files of other tools as recordings.
 *
 * Memory is bounded, whatever the size of the file: what has to be put in order and does not fit
 * lies in files without a name beside the output. Thread-safety: one thread per import. */
#ifndef ANNOT_IMPORT_H
#define ANNOT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_input;

/* What messages and help tell of a format. */
struct import_format {
    const char *name;
    const char *summary;
    const char *from; /* who writes it */
};

struct import_options {
    const char *format;  /* name; NULL: by the content */
    const char *with;    /* the value of this key is a part of the names of ranges; or NULL */
    int64_t unit_ns;     /* what 1 is in formats that do not say it; 0: the format's guess */
    const char *source;  /* what the file is called */
    const char *version; /* of annot */
    bool overwrite;
    bool unnamed; /* the output is an open file without a name: it is written in place */
};

enum { IMPORT_PROBLEM_SIZE = 256, IMPORT_NOTES_MAX = 24 };

struct import_result {
    const struct import_format *format;
    uint64_t bytes, events, samples, processes, threads;
    char problem[IMPORT_PROBLEM_SIZE]; /* one line: what is wrong with the file; or empty */
    /* What could not be kept: "1,204 events without a time". */
    char notes[IMPORT_NOTES_MAX][IMPORT_PROBLEM_SIZE];
    unsigned note_count;
};

/* The formats, in order: NULL behind the last. */
const struct import_format *import_format(unsigned index);

/* The format of a file by its content; NULL: none of these, or it cannot be read. */
const struct import_format *import_recognize(const char *path);

/* 0; -ENOMSG: no format of ours; -ENOPROTOOPT: none of that name; -EBADMSG, and `problem`: the file
 * is wrong; -EEXIST: the output is there; -errno. Without success, nothing lies under the output's
 * name that was not there before. */
int import_file(const char *path, const char *output, const struct import_options *options,
                struct import_result *ret_result);

/* The same of an open file, for tests; it is closed. */
int import_run(struct import_input *input, const char *output, const struct import_options *options,
               struct import_result *ret_result);

/* ---- Results of line_profiler (.lprof): lines that were counted, and nothing else ----
 *
 * The file is a pickle of the class LineStats, whose module changed with versions, with `timings`,
 * a dict {(file, first line, function): [(line, hits, time)]}, and `unit`, the seconds of a time.
 * It is small, so it is read as a whole. */

#endif
