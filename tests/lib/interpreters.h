/* SPDX-License-Identifier: MIT */
/* The CPython interpreters of this machine, for tests that must hold for each: those in
 * $ANNOT_PYTHONS (a list of commands, by colon), of pyenv ($PYENV_ROOT, else ~/.pyenv), and on the
 * PATH. Thread-safety: none. */
#ifndef ANNOT_TEST_INTERPRETERS_H
#define ANNOT_TEST_INTERPRETERS_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct interpreter {
    char command[512]; /* path */
    unsigned version;  /* 0x030b */
    char text[64];     /* "3.11.7" */
    char include[512]; /* where Python.h should be */
};

enum { INTERPRETERS_MAX = 32 };

/* Of CPython 3.9 and later, each build once; prints them. Returns how many. */
size_t interpreters_find(struct interpreter found[INTERPRETERS_MAX]);

/* A running interpreter; what it prints comes to `output`. It dies with us. */
struct interpreter_run {
    pid_t pid;
    FILE *output;
};

/* Runs it with arguments (NULL at the end, the command not among them). */
struct interpreter_run interpreter_start(const struct interpreter *interpreter,
                                         const char *const arguments[]);
/* The next line without its end; the test fails if there is none. */
void interpreter_line(const struct interpreter_run *run, char *line, size_t size);
/* Kills it, if it still runs. Returns its wait status. */
int interpreter_stop(struct interpreter_run *run);

#endif
