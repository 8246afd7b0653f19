/* SPDX-License-Identifier: MIT */
/* What `annot record` is asked to run: a command, a Python file, or python3's -m and -c.
 *
 * A name that ends in .py and is no command is run by python3, unless the file has an interpreter
 * of its own (executable, with "#!"). python3 is that of $VIRTUAL_ENV, else of PATH. Main thread
 * only. */
#ifndef ANNOT_RECORD_PROGRAM_H
#define ANNOT_RECORD_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

enum program_status { PROGRAM_NOT_EXECUTABLE = 126, PROGRAM_NOT_FOUND = 127 };

struct program {
    char **argv;           /* to be executed; into the operands, this struct, or static */
    const char *name;      /* what a recording of it is called after */
    char **made;           /* argv, if it was put together; owned */
    char python[PATH_MAX]; /* of a virtual environment */
    char script[PATH_MAX]; /* "./x.py" of "x.py" */
};

/* `operands` has at least one word and ends with NULL. 0, or a message was printed: the exit
 * status. fini accepts a zeroed object. */
int program_choose(struct program *program, char **operands);
void program_fini(struct program *program);

/* After it has ended: says so if one of its arguments is an output of annot's, which nobody made.
 * `well`: it did not fail. */
void program_note_options(const struct program *program, bool well);

/* Why the command could not be executed; the exit status. `error` is negative. */
int program_fail(const char *command, int error);

#endif
