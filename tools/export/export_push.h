/* SPDX-License-Identifier: MIT */
/* Exports that go to a server. Main thread only. */
#ifndef ANNOT_EXPORT_PUSH_H
#define ANNOT_EXPORT_PUSH_H

#include "export.h"

#include <stdbool.h>

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

#endif
