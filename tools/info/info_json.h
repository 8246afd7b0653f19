/* SPDX-License-Identifier: MIT */
/* `annot info` as JSON. Main thread only. */
#ifndef ANNOT_INFO_JSON_H
#define ANNOT_INFO_JSON_H

#include "info.h"

struct out_stream;

struct info_json {
    const struct info_options *options;
    const struct store_reader *reader;
    const struct info_counts *counts;
    const struct info_sample_counts *samples;
};

/* Errors stick in the stream. */
void info_print_json(const struct info_json *info, struct out_stream *out);

#endif
