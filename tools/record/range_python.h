/* SPDX-License-Identifier: MIT */
/* Functions of Python that become ranges. Main thread only. */
#ifndef ANNOT_RANGE_PYTHON_H
#define ANNOT_RANGE_PYTHON_H

#include <stdbool.h>

/* Says if the source that the command runs does not define the
 * function, with names that are spelt like it. */
void range_warn_of_python(const char *spec, char **argv);

/* Whether it names a file of Python's source, where a module's name belongs. */
bool range_names_source(const char *spec);

#endif
