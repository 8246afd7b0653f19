/* SPDX-License-Identifier: MIT */
/* Comma-separated values: RFC 4180 except for line ends. Thread-safety: no state. */
#ifndef ANNOT_CSV_H
#define ANNOT_CSV_H

#include "out_stream.h"

/* Writes a cell of untrusted text, with control characters shown as in tables. */
void csv_text(struct out_stream *out, const char *text);

#endif
