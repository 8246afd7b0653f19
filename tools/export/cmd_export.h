/* SPDX-License-Identifier: MIT */
/* The export of `annot export`, for other commands. Main thread only. */
#ifndef ANNOT_CMD_EXPORT_H
#define ANNOT_CMD_EXPORT_H

#include "cmd.h"
#include "export.h"

/* `exporter` NULL: whichever is asked for. The exit status. */
int export_as(const struct cmd_call *call, const struct exporter *exporter);

#endif
