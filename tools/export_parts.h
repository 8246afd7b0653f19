/* SPDX-License-Identifier: MIT */
/* What the files of annot export and annot flame share with each other only. Main thread only. */
#ifndef ANNOT_TOOLS_EXPORT_PARTS_H
#define ANNOT_TOOLS_EXPORT_PARTS_H

#include "cmd.h"
#include "export.h"
#include "selection.h"

struct export_values {
    const char *format, *output;
    struct export_options wanted;
    struct selection_values selection;
    bool force;
    bool list;
};

/* ---- Writing: cmd_export.c ---- */

/* `exporter` NULL: whichever is asked for. The exit status. */
int export_as(const struct cmd_call *call, const struct exporter *exporter);

/* ---- Options: export_options.c ---- */

enum { EXPORT_FORMATS_SIZE = 512 };

/* "perfetto|chrome|folded": what the others are parted by. Returns the buffer. */
const char *export_list_formats(const char *between, bool extensions,
                                char buffer[EXPORT_FORMATS_SIZE]);

/* The formats that have an option, as "chrome, folded". */
const char *export_formats_of(const char *option, char buffer[EXPORT_FORMATS_SIZE]);

/* Of both commands; put together once. */
const struct option_spec *export_options_of_all(void);
const struct option_spec *export_options_of_flame(void);

#endif
