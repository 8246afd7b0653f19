/* SPDX-License-Identifier: MIT */
/* Opening a recording for a subcommand, with a message that says what the file is instead.
 *
 * Main thread only. */
#ifndef ANNOT_RECORDING_H
#define ANNOT_RECORDING_H

#include "store.h"

#include <limits.h>

struct cmd_call;
struct import_result;

enum { RECORDING_NAME_SIZE = NAME_MAX + 1 };

/* Where its collector reads a recording again when it has written it, which needs memory for each
 * stack: more of them are left to who asks for it. */
enum { STACKS_READ_AGAIN_MAX = 250000 };

/* For the help of commands that call it. */
#define RECORDING_CHOICE_HELP                                                                      \
    "FILE defaults to the newest recording (*.annot) in this directory. A file of another tool\n"  \
    "(annot help import) is imported for this command.\n\n"

/* The recording that the command line names, else the newest *.annot of the present directory, into
 * `name`; which one that is goes to standard error. NULL: there is none, the message is out. */
const char *recording_choose(const struct cmd_call *call, char name[RECORDING_NAME_SIZE]);

/* Opens a recording. Files of other tools are imported for this command, with a note on standard
 * error. NULL: the message is out. */
struct store_reader *recording_open(const char *path);

/* The same for commands that keep the path or change the file: a file of another tool is refused.
 */
struct store_reader *recording_open_stored(const char *path);

/* Results of line_profiler: recording_lprof.c, and other formats: recording_import.c. 1; 0: the
 * file is none; -1: it cannot be read, the message is out. */
int recording_open_lprof(const char *path, struct store_reader **ret_reader);
int recording_open_import(const char *path, struct store_reader **ret_reader);

/* Descriptors of imported recordings, which have no other name. */
#define RECORDING_IN_MEMORY "/proc/self/fd/"

/* The path that opens it again: `path`, or that of the imported recording. */
const char *recording_path(const struct store_reader *reader, const char *path);

/* What an import left out, on standard error. */
void recording_note_import(const struct import_result *result, const char *output);
/* A message for an error of import_file. Returns CMD_FAILED. */
int recording_fail_import(const char *path, const struct import_result *result, int error);

/* The same, of one that grows: store_reader_follow. */
struct store_reader *recording_follow(const char *path);

/* It has no end, and nothing else is wrong with it: its collector was killed, had no more room, or
 * records at this moment. Known after the last event was read. */
bool recording_is_cut(const struct store_reader *reader);

/* Names each damaged part on standard error, at most ten. Returns their number. Call after the last
 * event was read. */
uint32_t recording_note_damage(const struct store_reader *reader, const char *path);

/* A message for what reading, profiling or exporting returned. Returns CMD_FAILED. */
int recording_fail(const char *path, int error);

/* The same for an output that could not be written. Returns CMD_FAILED. */
int recording_fail_output(const char *output, int error);

/* Tells of an output that the user did not name where it is. `viewer`: where it can be
 * looked at ("in a browser"), or NULL. */
void recording_note_output(const char *output, const char *viewer);

#endif
