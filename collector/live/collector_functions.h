/* SPDX-License-Identifier: MIT */
/* Names of functions that programs give by file and offset: each file is opened once.
 *
 * Foreign bytes: bounded; a file other than the one that the program ran is not used.
 * Thread-safety: as the collector. */
#ifndef ANNOT_COLLECTOR_FUNCTIONS_H
#define ANNOT_COLLECTOR_FUNCTIONS_H

#include "names.h"
#include "vec.h"

#include <stddef.h>

struct function_file;

/* `{0}` is empty. */
struct function_names {
    VEC(struct function_file *) files;
};

void function_names_fini(struct function_names *names);

/* A names_function_fn; context is a struct function_names. */
size_t function_names_find(void *context, const struct names_function *function, char *text);

#endif
