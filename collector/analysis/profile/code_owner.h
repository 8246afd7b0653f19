/* SPDX-License-Identifier: MIT */
/* Classifies functions by owner: the user, a library, the interpreter. Users look for their own
 * code first, and can change only that.
 *
 * The classes follow from where the file lies, the only available source. Thread-safety: none. */
#ifndef ANNOT_CODE_OWNER_H
#define ANNOT_CODE_OWNER_H

#include "trace.h"

enum code_owner {
    CODE_UNKNOWN = 0,
    CODE_OWN = 1,         /* scripts, modules and programs of the user */
    CODE_LIBRARY = 2,     /* installed: site-packages, shared libraries of the system */
    CODE_STDLIB = 3,      /* Python's own modules */
    CODE_INTERPRETER = 4, /* python and libpython; its garbage collector */
    CODE_KERNEL = 5,
    CODE_ANNOT = 6, /* the recorder */
    CODE_OWNERS = 7,
};

/* Purpose of library and interpreter code, for any caller. Ordered from weakest to strongest: a
 * stack has the strongest purpose of its frames. */
enum code_purpose {
    PURPOSE_NONE = 0,
    PURPOSE_GC,       /* collects garbage, outside of any known function */
    PURPOSE_THREADS,  /* starts and ends threads */
    PURPOSE_LOOP,     /* an event loop's own work */
    PURPOSE_POOL,     /* hands tasks to workers and takes their results */
    PURPOSE_IMPORT,   /* looks for modules and loads them */
    PURPOSE_START_UP, /* starts the interpreter and the script: see own_time.c */
    PURPOSE_LAUNCH,   /* starts the command, before its last exec: of stacks, see launch.h */
    PURPOSE_COUNT,
};

/* "own", "library", ...: constant text. */
const char *code_owner_name(unsigned owner);
/* "imports", "multiprocessing", ...; "" for PURPOSE_NONE. */
const char *code_purpose_name(unsigned purpose);

/* Colour classes of functions in pictures; the numbers are those of docs/page-data.md. */
enum code_colour {
    COLOUR_OWN = 0,
    COLOUR_LIBRARY = 1, /* written in Python */
    COLOUR_INTERPRETER = 2,
    COLOUR_NATIVE = 3,    /* installed machine code */
    COLOUR_KERNEL = 4,    /* and work of GPUs, if a picture shows nothing else */
    COLOUR_COLLECTOR = 5, /* of garbage collection */
    COLOUR_COUNT = 6,
};

enum code_owner code_owner_of(const struct trace *trace, uint32_t label);
enum code_colour code_colour_of(const struct trace *trace, uint32_t label);
enum code_purpose code_purpose_of(const struct trace *trace, uint32_t label);

/* Python frames that start a program: the code of a module, or the code that runs the main module
 * after -m. */
enum code_begins { BEGINS_NOTHING = 0, BEGINS_MODULE, BEGINS_MAIN };

enum code_begins code_begins(const struct trace *trace, uint32_t label);

/* Native code of an installed Python module: numpy's loops, _zlib. */
bool code_is_extension(const struct trace *trace, uint32_t label);

/* True for the functions at the root of every program and thread of the C library. */
bool code_is_start_up(const struct trace *trace, uint32_t label);

/* True for the functions at the root of Python's processes and threads. Their callers belong to the
 * parent that forked. */
bool code_is_bootstrap(const struct trace *trace, uint32_t label);

/* Returns the file of the outermost frame outside of the C library: the program that runs there, or
 * the library that started the thread. A string; 0: unknown. */
uint32_t code_beginner(const struct trace *trace, uint32_t stack);

/* ---- Names and places for people ------------------------------------------------------------ */

/* A function by its name alone: "render", "Parser.parse". Both write at most size - 1 bytes and
 * NUL, and return the length. */
size_t code_name(const struct trace *trace, uint32_t label, char *buffer, size_t size);

/* The same for time outside of functions: "imports"; without a purpose the name of its program,
 * "gzip", or "other code". */
size_t code_rest_name(const struct trace *trace, unsigned purpose, uint32_t program, char *buffer,
                      size_t size);

/* Place of a function: "io_bound.py:16" relative to the command's working directory or its script's
 * folder, "json/decoder.py:343" for installed files, the module's name for code without a source.
 * `line` 0: the first line. */
size_t code_location(const struct trace *trace, uint32_t label, int32_t line, char *buffer,
                     size_t size);
/* The same for the path of a file (string). */
size_t code_file_location(const struct trace *trace, uint32_t file, int32_t line, char *buffer,
                          size_t size);

#endif
