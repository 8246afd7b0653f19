/* SPDX-License-Identifier: MIT */
/* The ITT tool that was set before annot. Threads: those that initialise images. */
#ifndef ANNOT_ITT_NEXT_H
#define ANNOT_ITT_NEXT_H

#include "itt_wire.h"

/* Loads it, once per process; `find` returns annot's own functions by name. */
void itt_next_load(const struct itt_global *image, void *(*find)(const char *name));

/* Returns a function that calls annot's and the next tool's; NULL: annot's suffices. */
void *itt_next_function(const char *name);

#endif
