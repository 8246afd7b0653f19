/* SPDX-License-Identifier: MIT */
/* Opening a recording for a subcommand, with a message that says what the file is instead.
 *
 * Main thread only. */
#ifndef ANNOT_RECORDING_H
#define ANNOT_RECORDING_H

#include "store.h"

/* NULL: the message is out. */
struct store_reader *recording_open(const char *path);

/* Names each damaged part on standard error, at most ten. Returns their number. Call after the last
 * event was read. */
uint32_t recording_note_damage(const struct store_reader *reader, const char *path);

/* A message for what reading, profiling or exporting returned. Returns CMD_FAILED. */
int recording_fail(const char *path, int error);

#endif
