/* SPDX-License-Identifier: MIT */
/* Files of other tools as recordings.
 *
 * Memory is bounded for files of any size: items to be sorted that do not fit are kept in unnamed
 * files in the output's folder. Thread-safety: one thread per import. */
#ifndef ANNOT_IMPORT_H
#define ANNOT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_input;

/* Description of a format, for messages and help. */
struct import_format {
    const char *name;
    const char *summary;
    const char *from; /* the tools that write it */
};

struct import_options {
    const char *format;  /* name; NULL: by the content */
    const char *with;    /* key with values to be appended to the names of ranges; or NULL */
    int64_t unit_ns;     /* nanoseconds of 1 in formats without a unit; 0: the format's guess */
    const char *source;  /* name of the file */
    const char *version; /* of annot */
    bool overwrite;
    bool unnamed; /* the output is an open file without a name: it is written in place */
};

enum { IMPORT_PROBLEM_SIZE = 256, IMPORT_NOTES_MAX = 24 };

struct import_result {
    const struct import_format *format;
    uint64_t bytes, events, samples, processes, threads;
    char problem[IMPORT_PROBLEM_SIZE]; /* one line: the error in the file; or empty */
    /* Losses of the import: "1,204 events without a time". */
    char notes[IMPORT_NOTES_MAX][IMPORT_PROBLEM_SIZE];
    unsigned note_count;
};

/* The formats, in order: NULL after the last. */
const struct import_format *import_format(unsigned index);

/* The format of a file by its content; NULL: unknown, or unreadable. */
const struct import_format *import_recognize(const char *path);

/* 0; -ENOMSG: unknown format; -ENOPROTOOPT: no format of that name; -EBADMSG, and `problem`: the
 * file is malformed; -EEXIST: the output exists; -errno. On failure, the output's name is as it was
 * before. */
int import_file(const char *path, const char *output, const struct import_options *options,
                struct import_result *ret_result);

/* The same for an open file, for tests; it is closed. */
int import_run(struct import_input *input, const char *output, const struct import_options *options,
               struct import_result *ret_result);

#endif
