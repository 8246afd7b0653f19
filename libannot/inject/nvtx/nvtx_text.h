/* SPDX-License-Identifier: MIT */
/* Texts of wide characters as UTF-8. */
#ifndef ANNOT_NVTX_TEXT_H
#define ANNOT_NVTX_TEXT_H

#include <stdint.h>
#include <wchar.h>

/* One byte more than a name may have shows that it was cut; the longest character; the end. */
enum { NVTX_TEXT_SIZE = 1024 + 4 + 1 };

/* Returns `text`; NULL for NULL. What is no character becomes U+FFFD; what is longer is cut. */
const char *nvtx_text_from_wide(const wchar_t *wide, char text[NVTX_TEXT_SIZE]);

/* A character as UTF-8, without a NUL, in up to four bytes. Returns what is behind it. */
char *nvtx_text_put(char *at, uint32_t c);

#endif
