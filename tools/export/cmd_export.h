/* SPDX-License-Identifier: MIT */
/* Runs `annot export` for other commands. Main thread only. */
#ifndef ANNOT_CMD_EXPORT_H
#define ANNOT_CMD_EXPORT_H

#include "cmd.h"
#include "export.h"

/* `exporter` NULL: chosen by the options. Returns the exit status. */
int export_as(const struct cmd_call *call, const struct exporter *exporter);

#endif
