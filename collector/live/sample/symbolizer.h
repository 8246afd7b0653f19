/* SPDX-License-Identifier: MIT */
/* Names of frames, found on a thread of its own.
 *
 *     symbolizer_create -> { symbolizer_ask | symbolizer_take }* -> symbolizer_await
 *
 * Main tells a source and an address and gets back a text. The thread touches nothing of main's: it
 * begins with the first question and answers in the order of questions. Where there can be no
 * thread, questions are answered at once. Thread-safety: all functions are main's. */
#ifndef ANNOT_SYMBOLIZER_H
#define ANNOT_SYMBOLIZER_H

#include "code_source.h"

/* So many may be asked and not yet be answered. */
enum { SYMBOLIZER_QUESTIONS_MAX = 65536 };

struct symbolizer;

/* A source as main has it. */
struct asked_source {
    struct code_source *code;
    void *owner;      /* main's; NULL: it is gone */
    int64_t asked_ns; /* main's */
};

/* NULL: out of memory. destroy accepts NULL, drops questions, and does not wait for an answer that
 * takes longer than a moment: the thread then ends by itself. */
struct symbolizer *symbolizer_create(void);
void symbolizer_destroy(struct symbolizer *symbolizer);

/* Takes `code` over, which may be NULL: then NULL. NULL: out of memory. */
struct asked_source *symbolizer_add(struct symbolizer *symbolizer, struct code_source *code,
                                    void *owner);
/* Nothing more will be asked of it; what was asked is answered. Accepts NULL. */
void symbolizer_release(struct symbolizer *symbolizer, struct asked_source *source);

/* What a frame is called. `frame` 0: what is known of an image is to be read anew. 0, -ENOMEM,
 * -EAGAIN: too many wait. */
int symbolizer_ask(struct symbolizer *symbolizer, struct asked_source *source, uint64_t address,
                   uint32_t frame);
/* Where functions of that name are; `is` is called by the thread. */
int symbolizer_ask_places(struct symbolizer *symbolizer, struct asked_source *source,
                          bool (*is)(const char *name));

/* Instead of names: a second thread of this kind reads the unwind rows of files, which takes up to
 * a tenth of a second for a large library, and would stand behind its names. `keep` puts them where
 * they belong (NULL: there are none, for that error) and returns what is answered, or NULL; it is
 * not called any more, and not running, when destroy returns. The directory must outlive the
 * process's last thread. */
struct read_rows;
struct unwind_table;

struct row_reader {
    const char *cache_directory;
    struct read_rows *(*keep)(void *context, const struct unwind_table *table, int error);
    void *context;
};

void symbolizer_read_rows(struct symbolizer *symbolizer, const struct row_reader *reader);
int symbolizer_ask_rows(struct symbolizer *symbolizer, struct asked_source *source);

struct symbol_answer {
    struct asked_source *source;
    uint32_t frame; /* 0: a place of a function, [begin, end) */
    bool place;     /* the text is none of a function */
    uint64_t begin, end;
    const char *text;       /* until the next symbolizer_take */
    struct read_rows *rows; /* free */
};

/* The next answer, if there is one. */
bool symbolizer_take(struct symbolizer *symbolizer, struct symbol_answer *ret_answer);

/* Waits until all is answered, or that time (CLOCK_MONOTONIC). */
void symbolizer_await(struct symbolizer *symbolizer, int64_t until_ns);

#endif
