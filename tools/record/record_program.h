/* SPDX-License-Identifier: MIT */
/* The operand of `annot record`: a command, a Python file, or python3's -m and -c.
 *
 * A name that ends in .py and is no command is run by python3, unless the file names its
 * interpreter (executable, with "#!"). python3 is that of $VIRTUAL_ENV, else of PATH. Main thread
 * only. */
#ifndef ANNOT_RECORD_PROGRAM_H
#define ANNOT_RECORD_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

enum program_status { PROGRAM_NOT_EXECUTABLE = 126, PROGRAM_NOT_FOUND = 127 };

struct program {
    char **argv;           /* for exec; points into the operands, this struct, or static data */
    const char *name;      /* base of the recording's name */
    char **made;           /* argv, if it was composed; owned */
    char python[PATH_MAX]; /* of a virtual environment */
    char script[PATH_MAX]; /* "./x.py" of "x.py" */
};

/* `operands` has at least one word and ends with NULL. 0, or the exit status after a printed
 * message. fini accepts a zeroed object. */
int program_choose(struct program *program, char **operands);
void program_fini(struct program *program);

/* Call after the program's end: prints a note if one of its arguments is an output option of annot
 * whose file is missing. `well`: it did not fail. */
void program_note_options(const struct program *program, bool well);

/* Prints why the command could not be executed; returns the exit status. `error` is negative. */
int program_fail(const char *command, int error);

#endif
