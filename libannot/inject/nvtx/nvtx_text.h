/* SPDX-License-Identifier: MIT */
/* Texts of wide characters as UTF-8. */
#ifndef ANNOT_NVTX_TEXT_H
#define ANNOT_NVTX_TEXT_H

#include <wchar.h>

/* One byte more than a name may have shows that it was cut; the longest character; the end. */
enum { NVTX_TEXT_SIZE = 1024 + 4 + 1 };

/* Returns `text`; NULL for NULL. What is no character becomes U+FFFD; what is longer is cut. */
const char *nvtx_text_from_wide(const wchar_t *wide, char text[NVTX_TEXT_SIZE]);

#endif
