/* SPDX-License-Identifier: MIT */
/* The Chrome trace format knows colours by name only. Thread-safety: a pure function. */
#ifndef ANNOT_CHROME_COLOR_H
#define ANNOT_CHROME_COLOR_H

#include <stdint.h>

/* The name whose colour is nearest to 0xAARRGGBB; constant text. */
const char *chrome_color_name(uint32_t color);

#endif
