/* SPDX-License-Identifier: MIT */
/* inotify, with a scan of the directory at first and after an overflow of its queue; scans only if
 * there is no inotify. */
#include "discover.h"

#include "clock_now.h"
#include "file_io.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

#define SCAN_NS INT64_C(5000000)

int discover_open(struct discover *discover, const struct directory *directory)
{
    char path[64];
    *discover = (struct discover){.fd = -1, .rescan = true, .directory = directory};
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return errno == EMFILE || errno == ENOSYS ? 0 : -errno;
    /* By descriptor, so that it is the directory that was checked. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", directory->fd);
    discover->watch = inotify_add_watch(fd, path, IN_CREATE | IN_MOVED_TO);
    if (discover->watch < 0) {
        int error = -errno;
        close(fd);
        return error == -ENOSPC ? 0 : error;
    }
    discover->fd = fd;
    return 0;
}

void discover_stop(struct discover *discover)
{
    if (discover->fd >= 0)
        inotify_rm_watch(discover->fd, discover->watch);
}

void discover_close(struct discover *discover)
{
    if (discover->fd >= 0)
        close(discover->fd);
    discover->fd = -1;
}

static int scan(const struct discover *discover, int (*call)(void *context, const char *name),
                void *context)
{
    int result = 0;
    DIR *stream = file_list_folder(discover->directory->fd);
    if (!stream)
        return -errno;
    for (const struct dirent *entry; result == 0 && (entry = readdir(stream));)
        result = call(context, entry->d_name);
    closedir(stream);
    return result;
}

int discover_poll(struct discover *discover, int (*call)(void *context, const char *name),
                  void *context)
{
    char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    int64_t begin_ns = clock_now_ns();
    int result = 0;
    if (discover->fd < 0 && clock_now_ns() >= discover->next_scan_ns) {
        discover->rescan = true;
        discover->next_scan_ns = clock_now_ns() + SCAN_NS;
    }
    for (ssize_t size; result == 0 && discover->fd >= 0 &&
                       (size = read(discover->fd, buffer, sizeof(buffer))) > 0;) {
        const struct inotify_event *event;
        for (char *at = buffer; result == 0 && at < buffer + size;
             at += sizeof(*event) + event->len) {
            event = (const struct inotify_event *)at;
            if (event->mask & IN_Q_OVERFLOW)
                discover->rescan = true;
            else if (event->len > 0)
                result = call(context, event->name);
        }
    }
    bool complete = discover->fd >= 0 || discover->rescan;
    if (result == 0 && discover->rescan) {
        discover->rescan = false;
        result = scan(discover, call, context);
    }
    if (result == 0 && complete)
        discover->told_ns = begin_ns;
    return result;
}
