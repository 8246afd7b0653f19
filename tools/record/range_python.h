/* SPDX-License-Identifier: MIT */
/* Python functions that become ranges. Main thread only. */
#ifndef ANNOT_RANGE_PYTHON_H
#define ANNOT_RANGE_PYTHON_H

#include <stdbool.h>

/* Prints a note if the source of the command does not define the function, with similar names. */
void range_warn_of_python(const char *spec, char **argv);

/* Returns true if it names a Python source file in place of a module. */
bool range_names_source(const char *spec);

#endif
