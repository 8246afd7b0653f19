/* SPDX-License-Identifier: MIT */
/* Whose code a function is: the user's own, a library's, the interpreter's. People look for their
 * own code first, and only they can change it.
 *
 * It is told by where the file lies, since nothing else says it. Thread-safety: none. */
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
    CODE_ANNOT = 6, /* what records */
    CODE_OWNERS = 7,
};

/* What code of others does there, whoever asked for it. From the weakest to the strongest: a stack
 * is for what its strongest frame is for. */
enum code_purpose {
    PURPOSE_NONE = 0,
    PURPOSE_GC,       /* collects garbage, outside of any function that is known */
    PURPOSE_THREADS,  /* begins and ends threads */
    PURPOSE_LOOP,     /* an event loop's own work */
    PURPOSE_POOL,     /* hands tasks to workers and takes their results */
    PURPOSE_IMPORT,   /* looks for modules and loads them */
    PURPOSE_START_UP, /* begins the interpreter and the script: see own_parts.h */
    PURPOSE_LAUNCH,   /* begins the command, before its last exec: of stacks, see launch.h */
    PURPOSE_COUNT,
};

/* "own", "library", ...: constant text. */
const char *code_owner_name(unsigned owner);
/* "imports", "multiprocessing", ...; "" of none. */
const char *code_purpose_name(unsigned purpose);

/* What tells functions apart in pictures; numbers are those of docs/page-data.md. */
enum code_colour {
    COLOUR_OWN = 0,
    COLOUR_LIBRARY = 1, /* written in Python */
    COLOUR_INTERPRETER = 2,
    COLOUR_NATIVE = 3,    /* installed machine code */
    COLOUR_KERNEL = 4,    /* and work of GPUs, where nothing else is shown */
    COLOUR_COLLECTOR = 5, /* of garbage */
    COLOUR_COUNT = 6,
};

enum code_owner code_owner_of(const struct trace *trace, uint32_t label);
enum code_colour code_colour_of(const struct trace *trace, uint32_t label);
enum code_purpose code_purpose_of(const struct trace *trace, uint32_t label);

/* What a Python function is where a program begins: the code of a module, or what runs that of the
 * main one after -m. */
enum code_begins { BEGINS_NOTHING = 0, BEGINS_MODULE, BEGINS_MAIN };

enum code_begins code_begins(const struct trace *trace, uint32_t label);

/* Native code of an installed Python module: numpy's loops, _zlib. */
bool code_is_extension(const struct trace *trace, uint32_t label);

/* What every program and thread of the C library begins with. */
bool code_is_start_up(const struct trace *trace, uint32_t label);

/* What processes and threads of Python begin with: what called it is the parent's, who forked. */
bool code_is_bootstrap(const struct trace *trace, uint32_t label);

/* The file of the outermost frame that is not the C library's: the program that runs there, or the
 * library that began the thread. A string; 0: not known. */
uint32_t code_beginner(const struct trace *trace, uint32_t stack);

/* ---- Names and places for people ------------------------------------------------------------ */

/* A function by its name alone: "render", "Parser.parse". Both write at most size - 1 bytes and
 * NUL, and return the length. */
size_t code_name(const struct trace *trace, uint32_t label, char *buffer, size_t size);

/* The same of what is no function: "imports"; of no purpose its program, "gzip", or "other code".
 */
size_t code_rest_name(const struct trace *trace, unsigned purpose, uint32_t program, char *buffer,
                      size_t size);

/* Where it is: "io_bound.py:16" relative to where the command was begun or to the folder of its
 * script, "json/decoder.py:343" of what is installed, the module's name of code without a source.
 * `line` 0: where it begins. */
size_t code_location(const struct trace *trace, uint32_t label, int32_t line, char *buffer,
                     size_t size);
/* The same of a file's path: a string. */
size_t code_file_location(const struct trace *trace, uint32_t file, int32_t line, char *buffer,
                          size_t size);

#endif
