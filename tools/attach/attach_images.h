/* SPDX-License-Identifier: MIT */
/* Searches the files that a program has mapped. Main thread only. */
#ifndef ANNOT_ATTACH_IMAGES_H
#define ANNOT_ATTACH_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

enum { ATTACH_IMAGE_SIZE = 256 };

/* Returns true if a mapped file contains the name of the variable, as code compiled with NVTX or
 * ITT does, and the first such file's name in `name`. */
bool attach_image_with(int32_t pid, const char *variable, char name[ATTACH_IMAGE_SIZE]);

#endif
