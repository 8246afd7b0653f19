/* SPDX-License-Identifier: MIT */
/* Finds the files of a running program that were compiled with NVTX or ITT. Their loaders are
 * compiled into each such file and look up a variable of the environment, so its name is among the
 * constants of the file. Their data in memory has no reliable symbol.
 *
 * The files are untrusted: reads are bounded and cover only the mapped parts. */
#include "attach_images.h"

#include "attach.h"

#include "file_io.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
