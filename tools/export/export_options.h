/* SPDX-License-Identifier: MIT */
/* Options of `annot export` and `annot flame`. Main thread only. */
#ifndef ANNOT_EXPORT_OPTIONS_H
#define ANNOT_EXPORT_OPTIONS_H

#include "export.h"
#include "options.h"
#include "selection.h"

#include <stdbool.h>

struct export_values {
    const char *format, *output;
    struct export_options wanted;
    struct selection_values selection;
    bool force;
    bool list;
};

enum { EXPORT_FORMATS_SIZE = 512 };

/* Lists the formats as in "perfetto|chrome|folded", where `between` is "|". Returns the buffer. */
const char *export_list_formats(const char *between, bool extensions,
                                char buffer[EXPORT_FORMATS_SIZE]);

/* Lists the formats that have an option: "chrome, folded". */
const char *export_formats_of(const char *option, char buffer[EXPORT_FORMATS_SIZE]);

/* The option tables of both commands; built once. */
const struct option_spec *export_options_of_all(void);
const struct option_spec *export_options_of_flame(void);

#endif
