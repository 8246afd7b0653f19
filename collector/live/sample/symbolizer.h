/* SPDX-License-Identifier: MIT */
/* Finds names of frames on a separate thread.
 *
 *     symbolizer_create -> { symbolizer_ask | symbolizer_take }* -> symbolizer_await
 *
 * Main passes a source and an address and receives a text. The thread touches nothing of main's: it
 * starts with the first question and answers in the order of questions. If it cannot be created,
 * questions are answered at once. Thread-safety: all functions are main's. */
#ifndef ANNOT_SYMBOLIZER_H
#define ANNOT_SYMBOLIZER_H

#include "elf_file.h"
#include "symbol_module.h"

/* Maximum of unanswered questions. */
enum { SYMBOLIZER_QUESTIONS_MAX = 65536 };

struct symbolizer;

/* Main's view of a source. */
struct requested_source {
    struct code_source *code;
    void *owner;          /* main's; NULL: it was destroyed */
    int64_t requested_ns; /* main's */
};

/* NULL: out of memory. destroy accepts NULL, drops questions, and does not wait for an answer that
 * takes longer than a moment: the thread then ends by itself. */
struct symbolizer *symbolizer_create(void);
void symbolizer_destroy(struct symbolizer *symbolizer);

/* Takes over `code`. NULL: `code` is NULL, or out of memory. */
struct requested_source *symbolizer_add(struct symbolizer *symbolizer, struct code_source *code,
                                        void *owner);
/* Ends the questions to a source; earlier ones are answered. Accepts NULL. */
void symbolizer_release(struct symbolizer *symbolizer, struct requested_source *source);

/* Requests the name of a frame. `frame` 0: reread the names of an image. 0, -ENOMEM, -EAGAIN: too
 * many are pending. */
int symbolizer_ask(struct symbolizer *symbolizer, struct requested_source *source, uint64_t address,
                   uint32_t frame);
/* Requests the ranges of functions of that name; the thread calls `is`. */
int symbolizer_ask_places(struct symbolizer *symbolizer, struct requested_source *source,
                          bool (*is)(const char *name));

/* Instead of names: a second thread of this kind reads the unwind rows of files, which takes up to
 * a tenth of a second for a large library, and would be delayed by its names. `keep` stores them
 * (NULL: none, for that error) and returns the answer, or NULL; it is not called any more, and not
 * running, when destroy returns. The directory must outlive the process's last thread. */
struct read_rows;
struct unwind_table;

struct row_reader {
    const char *cache_directory;
    struct read_rows *(*keep)(void *context, const struct unwind_table *table, int error);
    void *context;
};

void symbolizer_read_rows(struct symbolizer *symbolizer, const struct row_reader *reader);
int symbolizer_ask_rows(struct symbolizer *symbolizer, struct requested_source *source);

struct symbol_answer {
    struct requested_source *source;
    uint32_t frame; /* 0: a place of a function, [begin, end) */
    bool place;     /* the text is a place, not a function */
    uint64_t begin, end;
    const char *text;       /* valid until the next symbolizer_take */
    struct read_rows *rows; /* free */
};

/* Takes the next answer, if any. */
bool symbolizer_take(struct symbolizer *symbolizer, struct symbol_answer *ret_answer);

/* Waits until all are answered, or that time (CLOCK_MONOTONIC). */
void symbolizer_await(struct symbolizer *symbolizer, int64_t until_ns);

/* ---- Sources of names ------------------------------------------------------------------------ */

struct code_source;

/* Sources of names for addresses of code: an ELF file with its debug file, the kernel, or an image
 * with code made at run time.
 *
 * Opened by the thread that knows the owner, used on another: names load symbol tables and debug
 * files and demangle, which takes up to seconds for a large library. Thread-safety: one thread at a
 * time per source, except code_source_peek. */

/* A file, as a separate object: `file` may be closed. `path`: its displayed name. For an image,
 * begin_ns is the start of its program, CLOCK_MONOTONIC. NULL: out of memory or descriptors.
 * destroy accepts NULL. */
struct code_source *code_source_of_file(const struct elf_file *file, const char *path);
struct code_source *code_source_of_kernel(void);
struct code_source *code_source_of_image(int32_t pid, int32_t ns_pid, int64_t begin_ns);
void code_source_destroy(struct code_source *source);

/* Sets the root of debug files. NULL: /usr/lib/debug. Call before starting threads. */
void code_source_set_debug_root(const char *directory);

/* The readable name of an address: its function, or else its place ("libfoo.so+0x1230": the start
 * of its function, if known), which sets *ret_place. Never NULL; valid until the next call. */
const char *code_source_name(struct code_source *source, uint64_t address, bool *ret_place);

/* The source places of an address in a file, from its debug information, as symbol_module_places().
 * Slow. */
size_t code_source_places(struct code_source *source, uint64_t address,
                          struct symbol_place places[SYMBOL_PLACES_MAX]);

/* Visits the functions of a file accepted by `is`, each as [begin, end). Names as in the file. */
void code_source_each(struct code_source *source, bool (*is)(const char *name),
                      void (*visit)(void *context, uint64_t begin, uint64_t end), void *context);

/* The unwind rows of a file: unwind_cache_table(). */
int code_source_rows(struct code_source *source, const char *cache_directory,
                     struct unwind_table **ret_table);

/* For an image: the name of an address known so far, without reading more. May be called while
 * another thread uses the source; never waits for it. */
enum code_peek {
    CODE_NAMED = 1, /* the name was copied */
    CODE_NOTHING,   /* no name: read a moment ago */
    CODE_UNSETTLED, /* look it up */
};

enum code_peek code_source_peek(struct code_source *source, uint64_t address, char *text,
                                size_t size);

#endif
