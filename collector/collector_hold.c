/* SPDX-License-Identifier: MIT */
/* See collector_parts.h. */
#include "collector_parts.h"

#include "clock_now.h"
#include "file_io.h"
#include "segment_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Of all segments in the directory, also those of other sessions. */
static uint64_t segment_bytes(const struct directory *directory)
{
    uint64_t bytes = 0;
    DIR *stream = file_list_folder(directory->fd);
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        struct segment_name parsed;
        struct stat status;
        if (segment_name_parse(entry->d_name, &parsed) &&
            fstatat(directory->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)status.st_blocks * 512;
    }
    if (stream)
        closedir(stream);
    return bytes;
}

void hold_begin(struct hold *hold, int64_t pool_bytes)
{
    hold->bytes_max = segment_bytes(hold->directory) + HOLD_POOLS * (uint64_t)pool_bytes;
}

void hold_step(struct hold *hold)
{
    if (hold->shut || segment_bytes(hold->directory) <= hold->bytes_max)
        return;
    session_file_unwatched(hold->session, clock_now_ns());
    session_file_end(hold->session);
    hold->shut = true;
}
