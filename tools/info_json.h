/* SPDX-License-Identifier: MIT */
/* `annot info --json`: all that the text shows, and every entry of its lists, as one object.
 * Moments are nanoseconds since the recording's begin, sizes bytes, and names say so. Main thread
 * only. */
#ifndef ANNOT_INFO_JSON_H
#define ANNOT_INFO_JSON_H

#include "info_parts.h"
#include "json_writer.h"

struct info_json {
    const struct info_options *options;
    const struct store_reader *reader;
    const struct info_counts *counts;
    const struct info_sample_counts *samples;
};

/* Errors stick in the stream. */
void info_print_json(const struct info_json *info, struct out_stream *out);

/* Its lists (info_json_lists.c): processes, threads, tracks, and what processes are told of. */
void info_json_lists(const struct info_json *info, struct json_doc *doc);

#endif
