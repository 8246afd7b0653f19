/* SPDX-License-Identifier: MIT */
/* `annot symbolize`: names the functions of a recording that has only their addresses. */
#include "cmd.h"
#include "recording.h"
#include "symbolize_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct symbolize_values {
    const char *debug_dir;
};

static void tell(const char *path, const struct symbolized *result)
{
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
        cmd_note("%u frames: the module has no build-id, or changed while it was recorded",
                 result->unknown_id);
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
    return cmd_fail(CMD_FAILED, "cannot add names to %s: %s", path, strerror(-error));
}

static int symbolize(const char *path, const char *debug_dir)
{
    struct store_reader *reader = recording_open(path);
    struct symbolized result;
    if (!reader)
        return CMD_FAILED;
    struct trace *trace = store_reader_trace(reader);
    int error = symbolize_frames(trace, debug_dir, &result);
    if (!error && result.named > 0)
        error = store_add_names(path, trace);
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
    return path ? symbolize(path, values->debug_dir) : CMD_FAILED;
}

static const struct option_spec symbolize_options[] = {
    {"debug-dir", 0, OPTION_TEXT, offsetof(struct symbolize_values, debug_dir), "DIR",
     "folder of debug files (default /usr/lib/debug)", NULL},
    {0},
};

const struct cmd cmd_symbolize = {
    .name = "symbolize",
    .summary = "name functions that a recording knows by address only",
    .usage = "[OPTIONS] [FILE]",
    .details =
        RECORDING_CHOICE_HELP "Files count only if their build-id is that of the file that ran.\n",
    .options = symbolize_options,
    .values_size = sizeof(struct symbolize_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_symbolize,
};
