/* SPDX-License-Identifier: MIT */
/* Python functions that become ranges. Main thread only. */
#ifndef ANNOT_RANGE_PYTHON_H
#define ANNOT_RANGE_PYTHON_H

/* Prints a note if the source of the command does not define the function, with similar names. */
void range_warn_of_python(const char *spec, char **argv);

#endif
