/* SPDX-License-Identifier: MIT */
/* The CPython interpreters of this machine, for tests that must pass on each: those in
 * $ANNOT_PYTHONS (a list of commands, separated by colons), of pyenv ($PYENV_ROOT, else ~/.pyenv),
 * and on the PATH. Thread-safety: none. */
#ifndef ANNOT_TEST_INTERPRETERS_H
#define ANNOT_TEST_INTERPRETERS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct interpreter {
    char command[512]; /* path */
    unsigned version;  /* 0x030b */
    char text[64];     /* "3.11.7" */
    char include[512]; /* expected place of Python.h */
};

enum { INTERPRETERS_MAX = 32 };

/* Finds and prints the builds of CPython 3.9 and later, each once. Returns their number. */
size_t interpreters_find(struct interpreter found[INTERPRETERS_MAX]);

/* A running interpreter; its output is read from `output`. It is killed when the test ends. */
struct interpreter_run {
    pid_t pid;
    FILE *output;
};

/* Starts it with arguments (ends with NULL, without the command). */
struct interpreter_run interpreter_start(const struct interpreter *interpreter,
                                         const char *const arguments[]);
/* Reads the next line, without its newline; the test fails at the end of the output. */
void interpreter_line(const struct interpreter_run *run, char *line, size_t size);
/* Kills it, if it still runs. Returns its wait status. */
int interpreter_stop(struct interpreter_run *run);

#endif
