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

/* ---- To a server: export_push.c ---- */

struct export_push;

/* Is an output that was given the address of a server? The format that is pushed there, by its
 * path; NULL: it does not tell. */
bool export_is_address(const char *output);
const struct exporter *exporter_by_address(const char *url);

/* Sets job->out, which hands on to the server, and what is to be closed after it, also on errors.
 * The exit status; the message is out. close accepts NULL. */
int export_push_open(const char *url, const struct exporter *exporter, struct export_job *job,
                     struct export_push **ret_push);
void export_push_close(struct export_push *push);

/* The address as it may be printed. */
const char *export_push_shown(const struct export_push *push);

/* The stream had this error; all was handed on. The exit status; the message is out. */
int export_push_fail(const struct export_push *push, int error);
int export_push_end(const struct export_push *push);

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
