/* SPDX-License-Identifier: MIT */
/* Checks the environment of a running program for the loaders of NVTX, ITT and CUDA, which report
 * no errors: a path to a missing file, another tool, and a missing variable in a program with such
 * calls. Paths are untrusted: cmd_note escapes them. */
#include "attach.h"
#include "cmd.h"
#include "file_io.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds the files of a running program that were compiled with NVTX or ITT. Their loaders are
 * compiled into each such file and look up a variable of the environment, so its name is among the
 * constants of the file. Their data in memory has no reliable symbol.
 *
 * The files are untrusted: reads are bounded and cover only the mapped parts. */

enum { PIECE_BYTES = 1 << 20, OVERLAP_BYTES = 64 };

/* Limit of the search, about 0.1 s for large programs; later bytes are skipped. */
#define SEARCHED_BYTES_MAX (INT64_C(256) << 20)

struct search {
    int32_t pid;
    const char *word;
    int64_t left;
    char *piece;
    char *found;
};

/* Opens the file by its path and checks the inode: -ENOENT if another file has replaced it. */
static int open_mapped(int32_t pid, const struct maps_line *line)
{
    char whole[PATH_MAX];
    struct stat status;
    if ((size_t)snprintf(whole, sizeof(whole), "/proc/%d/root%s", (int)pid, line->path) >=
        sizeof(whole))
        return -ENAMETOOLONG;
    int fd = file_open_regular(AT_FDCWD, whole, O_RDONLY, &status);
    if (fd >= 0 && (uint64_t)status.st_ino != line->inode) {
        close(fd);
        return -ENOENT;
    }
    return fd;
}

/* Reads pieces that overlap, so that no match is cut. */
static bool has_word(struct search *search, int fd, const struct maps_line *line)
{
    uint64_t size = line->end - line->begin;
    for (uint64_t at = 0; at < size && search->left > 0; at += PIECE_BYTES - OVERLAP_BYTES) {
        size_t wanted = size - at < PIECE_BYTES ? (size_t)(size - at) : PIECE_BYTES;
        ssize_t got = file_read_at(fd, search->piece, wanted, line->offset + at);
        search->left -= (int64_t)wanted;
        if (got <= 0)
            return false;
        if (memmem(search->piece, (size_t)got, search->word, strlen(search->word) + 1))
            return true;
        if ((size_t)got < wanted || wanted < PIECE_BYTES)
            return false;
    }
    return false;
}

static int search_mapping(void *context, const struct maps_line *line)
{
    struct search *search = context;
    const char *name = text_base_name(line->path);
    if (line->path[0] != '/' || strncmp(name, "libannot", strlen("libannot")) == 0 ||
        search->left <= 0)
        return 0;
    int fd = open_mapped(search->pid, line);
    if (fd < 0)
        return 0;
    bool found = has_word(search, fd, line);
    close(fd);
    if (found)
        snprintf(search->found, ATTACH_IMAGE_SIZE, "%s", name);
    return found;
}

bool attach_image_with(int32_t pid, const char *variable, char name[ATTACH_IMAGE_SIZE])
{
    struct search search = {.pid = pid,
                            .word = variable,
                            .left = SEARCHED_BYTES_MAX,
                            .piece = malloc(PIECE_BYTES),
                            .found = name};
    bool found = search.piece && maps_each(pid, search_mapping, &search) == 1;
    free(search.piece);
    return found;
}

enum { ENVIRONMENT_MAX = 1 << 20 };

static const struct loader {
    const char *variable, *what, *library;
} loaders[] = {
    {"NVTX_INJECTION64_PATH", "NVTX", "libannot-inject.so"},
    {"INTEL_LIBITTNOTIFY64", "ITT", "libannot-inject.so"},
    {"CUDA_INJECTION64_PATH", "CUDA", "libannot-gpu.so"},
};

char *attach_environment(int32_t pid)
{
    char path[64], *bytes = calloc(1, ENVIRONMENT_MAX + 2);
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = bytes ? file_open_regular(AT_FDCWD, path, O_RDONLY, NULL) : -1;
    ssize_t size = fd >= 0 ? file_read_at(fd, bytes, ENVIRONMENT_MAX, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (size >= 0)
        return bytes;
    free(bytes);
    return NULL;
}

const char *attach_environment_value(const char *environment, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = environment; *at; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static bool is_there(int32_t pid, const char *path)
{
    char whole[PATH_MAX];
    struct stat status;
    return path[0] != '/' || /* found by the dynamic linker's search */
           (size_t)snprintf(whole, sizeof(whole), "/proc/%d/root%s", (int)pid, path) >=
               sizeof(whole) ||
           stat(whole, &status) == 0;
}

static int is_library(void *context, const struct maps_line *line)
{
    return line->executable && strcmp(text_base_name(line->path), context) == 0;
}

bool attach_has_mapped(int32_t pid, const char *library)
{
    return maps_each(pid, is_library, (void *)text_base_name(library)) == 1;
}

/* Prints a note and adds it to the recording. */
static void say(const struct attach_loaders *look, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct attach_loaders *look, const char *format, ...)
{
    char what[PATH_MAX + 256], whole[sizeof(what) + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof(whole), "process %d (%s): %s", (int)look->target->pid,
             look->target->comm, what);
    cmd_note("%s", whole);
    (void)collector_note(look->collector, whole); /* out of memory: not in the recording */
}

/* Checks a variable that was set at the program's start. */
static void look_at(const struct attach_loaders *look, const struct loader *loader,
                    const char *value)
{
    bool is_ours = strcmp(text_base_name(value), loader->library) == 0;
    if (!is_there(look->target->pid, value))
        say(look, "%s names %s, which is not there: nothing of %s can be recorded",
            loader->variable, value, loader->what);
    else if (!is_ours)
        say(look, "%s names another tool, %s: nothing of %s can be recorded", loader->variable,
            value, loader->what);
    else if (look->verbose && !attach_has_mapped(look->target->pid, loader->library))
        cmd_note("process %d (%s): %s is not loaded: it has not called %s yet, or cannot load it",
                 (int)look->target->pid, look->target->comm, loader->library, loader->what);
}

/* A variable that was not set. Each file of the program reads it once, at its first call, so files
 * that have made a call stay unrecorded. */
static void look_at_none(const struct attach_loaders *look, const struct loader *loader)
{
    char image[ATTACH_IMAGE_SIZE];
    if (!attach_image_with(look->target->pid, loader->variable, image))
        return;
    if (attach_has_mapped(look->target->pid, loader->library))
        say(look,
            "%s has calls of %s, and %s was loaded while the program ran: what had called %s "
            "before is not recorded",
            image, loader->what, loader->library, loader->what);
    else
        say(look,
            "%s has calls of %s, but %s was not set when the program began: nothing of %s can be "
            "recorded (annot run, annot attach --inject)",
            image, loader->what, loader->variable, loader->what);
}

void attach_look_at_loaders(const struct attach_loaders *look)
{
    char *environment = attach_environment(look->target->pid);
    for (size_t i = 0; environment && i < sizeof(loaders) / sizeof(loaders[0]); i++) {
        const char *value = attach_environment_value(environment, loaders[i].variable);
        if (value && *value && strcmp(value, "./.") != 0)
            look_at(look, &loaders[i], value);
        else if (!value && strcmp(loaders[i].what, "CUDA") != 0)
            look_at_none(look, &loaders[i]);
    }
    free(environment);
}
