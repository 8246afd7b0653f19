/* SPDX-License-Identifier: MIT */
/* Accepts files of other tools in place of a recording: each is converted once per command, to a
 * temporary file without a name. */
#include "reader.h"
#include "recording.h"

#include "cmd.h"
#include "file_io.h"
#include "import.h"
#include "vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PLACE_SIZE = 32 };

/* The descriptor stays open until the command ends: commands open a recording more than once. */
struct imported {
    char *path;
    char place[PLACE_SIZE];
};

static VEC(struct imported) imports;

static const struct imported *find_import(const char *path)
{
    for (size_t i = 0; i < imports.count; i++)
        if (strcmp(imports.items[i].path, path) == 0)
            return &imports.items[i];
    return NULL;
}

static int keep_import(const char *path, const char *place)
{
    struct imported kept = {.path = strdup(path)};
    snprintf(kept.place, sizeof(kept.place), "%s", place);
    int error = kept.path ? vec_push(&imports, kept) : -ENOMEM;
    if (error)
        free(kept.path);
    return error;
}

void recording_note_import(const struct import_result *result, const char *output)
{
    for (unsigned i = 0; i < result->note_count; i++)
        cmd_note("%s", result->notes[i]);
    if (result->events + result->samples == 0)
        cmd_note("%s has no events", output);
}

int recording_fail_import(const char *path, const struct import_result *result, int error)
{
    if (error == -EBADMSG && result->problem[0])
        return cmd_fail(CMD_FAILED, "cannot import %s as %s: %s", path, result->format->name,
                        result->problem);
    if (error == -EBADMSG)
        return cmd_fail(CMD_FAILED, "cannot import %s: its compressed data are cut or damaged",
                        path);
    return cmd_fail(CMD_FAILED, "cannot import %s: %s", path, strerror(-error));
}

static int import_into(const char *path, const char *place)
{
    const struct import_options options = {
        .source = path, .version = ANNOT_VERSION, .unnamed = true};
    struct import_result result;
    char quoted[4 * PATH_MAX];
    int error = import_file(path, place, &options, &result);
    if (error == -ENOMSG)
        return error;
    if (error) {
        (void)recording_fail_import(path, &result, error);
        return error;
    }
    cmd_quote(path, quoted, sizeof(quoted));
    cmd_note("%s is not a recording; imported it as %s, for this command only\n"
             "to keep the recording: annot import %s",
             path, result.format->name, quoted);
    recording_note_import(&result, path);
    return keep_import(path, place);
}

int recording_open_import(const char *path, struct store_reader **ret_reader)
{
    const struct imported *known = find_import(path);
    char place[PLACE_SIZE];
    if (!known && !import_recognize(path))
        return 0;
    int fd = known ? -1 : file_open_temporary();
    if (!known && fd < 0) {
        (void)cmd_fail(0, "cannot import %s: no folder for temporary files: %s", path,
                       strerror(-fd));
        return -1;
    }
    snprintf(place, sizeof(place), RECORDING_IN_MEMORY "%d", fd);
    int error = known ? 0 : import_into(path, place);
    if (!error)
        error = store_reader_open(known ? known->place : place, ret_reader);
    if (error && fd >= 0)
        close(fd);
    return error ? -1 : 1;
}
