/* SPDX-License-Identifier: MIT */
/* Domain, category, colour and level of an event, from Python's values. Threads: any. */
#ifndef PYANNOT_ATTRIBUTES_H
#define PYANNOT_ATTRIBUTES_H

#include "arguments.h" /* Python.h comes before the system's headers */

#include <annot/annot.h>

/* 0, or -1 with a TypeError or ValueError. */
int attributes_set(struct annot_event *event, const struct arguments *arguments);

#endif
