/* SPDX-License-Identifier: MIT */
/* Exports that go to a server. Main thread only. */
#ifndef ANNOT_EXPORT_PUSH_H
#define ANNOT_EXPORT_PUSH_H

#include "export.h"

#include <stdbool.h>

struct export_push;

/* export_is_address returns true if an output is the address of a server. exporter_by_address
 * returns the format pushed to that path; NULL: unknown path. */
bool export_is_address(const char *output);
const struct exporter *exporter_by_address(const char *url);

/* Sets job->out, which passes its bytes to the server, and *ret_push, which is closed after
 * job->out, also on errors. CMD_OK, or the exit status after a printed message. close accepts
 * NULL. */
int export_push_open(const char *url, const struct exporter *exporter, struct export_job *job,
                     struct export_push **ret_push);
void export_push_close(struct export_push *push);

/* The address without secrets, for messages. */
const char *export_push_shown(const struct export_push *push);

/* fail: the stream had this error. end: all bytes were passed on. Both print a message and return
 * the exit status. */
int export_push_fail(const struct export_push *push, int error);
int export_push_end(const struct export_push *push);

#endif
