/* SPDX-License-Identifier: MIT */
/* Identifies a file that is not a recording by its first bytes, and prints a message. */
#include "recording.h"

#include "cmd.h"
#include "file_io.h"
#include "import.h"
#include "reader.h"
#include "text.h"
#include "volumes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_SIZE = 256, DAMAGE_SHOWN = 10 };

struct look {
    const char *bytes;
    size_t size;
    const char *what, *hint;
};

static const char to_record[] = "\"annot record -o FILE -- COMMAND\" makes a recording";
static const char is_export[] = "annot import -f FORMAT reads it, if it is of a format it knows";
static const char is_picture[] = "open it in a browser; to see the times, give the .annot file";
static const char unpack[] = "unpack it first: zstd -d FILE";

static const struct look looks[] = {
    {"\x7f"
     "ELF",
     4, "a program (ELF)", "to record it: annot record -- FILE"},
    {"#!", 2, "a script", "to record it: annot record -- FILE"},
    {"annot manifest", 14, "a result of annot merge",
     "annot cat reads it; if it is damaged, annot merge makes it anew"},
    {"<svg", 4, "a picture (SVG)", is_picture},
    {"<?xml", 5, "a picture (SVG)", is_picture},
    {"<!DOCTYPE html", 14, "a page (HTML)", is_picture},
    {"<!doctype html", 14, "a page (HTML)", is_picture},
    {"{", 1, "JSON", is_export},
    {"[", 1, "JSON", is_export},
    {"\x1f\x8b", 2, "gzip data", "unpack it first: gunzip FILE"},
    {"\x28\xb5\x2f\xfd", 4, "zstd data", unpack},
    {"\x80", 1, "a pickle of Python", "of pickles, results of line_profiler are read alone"},
    {"SQLite format 3", 15, "an SQLite database", to_record},
    {"PERFILE2", 8, "a recording of perf",
     "annot reads its text: perf script -i FILE > x.txt; annot report x.txt"},
    {"\x0a", 1, "a Perfetto trace", is_export},
};

/* Returns true if all bytes are printable text. */
static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == 0x7f || (bytes[i] < 0x20 && !strchr("\t\n\r\f", bytes[i])))
            return false;
        if (!bytes[i])
            return false;
    }
    return size > 0;
}

static void fail_by_content(const char *path)
{
    unsigned char head[HEAD_SIZE];
    int fd = file_open_regular(AT_FDCWD, path, O_RDONLY, NULL);
    ssize_t size = fd >= 0 ? read(fd, head, sizeof(head)) : -1;
    if (fd >= 0)
        close(fd);
    const char *what = NULL, *hint = to_record;
    bool text = size > 0 && is_text(head, (size_t)size);
    for (size_t i = 0; !what && size > 0 && i < sizeof(looks) / sizeof(*looks); i++) {
        const struct look *look = &looks[i];
        bool trace_of_text = text && look->bytes[0] == '\n';
        if (trace_of_text || (size_t)size < look->size ||
            memcmp(head, look->bytes, look->size) != 0)
            continue;
        what = look->what;
        hint = look->hint;
    }
    if (!what)
        what = text ? "text" : "unknown data";
    if (text && text_ends_with(path, ".py")) {
        char quoted[4 * PATH_MAX];
        cmd_quote(path, quoted, sizeof(quoted));
        cmd_fail(0, "cannot read %s: not a recording, but a program\nto record it: annot record %s",
                 path, quoted);
        return;
    }
    cmd_fail(0, "cannot read %s: not a recording, it looks like %s\n%s", path, what, hint);
}

static void fail_open(const char *path, int error)
{
    struct stat status;
    bool known = stat(path, &status) == 0;
    if (error == -ENOENT)
        cmd_fail(0, "cannot read %s: no such file\n%s", path, to_record);
    else if (known && S_ISDIR(status.st_mode))
        cmd_fail(0, "cannot read %s: it is a directory\ngive the name of a recording in it", path);
    else if (known && S_ISREG(status.st_mode) && status.st_size == 0)
        cmd_fail(0, "cannot read %s: it is empty\nit was cut before its first event; %s", path,
                 to_record);
    else if (known && !S_ISREG(status.st_mode))
        cmd_fail(0, "cannot read %s: it is a pipe, a socket or a device\n%s", path,
                 "write what comes from it into a file first");
    else if (error == -EPROTONOSUPPORT)
        cmd_fail(0,
                 "cannot read %s: a newer annot wrote it\nthis one is %s and reads format %d; "
                 "update annot",
                 path, ANNOT_VERSION, STORE_VERSION_MAJOR);
    else if (error == -ENODATA)
        cmd_fail(0, "cannot read %s: it ends within its header\nit was cut before its first event",
                 path);
    else if (error == -EBADMSG)
        fail_by_content(path);
    else if (known && error == -EACCES)
        cmd_fail(0,
                 "cannot read %s: permission denied\nit belongs to uid %u; copy it, or read it "
                 "as that user",
                 path, status.st_uid);
    else
        cmd_fail(0, "cannot read %s: %s\n%s", path, strerror(-error),
                 "is it a file that you may read?");
}

/* Prints the error of a manifest's recording that cannot be read. Returns false if all are
 * readable. */
static bool fail_part(const char *path)
{
    struct store_manifest manifest = {0};
    bool found = false;
    bool read = store_manifest_read(path, &manifest) == 0;
    for (size_t i = 0; read && i < manifest.count && !found; i++) {
        struct store_reader *reader = NULL;
        int error = store_reader_open(manifest.parts[i].path, &reader);
        store_reader_close(reader);
        found = error != 0;
        if (error)
            fail_open(manifest.parts[i].path, error);
    }
    if (found)
        cmd_note("%s is made of %zu recordings; annot merge makes it anew", path, manifest.count);
    store_manifest_free(&manifest);
    return found;
}

struct store_reader *recording_open(const char *path)
{
    struct store_reader *reader = NULL;
    int rc = store_reader_open(path, &reader);
    if (rc == 0)
        return reader;
    int opened = rc == -EBADMSG ? recording_open_lprof(path, &reader) : 0;
    if (opened == 0 && rc == -EBADMSG)
        opened = recording_open_import(path, &reader);
    if (opened == 0 && !fail_part(path))
        fail_open(path, rc);
    return opened > 0 ? reader : NULL;
}

struct store_reader *recording_open_stored(const char *path)
{
    struct store_reader *reader = NULL;
    char quoted[4 * PATH_MAX];
    int rc = store_reader_open(path, &reader);
    const struct import_format *format = rc == -EBADMSG ? import_recognize(path) : NULL;
    cmd_quote(path, quoted, sizeof(quoted));
    if (format)
        cmd_fail(0, "%s is not a recording, but of the format %s\nfirst: annot import %s", path,
                 format->name, quoted);
    else if (rc != 0 && !fail_part(path))
        fail_open(path, rc);
    return rc == 0 ? reader : NULL;
}

/* A recording of several hosts cannot be followed. Returns true after printing that. */
static bool fail_manifest(const char *path)
{
    struct store_manifest manifest;
    bool several = store_manifest_read(path, &manifest) == 0;
    if (several)
        cmd_fail(0,
                 "cannot follow %s: it names %zu recordings, and one can be followed at a time\n"
                 "follow one of them, as %s; annot cat prints all of them in order of time",
                 path, manifest.count, manifest.parts[0].path);
    store_manifest_free(&manifest);
    return several;
}

struct store_reader *recording_follow(const char *path)
{
    struct store_reader *reader = NULL;
    int rc = store_reader_follow(path, &reader);
    if (rc == 0)
        return reader;
    if (!fail_manifest(path))
        fail_open(path, rc);
    return NULL;
}

bool recording_is_cut(const struct store_reader *reader)
{
    struct store_info info;
    store_reader_info(reader, &info);
    return !info.complete && store_reader_damage_count(reader) == 1 &&
           !store_reader_damage(reader, 0)->missing_count;
}

uint32_t recording_note_damage(const struct store_reader *reader, const char *path)
{
    uint32_t count = store_reader_damage_count(reader);
    if (recording_is_cut(reader)) {
        cmd_note("%s was cut short: annot was killed, ran out of space, or is still recording\n"
                 "annot recover completes it, as far as programs still hold what is missing",
                 path);
        return count;
    }
    for (uint32_t i = 0; i < count && i < DAMAGE_SHOWN; i++) {
        const struct store_damage *damage = store_reader_damage(reader, i);
        char text[STORE_DAMAGE_TEXT_SIZE];
        store_damage_text(damage, text);
        cmd_note(damage->missing_count
                     ? "%s\nwhat was recorded in it is missing here; put the file "
                       "beside the others, under its name"
                     : "%s",
                 text);
    }
    if (count > DAMAGE_SHOWN)
        cmd_note("%s: %u more damaged parts", path, count - DAMAGE_SHOWN);
    return count;
}

int recording_fail(const char *path, int error)
{
    return cmd_fail(CMD_FAILED, "cannot read %s: %s", path, strerror(-error));
}

void recording_note_output(const char *output, const char *viewer)
{
    if (viewer)
        cmd_note("wrote %s; open it %s", output, viewer);
    else
        cmd_note("wrote %s", output);
}

int recording_fail_output(const char *output, int error)
{
    const char *hint = "is there room, and may you write there?";
    if (error == -EEXIST)
        return cmd_fail(CMD_FAILED, "%s exists already\n--force replaces it, -o names another",
                        output);
    if (error == -ENOENT)
        hint = "the directory must exist";
    else if (error == -EISDIR)
        hint = "-o names a file, not a directory";
    else if (error == -ENOTDIR)
        hint = "-o names a directory, and a file has that name";
    else if (error == -ENOTEMPTY)
        hint = "it has files that are no export, so --force does not replace it; -o names another";
    return cmd_fail(CMD_FAILED, "cannot write %s: %s\n%s", output, strerror(-error), hint);
}

/* ---- The newest recording -------------------------------------------------------------------- */

static bool is_recording_name(const char *name)
{
    size_t length = strlen(name), ending = strlen(".annot");
    return name[0] != '.' && length > ending && strcmp(name + length - ending, ".annot") == 0;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Returns false if the directory has no recording. Among equally new ones, takes the last by
 * name. */
static bool find_newest(char name[RECORDING_NAME_SIZE])
{
    DIR *folder = opendir(".");
    struct timespec best = {0};
    const struct dirent *entry;
    name[0] = '\0';
    while (folder && (entry = readdir(folder))) {
        struct stat status;
        if (!is_recording_name(entry->d_name) || stat(entry->d_name, &status) != 0 ||
            !S_ISREG(status.st_mode) || (name[0] && is_later(&best, &status.st_mtim)))
            continue;
        if (name[0] && !is_later(&status.st_mtim, &best) && strcmp(entry->d_name, name) < 0)
            continue;
        best = status.st_mtim;
        snprintf(name, RECORDING_NAME_SIZE, "%s", entry->d_name);
    }
    if (folder)
        closedir(folder);
    return name[0] != '\0';
}

const char *recording_choose(const struct cmd_call *call, char name[RECORDING_NAME_SIZE])
{
    if (call->operand_count > 0)
        return call->operands[0];
    if (find_newest(name)) {
        cmd_note("the newest recording here is %s", name);
        return name;
    }
    cmd_fail(0,
             "no recording is named, and none is in this directory\n\"annot record -- COMMAND\" "
             "makes one here; to open another one: annot %s FILE",
             call->cmd->name);
    return NULL;
}
