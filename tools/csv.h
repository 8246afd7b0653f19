/* SPDX-License-Identifier: MIT */
/* Comma-separated values: RFC 4180, but for line ends. Thread-safety: no state. */
#ifndef ANNOT_CSV_H
#define ANNOT_CSV_H

#include "out_stream.h"

/* A cell of foreign text, with control characters shown as in tables. */
void csv_text(struct out_stream *out, const char *text);

#endif
