/* SPDX-License-Identifier: MIT */
/* `annot symbolize`: adds names to functions that are known only by address. Thread-safety:
 * none. */
#include "cmd.h"
#include "native_names.h"
#include "reader.h"
#include "recording.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct symbolize_values {
    const char *debug_dir;
    bool source;
};

static void tell(const char *path, const struct native_names *result)
{
    if (result->lined > 0)
        cmd_note("%s: found the lines of %u frames", path, result->lined);
    if (result->unnamed == 0) {
        cmd_note("%s: every native frame has a name", path);
        return;
    }
    cmd_note("%s: named %u of %u frames", path, result->named, result->unnamed);
    uint32_t closed = result->missing + result->unknown_id;
    if (result->unnamed - result->named > closed)
        cmd_note("%u frames: the files have no symbols for them\n--debug-dir DIR names a folder of "
                 "debug files",
                 result->unnamed - result->named - closed);
    if (result->missing > 0)
        cmd_note("%u frames: no file with the module's build-id\n--debug-dir DIR names a folder of "
                 "debug files",
                 result->missing);
    if (result->unknown_id > 0)
        cmd_note("%u frames: the module has no build-id", result->unknown_id);
}

static int fail(const char *path, int error)
{
    if (error == -ENODATA)
        return cmd_fail(CMD_FAILED,
                        "%s has no end: it was cut, or is still being written\n"
                        "annot recover completes recordings that were interrupted",
                        path);
    if (error == -EBUSY)
        return cmd_fail(CMD_FAILED, "%s is being written\nwait until the recording has ended",
                        path);
    if (error == -ESTALE)
        return cmd_fail(CMD_FAILED, "%s was changed meanwhile\nrun annot symbolize again", path);
    return cmd_fail(CMD_FAILED, "cannot add names to %s: %s", path, strerror(-error));
}

/* Names are stored in recordings; a manifest cannot hold them. */
static bool is_merge(const char *path, const struct store_reader *reader)
{
    struct store_info info;
    store_reader_info(reader, &info);
    if (info.part_count)
        cmd_fail(0,
                 "%s is the result of a merge\ngive the recordings that it names, one after "
                 "another: it shows their names",
                 path);
    return info.part_count > 0;
}

static int symbolize(const char *path, const struct symbolize_values *values)
{
    struct store_reader *reader = recording_open_stored(path);
    struct native_names result;
    if (!reader)
        return CMD_FAILED;
    if (is_merge(path, reader)) {
        store_reader_close(reader);
        return CMD_FAILED;
    }
    int error = native_names_add(path, reader, values->debug_dir, values->source, &result);
    store_reader_close(reader);
    if (error)
        return fail(path, error);
    tell(path, &result);
    return CMD_OK;
}

static int run_symbolize(const struct cmd_call *call)
{
    const struct symbolize_values *values = call->values;
    char name[RECORDING_NAME_SIZE];
    struct stat status;
    if (values->debug_dir && (stat(values->debug_dir, &status) != 0 || !S_ISDIR(status.st_mode)))
        return cmd_fail(CMD_FAILED, "%s is no directory\n--debug-dir names a folder of debug files",
                        values->debug_dir);
    const char *path = recording_choose(call, name);
    return path ? symbolize(path, values) : CMD_FAILED;
}

static const struct option_spec symbolize_options[] = {
    {"debug-dir", 0, OPTION_TEXT, offsetof(struct symbolize_values, debug_dir), "DIR",
     "folder of debug files (default: /usr/lib/debug)", NULL},
    {"add-source", 0, OPTION_FLAG, offsetof(struct symbolize_values, source), NULL,
     "keep the text of source files in the recording", NULL},
    {0},
};

const struct cmd cmd_symbolize = {
    .name = "symbolize",
    .summary = "name functions that a recording knows by address only",
    .usage = "[OPTIONS] [FILE]",
    .details = "FILE defaults to the newest recording (*.annot) in this directory.\n\n"
               "Files count only if their build-id is that of the file that ran.\n",
    .options = symbolize_options,
    .values_size = sizeof(struct symbolize_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_symbolize,
};
