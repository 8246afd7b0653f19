/* SPDX-License-Identifier: MIT */
/* An importer, which reads one format into a sink, and the table of all. Adding one:
 * docs/extending.md. */
#ifndef ANNOT_IMPORT_FORMATS_H
#define ANNOT_IMPORT_FORMATS_H

#include "import.h"

#include <stdbool.h>
#include <stddef.h>

struct import_sink;

struct importer {
    struct import_format format;
    /* Returns true for a file of the format, by its first bytes. */
    bool (*sniff)(const char *bytes, size_t size);
    /* 0, or -errno: then result->problem describes the error, if it is in the file. */
    int (*read)(struct import_input *input, struct import_sink *sink);
};

/* NULL-terminated table of all formats. */
extern const struct importer *const importers[];

#endif
