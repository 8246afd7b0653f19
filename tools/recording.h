/* SPDX-License-Identifier: MIT */
/* Opens a recording for a subcommand; prints a message that identifies any other file.
 *
 * Main thread only. */
#ifndef ANNOT_RECORDING_H
#define ANNOT_RECORDING_H

#include "store.h"

#include <limits.h>

struct cmd_call;
struct import_result;

enum { RECORDING_NAME_SIZE = NAME_MAX + 1 };

/* Limit of stacks up to which a collector reads its finished recording again, which needs memory
 * for each stack; above it, later commands do the work. */
enum { STACKS_READ_AGAIN_MAX = 250000 };

/* Help text of commands that call recording_choose. */
#define RECORDING_CHOICE_HELP                                                                      \
    "FILE defaults to the newest recording (*.annot) in this directory. A file of another tool\n"  \
    "(annot help import) is imported for this command.\n\n"

/* Returns the recording on the command line, else the newest *.annot of the current directory, in
 * `name`, after printing its name to standard error. NULL after a message: the directory has no
 * recording. */
const char *recording_choose(const struct cmd_call *call, char name[RECORDING_NAME_SIZE]);

/* Opens a recording. Files of other tools are imported for this command, with a note on standard
 * error. NULL after a printed message. */
struct store_reader *recording_open(const char *path);

/* The same for commands that keep the path or change the file: files of other tools are refused. */
struct store_reader *recording_open_stored(const char *path);

/* Results of line_profiler, and other formats. 1; 0: another kind of file; -1: unreadable, after a
 * printed message. */
int recording_open_lprof(const char *path, struct store_reader **ret_reader);
int recording_open_import(const char *path, struct store_reader **ret_reader);

/* Prefix of the paths of imported recordings, which exist only as descriptors. */
#define RECORDING_IN_MEMORY "/proc/self/fd/"

/* The path for opening the recording again: `path`, or that of the imported recording. */
const char *recording_path(const struct store_reader *reader, const char *path);

/* Prints the data that an import left out to standard error. */
void recording_note_import(const struct import_result *result, const char *output);
/* Prints a message for an error of import_file. Returns CMD_FAILED. */
int recording_fail_import(const char *path, const struct import_result *result, int error);

/* Like recording_open_stored, for a growing recording: store_reader_follow. */
struct store_reader *recording_follow(const char *path);

/* True if the end is missing and the recording is otherwise intact: its collector was killed, had
 * no space, or is still recording. Known after the last event was read. */
bool recording_is_cut(const struct store_reader *reader);

/* Prints each damaged part to standard error, at most ten. Returns their number. Call after the
 * last event was read. */
uint32_t recording_note_damage(const struct store_reader *reader, const char *path);

/* Prints a message for an error of reading, profiling or exporting. Returns CMD_FAILED. */
int recording_fail(const char *path, int error);

/* Prints a message for an output that could not be written. Returns CMD_FAILED. */
int recording_fail_output(const char *output, int error);

/* Prints the path of an output that the user did not name. `viewer`: where to view it ("in a
 * browser"), or NULL. */
void recording_note_output(const char *output, const char *viewer);

#endif
