/* SPDX-License-Identifier: MIT */
/* Which files of a running program were compiled with NVTX or ITT. Their loaders are in the file
 * itself and look for a variable, so its name is among the constants. Nothing of what they keep in
 * memory has a name that could be relied on.
 *
 * Files are foreign: they are searched, bounded, and only where the program has mapped them. */
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

/* Of large programs that takes 0.1 s; what lies behind it is not looked at. */
#define SEARCHED_BYTES_MAX (INT64_C(256) << 20)

struct search {
    int32_t pid;
    const char *word;
    int64_t left;
    char *piece;
    char *found;
};

/* Only if it is the file that is mapped: not a newer one of its name, nor what only looks like it.
 */
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

/* In pieces that overlap, so that no word is cut. */
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
